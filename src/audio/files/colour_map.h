// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace hiss::audio {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};

// A colour for `level` in 0 ... 1 (limited to it): from near black over violet and orange to pale
// yellow, computed in OKLab (Ottosson 2020) so that lightness rises evenly: equal steps of level
// look equal, in grey and to colour-blind eyes too.
Colour colour_of(double level);

}  // namespace hiss::audio
