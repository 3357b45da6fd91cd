// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/program.h"
#include "apps/recording.h"
#include "support/temporary_folder.h"

namespace hiss::testing_support {

// A folder with in.wav, half a second of 16-bit mono, and the small golden model to run on it.
class EnhanceTest : public testing::Test {
 protected:
  EnhanceTest() { write_recording(input(), noisy_recording(0.5)); }

  std::string input() const { return folder / "in.wav"; }
  std::string output() const { return folder / "out.wav"; }
  static std::string model() {
    return HISS_SOURCE_DIR "/tests/golden/reuse_tiny_weights.safetensors";
  }
  static std::vector<std::string> enhance(const std::string& from, const std::string& to) {
    return {"enhance", from, "-o", to, "--model", model(), "--threads", "1"};
  }

  TemporaryFolder folder;
};

}  // namespace hiss::testing_support
