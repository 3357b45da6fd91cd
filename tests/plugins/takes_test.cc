// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Which of ggml's nodes the plugin takes: nodes without data, made by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "ggml/node.h"
#include "ggml/options.h"
#include "plugins/dense_tensor.h"

namespace hiss::ggml {
namespace {

constexpr int kConv = 75, kScan = 76, kOtherOp = 12;

struct Node {
  Node(int op, const std::array<int64_t, 4>& result,
       std::initializer_list<std::array<int64_t, 4>> sources)
      : node(dense_tensor(result)) {
    node.op = op;
    size_t i = 0;
    for (const std::array<int64_t, 4>& shape : sources) {
      source[i] = dense_tensor(shape);
      node.src[i] = &source[i];
      ++i;
    }
  }
  Tensor node;
  std::array<Tensor, 7> source{};
};

Node conv(int64_t tokens) {
  return Node(kConv, {64, tokens, 1, 1}, {{3 + tokens, 64, 1, 1}, {4, 64, 1, 1}});
}

// decays: numbers of A a head, 1 or N.
Node scan(int64_t tokens, int64_t decays) {
  constexpr int64_t N = 16, P = 4, H = 8, G = 1;
  Node n(kScan, {P * H * tokens + N * P * H, 1, 1, 1},
         {{N, P, H, 1},
          {P, H, tokens, 1},
          {H, tokens, 1, 1},
          {decays, H, 1, 1},
          {N, G, tokens, 1},
          {N, G, tokens, 1},
          {1, 1, 1, 1}});
  n.source[6].type = kTypeI32;
  n.node.op_params[0] = 1;
  return n;
}

bool taken(Node n, const char* words = "") {
  for (size_t i = 0; i < n.source.size(); ++i)
    if (n.node.src[i] != nullptr) n.node.src[i] = &n.source[i];
  Host host;
  host.op_ssm_conv = kConv, host.op_ssm_scan = kScan;
  return takes(host, *parse_options(words), &n.node);
}

TEST(NodesTaken, OfSingleTokensOnlyScansWithADecayOfEachState) {
  EXPECT_TRUE(taken(scan(1, 16)));
  EXPECT_FALSE(taken(scan(1, 1)));
  EXPECT_FALSE(taken(conv(1)));
}

TEST(NodesTaken, FromTwoTokensOnEverything) {
  EXPECT_TRUE(taken(scan(2, 16)));
  EXPECT_TRUE(taken(scan(2, 1)));
  EXPECT_TRUE(taken(conv(2)));
}

TEST(NodesTaken, MinTokensGoesForEveryNode) {
  for (const int64_t tokens : {1, 7}) {
    EXPECT_FALSE(taken(scan(tokens, 16), "min_tokens=8")) << tokens;
    EXPECT_FALSE(taken(scan(tokens, 1), "min_tokens=8")) << tokens;
    EXPECT_FALSE(taken(conv(tokens), "min_tokens=8")) << tokens;
  }
  EXPECT_TRUE(taken(scan(8, 16), "min_tokens=8"));
  EXPECT_TRUE(taken(scan(1, 1), "min_tokens=1"));
  EXPECT_TRUE(taken(conv(1), "min_tokens=1"));
}

TEST(NodesTaken, NotOtherOperatorsNorOtherTypes) {
  Node other = scan(8, 1);
  other.node.op = kOtherOp;
  EXPECT_FALSE(taken(other));
  for (size_t i = 0; i < 7; ++i) {
    Node n = scan(8, 1);
    n.source[i].type = 1;  // F16
    EXPECT_FALSE(taken(n)) << "source " << i;
  }
}

TEST(NodesTaken, NoRollbackOfMoreThanSixtyThreeTokensNorWithADecayOfEachState) {
  Node n = scan(100, 1);
  n.node.op_params[0] = 64;
  EXPECT_TRUE(taken(n));
  n.node.op_params[0] = 65;
  EXPECT_FALSE(taken(n));
  Node diagonal = scan(100, 16);
  diagonal.node.op_params[0] = 2;
  EXPECT_FALSE(taken(diagonal));
}

}  // namespace
}  // namespace hiss::ggml
