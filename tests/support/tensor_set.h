// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "hiss/tensor.h"

namespace hiss::testing_support {

// What a tensor is filled with.
struct Fill {
  enum Kind { kNormal, kUniform } kind = kNormal;
  double a = 0, b = 1;  // mean and deviation; or low and high
};
constexpr Fill normal(double deviation = 1, double mean = 0) {
  return {Fill::kNormal, mean, deviation};
}
constexpr Fill uniform(double low, double high) { return {Fill::kUniform, low, high}; }
constexpr Fill constant(double value) { return uniform(value, value); }

// How a tensor lies in its memory.
enum class Place {
  kDense,          // row-major
  kChannelsFirst,  // axes 1 and 2 exchanged, the last of them dense (rank 3; others: dense)
  kWideRow,        // columns of a row that is wider by an odd number of elements
  kSpaced,         // every third element of the last axis
  kFlipped,        // axis 1 runs backwards (rank 3 and above)
  kMirrored,       // the last axis runs backwards
  kFar,            // more than 2^32 elements from one row of axis 0 to the next
  kBroadcast,      // one row for all of axis 1 (inputs only)
};

// The tensors of one test. Each ends flush with an unreadable page (so that its address is aligned
// to its element only, and reading past the end faults) and lies among bytes that are NaN in every
// type. Same seed, same values.
class TensorSet {
 public:
  explicit TensorSet(uint64_t seed) : random_(seed) {}
  TensorSet(const TensorSet&) = delete;
  TensorSet& operator=(const TensorSet&) = delete;
  ~TensorSet();

  ConstTensorView input(DType dtype, const std::vector<int64_t>& sizes, Fill fill,
                        Place place = Place::kDense);
  // Filled with NaN.
  TensorView output(DType dtype, const std::vector<int64_t>& sizes, Place place = Place::kDense);
  // Read and written.
  TensorView state(DType dtype, const std::vector<int64_t>& sizes, Fill fill,
                   Place place = Place::kDense);
  // A list in host memory.
  ConstTensorView indices(DType dtype, const std::vector<int64_t>& values);
  // Another value for one element of an input that nothing has read yet.
  void set(const ConstTensorView& input, const std::vector<int64_t>& index, double value);
  // An input of this set as the place of an output: what "y may be the memory of u" allows.
  TensorView in_place(const ConstTensorView& input);

  // Empty, or what was changed that should not have been.
  std::string damage() const;

 private:
  struct Block {
    std::byte* memory;
    size_t bytes;  // mapped, the guard page not counted
    TensorView view;
    bool writable;
    std::vector<std::byte> before;  // empty: too large to keep
  };
  Block& find(const void* data);
  Block& allocate(DType dtype, const std::vector<int64_t>& sizes, Place place);
  void fill(const TensorView& view, Fill fill);

  std::mt19937_64 random_;
  std::deque<Block> blocks_;
};

}  // namespace hiss::testing_support
