// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "support/tensor_set.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/element.h"

namespace hiss::testing_support {
namespace {

constexpr int kMargin = 256;  // bytes watched before a tensor

// Strides for a place, and how far from the first element the lowest and the highest one lie.
struct Plan {
  TensorView view;
  int64_t below = 0, above = 0;
};

Plan plan(DType dtype, const std::vector<int64_t>& sizes, Place place) {
  Plan p;
  TensorView& v = p.view;
  v.dtype = dtype;
  v.rank = static_cast<int>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), v.shape.begin());
  std::vector<int> order;  // axes, finest first
  for (int axis = v.rank - 1; axis >= 0; --axis) order.push_back(axis);
  if (place == Place::kChannelsFirst && v.rank == 3) std::swap(order[0], order[1]);
  int64_t step = place == Place::kSpaced ? 3 : 1;
  for (int axis : order) {
    if (place == Place::kFar && axis == 0) step += (int64_t{1} << 32) + 7;
    v.stride[axis] = step;
    step *= std::max<int64_t>(v.shape[axis], 1);
    if (place == Place::kWideRow && axis == v.rank - 1) step += 11;
  }
  if (place == Place::kFlipped && v.rank >= 3) v.stride[1] = -v.stride[1];
  if (place == Place::kMirrored && v.rank > 0) v.stride[v.rank - 1] = -v.stride[v.rank - 1];
  if (place == Place::kBroadcast && v.rank >= 3) v.stride[1] = 0;
  for (int axis = 0; axis < v.rank; ++axis) {
    const int64_t reach = std::max<int64_t>(v.shape[axis] - 1, 0) * v.stride[axis];
    (reach < 0 ? p.below : p.above) += std::abs(reach);
  }
  return p;
}

}  // namespace

TensorSet::Block& TensorSet::allocate(DType dtype, const std::vector<int64_t>& sizes, Place place) {
  Plan p = plan(dtype, sizes, place);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t used =
      p.view.elements() == 0 ? 0 : static_cast<size_t>((p.below + p.above + 1) * size_of(dtype));
  const size_t bytes = (used + kMargin + page - 1) / page * page;
  void* memory = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(static_cast<std::byte*>(memory) + bytes, page, PROT_NONE))
    std::abort();
  auto* first = static_cast<std::byte*>(memory);
  p.view.data = first + bytes - used + p.below * size_of(dtype);
  if (place != Place::kFar) std::memset(first, 0xff, bytes);
  blocks_.push_back({first, bytes, p.view, false, {}});
  return blocks_.back();
}

TensorSet::~TensorSet() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const Block& block : blocks_) munmap(block.memory, block.bytes + page);
}

void TensorSet::fill(const TensorView& view, Fill fill) {
  std::normal_distribution<double> bell(fill.a, fill.kind == Fill::kNormal ? fill.b : 1);
  std::uniform_real_distribution<double> flat(0, 1);
  for_each_index(view, [&](const Index& index) {
    const double value =
        fill.kind == Fill::kNormal ? bell(random_) : fill.a + (fill.b - fill.a) * flat(random_);
    store_element(view, offset_of(view, index), value);
  });
}

namespace {

void keep(std::vector<std::byte>& before, const std::byte* memory, size_t bytes) {
  constexpr size_t kLargest = size_t{1} << 28;
  if (bytes <= kLargest) before.assign(memory, memory + bytes);
}

}  // namespace

ConstTensorView TensorSet::input(DType dtype, const std::vector<int64_t>& sizes, Fill with,
                                 Place place) {
  Block& block = allocate(dtype, sizes, place);
  fill(block.view, with);
  keep(block.before, block.memory, block.bytes);
  return block.view;
}

TensorView TensorSet::output(DType dtype, const std::vector<int64_t>& sizes, Place place) {
  Block& block = allocate(dtype, sizes, place);
  for_each_index(block.view, [&](const Index& index) {
    std::memset(
        static_cast<std::byte*>(block.view.data) + offset_of(block.view, index) * size_of(dtype),
        0xff, size_of(dtype));
  });
  block.writable = true;
  keep(block.before, block.memory, block.bytes);
  return block.view;
}

TensorView TensorSet::state(DType dtype, const std::vector<int64_t>& sizes, Fill with,
                            Place place) {
  Block& block = allocate(dtype, sizes, place);
  fill(block.view, with);
  block.writable = true;
  keep(block.before, block.memory, block.bytes);
  return block.view;
}

ConstTensorView TensorSet::indices(DType dtype, const std::vector<int64_t>& values) {
  Block& block = allocate(dtype, {static_cast<int64_t>(values.size())}, Place::kDense);
  for (size_t i = 0; i < values.size(); ++i)
    store_element(block.view, static_cast<int64_t>(i), static_cast<double>(values[i]));
  keep(block.before, block.memory, block.bytes);
  return block.view;
}

TensorSet::Block& TensorSet::find(const void* data) {
  for (Block& block : blocks_)
    if (block.view.data == data) return block;
  std::abort();
}

void TensorSet::set(const ConstTensorView& input, const std::vector<int64_t>& index, double value) {
  Block& block = find(input.data);
  Index at{};
  std::copy(index.begin(), index.end(), at.begin());
  store_element(block.view, offset_of(block.view, at), value);
  keep(block.before, block.memory, block.bytes);
}

TensorView TensorSet::in_place(const ConstTensorView& input) {
  Block& block = find(input.data);
  block.writable = true;
  return block.view;
}

std::string TensorSet::damage() const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.before.empty()) continue;
    std::vector<std::byte> want = block.before;
    if (block.writable) {
      for_each_index(block.view, [&](const Index& index) {
        const std::byte* element = static_cast<std::byte*>(block.view.data) +
                                   offset_of(block.view, index) * size_of(block.view.dtype);
        std::memcpy(want.data() + (element - block.memory), element, size_of(block.view.dtype));
      });
    }
    const auto changed = std::mismatch(want.begin(), want.end(), block.memory);
    if (changed.first == want.end()) continue;
    return "tensor " + std::to_string(i) + " of the set, " + to_string(block.view) +
           (block.writable ? ", an output: a byte outside its elements was written, "
                           : ", an input, was changed ") +
           std::to_string(changed.second - static_cast<std::byte*>(block.view.data)) +
           " bytes from its first element";
  }
  return {};
}

}  // namespace hiss::testing_support
