// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <array>

#include "cuda/causal_conv1d/joined_rows.cuh"
#include "cuda/causal_conv1d/launches.cuh"
#include "cuda/causal_conv1d/packed_tiles.cuh"
#include "cuda/causal_conv1d/rows_in_shared.cuh"
#include "cuda/causal_conv1d/separate_rows.cuh"

// The launches of lanes_over_time.cu's kernels. A source a type instantiates them.
namespace hiss::cuda::causal_conv1d {

inline constexpr int kThreads = 128;

// Calls f.template operator()<kWidth, kReverse>().
template <class F>
void with_options(const Conv& conv, F&& f) {
  const auto direction = [&]<int kWidth>() {
    if (conv.reverse)
      f.template operator()<kWidth, true>();
    else
      f.template operator()<kWidth, false>();
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
  const bool packed = !conv.sequences.in_rows();
  const int64_t nseq = packed ? conv.sequences.nseq : 1;  // of a row
  const JoinedRows rows{vectors,
                        Divider(conv.seqlen),
                        Divider(conv.dim),
                        SmallDivider(conv.seqlen),
                        SmallDivider(conv.dim),
                        SmallDivider(std::max<int64_t>(nseq, 1))};
  with_options(conv, [&]<int kWidth, bool kReverse>() {
    const auto launch = [&]<int kVectors, bool kGeneral>() {
      const dim3 blocks(static_cast<unsigned>(ceil_div(vectors, kThreads * kVectors)),
                        static_cast<unsigned>(pieces));
      const auto function =
          conv.silu ? conv_joined_rows<T, kVectors, kWidth, kReverse, kGeneral, true, kThreads>
                    : conv_joined_rows<T, kVectors, kWidth, kReverse, kGeneral, false, kThreads>;
      start_overlapped(function, blocks, kThreads, 0, stream, conv, rows);
    };
    const auto with = [&]<bool kGeneral>() {
      const int64_t elements = vectors * pieces * kWidest<T>;
      if constexpr (kGeneral && sizeof(T) == 2)
        if (packed && elements >= kLots) return launch.template operator()<8, true>();
      if (elements < kMany)
        launch.template operator()<1, kGeneral>();
      else
        launch.template operator()<kSeveral, kGeneral>();
    };
    if (packed || conv.initial != nullptr)
      with.template operator()<true>();
    else
      with.template operator()<false>();
  });
  return launched(kLanesOverTime);
}

// Into how many parts a row is cut whose threads have it in shared memory; 0: joined rows are
// faster. Measured.
template <class T>
int64_t parts_of_row(const Conv& conv) {
  constexpr int64_t kFew = 32, kMost = sizeof(T) == 2 ? 512 : 128, kLots = int64_t{16} << 20;
  const int64_t length = conv.seqlen;
  // Where all rows begin at a vector, none of them has two.
  if (length % kWidest<T> == 0) return 0;
  if (length <= kFew) return 1;
  const bool lots = conv.batch * conv.dim * length >= kLots;
  if (!lots && length > 2 * kFew) return 0;
  if (length > kMost) return 0;
  const int64_t longest = length <= 2 * kFew ? kFew : sizeof(T) == 2 ? 96 : 64;
  int64_t parts = 1;
  while (ceil_div(length, parts) > longest) parts *= 2;
  return parts;
}

template <class T>
Status launch_rows_in_shared(const Conv& conv, int64_t pieces, int64_t parts, cudaStream_t stream) {
  const auto rows = static_cast<int>(kThreads / parts / kWidest<T> * kWidest<T>);
  // An odd number of tokens from thread to thread: they meet in few banks.
  const RowParts cut{conv.batch * conv.dim / pieces,
                     rows,
                     static_cast<int>(ceil_div(conv.seqlen, parts) | 1),
                     SmallDivider(parts),
                     Divider(conv.dim),
                     SmallDivider(conv.dim)};
  const dim3 blocks(static_cast<unsigned>(ceil_div(cut.rows, rows)), static_cast<unsigned>(pieces));
  const auto bytes = static_cast<size_t>(rows * conv.seqlen) * sizeof(T);
  with_options(conv, [&]<int kWidth, bool kReverse>() {
    const auto function = conv.silu ? conv_rows_in_shared<T, kWidth, kReverse, true, kThreads>
                                    : conv_rows_in_shared<T, kWidth, kReverse, false, kThreads>;
    start_overlapped(function, blocks, kThreads, bytes, stream, conv, cut);
  });
  return launched(kLanesOverTime);
}

template <class T, bool kVectors>
Status launch_tiles(const Conv& conv, cudaStream_t stream) {
  using Tile = PackedTile<T, 64, kVectors>;
  const int64_t groups = ceil_div(conv.dim, Tile::kChannels);
  const auto blocks = static_cast<unsigned>(groups * ceil_div(conv.seqlen, Tile::kTokens));
  with_options(conv, [&]<int kWidth, bool kReverse>() {
    const auto with = [&]<bool kStates>() {
      const auto function = conv.silu ? conv_packed_tiles<Tile, kWidth, kReverse, true, kStates>
                                      : conv_packed_tiles<Tile, kWidth, kReverse, false, kStates>;
      start_overlapped(function, blocks, Tile::kThreads, 0, stream, conv, Divider(groups));
    };
    if (conv.initial != nullptr || conv.final != nullptr)
      with.template operator()<true>();
    else
      with.template operator()<false>();
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
  with_options(conv, [&]<int kWidth, bool kReverse>() {
    conv_separate_rows<T, kVector, kVectors, kWidth, kReverse, kThreads>
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
  if (length >= JoinedRows::kMost || dim >= JoinedRows::kMost || !dense_filter(args)) return 0;
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

// In tiles. Measured: long sequences that are joined rows have fewer borders than tiles.
template <class T>
Status launch_packed(const CausalConv1d::Args& args, const Conv& conv, cudaStream_t stream) {
  constexpr int64_t kLong = 128;  // tokens
  if (const int64_t nseq = conv.sequences.nseq; conv.seqlen >= kLong * nseq)
    if (const int64_t pieces = pieces_of<T>(args); pieces > 0) {
      HISS_RETURN_IF_ERROR(launch_joined<T>(conv, pieces, stream));
      return launch_final_state<T>(kLanesOverTime, conv, stream);
    }
  const auto fits = [](const ConstTensorView& view) {
    return view.shape[1] % kWidest<T> == 0 && aligned_rows(view, 1, 16);
  };
  const auto launch = fits(args.x) && fits(args.y) ? launch_tiles<T, true> : launch_tiles<T, false>;
  HISS_RETURN_IF_ERROR(launch(conv, stream));
  return launch_final_state<T>(kLanesOverTime, conv, stream, PackedTile<T, 64, true>::kRun);
}

template <class T>
Status launch_in_rows(const CausalConv1d::Args& args, const Conv& conv, cudaStream_t stream) {
  if (const int64_t pieces = pieces_of<T>(args); pieces > 0) {
    const int64_t parts = parts_of_row<T>(conv);
    return parts > 0 ? launch_rows_in_shared<T>(conv, pieces, parts, stream)
                     : launch_joined<T>(conv, pieces, stream);
  }
  return in_step(args.x, args.y) ? launch_separate<T, kWidest<T>>(conv, stream)
                                 : launch_separate<T, 1>(conv, stream);
}

template <class T>
Status launch_lanes_over_time(const CausalConv1d::Args& args, const Conv& conv,
                              cudaStream_t stream) {
  if (conv.batch * conv.dim * conv.seqlen == 0)
    return launch_final_state<T>(kLanesOverTime, conv, stream);
  if (!conv.sequences.in_rows()) return launch_packed<T>(args, conv, stream);
  HISS_RETURN_IF_ERROR(launch_in_rows<T>(args, conv, stream));
  return launch_final_state<T>(kLanesOverTime, conv, stream);
}

}  // namespace hiss::cuda::causal_conv1d
