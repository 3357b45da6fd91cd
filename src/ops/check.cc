// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ops/check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/sequences.h"

namespace hiss::ops {
namespace {

std::string wanted(std::initializer_list<DType> types, std::initializer_list<Dim> shape) {
  std::string text;
  size_t i = 0;
  for (DType type : types) {
    if (i > 0) text += i + 1 == types.size() ? " or " : ", ";
    text += to_string(type);
    ++i;
  }
  text += " [";
  i = 0;
  for (const Dim& dim : shape) {
    if (i++ > 0) text += ", ";
    text += dim.name;
    if (dim.size != Dim::kAny) text.append("=").append(std::to_string(dim.size));
  }
  return text + "]";
}

Status wrong(std::string_view name, const std::string& got, const std::string& want) {
  return InvalidArgument(std::string(name) + ": got " + got + ", want " + want);
}

// Whether every element's byte offset and the number of elements fit 64 bits.
bool addressable(const ConstTensorView& view) {
  int64_t elements = 1, below = 0, above = 0;
  for (int i = 0; i < view.rank; ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(elements, std::max<int64_t>(view.shape[i], 1), &elements))
      return false;
    if (view.shape[i] <= 1) continue;
    if (__builtin_mul_overflow(view.shape[i] - 1, view.stride[i], &reach)) return false;
    if (__builtin_mul_overflow(reach, size_of(view.dtype), &reach)) return false;
    int64_t& end = reach < 0 ? below : above;
    if (__builtin_add_overflow(end, reach, &end)) return false;
  }
  int64_t span = 0;
  return !__builtin_sub_overflow(above, below, &span);
}

// Entry i of a list that has to be one of `want`.
Status bad_entry(std::string_view list, int64_t i, int64_t got, const std::string& want) {
  return wrong(std::string(list).append("[").append(std::to_string(i)).append("]"),
               std::to_string(got), want);
}

}  // namespace

Status want_tensor(std::string_view name, const ConstTensorView& view,
                   std::initializer_list<DType> types, std::initializer_list<Dim> shape) {
  bool fits = view.present() && view.rank == static_cast<int>(shape.size()) &&
              std::find(types.begin(), types.end(), view.dtype) != types.end();
  int i = 0;
  for (const Dim& dim : shape) {
    if (!fits) break;
    const int64_t size = view.shape[i++];
    fits = size >= 0 && (dim.size == Dim::kAny || size == dim.size);
  }
  if (!fits) return wrong(name, to_string(view), wanted(types, shape));
  if (!addressable(view))
    return wrong(name, to_string(view) + " with these strides",
                 "elements and byte offsets that fit 64 bits");
  if (view.elements() == 0) return {};
  if (view.data == nullptr) return wrong(name, "a null pointer", to_string(view));
  const int64_t size = size_of(view.dtype);
  if (const auto address = reinterpret_cast<uintptr_t>(view.data); address % size != 0)
    return wrong(name, "an address that is not a multiple of " + std::to_string(size),
                 "elements aligned to their size");
  return {};
}

Status want_optional(std::string_view name, const ConstTensorView& view,
                     std::initializer_list<DType> types, std::initializer_list<Dim> shape) {
  return view.present() ? want_tensor(name, view, types, shape) : Status();
}

Status want_cu_seqlens(const ConstTensorView& cu_seqlens, int64_t batch, int64_t seqlen,
                       Device device) {
  if (!cu_seqlens.present()) return {};
  HISS_RETURN_IF_ERROR(
      want_tensor("cu_seqlens", cu_seqlens, {DType::kI32, DType::kI64}, {{"nseq+1"}}));
  if (batch != 1)
    return InvalidArgument("batch: got " + std::to_string(batch) + ", want 1 with cu_seqlens");
  const int64_t entries = cu_seqlens.shape[0];
  if (entries < 1) return wrong("cu_seqlens", to_string(cu_seqlens), "at least one entry");
  // Kernels look up the sequence of every token.
  if (entries == 1 && seqlen > 0)
    return wrong("cu_seqlens", to_string(cu_seqlens),
                 "at least two entries for seqlen=" + std::to_string(seqlen));
  if (device != Device::kCpu) return {};
  if (const int64_t first = index_at(cu_seqlens, 0); first != 0)
    return bad_entry("cu_seqlens", 0, first, "0");
  for (int64_t i = 1; i < entries; ++i) {
    const int64_t before = index_at(cu_seqlens, i - 1), here = index_at(cu_seqlens, i);
    if (here < before)
      return bad_entry("cu_seqlens", i, here, "at least the " + std::to_string(before) + " before");
  }
  if (const int64_t last = index_at(cu_seqlens, entries - 1); last != seqlen)
    return bad_entry("cu_seqlens", entries - 1, last, "seqlen=" + std::to_string(seqlen));
  return {};
}

