// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "enhancer/enhancer_impl.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "audio/bypass.h"
#include "audio/chunk_session.h"
#include "audio/level.h"
#include "audio/stft.h"

namespace hiss::internal {
namespace {

using audio::ChunkOptions;
using audio::ChunkSession;
using audio::Stft;
using audio::StftSizes;
using models::Activations;
using models::ReUse;

constexpr int kLowestRate = 4000, kHighestRate = 192000;
// Channels go through the network together up to this many time-frequency cells: enough to occupy
// every thread, without letting memory grow with the number of channels.
constexpr int64_t kCellsPerBatch = int64_t{1} << 20;

Status out_of_memory() {
  return ResourceExhausted("not enough memory for a window of this length");
}

std::vector<float> transposed(const std::vector<float>& rows, int64_t columns) {
  std::vector<float> result(rows.size());
  const int64_t count = static_cast<int64_t>(rows.size()) / columns;
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t c = 0; c < columns; ++c) result[c * count + r] = rows[r * columns + c];
  }
  return result;
}

// A window's way: level, STFT, network, back, and the bypass where the model asks for it.
class Window {
 public:
  Window(ReUse& model, Stft stft, Executor& executor)
      : model_(model), stft_(std::move(stft)), executor_(executor) {}

  // samples [batch, n], replaced by the enhanced ones. `dump` may be nullptr.
  Status run(int64_t batch, int64_t n, float* samples, Activations* dump) {
    const int64_t cells = stft_.frames(n) * stft_.bins();
    const int64_t together = std::max<int64_t>(1, kCellsPerBatch / cells);
    for (int64_t b = 0; b < batch; b += together) {
      const int64_t count = std::min(together, batch - b);
      HISS_RETURN_IF_ERROR(run_together(count, n, samples + b * n, dump));
    }
    return {};
  }

 private:
  Status run_together(int64_t batch, int64_t n, float* samples, Activations* dump) {
    const auto level = model_.config().input_rms_dbfs;
    std::vector<double> gain(batch, 1.0);
    for (int64_t b = 0; level && b < batch; ++b) {
      const std::span<float> item(samples + b * n, n);
      gain[b] = audio::level_gain(item, *level);
      audio::scale(item, gain[b]);
    }

    const int64_t frames = stft_.frames(n), bins = stft_.bins();
    log_magnitude_.resize(batch * frames * bins);
    phase_.resize(batch * frames * bins);
    stft_.analyse(batch, n, samples, log_magnitude_.data(), phase_.data(), executor_);
    keep(dump, "log_magnitude", "phase");
    const auto& rule = model_.config().bypass;
    if (rule) noisy_.assign(samples, samples + batch * n);
    HISS_RETURN_IF_ERROR(model_.run({.batch = batch,
                                     .frames = frames,
                                     .bins = bins,
                                     .log_magnitude = log_magnitude_.data(),
                                     .phase = phase_.data()},
                                    dump));
    keep(dump, "out_log_magnitude", "out_phase");
    HISS_RETURN_IF_ERROR(
        stft_.synthesise(batch, n, log_magnitude_.data(), phase_.data(), samples, executor_));
    for (int64_t b = 0; rule && b < batch; ++b) {
      audio::bypass({rule->low_db, rule->high_db, rule->bins, rule->frames}, stft_, n,
                    noisy_.data() + b * n, samples + b * n, executor_);
    }
    for (int64_t b = 0; level && b < batch; ++b) {
      audio::scale(std::span(samples + b * n, n), 1 / gain[b]);
    }
    return {};
  }

  void keep(Activations* dump, const char* magnitude_name, const char* phase_name) {
    if (!dump) return;
    const int64_t bins = stft_.bins(), frames = static_cast<int64_t>(phase_.size()) / bins;
    dump->tensors[magnitude_name] = {{bins, frames}, transposed(log_magnitude_, bins)};
    dump->tensors[phase_name] = {{bins, frames}, transposed(phase_, bins)};
  }

  ReUse& model_;
  Stft stft_;
  Executor& executor_;
  std::vector<float> log_magnitude_, phase_;  // [batch, frames, bins]
  std::vector<float> noisy_;                  // [batch, n]: what the network was fed, for bypass
};

class ReUseSession final : public EnhancerSession {
 public:
  ReUseSession(Window window, const ChunkOptions& options)
      : window_(std::move(window)),
        chunks_(options, [this](int64_t batch, int64_t n, float* samples) {
          return window_.run(batch, n, samples, nullptr);
        }) {}

