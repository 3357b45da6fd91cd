// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "hiss/tensor.h"
#include "support/tensor_set.h"

// Device memory for the check: filled, read back and watched without the kernels under test.
namespace hiss::bench {

using testing_support::Fill;

// Ends the program with a line on stderr: nothing that follows would mean anything.
void must(cudaError_t error, const char* what);
[[noreturn]] void give_up(const char* what);

// Every element of a view, from (seed, position). Indices of a view never repeat.
void fill_random(const TensorView& view, Fill fill, uint64_t seed);
// 0xff in every byte: NaN in every type.
void poison(void* memory, int64_t bytes);
// The elements of a view in row-major order, rounded to nothing: F32 for floats, I64 for indices.
std::vector<float> gather(const ConstTensorView& view);
// How many bits of two views of one shape differ, NaN equal to NaN of the same bits.
int64_t count_differing(const ConstTensorView& a, const ConstTensorView& b);

// Starts a copy within the device; bytes is a multiple of 16.
void copy(const void* from, void* to, int64_t bytes, cudaStream_t stream);

}  // namespace hiss::bench
