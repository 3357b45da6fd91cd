// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "hiss/ops/common.h"
#include "hiss/status.h"
#include "hiss/tensor.h"

// The pieces that operators' check() and describe() are made of. Every error is kInvalidArgument
// and reads "<tensor>: got <what it is>, want <what it should be>".
namespace hiss::ops {

// A dimension of a contract: its name there, and its size once another tensor has fixed it.
struct Dim {
  static constexpr int64_t kAny = -1;
  std::string_view name;
  int64_t size = kAny;
};

// Present, of one of the types and of this shape, in memory that can be addressed: not null unless
// empty, aligned to its element, offsets within 64 bits.
Status want_tensor(std::string_view name, const ConstTensorView& view,
                   std::initializer_list<DType> types, std::initializer_list<Dim> shape);
// The same, or absent.
Status want_optional(std::string_view name, const ConstTensorView& view,
                     std::initializer_list<DType> types, std::initializer_list<Dim> shape);

// The three lists of indices, when present. Their contents are read only where they are the host's.
Status want_cu_seqlens(const ConstTensorView& cu_seqlens, int64_t batch, int64_t seqlen,
                       Device device);
// cu_seqlens has been checked.
Status want_checkpoint_tokens(const ConstTensorView& tokens, const ConstTensorView& cu_seqlens,
                              int64_t seqlen, Direction direction, Device device);
// Without state_indices, a slot for each row.
Status want_state_indices(const ConstTensorView& indices, int64_t batch, int64_t nslots,
                          Device device);
// dt_min <= dt_max, neither NaN.
Status want_dt_limit(float dt_min, float dt_max);

struct Named {
  std::string_view name;
  ConstTensorView view;
};
struct Pair {
  std::string_view output, other;
};
// Elements of each output lie apart from one another, and from those of every input and of every
// other output. Absent tensors are skipped, and so is a pair of `may_be_same` that is the very same
// view.
Status want_apart(std::span<const Named> inputs, std::span<const Named> outputs,
                  std::initializer_list<Pair> may_be_same = {});

// Sequences: rows of cu_seqlens, or of the batch without it.
inline int64_t sequences(const ConstTensorView& cu_seqlens, int64_t batch) {
  return cu_seqlens.present() ? cu_seqlens.shape[0] - 1 : batch;
}

// True when neighbours along `axis` are neighbours in memory, or there are none. Absent: true.
inline bool dense_along(const ConstTensorView& view, int axis) {
  return !view.present() || view.shape[axis] <= 1 || view.stride[axis] == 1;
}
// True when all elements along `axis` are one element in memory. Absent: true.
inline bool constant_along(const ConstTensorView& view, int axis) {
  return !view.present() || view.shape[axis] <= 1 || view.stride[axis] == 0;
}

// Whether bulk copies can move a tensor whose last axis is dense: address and the strides of all
// other axes are multiples of 16 bytes, forward. Absent: true.
bool in_blocks_of_16(const ConstTensorView& view);

// The common layout of (rows, tokens, channels) tensors; absent ones agree with any.
Layout common_layout(std::initializer_list<ConstTensorView> views);

}  // namespace hiss::ops
