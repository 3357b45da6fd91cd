// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ggml_program.h"

namespace hiss::ggml {

// One SSM node with data: the sizes of node.h's notation, where its inputs lie, and a seed.
struct NodeProblem {
  bool conv = false;
  int64_t N = 128, P = 64, H = 48, G = 1, T = 512, S = 1, K = 1;  // SSM_SCAN
  int64_t R = 1;              // rows of the state cache, S or more
  bool scalar_decay = true;   // A [1,H]; else [N,H]
  bool one_wide_row = false;  // x, B and C are views of one tensor, as in models
  bool shuffled = false;      // sequences start from rows of the cache in any order
  int64_t W = 4, C = 3328;    // SSM_CONV, with T and S
  uint64_t seed = 1;

  std::string text() const;
};

// Any valid problem: sizes up to about a million elements, every layout.
NodeProblem random_problem(std::mt19937_64& random);

// The node of a problem in the memory of a backend of ggml's.
class BuiltNode {
 public:
  BuiltNode(const GgmlProgram& ggml, Backend* backend, const NodeProblem& problem);
  ~BuiltNode();
  BuiltNode(const BuiltNode&) = delete;
  BuiltNode& operator=(const BuiltNode&) = delete;

  // Whether the backend can, as things are now.
  bool supported() const;
  // Runs it; before, every element of the output is set to a number that no result has.
  bool compute();
  // Runs it that many times, one after another, and waits for the last.
  bool compute_again(int times);
  std::vector<float> output() const;

  static constexpr float kUnwritten = -1.2345e30f;

 private:
  Tensor* build();
  Tensor* filled(int64_t a, int64_t b, int64_t c, int64_t d, float low, float high);
  void fill();

  const GgmlProgram& ggml_;
  Backend* const backend_;
  const NodeProblem problem_;
  Context_* context_ = nullptr;
  Graph* graph_ = nullptr;
  Buffer* buffer_ = nullptr;
  Tensor* node_ = nullptr;
  Tensor* ids_ = nullptr;
  struct Range {
    Tensor* tensor;
    float low, high;
  };
  std::vector<Range> ranges_;
};

}  // namespace hiss::ggml
