// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/chunk_session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

namespace hiss::audio {
namespace {

constexpr int64_t kSilent = -1;
constexpr double kLongestWindow = 1e12;  // frames; so that sizes never overflow

double squared_sine(double quarter_turns) {
  const double s = std::sin(std::numbers::pi / 2 * quarter_turns);
  return s * s;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

Result<ChunkOptions> ChunkOptions::from_seconds(int sample_rate, int channels, double chunk_seconds,
                                                double overlap, double strength) {
  const double window = std::floor(chunk_seconds * sample_rate);
  if (!(window >= 1 && window <= kLongestWindow)) {
    return InvalidArgument("chunk_seconds: got " + std::to_string(chunk_seconds) +
                           ", want a window of at least one sample");
  }
  if (!(overlap >= 0 && overlap <= 0.5)) {
    return InvalidArgument("overlap: got " + std::to_string(overlap) + ", want 0 ... 0.5");
  }
  if (!(strength >= 0 && strength <= 1)) {
    return InvalidArgument("strength: got " + std::to_string(strength) + ", want 0 ... 1");
  }
  if (channels < 1) {
    return InvalidArgument("channels: got " + std::to_string(channels) + ", want at least 1");
  }
  return ChunkOptions{.channels = channels,
                      .window = static_cast<int64_t>(window),
                      .overlap = static_cast<int64_t>(std::floor(window * overlap)),
                      .strength = strength};
}

ChunkSession::ChunkSession(const ChunkOptions& options, WindowFunction window_function)
    : options_(options),
      stride_(options.window - options.overlap),
      window_function_(std::move(window_function)),
      waiting_(options.channels),
      item_(options.channels),
      carried_(options.channels) {}

Status ChunkSession::process(std::span<const float> interleaved, Sink sink) {
  if (spent_) return InvalidArgument("session: used after finish() or an error");
  if (interleaved.size() % options_.channels != 0) {
    return InvalidArgument("interleaved: got " + std::to_string(interleaved.size()) +
                           " samples, want whole frames of " + std::to_string(options_.channels));
  }
  while (!interleaved.empty()) {
    const size_t room = (options_.window - waiting_[0].size()) * options_.channels;
    const size_t taken = std::min(room, interleaved.size());
    take(interleaved.first(taken));
    interleaved = interleaved.subspan(taken);
    if (static_cast<int64_t>(waiting_[0].size()) < options_.window) break;
    if (Status s = run_window(options_.window, stride_, /*last=*/false, sink); !s.ok()) {
      spent_ = true;
      return s;
    }
  }
  return {};
}

Status ChunkSession::finish(Sink sink) {
  if (spent_) return InvalidArgument("session: used after finish() or an error");
  spent_ = true;
  const int64_t n = static_cast<int64_t>(waiting_[0].size());
  return n == 0 ? Status() : run_window(n, n, /*last=*/true, sink);
}

void ChunkSession::take(std::span<const float> interleaved) {
  const int64_t channels = options_.channels;
  const int64_t frames = static_cast<int64_t>(interleaved.size()) / channels;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < frames; ++i) {
      const float x = interleaved[i * channels + c];
      const bool finite = std::isfinite(x);
      replaced_ += !finite;
      waiting_[c].push_back(finite ? x : 0.0f);
    }
  }
}

Status ChunkSession::run_window(int64_t n, int64_t emitted, bool last, Sink sink) {
  if (options_.strength > 0) HISS_RETURN_IF_ERROR(compute(n));
  HISS_RETURN_IF_ERROR(hand_out(n, emitted, last, sink));
  first_ = false;
  for (auto& channel : waiting_) channel.erase(channel.begin(), channel.begin() + emitted);
  return {};
}

// Fills distinct_ and item_ from the first n waiting frames.
Status ChunkSession::compute(int64_t n) {
  std::vector<int64_t> channel_of;  // [batch]
  const auto window = [&](int64_t c) { return std::span(waiting_[c]).first(n); };
  for (int64_t c = 0; c < options_.channels; ++c) {
    if (std::ranges::all_of(window(c), [](float x) { return x == 0.0f; })) {
      item_[c] = kSilent;
      continue;
    }
    const auto twin = std::ranges::find_if(
        channel_of, [&](int64_t other) { return same_bits(window(other), window(c)); });
    item_[c] = twin - channel_of.begin();
    if (twin == channel_of.end()) channel_of.push_back(c);
  }
  const int64_t batch = static_cast<int64_t>(channel_of.size());
  distinct_.resize(batch * n);
  for (int64_t b = 0; b < batch; ++b) {
    std::ranges::transform(window(channel_of[b]), distinct_.begin() + b * n, [](float x) {
      return std::abs(x) < std::numeric_limits<float>::min() ? 0.0f : x;
    });
  }
  return batch == 0 ? Status() : window_function_(batch, n, distinct_.data());
}

Status ChunkSession::hand_out(int64_t n, int64_t emitted, bool last, Sink sink) {
  const int64_t channels = options_.channels, v = std::min(options_.overlap, n - 1);
  const double strength = options_.strength;
  const int64_t carried = static_cast<int64_t>(carried_weight_.size());
  std::vector<double> weight(n, 1.0);
  for (int64_t i = 0; i < v; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(v);
    if (!first_) weight[i] = squared_sine(x);
    if (!last) weight[n - v + i] = squared_sine(1 - x);
  }

  out_.resize(emitted * channels);
  for (int64_t c = 0; c < channels; ++c) {
    const float* wet = strength > 0 && item_[c] != kSilent ? &distinct_[item_[c] * n] : nullptr;
    const auto weighted = [&](int64_t i) { return wet ? weight[i] * wet[i] : 0.0; };
    for (int64_t i = 0; i < emitted; ++i) {
      const double dry = waiting_[c][i];
      const bool joint = i < carried;
      const double sum = joint ? carried_[c][i] + weighted(i) : weighted(i);
      const double total = joint ? carried_weight_[i] + weight[i] : weight[i];
      const double mix = strength == 0   ? dry
                         : strength == 1 ? sum / total
                                         : (1 - strength) * dry + strength * (sum / total);
      out_[i * channels + c] = static_cast<float>(mix);
    }
    carried_[c].clear();
    for (int64_t i = emitted; i < n; ++i) carried_[c].push_back(weighted(i));
  }
  carried_weight_.assign(weight.begin() + emitted, weight.end());
  return sink(out_);
}

}  // namespace hiss::audio
