// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/kernel.h"
#include "hiss/status.h"
#include "hiss/tensor.h"

// What the operators' contracts share.
//
// Words: batch, seqlen, dim, dstate, nheads, headdim, ngroups, width. Every (batch, seqlen, ...)
// tensor may be any strided view, so (batch, dim, seqlen) memory, a slice of a wide row and a
// broadcast (stride 0) input need no flag of their own.
//
// Device: all tensors of a call lie in the memory of args.device. With kCuda their contents, lists
// of indices included, are not looked at before the kernel runs: check() knows shapes, types and
// strides only. A list that breaks its rules then gives wrong results, for the rows and sequences
// that it names, but no access outside the tensors.
//
// Packed sequences: with cu_seqlens (I32 or I64, [nseq + 1], from 0 up to seqlen, never falling)
// batch must be 1 and sequence s is tokens [cu_seqlens[s], cu_seqlens[s+1]); empty ones are
// allowed. Without it every batch row is one sequence: nseq = batch. State tensors have one row a
// sequence.
//
// Checkpoints: checkpoint_tokens (I64, [ncheckpoints]) lists token indices, rising in
// the order in which tokens are consumed (packed sequences one after another); checkpoint k is the
// state right after token checkpoint_tokens[k] was consumed. Mid-sequence states, prefix caches and
// the rollback snapshots of speculative decoding (the last K tokens) are all lists of this kind.
//
// Outputs must not overlap inputs or one another, unless a contract says otherwise. NaN or Inf in a
// token reaches this token and later ones of its own sequence and channel (head), nothing else.
namespace hiss {

// Reverse: the result of flipping every sequence, running forward and flipping back, states
// included (initial_state is what precedes the *last* token). No flip copy is made.
enum class Direction : uint8_t { kForward, kReverse };
enum class Activation : uint8_t { kNone, kSilu };

// How the sequence tensors lie in memory, as describe() sees it.
enum class Layout : uint8_t {
  kChannelsLast,   // (batch, seqlen, dim): dim has stride 1
  kChannelsFirst,  // (batch, dim, seqlen): seqlen has stride 1
  kStrided,        // anything else
};

const char* to_string(Direction direction);
const char* to_string(Activation activation);
const char* to_string(Layout layout);

// A promise about a result r against exact arithmetic e, per output tensor:
//   rms(r - e) <= relative_rms * rms(e)   and   |r - e| <= max_over_rms * rms(e) + relative * |e|
// at every element, NaN and Inf at the same places.
struct ErrorBound {
  double relative_rms = 0;
  double max_over_rms = 0;
  double relative = 0;
};

}  // namespace hiss
