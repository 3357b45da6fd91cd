// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/selective_scan/scan_args.cuh"

namespace hiss::cuda::selective_scan {

// Which channels of which tokens a block takes: a run of channels of one group, the tokens of one
// sequence or of one of its segments.
struct Place {
  int64_t row, s, segment;  // batch row, row of the states, segment of the sequence
  int64_t group, first;     // group of B and C, first channel
  int channels;             // that exist
  int64_t begin;            // first token consumed
  int length;               // number of tokens
  int forward;              // from one token to the next: 1 or -1
  int64_t sequence_begin;

  // Block `index` of a launch with `segments` of a sequence's segments, `block_channels` a block.
  __device__ Place(const ScanArgs& p, int64_t index, int64_t segments, int block_channels) {
    const int64_t blocks = p.blocks_of_group * (p.dim / p.group_dim), block = index % blocks;
    index /= blocks;
    segment = index % segments;
    const Span span = p.sequences.at(index / segments);
    row = span.row, s = span.s, sequence_begin = span.begin;
    group = block / p.blocks_of_group;
    const int64_t in_group = block % p.blocks_of_group * block_channels;
    first = group * p.group_dim + in_group;
    channels = static_cast<int>(min(int64_t{block_channels}, p.group_dim - in_group));
    const int64_t skipped = segment * p.segment_tokens;
    const int64_t left = span.end - span.begin - skipped;
    length = static_cast<int>(p.segments > 1 ? min(left, p.segment_tokens) : left);
    begin = p.reverse ? span.end - 1 - skipped : span.begin + skipped;
    forward = p.reverse ? -1 : 1;
  }
};

}  // namespace hiss::cuda::selective_scan