  Status process(std::span<const float> interleaved, Sink sink) override {
    try {
      return chunks_.process(interleaved, sink);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }
  Status finish(Sink sink) override {
    try {
      return chunks_.finish(sink);
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    }
  }
  int64_t delay() const override { return chunks_.delay(); }
  int64_t replaced_samples() const override { return chunks_.replaced_samples(); }

 private:
  Window window_;
  ChunkSession chunks_;
};

class ReUseEnhancer final : public Enhancer {
 public:
  ReUseEnhancer(std::unique_ptr<Context> context, std::unique_ptr<ReUse> model, std::string label,
                EnhancerOptions options)
      : context_(std::move(context)),
        model_(std::move(model)),
        label_(std::move(label)),
        options_(std::move(options)) {}

  Result<std::unique_ptr<EnhancerSession>> start(int sample_rate, int channels) override {
    HISS_ASSIGN_OR_RETURN(Window window, open_window(sample_rate));
    HISS_ASSIGN_OR_RETURN(const ChunkOptions chunks,
                          ChunkOptions::from_seconds(sample_rate, channels, options_.chunk_seconds,
                                                     options_.overlap, options_.strength));
    return std::unique_ptr<EnhancerSession>(new ReUseSession(std::move(window), chunks));
  }

  std::string describe() const override {
    const models::ReUseConfig& config = model_->config();
    return label_ + ": RE-USE layout, " + std::to_string(config.blocks) + " blocks, " +
           std::to_string(config.channels) + " channels, " + std::to_string(model_->parameters()) +
           " parameters";
  }

  std::vector<std::string> kernels() const override { return model_->kernels(); }

  Result<Activations> dump(int sample_rate, std::span<const float> waveform) {
    if (waveform.empty()) return InvalidArgument("waveform: got no samples");
    HISS_ASSIGN_OR_RETURN(Window window, open_window(sample_rate));
    const int64_t n = static_cast<int64_t>(waveform.size());
    std::vector<float> samples(n);
    std::ranges::transform(waveform, samples.begin(),
                           [](float x) { return std::isfinite(x) ? x : 0.0f; });
    Activations activations;
    activations.tensors["waveform"] = {{n}, samples};
    HISS_RETURN_IF_ERROR(window.run(1, n, samples.data(), &activations));
    activations.tensors["out_waveform"] = {{n}, std::move(samples)};
    return activations;
  }

 private:
  Result<Window> open_window(int sample_rate) {
    if (sample_rate < kLowestRate || sample_rate > kHighestRate) {
      return InvalidArgument("sample_rate: got " + std::to_string(sample_rate) + " Hz, want " +
                             std::to_string(kLowestRate) + " ... " + std::to_string(kHighestRate));
    }
    const models::ReUseConfig& config = model_->config();
    if (config.sampling_rate < 1) return InvalidArgument("stft_cfg.sampling_rate: want at least 1");
    const StftSizes base{.n_fft = config.n_fft, .hop = config.hop_size, .win = config.win_size};
    HISS_ASSIGN_OR_RETURN(Stft stft,
                          Stft::create(StftSizes::scaled(base, config.sampling_rate, sample_rate)));
    return Window(*model_, std::move(stft), context_->executor());
  }

  std::unique_ptr<Context> context_;
  std::unique_ptr<ReUse> model_;
  std::string label_;
  EnhancerOptions options_;
};

}  // namespace

Result<std::unique_ptr<Enhancer>> make_enhancer(std::unique_ptr<Context> context,
                                                std::unique_ptr<ReUse> model,
                                                const std::string& label,
                                                const EnhancerOptions& options) {
  // What is wrong at every rate is said now, the rest by start().
  HISS_RETURN_IF_ERROR(ChunkOptions::from_seconds(kHighestRate, 1, options.chunk_seconds,
                                                  options.overlap, options.strength)
                           .error());
  return std::unique_ptr<Enhancer>(
      new ReUseEnhancer(std::move(context), std::move(model), label, options));
}

Result<Activations> dump_window(Enhancer& enhancer, int sample_rate,
                                std::span<const float> waveform) {
  return static_cast<ReUseEnhancer&>(enhancer).dump(sample_rate, waveform);
}

}  // namespace hiss::internal
