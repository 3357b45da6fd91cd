// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "problem.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hiss::ggml {
namespace {

size_t elements(const Tensor* t) {
  return static_cast<size_t>(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
}

}  // namespace

std::string NodeProblem::text() const {
  const auto with = [](const char* letter, int64_t value) {
    return std::string(" ") + letter + std::to_string(value);
  };
  if (conv) return "SSM_CONV" + with("W", W) + with("C", C) + with("T", T) + with("S", S);
  return "SSM_SCAN" + with("N", N) + with("P", P) + with("H", H) + with("G", G) + with("T", T) +
         with("S", S) + with("K", K) + (scalar_decay ? "" : " diagonal") +
         (one_wide_row ? " one-row" : "") + (shuffled ? " shuffled" : "");
}

NodeProblem random_problem(std::mt19937_64& random) {
  const auto pick = [&random](std::initializer_list<int64_t> from) {
    return from.begin()[random() % from.size()];
  };
  NodeProblem p;
  p.seed = random();
  p.S = pick({1, 1, 1, 2, 3, 5});
  p.T = pick({1, 1, 2, 3, 4, 7, 8, 16, 31, 33, 64, 65, 100});
  p.conv = random() % 4 == 0;
  if (p.conv) {
    p.W = pick({1, 2, 3, 4, 4, 4, 5, 9, 15});
    p.C = pick({1, 2, 3, 15, 16, 17, 64, 100, 256, 1000, 1536});
    return p;
  }
  p.scalar_decay = random() % 3 != 0;
  p.N = pick({1, 3, 8, 15, 16, 17, 32, 64, 96, 100, 128, 256});
  p.P = p.scalar_decay ? pick({1, 2, 17, 32, 64, 80}) : pick({1, 1, 1, 1, 2, 5});
  p.G = pick({1, 1, 2, 3, 8});
  p.H = p.G * pick({1, 1, 2, 3, 4, 7, 16});
  if (!p.scalar_decay && p.P == 1) p.H *= pick({1, 4, 33});
  while (p.N * p.P * p.H * p.S > (1 << 19)) p.S > 1 ? p.S = 1 : p.N = std::max<int64_t>(1, p.N / 2);
  p.K = p.scalar_decay && random() % 3 == 0 ? 1 + static_cast<int64_t>(random() % 6) : 1;
  p.R = p.S + static_cast<int64_t>(random() % 3);
  p.one_wide_row = random() % 2 == 0;
  p.shuffled = random() % 2 == 0;
  return p;
}

BuiltNode::BuiltNode(const GgmlProgram& ggml, Backend* backend, const NodeProblem& problem)
    : ggml_(ggml), backend_(backend), problem_(problem) {
  context_ = ggml.init({32 * ggml.tensor_overhead() + ggml.graph_overhead(), nullptr, true});
  node_ = build();
  graph_ = ggml.new_graph(context_);
  ggml.build_forward_expand(graph_, node_);
  buffer_ = ggml.alloc_ctx_tensors(context_, backend);
  if (buffer_ != nullptr) fill();
}

BuiltNode::~BuiltNode() {
  if (buffer_ != nullptr) ggml_.buffer_free(buffer_);
  ggml_.free(context_);
}

Tensor* BuiltNode::filled(int64_t a, int64_t b, int64_t c, int64_t d, float low, float high) {
  Tensor* tensor = ggml_.new_tensor_4d(context_, kTypeF32, a, b, c, d);
  ranges_.push_back({tensor, low, high});
  return tensor;
}

Tensor* BuiltNode::build() {
  const NodeProblem& p = problem_;
  if (p.conv)
    return ggml_.ssm_conv(context_, filled(p.W - 1 + p.T, p.C, p.S, 1, -1, 1),
                          filled(p.W, p.C, 1, 1, -1, 1));
  Tensor* s = filled(p.N, p.P, p.H, p.R, -1, 1);
  Tensor* dt = filled(p.H, p.T, p.S, 1, -2, 1);
  Tensor* A = filled(p.scalar_decay ? 1 : p.N, p.H, 1, 1, -1, -0.02f);
  ids_ = ggml_.new_tensor_4d(context_, kTypeI32, p.S, 1, 1, 1);
  Tensor *x, *B, *C;
  if (p.one_wide_row) {  // a row a token: x, B, C side by side
    const int64_t inner = p.P * p.H, shared = p.N * p.G;
    Tensor* row = filled(inner + 2 * shared, p.T, p.S, 1, -1, 1);
    const auto view = [&](int64_t a, int64_t b, int64_t offset) {
      return ggml_.view_4d(context_, row, a, b, p.T, p.S, static_cast<size_t>(a) * 4, row->nb[1],
                           row->nb[2], static_cast<size_t>(offset) * 4);
    };
    x = view(p.P, p.H, 0), B = view(p.N, p.G, inner), C = view(p.N, p.G, inner + shared);
  } else {
    x = filled(p.P, p.H, p.T, p.S, -1, 1);
    B = filled(p.N, p.G, p.T, p.S, -1, 1), C = filled(p.N, p.G, p.T, p.S, -1, 1);
  }
  return ggml_.ssm_scan(context_, s, x, dt, A, B, C, ids_, p.K);
}

void BuiltNode::fill() {
  std::mt19937_64 random(problem_.seed);
  for (const Range& range : ranges_) {
    std::uniform_real_distribution<float> value(range.low, range.high);
    std::vector<float> data(elements(range.tensor));
    for (float& v : data) v = value(random);
    ggml_.tensor_set(range.tensor, data.data(), 0, data.size() * sizeof(float));
  }
  if (ids_ == nullptr) return;
  std::vector<int32_t> rows(static_cast<size_t>(problem_.R));
  std::iota(rows.begin(), rows.end(), 0);
  if (problem_.shuffled) std::shuffle(rows.begin(), rows.end(), random);
  ggml_.tensor_set(ids_, rows.data(), 0, static_cast<size_t>(problem_.S) * sizeof(int32_t));
}

bool BuiltNode::supported() const { return ggml_.supports_op(backend_, node_); }

bool BuiltNode::compute() {
  if (buffer_ == nullptr) return false;
  const std::vector<float> unwritten(elements(node_), kUnwritten);
  ggml_.tensor_set(node_, unwritten.data(), 0, unwritten.size() * sizeof(float));
  return ggml_.graph_compute(backend_, graph_) == kStatusSuccess;
}

bool BuiltNode::compute_again(int times) {
  bool computed = buffer_ != nullptr;
  for (int i = 0; computed && i < times; ++i)
    computed = ggml_.graph_compute_async(backend_, graph_) == kStatusSuccess;
  ggml_.synchronize(backend_);
  return computed;
}

std::vector<float> BuiltNode::output() const {
  std::vector<float> data(elements(node_));
  ggml_.tensor_get(node_, data.data(), 0, data.size() * sizeof(float));
  return data;
}

}  // namespace hiss::ggml
