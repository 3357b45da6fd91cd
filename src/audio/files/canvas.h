// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>
#include <vector>

#include "audio/files/colour_map.h"

namespace hiss::audio {

// An image to draw on. (0, 0) is the upper left pixel; what lies outside is not drawn.
class Canvas {
 public:
  Canvas(int width, int height, Colour background);
  int width() const { return width_; }
  int height() const { return height_; }
  // Row by row, [height, width].
  const std::vector<Colour>& pixels() const { return pixels_; }

  void set(int x, int y, Colour colour);
  Colour get(int x, int y) const { return pixels_[static_cast<size_t>(y) * width_ + x]; }
  void fill(int x, int y, int width, int height, Colour colour);
  // The outline, one pixel wide.
  void frame(int x, int y, int width, int height, Colour colour);

  // Printable ASCII, other bytes as '?'; (x, y) is the upper left corner of the first letter.
  // Letters are 5 x 7 points of `scale` pixels each.
  void text(int x, int y, std::string_view text, Colour colour, int scale = 2);
  // The same upwards, turned a quarter to the left; (x, y) is the lower left corner.
  void text_upwards(int x, int y, std::string_view text, Colour colour, int scale = 2);
  static int text_width(std::string_view text, int scale = 2);
  static int text_height(int scale = 2) { return 7 * scale; }

 private:
  int width_, height_;
  std::vector<Colour> pixels_;
};

}  // namespace hiss::audio
