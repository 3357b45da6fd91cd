// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "accel_device.h"
#include "hiss/context.h"
#include "node.h"

namespace hiss::ggml {
namespace {

class Runner final : public AccelRunner {
 public:
  Runner(const Host& host, const Options& options, Log& log, Context context)
      : host_(host), options_(options), log_(log), context_(std::move(context)) {}

  Status run(std::span<const Tensor* const> nodes) override {
    for (const Tensor* node : nodes) {
      if (log_.problems()) log_.once(describe_choice(host_, options_, node));
      HISS_ASSIGN_OR_RETURN(const std::span<std::byte> workspace,
                            context_.scratch(workspace_bytes(host_, options_, node)));
      HISS_RETURN_IF_ERROR(compute(host_, options_, node,
                                   {.workspace = workspace, .executor = &context_.executor()}));
    }
    return {};
  }

 private:
  const Host host_;
  const Options options_;
  Log& log_;
  Context context_;
};

class CpuMemory final : public AccelMemory {
 public:
  CpuMemory(const Host& host, const Options& options, Log& log)
      : host_(host), options_(options), log_(log) {}

  const char* description() const override { return "hiss state-space kernels on the CPU"; }
  BufferType* buffer_type() const override {
    Device* first = host_.cpu_registry->get_device(host_.cpu_registry, 0);
    return first->get_buffer_type(first);
  }
  bool holds(BufferType* type) const override { return host_.buft_is_host(type); }
  bool takes(const Tensor* node) const override { return ggml::takes(host_, options_, node); }
  Result<std::unique_ptr<AccelRunner>> make_runner() const override {
    HISS_ASSIGN_OR_RETURN(Context context, Context::create());
    return std::unique_ptr<AccelRunner>(
        std::make_unique<Runner>(host_, options_, log_, std::move(context)));
  }

 private:
  const Host host_;
  const Options options_;
  Log& log_;
};

}  // namespace

std::unique_ptr<AccelMemory> cpu_memory(const Host& host, const Options& options, Log& log) {
  return std::make_unique<CpuMemory>(host, options, log);
}

}  // namespace hiss::ggml
