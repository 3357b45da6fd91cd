// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_node.h"

#include "cuda_starts.h"

namespace hiss::ggml {
namespace {

constexpr size_t kAlignment = 256;
constexpr int64_t kF32Bytes = 4;
int64_t step(size_t bytes) { return static_cast<int64_t>(bytes) / kF32Bytes; }

}  // namespace

Status launch_on_cuda(const Host& host, const Options& options, const Tensor* node,
                      Context& context, Log& log) {
  Place place{.device = hiss::Device::kCuda, .machine = &context.machine()};
  Launch launch;
  launch.stream = context.stream();
  if (node->op == host.op_ssm_conv) {
    if (log.problems()) log.once(describe_choice(host, options, node, place));
    HISS_ASSIGN_OR_RETURN(
        launch.workspace,
        context.scratch(workspace_bytes(host, options, node, place), hiss::Device::kCuda));
    return compute(host, options, node, launch, place);
  }
  const Tensor *cache = node->src[0], *x = node->src[1], *ids = node->src[6];
  const int64_t row_floats = cache->ne[0] * cache->ne[1] * cache->ne[2], sequences = x->ne[3];
  float* slot_0 = static_cast<float*>(node->data) + x->ne[0] * x->ne[1] * x->ne[2] * x->ne[3];
  Tensor starts = *cache;
  starts.data = slot_0, starts.ne[3] = sequences;
  starts.nb[3] = static_cast<size_t>(row_floats * kF32Bytes);
  Tensor in_place = *node;
  in_place.src[0] = &starts;

  const TokenRange kept = rollback_tokens(node);
  const auto list_bytes = static_cast<size_t>(kept.count) * sizeof(int64_t);
  const size_t list_space = (list_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (log.problems()) log.once(describe_choice(host, options, &in_place, place));
  HISS_ASSIGN_OR_RETURN(
      const std::span<std::byte> memory,
      context.scratch(list_space + workspace_bytes(host, options, &in_place, place),
                      hiss::Device::kCuda));
  auto* list = reinterpret_cast<int64_t*>(memory.data());
  HISS_RETURN_IF_ERROR(gather_starts({.cache = static_cast<const float*>(cache->data),
                                      .rows = cache->ne[3],
                                      .row_floats = row_floats,
                                      .row_stride = step(cache->nb[3]),
                                      .row_of = static_cast<const int32_t*>(ids->data),
                                      .index_stride = step(ids->nb[0]),
                                      .sequences = sequences,
                                      .starts = slot_0,
                                      .token = list,
                                      .first_token = kept.first,
                                      .tokens = kept.count},
                                     launch.stream));
  place.rollback_tokens = list;
  launch.workspace = memory.subspan(list_space);
  return compute(host, options, &in_place, launch, place);
}

}  // namespace hiss::ggml
