// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hiss/ops/all.h"
#include "tensors.h"

// The operators at the sizes real models give them, dense, aligned, F32: shapes/<operator>.cc.
namespace hiss::bench {

// Prefill is a prompt of 512 tokens (llama.cpp's batch), decode one token; a RE-USE shape is one
// window of 5 s in one direction of the spectrum.
template <class Op>
struct Shape {
  std::string name;
  std::function<typename Op::Args(Tensors&)> make;
};

// `quick`: fewer sequences and tokens, for trying the benchmark out.
template <class Op>
std::vector<Shape<Op>> shapes(bool quick);

// What a call cannot do without: state updates; multiply-adds on F32 (counted as the pages of
// docs/kernels do); those of them that 16-bit operands may do; bytes moved once; bytes of memory
// that are touched (a state is read and written in place).
struct Work {
  double updates = 0, multiply_adds = 0, matrix_multiply_adds = 0, bytes = 0, footprint = bytes;
};
Work work_of(const CausalConv1d::Args& args);
Work work_of(const CausalConv1dUpdate::Args& args);
Work work_of(const SelectiveScan::Args& args);
Work work_of(const SsdChunkScan::Args& args);
Work work_of(const SelectiveStateUpdate::Args& args);

// Bytes of all these tensors; absent ones have none.
template <class... Views>
double bytes_of(const Views&... views) {
  return (0.0 + ... +
          static_cast<double>(views.elements() * size_of(ConstTensorView(views).dtype)));
}

}  // namespace hiss::bench
