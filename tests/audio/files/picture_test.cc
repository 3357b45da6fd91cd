// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <string>
#include <vector>

#include "audio/files/axis.h"
#include "audio/files/canvas.h"
#include "audio/files/colour_map.h"
#include "audio/files/font.h"
#include "audio/signals.h"
#include "support/temporary_folder.h"

namespace hiss::audio {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::noise;
using testing_support::TemporaryFolder;
using testing_support::tone;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) result.push_back(tick.label);
  return result;
}

TEST(Axis, TicksAreRound) {
  EXPECT_THAT(labels(axis_ticks(0, 8, 4)), ElementsAre("0", "2", "4", "6", "8"));
  EXPECT_THAT(labels(axis_ticks(0, 1.2, 3)), ElementsAre("0.0", "0.5", "1.0"));
  EXPECT_THAT(labels(axis_ticks(-87, -7, 4)), ElementsAre("-80", "-60", "-40", "-20"));
  EXPECT_THAT(labels(axis_ticks(0, 0.05, 5)),
              ElementsAre("0.00", "0.01", "0.02", "0.03", "0.04", "0.05"));
  EXPECT_THAT(labels(axis_ticks(-0.5, 0.5, 2)), ElementsAre("-0.5", "0.0", "0.5"));
}

TEST(Axis, LongTimesAreReadLikeAClock) {
  EXPECT_STREQ(time_ticks(6, 6).unit, "s");
  EXPECT_THAT(labels(time_ticks(300, 5).ticks),
              ElementsAre("0:00", "1:00", "2:00", "3:00", "4:00", "5:00"));
  const TimeTicks hour = time_ticks(3600, 4);
  EXPECT_STREQ(hour.unit, "h:min:s");
  EXPECT_THAT(labels(hour.ticks),
              ElementsAre("0:00:00", "0:15:00", "0:30:00", "0:45:00", "1:00:00"));
  EXPECT_EQ(time_ticks(3600 * 24 * 30, 10).ticks.size(), 11u);
}

TEST(ColourMap, LightnessRisesEvenly) {
  // Relative luminance of sRGB, as the cube root that the eye sees.
  const auto lightness = [](Colour c) {
    const auto light = [](uint8_t v) { return std::pow((v / 255.0 + 0.055) / 1.055, 2.4); };
    return std::cbrt(0.2126 * light(c.red) + 0.7152 * light(c.green) + 0.0722 * light(c.blue));
  };
  double least = 1, most = 0;
  for (int i = 0; i < 20; ++i) {
    const double step = lightness(colour_of((i + 1) / 20.0)) - lightness(colour_of(i / 20.0));
    least = std::min(least, step);
    most = std::max(most, step);
  }
  EXPECT_GT(least, 0.02);
  EXPECT_LT(most, 0.07);
  EXPECT_EQ(colour_of(-1), colour_of(0));
  EXPECT_EQ(colour_of(2), colour_of(1));
}

TEST(Font, LettersDifferAndUnknownBytesAreQuestionMarks) {
  const auto picture = [](char letter) {
    std::string points;
    for (int row = 0; row < kGlyphRows; ++row) {
      for (int column = 0; column < kGlyphColumns; ++column) {
        points += glyph_point(letter, column, row) ? '#' : '.';
      }
    }
    return points;
  };
  for (char a = ' '; a <= '~'; ++a) {
    for (char b = ' '; b < a; ++b) EXPECT_NE(picture(a), picture(b)) << a << b;
  }
  EXPECT_EQ(picture('\n'), picture('?'));
  EXPECT_EQ(picture('\xe9'), picture('?'));
  EXPECT_EQ(picture('\x7f'), picture('?'));
}

TEST(Canvas, DrawsInsideOnly) {
  Canvas canvas(10, 20, {1, 2, 3});
  canvas.fill(-5, -5, 7, 7, {9, 9, 9});
  canvas.text(4, -100, "outside", {8, 8, 8});
  canvas.text_upwards(4, 500, "outside", {8, 8, 8});
  int painted = 0;
  for (const Colour& c : canvas.pixels()) painted += c == Colour{9, 9, 9};
  EXPECT_EQ(painted, 4);
  EXPECT_EQ(canvas.get(1, 1), (Colour{9, 9, 9}));
  EXPECT_EQ(canvas.get(2, 2), (Colour{1, 2, 3}));
  EXPECT_EQ(Canvas::text_width("ab"), 22);
  EXPECT_EQ(Canvas::text_width(""), 0);
}

std::unique_ptr<Spectrogram> gathered(const std::vector<float>& x, int rate, int channels,
                                      int columns, int rows, size_t block) {
  auto s =
      Spectrogram::create(rate, channels, static_cast<int64_t>(x.size()) / channels, columns, rows);
  EXPECT_TRUE(s);
  for (size_t i = 0; i < x.size(); i += block) {
    (*s)->add(std::span(x).subspan(i, std::min(block, x.size() - i)));
  }
  return *std::move(s);
}

