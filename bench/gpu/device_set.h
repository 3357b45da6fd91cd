// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device_tools.h"
#include "hiss/tensor.h"
#include "support/tensor_set.h"

namespace hiss::bench {

using testing_support::constant;
using testing_support::normal;
using testing_support::Place;
using testing_support::uniform;

// Tensors in device memory, each between two guard zones of NaN bytes. Inputs are random and new
// for every set; outputs are NaN until something writes them.
class DeviceSet {
 public:
  explicit DeviceSet(uint64_t seed) : seed_(seed) {}
  DeviceSet(const DeviceSet&) = delete;
  DeviceSet& operator=(const DeviceSet&) = delete;
  ~DeviceSet();

  // kDense, kChannelsFirst, kWideRow. The first element lies at a multiple of 256 bytes.
  ConstTensorView input(DType dtype, const std::vector<int64_t>& sizes, Fill fill,
                        Place place = Place::kDense);
  TensorView state(DType dtype, const std::vector<int64_t>& sizes, Fill fill);
  TensorView output(DType dtype, const std::vector<int64_t>& sizes, Place place = Place::kDense);
  ConstTensorView indices(DType dtype, const std::vector<int64_t>& values);
  // NaN bytes between guards, `shift` bytes past a multiple of 256.
  std::byte* bytes(int64_t count, int64_t shift = 0);

  // How many bytes of the guard zones were written.
  int64_t stray_bytes() const;

 private:
  struct Block {
    std::byte* memory;
    int64_t before, count;  // guard bytes before the tensor, bytes of it
  };
  TensorView place(DType dtype, const std::vector<int64_t>& sizes, Place place);

  std::vector<Block> blocks_;
  uint64_t seed_;
};

}  // namespace hiss::bench
