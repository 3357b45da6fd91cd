// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "audio/files/output_file.h"
#include "hiss/status.h"

namespace hiss::audio {

// A spectrogram gathered while the samples pass by: memory depends on the picture, not on the
// length of the recording.
class Spectrogram {
 public:
  // `frames`: how many are expected (the time axis). Power is averaged over the channels.
  // kInvalidArgument: a size below 1.
  static Result<std::unique_ptr<Spectrogram>> create(int sample_rate, int channels, int64_t frames,
                                                     int columns, int rows);
  virtual ~Spectrogram() = default;
  virtual void add(std::span<const float> interleaved) = 0;
  // Level of a cell in dB relative to a full-scale sine; column 0 is the start, row 0 is 0 Hz.
  virtual float level_db(int column, int row) const = 0;
  virtual int columns() const = 0;
  virtual int rows() const = 0;
  virtual int sample_rate() const = 0;
  virtual int64_t frames() const = 0;
};

struct Panel {
  std::string title;
  const Spectrogram* spectrogram = nullptr;
};

// Size of the plot area of one of `panels` panels in a picture of width x height pixels: the
// columns and rows that a Spectrogram should have.
struct PlotSize {
  int columns = 0, rows = 0;
};
PlotSize plot_size(int width, int height, int panels);

// Draws the panels one above the other with time and frequency axes and a common dB scale, as a
// PNG. The scale's upper end is the loudest cell of all panels. kInvalidArgument: no panels, or a
// picture too small for them. The caller commits `file`.
Status draw_png(OutputFile& file, std::span<const Panel> panels, int width = 1400,
                int height = 900);

}  // namespace hiss::audio
