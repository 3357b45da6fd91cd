// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "ggml_abi.h"
#include "hiss/kernel.h"
#include "hiss/machine.h"
#include "host.h"
#include "options.h"

// ggml's SSM_SCAN and SSM_CONV nodes as problems of hiss. Both routes of the plugin come here.
//
// SSM_SCAN: src = s (state cache) [N,P,H,R], x [P,H,T,S], dt [H,T,S] before softplus, A [1,H] (one
// decay a head) or [N,H] (one a state), B, C [N,G,T,S], ids [S]: the row of s each sequence starts
// from. Output: y [P,H,T,S], then K slots of states [N,P,H,S]; slot k is the state k tokens before
// the end. K is op_params[0]; 0, of versions without it, means 1.
// SSM_CONV: src = sx [W-1+T,C,S], weight [W,C]. Output [C,T,S].
namespace hiss::ggml {

// Where a node's tensors lie and what may run it.
struct Place {
  hiss::Device device = hiss::Device::kCpu;
  const Machine* machine = nullptr;  // nullptr: this computer
  // kCuda: memory of the device that holds what rollback_tokens() says. ids cannot be read there:
  // compute() wants s to be slot 0 of the output itself, where sequence q starts from row q.
  const int64_t* rollback_tokens = nullptr;
};

// An SSM node of shapes and types as ggml makes them, long enough for options.min_tokens.
bool takes(const Host& host, const Options& options, const Tensor* node);

// Whether a kernel of hiss takes every problem that the node becomes at this place. Reads no data.
Status supported(const Host& host, const Options& options, const Tensor* node, const Place& place);

// The tokens of an SSM_SCAN after which states for slots 1, 2, ... are kept, the first of them and
// how many.
struct TokenRange {
  int64_t first = 0, count = 0;
};
TokenRange rollback_tokens(const Tensor* scan);

// Workspace that compute() needs. Reads no data: ggml asks before there is any.
size_t workspace_bytes(const Host& host, const Options& options, const Tensor* node,
                       const Place& place = {});

// Of a node that takes() accepts.
Status compute(const Host& host, const Options& options, const Tensor* node, const Launch& launch,
               const Place& place = {});

// "SSM_SCAN N128 P64 H48 G1 T512 S1 K1: ssd_chunk_scan/cpu.avx512.state_in_registers"
std::string describe_choice(const Host& host, const Options& options, const Tensor* node,
                            const Place& place = {});

}  // namespace hiss::ggml
