// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "cuda/causal_conv1d/filter.cuh"

// The names of the rows that have a source a type, and what these sources hold.
namespace hiss::cuda::causal_conv1d {

inline constexpr std::string_view kLanesOverDim = "causal_conv1d/cuda.sm80.lanes_over_dim";
inline constexpr std::string_view kLanesOverTime = "causal_conv1d/cuda.sm80.lanes_over_time";

template <class T>
Status launch_lanes_over_dim(const CausalConv1d::Args& args, const Conv& conv, cudaStream_t stream);
template <class T>
Status launch_lanes_over_time(const CausalConv1d::Args& args, const Conv& conv,
                              cudaStream_t stream);

// Whether a row of this layout is for the problem.
inline Decline declines(const CausalConv1d::Problem& p, const Machine& machine, Layout layout) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.layout != layout) return why::kLayout;
  if (p.width < 2 || p.width > 4) return why::kWidth;
  return {};
}

}  // namespace hiss::cuda::causal_conv1d
