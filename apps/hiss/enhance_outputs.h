// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/files/audio_file.h"
#include "audio/files/picture.h"
#include "enhance.h"
#include "hiss/status.h"
#include "io/output_file.h"
#include "models/re_use/re_use.h"

namespace hiss::app {

// The files that `hiss enhance` makes: the recording, and the picture and report if asked for. All
// are opened before the work begins, and get their names together after it.
class EnhanceOutputs {
 public:
  // OutputFile's and AudioWriter's errors. kInvalidArgument also: one of the files is the input,
  // the reference or the model, under whatever name, or is asked for twice.
  static Result<EnhanceOutputs> create(const EnhanceOptions& options,
                                       const audio::AudioReader& reader,
                                       const std::string& model_path);
  audio::AudioWriter& recording() { return *recording_; }
  // For the picture.
  void show_before(std::span<const float> interleaved);
  void show_after(std::span<const float> interleaved);
  // Fills what is not yet filled and gives every file its name. `activations` is for --dump.
  Status commit(const EnhanceOptions& options, const EnhanceOutcome& outcome,
                const models::Activations& activations);

 private:
  std::unique_ptr<audio::AudioWriter> recording_;
  std::optional<io::OutputFile> report_, picture_, dump_;
  std::unique_ptr<audio::Spectrogram> before_, after_;
};

}  // namespace hiss::app
