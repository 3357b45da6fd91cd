// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <array>

#include "cuda/causal_conv1d/joined_rows.cuh"
#include "cuda/causal_conv1d/launches.cuh"
#include "cuda/causal_conv1d/separate_rows.cuh"

// The launches of lanes_over_time.cu's kernels. A source a type instantiates them.
namespace hiss::cuda::causal_conv1d {

inline constexpr int kThreads = 128;

// Calls f.template operator()<kWidth, kReverse, kPacked>().
template <class F>
void with_options(const Conv& conv, F&& f) {
  const auto packed = [&]<int kWidth, bool kReverse>() {
    if (conv.sequences.in_rows())
      f.template operator()<kWidth, kReverse, false>();
    else
      f.template operator()<kWidth, kReverse, true>();
  };
  const auto direction = [&]<int kWidth>() {
    if (conv.reverse)
      packed.template operator()<kWidth, true>();
    else
      packed.template operator()<kWidth, false>();
  };
  switch (conv.width) {
    case 2:
      return direction.template operator()<2>();
    case 3:
      return direction.template operator()<3>();
    default:
      return direction.template operator()<4>();
  }
}

template <class T>
Status launch_joined(const Conv& conv, int64_t pieces, cudaStream_t stream) {
  // Enough elements that a thread may have several vectors.
  constexpr int64_t kMany = int64_t{4} << 20, kLots = int64_t{16} << 20;
  constexpr int kSeveral = sizeof(T) == 2 ? 4 : 2;
  const int64_t vectors = conv.batch * conv.dim * conv.seqlen / kWidest<T> / pieces;
  const int64_t nseq = conv.sequences.in_rows() ? 1 : conv.sequences.nseq;  // of a row
  const JoinedRows rows{vectors,
                        Divider(conv.seqlen),
                        Divider(conv.dim),
                        SmallDivider(conv.seqlen),
                        SmallDivider(conv.dim),
                        SmallDivider(std::max<int64_t>(nseq, 1))};
  const auto launch = [&]<int kVectors, int kWidth, bool kReverse, bool kGeneral>() {
    const dim3 blocks(static_cast<unsigned>(ceil_div(vectors, kThreads * kVectors)),
                      static_cast<unsigned>(pieces));
    start_overlapped(conv_joined_rows<T, kVectors, kWidth, kReverse, kGeneral, kThreads>, blocks,
                     kThreads, 0, stream, conv, rows);
  };
  with_options(conv, [&]<int kWidth, bool kReverse, bool kPacked>() {
    const auto with = [&]<int kVectors>() {
      if (kPacked || conv.initial != nullptr)
        launch.template operator()<kVectors, kWidth, kReverse, true>();
      else
        launch.template operator()<kVectors, kWidth, kReverse, false>();
    };
    if (sizeof(T) == 2 && conv.sequences.cu_seqlens != nullptr &&
        vectors * pieces * kWidest<T> >= kLots)
      with.template operator()<2 * kSeveral>();
    else if (vectors * pieces * kWidest<T> < kMany)
      with.template operator()<1>();
    else
      with.template operator()<kSeveral>();
  });
  return launched(kLanesOverTime);
}

template <class T, int kVector>
Status launch_separate(const Conv& conv, cudaStream_t stream) {
  constexpr int kVectors = 2;
  // A row that does not begin at a vector touches one more.
  const int64_t stretches = ceil_div(conv.seqlen + kVector - 1, 32 * kVectors * kVector);
  const Stretches cut{Divider(stretches), Divider(conv.dim)};
  const int64_t blocks = ceil_div(conv.batch * conv.dim * stretches, kThreads / 32);
  with_options(conv, [&]<int kWidth, bool kReverse, bool kPacked>() {
    conv_separate_rows<T, kVector, kVectors, kWidth, kReverse, kPacked, kThreads>
        <<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(conv, cut);
  });
  return launched(kLanesOverTime);
}

// Whether the filter of a channel follows that of the one before.
inline bool dense_filter(const CausalConv1d::Args& args) {
  const auto& weight = args.weight;
  return weight.stride[1] == 1 && weight.stride[0] == weight.shape[1] &&
         (!args.bias.present() || args.bias.stride[0] == 1) &&
         (weight.shape[1] != 4 || reinterpret_cast<uintptr_t>(weight.data) % 16 == 0);
}

// Into how many pieces of memory without a gap, each of whole aligned vectors, the rows of both
// tensors fall: 1, the batch or, where they do not, 0.
template <class T>
int64_t pieces_of(const CausalConv1d::Args& args) {
  constexpr int64_t kMostPieces = 65535;  // of a grid's second axis
  const auto [batch, length, dim] = std::array{args.x.shape[0], args.x.shape[1], args.x.shape[2]};
  if (length >= JoinedRows::kMost || dim >= JoinedRows::kMost ||
      args.cu_seqlens.shape[0] >= JoinedRows::kMost || !dense_filter(args))
    return 0;
  const auto in_pieces = [&](const ConstTensorView& view) {
    return (dim == 1 || view.stride[2] == length) && dim * length % kWidest<T> == 0 &&
           reinterpret_cast<uintptr_t>(view.data) % 16 == 0 &&
           (batch == 1 || view.stride[0] % kWidest<T> == 0);
  };
  const auto in_one = [&](const ConstTensorView& view) {
    return batch == 1 || view.stride[0] == dim * length;
  };
  if (!in_pieces(args.x) || !in_pieces(args.y)) return 0;
  if (in_one(args.x) && in_one(args.y)) return 1;
  return batch <= kMostPieces ? batch : 0;
}

// Whether rows of x and of y lie at the same distance from aligned addresses.
inline bool in_step(const ConstTensorView& x, const TensorView& y) {
  const auto differ = [&](int axis) {
    return x.shape[axis] > 1 && (x.stride[axis] - y.stride[axis]) * size_of(x.dtype) % 16 != 0;
  };
  const auto distance = reinterpret_cast<uintptr_t>(x.data) - reinterpret_cast<uintptr_t>(y.data);
  return distance % 16 == 0 && !differ(0) && !differ(2);
}

template <class T>
Status launch_by_pieces(const CausalConv1d::Args& args, const Conv& conv, cudaStream_t stream) {
  if (const int64_t pieces = pieces_of<T>(args); pieces > 0)
    return launch_joined<T>(conv, pieces, stream);
  return in_step(args.x, args.y) ? launch_separate<T, kWidest<T>>(conv, stream)
                                 : launch_separate<T, 1>(conv, stream);
}

template <class T>
Status launch_lanes_over_time(const CausalConv1d::Args& args, const Conv& conv,
                              cudaStream_t stream) {
  if (conv.batch * conv.dim * conv.seqlen > 0)
    HISS_RETURN_IF_ERROR(launch_by_pieces<T>(args, conv, stream));
  return launch_final_state<T>(kLanesOverTime, conv, stream);
}

}  // namespace hiss::cuda::causal_conv1d
