// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/picture.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "audio/files/axis.h"
#include "audio/files/canvas.h"
#include "audio/files/colour_map.h"

namespace hiss::audio {
namespace {

constexpr Colour kPaper{255, 255, 255}, kInk{40, 40, 48}, kPale{120, 120, 130};
// Room around the plots, in pixels.
constexpr int kLeft = 92, kRight = 112, kTop = 14, kTitle = 30, kBelow = 34, kBottom = 32;
constexpr int kTick = 6;
constexpr int kBarGap = 24, kBarWidth = 18;
constexpr double kRangeDb = 80;

struct Box {
  int x, y, width, height;
};

Box plot_box(int width, int height, int panels, int panel) {
  const PlotSize size = plot_size(width, height, panels);
  const int each = kTitle + size.rows + kBelow;
  return {kLeft, kTop + panel * each + kTitle, size.columns, size.rows};
}

void draw_cells(Canvas& canvas, const Box& box, const Spectrogram& s, double top_db) {
  for (int x = 0; x < box.width; ++x) {
    const int column = x * s.columns() / box.width;
    for (int y = 0; y < box.height; ++y) {
      const int row = (box.height - 1 - y) * s.rows() / box.height;
      const double level = (s.level_db(column, row) - top_db) / kRangeDb + 1;
      canvas.set(box.x + x, box.y + y, colour_of(level));
    }
  }
}

void draw_time_axis(Canvas& canvas, const Box& box, const Spectrogram& s, bool labelled) {
  const double seconds = static_cast<double>(s.frames()) / s.sample_rate();
  const int below = box.y + box.height;
  const TimeTicks axis = time_ticks(seconds, std::max(box.width / 110, 1));
  for (const Tick& tick : axis.ticks) {
    const int x = box.x + static_cast<int>(std::lround(tick.value / seconds * (box.width - 1)));
    canvas.fill(x, below, 1, kTick, kInk);
    canvas.text(x - Canvas::text_width(tick.label) / 2, below + kTick + 5, tick.label, kInk);
  }
  if (!labelled) return;
  const std::string name = std::string("time (") + axis.unit + ")";
  canvas.text(box.x + (box.width - Canvas::text_width(name)) / 2, below + kBelow + 2, name, kInk);
}

void draw_frequency_axis(Canvas& canvas, const Box& box, const Spectrogram& s) {
  const double highest = s.sample_rate() / 2000.0;
  for (const Tick& tick : axis_ticks(0, highest, std::max(box.height / 48, 1))) {
    const int y = box.y + box.height - 1 -
                  static_cast<int>(std::lround(tick.value / highest * (box.height - 1)));
    canvas.fill(box.x - kTick, y, kTick, 1, kInk);
    canvas.text(box.x - kTick - 6 - Canvas::text_width(tick.label), y - Canvas::text_height() / 2,
                tick.label, kInk);
  }
  const std::string name = "frequency (kHz)";
  canvas.text_upwards(14, box.y + (box.height + Canvas::text_width(name)) / 2, name, kInk);
}

void draw_level_bar(Canvas& canvas, const Box& box, double top_db) {
  const int x = box.x + box.width + kBarGap;
  for (int y = 0; y < box.height; ++y) {
    const double level = 1 - static_cast<double>(y) / (box.height - 1);
    canvas.fill(x, box.y + y, kBarWidth, 1, colour_of(level));
  }
  canvas.frame(x, box.y, kBarWidth, box.height, kPale);
  canvas.text(x - 2, box.y - kTitle / 2 - Canvas::text_height() / 2, "dB", kInk);
  for (const Tick& tick : axis_ticks(top_db - kRangeDb, top_db, std::max(box.height / 60, 1))) {
    const int y =
        box.y + static_cast<int>(std::lround((top_db - tick.value) / kRangeDb * (box.height - 1)));
    canvas.fill(x + kBarWidth, y, kTick, 1, kInk);
    canvas.text(x + kBarWidth + kTick + 4, y - Canvas::text_height() / 2, tick.label, kInk);
  }
}

double loudest_db(std::span<const Panel> panels) {
  float loudest = -INFINITY;
  for (const Panel& panel : panels) {
    for (int c = 0; c < panel.spectrogram->columns(); ++c) {
      for (int r = 0; r < panel.spectrogram->rows(); ++r) {
        loudest = std::max(loudest, panel.spectrogram->level_db(c, r));
      }
    }
  }
  return std::ceil(loudest);
}

Status write_png(OutputFile& file, const Canvas& canvas) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width());
  image.height = static_cast<png_uint_32>(canvas.height());
  image.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, canvas.pixels().data(), 0,
                                 nullptr)) {
    return Internal(file.path() + ": " + image.message);
  }
  return file.write(std::span(bytes).first(size));
}

}  // namespace

PlotSize plot_size(int width, int height, int panels) {
  const int rows = (height - kTop - kBottom) / std::max(panels, 1) - kTitle - kBelow;
  return {.columns = width - kLeft - kRight, .rows = rows};
}

Status draw_png(OutputFile& file, std::span<const Panel> panels, int width, int height) {
  if (panels.empty()) return InvalidArgument("picture: got no panels");
  const int count = static_cast<int>(panels.size());
  if (const PlotSize size = plot_size(width, height, count); size.columns < 2 || size.rows < 2) {
    return InvalidArgument("picture: got " + std::to_string(width) + " x " +
                           std::to_string(height) + " pixels, too few for " +
                           std::to_string(count) + " panels");
  }
  const double top_db = loudest_db(panels);
  Canvas canvas(width, height, kPaper);
  for (int i = 0; i < count; ++i) {
    const Box box = plot_box(width, height, count, i);
    const Spectrogram& spectrogram = *panels[i].spectrogram;
    draw_cells(canvas, box, spectrogram, top_db);
    canvas.frame(box.x - 1, box.y - 1, box.width + 2, box.height + 2, kPale);
    canvas.text(box.x, box.y - kTitle / 2 - Canvas::text_height() / 2, panels[i].title, kInk);
    draw_time_axis(canvas, box, spectrogram, i + 1 == count);
    draw_frequency_axis(canvas, box, spectrogram);
    draw_level_bar(canvas, box, top_db);
  }
  return write_png(file, canvas);
}

}  // namespace hiss::audio
