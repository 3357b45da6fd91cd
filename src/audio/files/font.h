// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace hiss::audio {

inline constexpr int kGlyphColumns = 5, kGlyphRows = 7;

// Whether a point of a letter's picture is set; (0, 0) is the upper left one. Bytes other than
// printable ASCII look like '?'.
bool glyph_point(char letter, int column, int row);

}  // namespace hiss::audio
