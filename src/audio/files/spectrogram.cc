// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <utility>

#include "audio/fft.h"
#include "audio/files/picture.h"

namespace hiss::audio {
namespace {

constexpr double kWindowSeconds = 0.032;
constexpr double kLeastPower = 1e-20;  // -200 dB, for cells without any signal

class PowerSpectrogram final : public Spectrogram {
 public:
  PowerSpectrogram(int sample_rate, int channels, int64_t frames, int columns, int rows)
      : sample_rate_(sample_rate),
        channels_(channels),
        frames_(frames),
        columns_(columns),
        rows_(rows),
        window_(std::max<int64_t>(4, std::llround(kWindowSeconds * sample_rate))),
        // Two spectra a column where there are samples for them; never a sample left out.
        hop_(std::clamp<int64_t>(frames / columns / 2, 1, window_.size() / 2)),
        // Padded with zeros, so that no row falls between two bins.
        fft_(static_cast<int64_t>(
            std::bit_ceil(std::max<uint64_t>(window_.size(), 2 * static_cast<uint64_t>(rows))))),
        waiting_(channels),
        padded_(fft_.size()),
        spectrum_(fft_.bins()),
        power_(static_cast<size_t>(columns) * rows),
        count_(columns) {
    const double n = static_cast<double>(window_.size());
    for (size_t i = 0; i < window_.size(); ++i) {
      window_[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / n);
    }
    for (auto& channel : waiting_) channel.assign(window_.size() / 2, 0.0f);
  }

  void add(std::span<const float> interleaved) override {
    for (size_t i = 0; i + channels_ <= interleaved.size(); i += channels_) {
      for (int c = 0; c < channels_; ++c) waiting_[c].push_back(interleaved[i + c]);
      if (waiting_[0].size() < window_.size()) continue;
      take_spectrum();
      for (auto& channel : waiting_) channel.erase(channel.begin(), channel.begin() + hop_);
    }
  }

  float level_db(int column, int row) const override {
    const int filled = nearest_filled(column);
    if (filled < 0) return static_cast<float>(10 * std::log10(kLeastPower));
    const double power = power_[static_cast<size_t>(filled) * rows_ + row] / count_[filled];
    return static_cast<float>(10 * std::log10(std::max(power, kLeastPower)));
  }
  int columns() const override { return columns_; }
  int rows() const override { return rows_; }
  int sample_rate() const override { return sample_rate_; }
  int64_t frames() const override { return frames_; }

 private:
  // Adds the spectrum of the waiting samples to the column of their middle.
  void take_spectrum() {
    const int64_t column = std::min<int64_t>(middle_ * columns_ / frames_, columns_ - 1);
    middle_ += hop_;
    ++count_[column];
    const double full_scale = static_cast<double>(window_.size()) / 4;
    for (const auto& channel : waiting_) {
      for (size_t i = 0; i < window_.size(); ++i) padded_[i] = window_[i] * channel[i];
      fft_.forward(padded_.data(), spectrum_.data());
      for (int row = 0; row < rows_; ++row) {
        double largest = 0;
        const int64_t last = std::max(bin_of(row) + 1, bin_of(row + 1));
        for (int64_t bin = bin_of(row); bin < last; ++bin) {
          largest = std::max(largest, std::norm(spectrum_[bin]));
        }
        power_[column * rows_ + row] += largest / (full_scale * full_scale * channels_);
      }
    }
  }
  int64_t bin_of(int row) const { return (fft_.bins() - 1) * row / rows_; }

  // A recording shorter than the picture is wide leaves columns empty, as do its ends.
  int nearest_filled(int column) const {
    for (int away = 0; away < columns_; ++away) {
      if (column - away >= 0 && count_[column - away] > 0) return column - away;
      if (column + away < columns_ && count_[column + away] > 0 && away <= reach()) {
        return column + away;
      }
      if (away > reach()) break;
    }
    return -1;
  }
  // How far the middle of the first or last spectrum may be from the end, in columns.
  int reach() const {
    const int64_t samples = static_cast<int64_t>(window_.size()) + hop_;
    return static_cast<int>(std::min<int64_t>(samples * columns_ / frames_ + 1, columns_));
  }

  int sample_rate_, channels_;
  int64_t frames_;
  int columns_, rows_;
  std::vector<double> window_;
  int64_t hop_;
  RealFft fft_;
  std::vector<std::vector<float>> waiting_;  // [channels][< window]
  int64_t middle_ = 0;                       // of the next spectrum, in frames
  std::vector<double> padded_;
  std::vector<std::complex<double>> spectrum_;
  std::vector<double> power_;   // [columns, rows], sums
  std::vector<int64_t> count_;  // [columns], spectra in the sums
};

}  // namespace

Result<std::unique_ptr<Spectrogram>> Spectrogram::create(int sample_rate, int channels,
                                                         int64_t frames, int columns, int rows) {
  if (sample_rate < 1 || channels < 1 || frames < 1 || columns < 1 || rows < 1) {
    return InvalidArgument("spectrogram: got " + std::to_string(sample_rate) + " Hz, " +
                           std::to_string(channels) + " channels, " + std::to_string(frames) +
                           " frames, " + std::to_string(columns) + " columns, " +
                           std::to_string(rows) + " rows, want at least 1 of each");
  }
  return std::unique_ptr<Spectrogram>(
      new PowerSpectrogram(sample_rate, channels, frames, columns, rows));
}

}  // namespace hiss::audio
