// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "device_set.h"

#include <algorithm>
#include <utility>

namespace hiss::bench {
namespace {

constexpr int64_t kGuard = 4096;

}  // namespace

DeviceSet::~DeviceSet() {
  for (const Block& block : blocks_) must(cudaFree(block.memory), "free");
}

std::byte* DeviceSet::bytes(int64_t count, int64_t shift) {
  void* memory = nullptr;
  const int64_t before = kGuard + shift, total = before + count + kGuard;
  must(cudaMalloc(&memory, static_cast<size_t>(total)), "memory");
  poison(memory, total);
  blocks_.push_back({static_cast<std::byte*>(memory), before, count});
  return blocks_.back().memory + before;
}

TensorView DeviceSet::place(DType dtype, const std::vector<int64_t>& sizes, Place place) {
  TensorView view;
  view.dtype = dtype;
  view.rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), view.shape.begin());
  std::vector<int> order;  // axes, finest first
  for (int axis = view.rank - 1; axis >= 0; --axis) order.push_back(axis);
  if (place == Place::kChannelsFirst) std::swap(order[0], order[1]);
  int64_t step = 1;
  for (const int axis : order) {
    view.stride[axis] = step;
    step *= view.shape[axis];
    if (place == Place::kWideRow && axis == view.rank - 1) step += 64;
  }
  view.data = bytes(step * size_of(dtype));
  return view;
}

ConstTensorView DeviceSet::input(DType dtype, const std::vector<int64_t>& sizes, Fill fill,
                                 Place where) {
  const TensorView view = place(dtype, sizes, where);
  fill_random(view, fill, ++seed_);
  return view;
}

TensorView DeviceSet::state(DType dtype, const std::vector<int64_t>& sizes, Fill fill) {
  const TensorView view = place(dtype, sizes, Place::kDense);
  fill_random(view, fill, ++seed_);
  return view;
}

TensorView DeviceSet::output(DType dtype, const std::vector<int64_t>& sizes, Place where) {
  return place(dtype, sizes, where);
}

ConstTensorView DeviceSet::indices(DType dtype, const std::vector<int64_t>& values) {
  const TensorView view = place(dtype, {static_cast<int64_t>(values.size())}, Place::kDense);
  std::vector<int32_t> narrow(values.begin(), values.end());
  const void* from = dtype == DType::kI32 ? static_cast<const void*>(narrow.data()) : values.data();
  must(cudaMemcpy(view.data, from, values.size() * static_cast<size_t>(size_of(dtype)),
                  cudaMemcpyHostToDevice),
       "indices");
  return view;
}

int64_t DeviceSet::stray_bytes() const {
  int64_t stray = 0;
  // Looked at here: a kernel for it would be most of what a sanitizer instruments.
  std::vector<std::byte> guard;
  const auto count = [&](const std::byte* from, int64_t bytes) {
    guard.resize(static_cast<size_t>(bytes));
    must(cudaMemcpy(guard.data(), from, guard.size(), cudaMemcpyDeviceToHost), "guard");
    stray += bytes - std::count(guard.begin(), guard.end(), std::byte{0xff});
  };
  for (const Block& block : blocks_) {
    count(block.memory, block.before);
    count(block.memory + block.before + block.count, kGuard);
  }
  return stray;
}

}  // namespace hiss::bench
