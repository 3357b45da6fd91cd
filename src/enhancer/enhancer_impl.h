// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>

#include "hiss/enhancer.h"
#include "models/re_use/re_use.h"

// What the program and the tests need of the enhancer beyond its public interface.
namespace hiss::internal {

// An enhancer over a model that is loaded already; `context` is the one the model runs in and
// `label` what describe() calls it. kInvalidArgument: an option out of range.
Result<std::unique_ptr<Enhancer>> make_enhancer(std::unique_ptr<Context> context,
                                                std::unique_ptr<models::ReUse> model,
                                                const std::string& label,
                                                const EnhancerOptions& options);

// Takes one mono waveform [n] through the model as a single window and returns what happened on
// the way: waveform [n], log_magnitude and phase [F, T] (what the network is fed), encoder_out,
// block_0_out ... [C, T', F'], out_log_magnitude and out_phase [F, T], out_waveform [n] (strength
// 1). `enhancer` comes from make_enhancer() or Enhancer::create().
Result<models::Activations> dump_window(Enhancer& enhancer, int sample_rate,
                                        std::span<const float> waveform);

}  // namespace hiss::internal
