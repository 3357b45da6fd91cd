// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "hiss/tensor.h"

namespace hiss::bench {

// Ends the program with the error's text unless this is success.
void ok(cudaError_t error, const char* what);

// Dense tensors in device memory, freed together.
class DeviceTensors {
 public:
  ~DeviceTensors();
  DeviceTensors() = default;
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;

  // Normal random numbers, of a pool of 4 M that is repeated from a place of its own each time.
  TensorView normal(DType dtype, std::initializer_list<int64_t> sizes, float mean = 0,
                    float deviation = 1);
  // Every element NaN: what a kernel does not write is seen.
  TensorView unwritten(DType dtype, std::initializer_list<int64_t> sizes);
  TensorView from_host(const std::vector<float>& values, std::initializer_list<int64_t> sizes);

 private:
  struct Pool {
    DType dtype;
    float mean, deviation;
    void* memory;
  };
  TensorView allocate(DType dtype, std::initializer_list<int64_t> sizes);
  const Pool& pool_of(DType dtype, float mean, float deviation);

  std::vector<void*> memory_;
  std::vector<Pool> pools_;
  int64_t used_ = 0;
};

// What a view in device memory holds, on the host: same shape, dense but for broadcast axes.
class HostCopy {
 public:
  explicit HostCopy(const ConstTensorView& device);
  TensorView view() const { return view_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  TensorView view_;
};

// The part of a view with `count` indices from `begin` on along an axis.
template <class View>
View part(View view, int axis, int64_t begin, int64_t count) {
  if (!view.present()) return view;
  auto* bytes = view.template as<std::byte>();
  view.data = bytes + begin * view.stride[axis] * size_of(view.dtype);
  view.shape[axis] = count;
  return view;
}

}  // namespace hiss::bench
