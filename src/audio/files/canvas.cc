// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/canvas.h"

#include <algorithm>

#include "audio/files/font.h"

namespace hiss::audio {

Canvas::Canvas(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height), background) {}

void Canvas::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  pixels_[static_cast<size_t>(y) * width_ + x] = colour;
}

void Canvas::fill(int x, int y, int width, int height, Colour colour) {
  for (int j = y; j < y + height; ++j) {
    for (int i = x; i < x + width; ++i) set(i, j, colour);
  }
}

void Canvas::frame(int x, int y, int width, int height, Colour colour) {
  fill(x, y, width, 1, colour);
  fill(x, y + height - 1, width, 1, colour);
  fill(x, y, 1, height, colour);
  fill(x + width - 1, y, 1, height, colour);
}

void Canvas::text(int x, int y, std::string_view text, Colour colour, int scale) {
  for (const char letter : text) {
    for (int row = 0; row < kGlyphRows; ++row) {
      for (int column = 0; column < kGlyphColumns; ++column) {
        if (glyph_point(letter, column, row)) {
          fill(x + column * scale, y + row * scale, scale, scale, colour);
        }
      }
    }
    x += (kGlyphColumns + 1) * scale;
  }
}

void Canvas::text_upwards(int x, int y, std::string_view text, Colour colour, int scale) {
  for (const char letter : text) {
    for (int row = 0; row < kGlyphRows; ++row) {
      for (int column = 0; column < kGlyphColumns; ++column) {
        if (glyph_point(letter, column, row)) {
          fill(x + row * scale, y - (column + 1) * scale, scale, scale, colour);
        }
      }
    }
    y -= (kGlyphColumns + 1) * scale;
  }
}

int Canvas::text_width(std::string_view text, int scale) {
  return std::max(0, static_cast<int>(text.size()) * (kGlyphColumns + 1) - 1) * scale;
}

}  // namespace hiss::audio
