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

// A ggml with the plugin loaded beside it, whose hook can be switched.
class Comparison {
 public:
  // kNotFound: no ggml there, or no plugin. kUnsupported: ggml refused the plugin, or has no hook.
  static Result<Comparison> load(const std::string& ggml_folder, const std::string& plugin);

  struct Times {
    double ggml_ms, hiss_ms;  // medians of runs taken in turn
  };
  struct Row {
    std::string problem;
    double nmse = 0;  // of hiss against ggml
    std::optional<Times> times;
  };
  // Computes the node with ggml, then with hiss. runs: how often each is timed; 0: not at all.
  // kInternal: ggml could not run the graph. A node that hiss left to ggml has an infinite nmse.
  Result<Row> compare(const NodeProblem& problem, int threads, int runs) const;

  std::string ggml_version() const;

 private:
  GgmlProgram ggml_;
  int (*set_enabled_)(int) = nullptr;
  int64_t (*nodes_computed_)() = nullptr;
};

// What "right" means here: a hundredth of the limit of ggml's own operator test for scans.
inline constexpr double kNmseLimit = 2e-9;

// SSM nodes of models, as prefill of 512 tokens and as decoding.
std::vector<NodeProblem> model_problems();

}  // namespace hiss::ggml
