// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/causal_conv1d/lanes_over_dim_launch.cuh"

namespace hiss::cuda::causal_conv1d {
template Status launch_lanes_over_dim<float>(const CausalConv1d::Args&, const Conv&, cudaStream_t);
}  // namespace hiss::cuda::causal_conv1d
