// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/ssd_chunk_scan/chunked_launch.cuh"

namespace hiss::cuda::ssd_chunk_scan {
template Status launch_chunked<64, 1>(const Chunked&);
template Status launch_chunked<64, 2>(const Chunked&);
}  // namespace hiss::cuda::ssd_chunk_scan
