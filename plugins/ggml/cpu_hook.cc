// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu_hook.h"

#include <atomic>

#include "node.h"
#include "team_executor.h"

namespace hiss::ggml {
namespace {

std::atomic<bool> enabled_now{true};
std::atomic<int64_t> nodes_computed{0};
bool installed = false;

// ggml calls both functions on every thread of its team.
class SsmTraits final : public TensorTraits {
 public:
  SsmTraits(const Host& host, const Options& options, Log& log)
      : host_(host), options_(options), log_(log) {}

  bool work_size(int, const Tensor* node, size_t& bytes) override {
    bytes = workspace_bytes(host_, options_, node) + kAlignment;
    return true;
  }

  bool compute_forward(ComputeParams* params, Tensor* node) override {
    if (host_.has_use_ref && params->use_ref) return false;
    if (params->ith == 0 && log_.problems()) log_.once(describe_choice(host_, options_, node));
    auto address = reinterpret_cast<uintptr_t>(params->wdata);
    const size_t skipped = (kAlignment - address % kAlignment) % kAlignment;
    TeamExecutor team(params->ith, params->nth, host_.barrier, params->threadpool);
    Launch launch;
    launch.executor = &team;
    if (params->wdata != nullptr && params->wsize > skipped)
      launch.workspace = {static_cast<std::byte*>(params->wdata) + skipped,
                          params->wsize - skipped};
    const Status status = compute(host_, options_, node, launch);
    // Every thread decides alike, so that ggml's own code runs on all of them or on none.
    if (!status.ok() && params->ith == 0) log_.say(status.message() + "; left to ggml");
    if (status.ok() && params->ith == 0) nodes_computed.fetch_add(1, std::memory_order_relaxed);
    return status.ok();
  }

 private:
  static constexpr size_t kAlignment = 64;
  const Host host_;
  const Options options_;
  Log& log_;
};

// Never a place for weights: all it does is to name the traits of SSM nodes.
class SsmBufferType final : public ExtraBufferType {
 public:
  SsmBufferType(const Host& host, const Options& options, Log& log)
      : host_(host), options_(options), traits_(host, options, log) {}

  bool supports_op(Device*, const Tensor*) override { return false; }
  TensorTraits* get_tensor_traits(const Tensor* node) override {
    const bool ssm = node->op == host_.op_ssm_scan || node->op == host_.op_ssm_conv;
    return ssm && enabled_now.load(std::memory_order_relaxed) && takes(host_, options_, node)
               ? &traits_
               : nullptr;
  }

 private:
  const Host host_;
  const Options options_;
  SsmTraits traits_;
};

const char* name(BufferType*) { return "hiss"; }
Buffer* allocate_nothing(BufferType*, size_t) { return nullptr; }
size_t alignment(BufferType*) { return 64; }
bool is_host(BufferType*) { return false; }

}  // namespace

bool set_cpu_hook_enabled(bool enabled) {
  enabled_now = enabled;
  return installed;
}

int64_t nodes_computed_in_hook() { return nodes_computed; }

bool install_cpu_hook(const Host& host, const Options& options, Log& log) {
  if (host.extra_buffer_types == nullptr) return false;
  static SsmBufferType ssm(host, options, log);
  static BufferType type{{name, allocate_nothing, alignment, nullptr, nullptr, is_host}, {}};
  type.tail[host.buffer_type_tail] = host.cpu_registry->get_device(host.cpu_registry, 0);
  type.tail[host.buffer_type_tail + 1] = &ssm;
  host.extra_buffer_types->push_back(&type);
  return installed = true;
}

}  // namespace hiss::ggml
