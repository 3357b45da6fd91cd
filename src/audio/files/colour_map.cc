// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace hiss::audio {
namespace {

using Linear = std::array<double, 3>;  // red, green, blue light

Linear from_oklab(double lightness, double a, double b) {
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

bool displayable(const Linear& c) {
  return std::ranges::all_of(c, [](double x) { return x > -1e-4 && x < 1 + 1e-4; });
}

uint8_t encoded(double light) {
  const double x = std::clamp(light, 0.0, 1.0);
  const double srgb = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<uint8_t>(std::lround(255 * srgb));
}

}  // namespace

Colour colour_of(double level) {
  const double t = std::clamp(level, 0.0, 1.0);
  const double lightness = 0.12 + 0.86 * t;
  // Degrees: violet-blue 290, through red at 380, to yellow at 468.
  const double hue = (285 + 183 * t) * std::numbers::pi / 180;
  double chroma = 0.05 + 0.20 * std::sin(std::numbers::pi * std::pow(t, 0.8));
  Linear light = from_oklab(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
  while (!displayable(light) && chroma > 0) {  // as colourful as the screen can show
    chroma = std::max(0.0, chroma - 0.002);
    light = from_oklab(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
  }
  return {encoded(light[0]), encoded(light[1]), encoded(light[2])};
}

}  // namespace hiss::audio