TEST(Spectrogram, AFullScaleSineIsZeroDecibelsAtItsFrequency) {
  for (const int rows : {20, 100, 700}) {
    const auto s = gathered(tone(16000, 2000.0 / 16000), 16000, 1, 50, rows, 333);
    const int at = rows / 4;  // 2 of 8 kHz
    for (int column = 1; column < 49; ++column) {
      EXPECT_NEAR(s->level_db(column, at), 0, 1.5) << rows;
      EXPECT_LT(s->level_db(column, at + rows / 4), -60) << rows;
    }
  }
}

TEST(Spectrogram, ShowsWhenASoundBegins) {
  auto x = tone(32000, 0.1);
  std::fill_n(x.begin(), 16000, 0.0f);
  const auto s = gathered(x, 16000, 1, 100, 64, 1000);
  EXPECT_LT(s->level_db(47, 12), -60);
  EXPECT_GT(s->level_db(52, 12), -3);
}

TEST(Spectrogram, ChannelsInOppositePhaseDoNotCancel) {
  const auto mono = tone(8000, 0.125);
  std::vector<float> stereo;
  for (const float v : mono) stereo.insert(stereo.end(), {v, -v});
  const auto s = gathered(stereo, 16000, 2, 20, 64, 500);
  EXPECT_NEAR(s->level_db(10, 16), 0, 1.5);
}

TEST(Spectrogram, DoesNotDependOnTheBlocks) {
  const auto x = noise(10000);
  const auto a = gathered(x, 16000, 1, 77, 33, 1), b = gathered(x, 16000, 1, 77, 33, 10000);
  for (int c = 0; c < 77; ++c) {
    for (int r = 0; r < 33; ++r) ASSERT_EQ(a->level_db(c, r), b->level_db(c, r));
  }
}

TEST(Spectrogram, IsDefinedForEveryLength) {
  for (const int n : {1, 2, 100, 255, 256, 257, 511, 512, 513, 1000}) {
    const auto s = gathered(noise(n), 16000, 1, 300, 40, 64);
    for (int c = 0; c < 300; ++c) ASSERT_TRUE(std::isfinite(s->level_db(c, 20))) << n;
    if (n >= 512) {
      for (int c = 0; c < 300; ++c) ASSERT_GT(s->level_db(c, 20), -80) << n << " " << c;
    }
  }
}

TEST(Spectrogram, TakesMoreOrFewerFramesThanWereExpected) {
  const auto s = Spectrogram::create(16000, 1, 16000, 100, 20);
  ASSERT_TRUE(s);
  (*s)->add(noise(8000));
  EXPECT_GT((*s)->level_db(40, 10), -60);
  EXPECT_LT((*s)->level_db(80, 10), -190);  // nothing came
  (*s)->add(noise(20000));
  EXPECT_GT((*s)->level_db(99, 10), -60);
}

TEST(Spectrogram, RefusesNothingToShow) {
  EXPECT_EQ(Spectrogram::create(16000, 1, 0, 10, 10).error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Spectrogram::create(16000, 1, 10, 0, 10).error().code(), StatusCode::kInvalidArgument);
}

TEST(Picture, IsAPngWithTheSpectraInItsPlots) {
  const TemporaryFolder folder;
  constexpr int kWidth = 600, kHeight = 400;
  const PlotSize size = plot_size(kWidth, kHeight, 2);
  ASSERT_GT(size.columns, 300);
  ASSERT_GT(size.rows, 100);
  const auto loud = gathered(noise(16000, 1.0f), 16000, 1, size.columns, size.rows, 4000);
  const auto silent = gathered(std::vector<float>(16000), 16000, 1, size.columns, size.rows, 4000);
  const Panel panels[] = {{"before", loud.get()}, {"after", silent.get()}};
  auto file = OutputFile::create(folder / "p.png", {.force = false, .not_same = {}});
  ASSERT_TRUE(file);
  ASSERT_TRUE(draw_png(*file, panels, kWidth, kHeight).ok());
  ASSERT_TRUE(file->commit().ok());

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&image, (folder / "p.png").c_str()));
  image.format = PNG_FORMAT_RGB;
  EXPECT_EQ(image.width, static_cast<png_uint_32>(kWidth));
  EXPECT_EQ(image.height, static_cast<png_uint_32>(kHeight));
  std::vector<Colour> pixels(kWidth * kHeight);
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  const auto share_of = [&](Colour colour) {
    return static_cast<double>(std::ranges::count(pixels, colour)) /
           (size.columns * static_cast<double>(size.rows));
  };
  EXPECT_NEAR(share_of(colour_of(0)), 1, 0.02);  // the silent panel, all of it
  EXPECT_EQ(pixels[0], (Colour{255, 255, 255}));
}

TEST(Picture, RefusesNoPanelsAndTooFewPixels) {
  const TemporaryFolder folder;
  auto file = OutputFile::create(folder / "p.png", {.force = false, .not_same = {}});
  ASSERT_TRUE(file);
  EXPECT_EQ(draw_png(*file, {}).code(), StatusCode::kInvalidArgument);
  const auto s = gathered(noise(1000), 16000, 1, 10, 10, 1000);
  const Panel panels[] = {{"a", s.get()}, {"b", s.get()}};
  EXPECT_THAT(draw_png(*file, panels, 100, 100).message(), HasSubstr("too few"));
}

}  // namespace
}  // namespace hiss::audio
