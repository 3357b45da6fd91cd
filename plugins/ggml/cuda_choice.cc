// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_choice.h"

#include "node.h"

namespace hiss::ggml {
namespace {

// Of other filter widths ggml's device has some, fewer the older it is. It accepts them all, and
// ends the program when one that it lacks is computed.
bool every_ggml_has_width(int64_t width) { return width == 3 || width == 4; }

}  // namespace

bool takes_on_cuda(const Host& host, const Options& options, const Tensor* node, bool ggml_can,
                   const Machine& machine) {
  Options any_length = options;
  any_length.min_tokens = 1;
  if (!takes(host, any_length, node)) return false;
  if (ggml_can) {
    const bool conv = node->op == host.op_ssm_conv;
    if (conv ? every_ggml_has_width(node->src[1]->ne[0])
             : node->src[1]->ne[2] < options.cuda_min_tokens)
      return false;
  }
  return supported(host, options, node, {.device = hiss::Device::kCuda, .machine = &machine}).ok();
}

}  // namespace hiss::ggml
