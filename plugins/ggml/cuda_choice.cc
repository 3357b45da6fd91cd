// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_choice.h"

#include "node.h"

namespace hiss::ggml {
namespace {

// Of other filter widths ggml's device has some, fewer the older it is. It accepts them all, and
// ends the program when one that it lacks is computed.
bool every_ggml_has_width(int64_t width) { return width == 3 || width == 4; }

// Measured (docs/llama-cpp.md): from 64 tokens on hiss is faster, but not with 256 states, once
// ggml takes the tokens in chunks.
bool faster_than_ggml(const Tensor* scan) {
  const int64_t dstate = scan->src[0]->ne[0], tokens = scan->src[1]->ne[2];
  return tokens >= 64 && (dstate <= 128 || tokens <= 128);
}

bool taken_from_ggml(const Host& host, const Options& options, const Tensor* node) {
  if (node->op == host.op_ssm_conv) return !every_ggml_has_width(node->src[1]->ne[0]);
  return options.cuda_min_tokens ? node->src[1]->ne[2] >= *options.cuda_min_tokens
                                 : faster_than_ggml(node);
}

}  // namespace

bool takes_on_cuda(const Host& host, const Options& options, const Tensor* node, bool ggml_can,
                   const Machine& machine) {
  Options any_length = options;
  any_length.min_tokens = 1;
  if (!takes(host, any_length, node)) return false;
  if (ggml_can && !taken_from_ggml(host, options, node)) return false;
  return supported(host, options, node, {.device = hiss::Device::kCuda, .machine = &machine}).ok();
}

}  // namespace hiss::ggml
