// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "ggml_abi.h"
#include "hiss/kernel.h"
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

// An SSM node of shapes and types as ggml makes them, long enough for options.min_tokens.
bool takes(const Host& host, const Options& options, const Tensor* node);

// Workspace that compute() needs. Reads no data: ggml asks before there is any.
size_t workspace_bytes(const Host& host, const Options& options, const Tensor* node);

// Of a node that takes() accepts.
Status compute(const Host& host, const Options& options, const Tensor* node, const Launch& launch);

// "SSM_SCAN N128 P64 H48 G1 T512 S1 K1: ssd_chunk_scan/cpu.avx512.state_in_registers"
std::string describe_choice(const Host& host, const Options& options, const Tensor* node);

}  // namespace hiss::ggml
