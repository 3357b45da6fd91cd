// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ggml_program.h"
#include "problem.h"

// Compares a llama.cpp's own SSM kernels with hiss's in one process.
namespace hiss::ggml {

// A ggml with the plugin loaded beside it, whose hooks can be switched.
class Comparison {
 public:
  // kNotFound: no ggml there, or no plugin. kUnsupported: ggml refused the plugin, or has no hook.
  // `device` as ggml names it: "CPU", "CUDA0".
  static Result<Comparison> load(const std::string& ggml_folder, const std::string& plugin,
                                 const std::string& device = "CPU");

  struct Times {
    std::optional<double> ggml_ms;  // medians of runs taken in turn; none: the device cannot
    double hiss_ms;
  };
  struct Row {
    std::string problem;
    double nmse = 0;              // of hiss against ggml
    bool left_to_device = false;  // by choice, on a device that is not the CPU's
    std::optional<Times> times;
  };
  // Computes the node with ggml on the CPU, then with hiss on the device. runs: how often each is
  // timed on the device, 0: not at all. kInternal: ggml could not run the graph. A node that hiss
  // left to ggml on the CPU has an infinite nmse.
  Result<Row> compare(const NodeProblem& problem, int threads, int runs) const;

  std::string ggml_version() const;

 private:
  Result<Backend*> start(const std::string& device, int threads) const;

  GgmlProgram ggml_;
  std::string device_;
  int (*set_enabled_)(int) = nullptr;
  int64_t (*nodes_computed_)() = nullptr;
};

// What "right" means here: a hundredth of the limit of ggml's own operator test for scans.
inline constexpr double kNmseLimit = 2e-9;

// SSM nodes of models, as prefill of 512 tokens and as decoding.
std::vector<NodeProblem> model_problems();

}  // namespace hiss::ggml
