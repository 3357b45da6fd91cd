// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "accel_cuda.h"

#include <string>

#include "cuda_choice.h"
#include "cuda_lane.h"
#include "cuda_node.h"

namespace hiss::ggml {
namespace {

class Runner final : public AccelRunner {
 public:
  Runner(const Host& host, const Options& options, Log& log, int ordinal)
      : host_(host), options_(options), log_(log), ordinal_(ordinal) {}

  Status run(std::span<const Tensor* const> nodes) override {
    if (nodes.empty()) return {};
    const CurrentDevice current(nodes[0]->data);
    if (current.device() != ordinal_)
      return Internal("a node whose tensor is not on CUDA device " + std::to_string(ordinal_));
    if (lane_ == nullptr) {
      HISS_ASSIGN_OR_RETURN(lane_, CudaLane::create());
    }
    HISS_RETURN_IF_ERROR(wait_for_device());
    for (const Tensor* node : nodes)
      HISS_RETURN_IF_ERROR(launch_on_cuda(host_, options_, node, lane_->context(), log_));
    return lane_->wait_until_done();
  }
  Status wait() override {
    const CurrentDevice current(ordinal_);
    return wait_for_device();
  }

 private:
  const Host host_;
  const Options options_;
  Log& log_;
  const int ordinal_;
  std::unique_ptr<CudaLane> lane_;
};

class CudaMemory final : public AccelMemory {
 public:
  CudaMemory(const Host& host, const Options& options, Log& log, Device* cuda, int ordinal)
      : host_(host), options_(options), log_(log), cuda_(cuda), ordinal_(ordinal) {}

  const char* description() const override { return "hiss state-space kernels in CUDA memory"; }
  BufferType* buffer_type() const override { return cuda_->get_buffer_type(cuda_); }
  bool holds(BufferType* type) const override { return type == buffer_type(); }
  bool takes(const Tensor* node) const override {
    return !cuda_->supports_op(cuda_, node) &&
           takes_on_cuda(host_, options_, node, false, this_machine());
  }
  Result<std::unique_ptr<AccelRunner>> make_runner() const override {
    return std::unique_ptr<AccelRunner>(std::make_unique<Runner>(host_, options_, log_, ordinal_));
  }

 private:
  const Host host_;
  const Options options_;
  Log& log_;
  Device* const cuda_;
  const int ordinal_;
};

}  // namespace

std::unique_ptr<AccelMemory> cuda_memory(const Host& host, const Options& options, Log& log,
                                         Device* cuda, int ordinal) {
  return std::make_unique<CudaMemory>(host, options, log, cuda, ordinal);
}

}  // namespace hiss::ggml
