// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "device_tensors.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "core/element.h"

namespace hiss::bench {
namespace {

constexpr int64_t kPool = 4 << 20;  // elements

const std::vector<float>& standard_normal() {
  static const std::vector<float> values = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> distribution;
    std::vector<float> result(kPool);
    for (float& v : result) v = distribution(random);
    return result;
  }();
  return values;
}

}  // namespace

void ok(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

DeviceTensors::~DeviceTensors() {
  for (void* memory : memory_) cudaFree(memory);
}

TensorView DeviceTensors::allocate(DType dtype, std::initializer_list<int64_t> sizes) {
  TensorView view(nullptr, dtype, sizes);
  const auto bytes = static_cast<size_t>(std::max<int64_t>(1, view.elements()) * size_of(dtype));
  ok(cudaMalloc(&view.data, bytes), "device memory for a tensor");
  memory_.push_back(view.data);
  return view;
}

const DeviceTensors::Pool& DeviceTensors::pool_of(DType dtype, float mean, float deviation) {
  for (const Pool& pool : pools_)
    if (pool.dtype == dtype && pool.mean == mean && pool.deviation == deviation) return pool;
  const std::vector<float>& values = standard_normal();
  std::vector<std::byte> rounded(static_cast<size_t>(kPool * size_of(dtype)));
  const TensorView view(rounded.data(), dtype, {kPool});
  for (int64_t i = 0; i < kPool; ++i)
    store_element(view, i, mean + deviation * values[static_cast<size_t>(i)]);
  const TensorView device = allocate(dtype, {kPool});
  ok(cudaMemcpy(device.data, rounded.data(), rounded.size(), cudaMemcpyHostToDevice), "a pool");
  return pools_.emplace_back(Pool{dtype, mean, deviation, device.data});
}

TensorView DeviceTensors::normal(DType dtype, std::initializer_list<int64_t> sizes, float mean,
                                 float deviation) {
  const TensorView view = allocate(dtype, sizes);
  const auto* pool = static_cast<const std::byte*>(pool_of(dtype, mean, deviation).memory);
  auto* to = view.as<std::byte>();
  used_ += 1000003;  // no two tensors begin at one place
  int64_t from = used_ % kPool;
  for (int64_t left = view.elements(); left > 0;) {
    const int64_t count = std::min(left, kPool - from);
    const int64_t bytes = count * size_of(dtype);
    ok(cudaMemcpyAsync(to, pool + from * size_of(dtype), static_cast<size_t>(bytes),
                       cudaMemcpyDeviceToDevice, nullptr),
       "filling a tensor");
    to += bytes, left -= count, from = 0;
  }
  return view;
}

TensorView DeviceTensors::unwritten(DType dtype, std::initializer_list<int64_t> sizes) {
  const TensorView view = allocate(dtype, sizes);
  ok(cudaMemset(view.data, 0xff, static_cast<size_t>(view.elements() * size_of(dtype))),
     "filling an output");
  return view;
}

TensorView DeviceTensors::from_host(const std::vector<float>& values,
                                    std::initializer_list<int64_t> sizes) {
  const TensorView view = allocate(DType::kF32, sizes);
  ok(cudaMemcpy(view.data, values.data(), 4 * values.size(), cudaMemcpyHostToDevice), "a tensor");
  return view;
}

HostCopy::HostCopy(const ConstTensorView& device) {
  view_.dtype = device.dtype, view_.rank = device.rank, view_.shape = device.shape;
  // The axes that are walked, those with the largest strides first.
  std::vector<int> axes;
  for (int axis = 0; axis < device.rank; ++axis)
    if (device.shape[axis] > 1 && device.stride[axis] != 0) axes.push_back(axis);
  std::sort(axes.begin(), axes.end(),
            [&](int a, int b) { return device.stride[a] > device.stride[b]; });
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    view_.stride[*axis] = step;
    step *= device.shape[*axis];
  }
  const int64_t size = size_of(device.dtype);
  memory_ = std::make_unique<std::byte[]>(static_cast<size_t>(step * size));
  view_.data = memory_.get();

  // Rows of the fastest axis, planes of the next, one plane after another.
  int64_t width = 1, height = 1, pitch = 1;
  if (!axes.empty() && device.stride[axes.back()] == 1) {
    width = device.shape[axes.back()];
    axes.pop_back();
  }
  if (!axes.empty()) {
    height = device.shape[axes.back()], pitch = device.stride[axes.back()];
    axes.pop_back();
  }
  Index index{};
  auto* to = memory_.get();
  for (;;) {
    const auto* from = device.as<std::byte>() + offset_of(device, index) * size;
    ok(cudaMemcpy2D(to, static_cast<size_t>(width * size), from,
                    static_cast<size_t>(std::max(pitch, width) * size),
                    static_cast<size_t>(width * size), static_cast<size_t>(height),
                    cudaMemcpyDeviceToHost),
       "reading a tensor");
    to += width * height * size;
    auto axis = axes.rbegin();
    while (axis != axes.rend() && ++index[static_cast<size_t>(*axis)] == device.shape[*axis])
      index[static_cast<size_t>(*axis++)] = 0;
    if (axis == axes.rend()) return;
  }
}

}  // namespace hiss::bench
