// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "contenders/contender.h"
#include "contenders/dense.h"
#include "contenders/python.h"
#include "ops/fields.h"

// PyTorch on the same inputs: a Python process that runs torch_eager.py and is asked through pipes
// for one sample at a time. Tensors travel as files of F32.
namespace hiss::bench {
namespace {

class TorchPeer final : public Peer {
 public:
  TorchPeer(Python& python, const ConstTensorView& y) : python_(python), y_(y) {}
  Result<double> milliseconds_of_a_call() override {
    HISS_ASSIGN_OR_RETURN(const std::string text, python_.ask("time"));
    return std::strtod(text.c_str(), nullptr);
  }
  Result<TensorView> answer() override {
    values_.resize(static_cast<size_t>(y_.elements()));
    if (!python_.read("y", values_)) return DataLoss("torch: y is too short");
    return view_of(values_, y_);
  }

 private:
  Python& python_;
  const ConstTensorView y_;
  std::vector<float> values_;
};

template <class Args>
bool has_limits(const Args& a) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  return a.A_is_log || !a.dt_softplus || a.dt_min > -kInf || a.dt_max < kInf;
}

class Torch final : public Contender {
 public:
  Torch(std::unique_ptr<Python> python, std::string version)
      : python_(std::move(python)), version_(std::move(version)) {}
  std::string name() const override { return "PyTorch " + version_; }
  std::string leaves_out() const override {
    return "leaves out nothing; eager, as models run without compiled kernels";
  }

  Prepared prepare(const CausalConv1d::Args& a, int threads) override {
    if (a.initial_state.present() || a.direction == Direction::kReverse)
      return Unsupported("torch: a state or the reverse direction");
    return hand_over<CausalConv1d>(a, threads, a.activation);
  }
  Prepared prepare(const CausalConv1dUpdate::Args& a, int threads) override {
    return hand_over<CausalConv1dUpdate>(a, threads, a.activation);
  }
  Prepared prepare(const SelectiveScan::Args& a, int threads) override {
    if (has_limits(a) || a.direction == Direction::kReverse)
      return Unsupported("torch: limits, no softplus or the reverse direction");
    return hand_over<SelectiveScan>(a, threads, Activation::kSilu);
  }
  Prepared prepare(const SsdChunkScan::Args& a, int threads) override {
    if (has_limits(a)) return Unsupported("torch: limits or no softplus");
    return hand_over<SsdChunkScan>(a, threads, Activation::kSilu);
  }
  Prepared prepare(const SelectiveStateUpdate::Args& a, int threads) override {
    if (has_limits(a)) return Unsupported("torch: limits or no softplus");
    return hand_over<SelectiveStateUpdate>(a, threads, Activation::kSilu);
  }

 private:
  template <class Op>
  Prepared hand_over(const typename Op::Args& args, int threads, Activation activation) {
    nlohmann::json tensors = nlohmann::json::object();
    Status status;
    ops::Fields<Op>::tensors(args, [&](std::string_view field, const auto& view) {
      const std::string name(field);
      if (!view.present() || name == "y" || name.starts_with("final_state")) return;
      if (view.dtype != DType::kF32) status = Unsupported("torch: " + name);
      ConstTensorView once = view;  // what is broadcast here is broadcast there
      for (int axis = 0; axis < once.rank; ++axis)
        if (once.stride[axis] == 0) once.shape[axis] = 1;
      tensors[name] = std::vector(once.shape.begin(), once.shape.begin() + once.rank);
      if (!python_->write(name, dense(once)))
        status = Internal("torch: cannot write to " + python_->folder());
    });
    HISS_RETURN_IF_ERROR(status);
    std::ofstream(python_->folder() + "/case.json")
        << nlohmann::json{{"operator", Op::kName},
                          {"threads", threads},
                          {"silu", activation == Activation::kSilu},
                          {"tensors", tensors}};
    const auto done = python_->ask("case " + python_->folder());
    if (!done) return done.error();
    return Prepared(std::make_unique<TorchPeer>(*python_, args.y));
  }

  std::unique_ptr<Python> python_;
  const std::string version_;
};

}  // namespace

Result<std::unique_ptr<Contender>> open_torch(const std::string& folder) {
  HISS_ASSIGN_OR_RETURN(auto python, Python::start(folder, "torch_eager.py"));
  HISS_ASSIGN_OR_RETURN(std::string version, python->ask("version"));
  return std::unique_ptr<Contender>(new Torch(std::move(python), std::move(version)));
}

}  // namespace hiss::bench