Status want_checkpoint_tokens(const ConstTensorView& tokens, const ConstTensorView& cu_seqlens,
                              int64_t seqlen, Direction direction, Device device) {
  if (!tokens.present()) return {};
  HISS_RETURN_IF_ERROR(want_tensor("checkpoint_tokens", tokens, {DType::kI64}, {{"ncheckpoints"}}));
  if (device != Device::kCpu) return {};
  // Token t is consumed as number `order`; packed sequences are consumed one after another.
  const int64_t nseq = sequences(cu_seqlens, 1);
  int64_t s = 0, before = -1;
  for (int64_t i = 0; i < tokens.shape[0]; ++i) {
    const int64_t t = index_at(tokens, i);
    if (t < 0 || t >= seqlen)
      return bad_entry("checkpoint_tokens", i, t, "0 ... seqlen-1=" + std::to_string(seqlen - 1));
    const auto end = [&](int64_t sequence) {
      return cu_seqlens.present() ? index_at(cu_seqlens, sequence + 1) : seqlen;
    };
    const auto begin = [&](int64_t sequence) {
      return cu_seqlens.present() ? index_at(cu_seqlens, sequence) : 0;
    };
    if (t < begin(s)) s = 0;
    while (s + 1 < nseq && t >= end(s)) ++s;
    const int64_t order = direction == Direction::kForward ? t : begin(s) + end(s) - 1 - t;
    if (order <= before)
      return bad_entry("checkpoint_tokens", i, t,
                       "a token consumed after " + std::to_string(index_at(tokens, i - 1)));
    before = order;
  }
  return {};
}

Status want_state_indices(const ConstTensorView& indices, int64_t batch, int64_t nslots,
                          Device device) {
  if (!indices.present()) {
    if (batch <= nslots) return {};
    return InvalidArgument("state: got nslots=" + std::to_string(nslots) +
                           ", want at least batch=" + std::to_string(batch) +
                           " without state_indices");
  }
  HISS_RETURN_IF_ERROR(want_tensor("state_indices", indices, {DType::kI32}, {{"batch", batch}}));
  if (device != Device::kCpu) return {};
  std::vector<int64_t> used;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t slot = index_at(indices, b);
    if (slot >= nslots)
      return bad_entry("state_indices", b, slot, "below nslots=" + std::to_string(nslots));
    if (slot >= 0) used.push_back(slot);
  }
  std::sort(used.begin(), used.end());
  if (const auto twice = std::adjacent_find(used.begin(), used.end()); twice != used.end())
    return InvalidArgument("state_indices: got slot " + std::to_string(*twice) +
                           " twice, want each slot at most once");
  return {};
}

Status want_dt_limit(float dt_min, float dt_max) {
  if (dt_min <= dt_max) return {};
  return wrong("dt_min, dt_max", std::to_string(dt_min) + ", " + std::to_string(dt_max),
               "dt_min <= dt_max");
}

bool in_blocks_of_16(const ConstTensorView& view) {
  if (!view.present()) return true;
  if (reinterpret_cast<uintptr_t>(view.data) % 16 != 0) return false;
  for (int axis = 0; axis < view.rank - 1; ++axis)
    if (view.shape[axis] > 1 &&
        (view.stride[axis] <= 0 || view.stride[axis] * size_of(view.dtype) % 16 != 0))
      return false;
  return true;
}

Layout common_layout(std::initializer_list<ConstTensorView> views) {
  bool channels_last = true, channels_first = true;
  for (const ConstTensorView& view : views) {
    channels_last = channels_last && dense_along(view, 2);
    channels_first = channels_first && dense_along(view, 1);
  }
  if (channels_last) return Layout::kChannelsLast;
  return channels_first ? Layout::kChannelsFirst : Layout::kStrided;
}

}  // namespace hiss::ops
