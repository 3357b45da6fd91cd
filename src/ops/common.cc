// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "hiss/ops/common.h"

namespace hiss {

const char* to_string(Precision precision) {
  switch (precision) {
    case Precision::kStandard:
      return "standard";
    case Precision::kStrict:
      return "strict";
    case Precision::kFast:
      return "fast";
  }
  return "unknown";
}

const char* to_string(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }

const char* to_string(Direction direction) {
  return direction == Direction::kForward ? "forward" : "reverse";
}

const char* to_string(Activation activation) {
  return activation == Activation::kNone ? "none" : "silu";
}

const char* to_string(Layout layout) {
  switch (layout) {
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kChannelsFirst:
      return "channels_first";
    case Layout::kStrided:
      return "strided";
  }
  return "unknown";
}

}  // namespace hiss
