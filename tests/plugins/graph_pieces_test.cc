// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "ggml/graph_pieces.h"

#include <gtest/gtest.h>

#include <string>

namespace hiss::ggml {
namespace {

// 's' is a node of hiss's, 'F' one at which hiss fails, 'X' one at which ggml does.
struct Trace {
  std::string text;
  int status;
};
Trace compute(const std::string& nodes) {
  Trace trace;
  trace.status = compute_in_pieces(
      static_cast<int>(nodes.size()),
      [&](int i) {
        return std::string("sF").find(nodes[static_cast<size_t>(i)]) != std::string::npos;
      },
      [&](int first, int last) {
        const std::string run =
            nodes.substr(static_cast<size_t>(first), static_cast<size_t>(last - first));
        trace.text += "[" + run + "]";
        return run.find('X') == std::string::npos ? kStatusSuccess : kStatusFailed;
      },
      [&](int i) {
        trace.text += nodes[static_cast<size_t>(i)];
        return nodes[static_cast<size_t>(i)] == 's' ? kStatusSuccess : kStatusFailed;
      });
  return trace;
}

TEST(GraphPieces, NodesComeInOrderAndRunsAreAsLongAsCanBe) {
  for (const auto& [nodes, want] : {std::pair{"abscdse", "[ab]s[cd]s[e]"},
                                    {"s", "s"},
                                    {"ss", "ss"},
                                    {"as", "[a]s"},
                                    {"sa", "s[a]"},
                                    {"abc", "[abc]"},
                                    {"", "[]"}}) {
    const Trace trace = compute(nodes);
    EXPECT_EQ(trace.text, want);
    EXPECT_EQ(trace.status, kStatusSuccess);
  }
}

TEST(GraphPieces, TheFirstFailureEndsIt) {
  for (const auto& [nodes, want] :
       {std::pair{"aFbs", "[a]F"}, {"aXsb", "[aX]"}, {"saX", "s[aX]"}, {"sF", "sF"}}) {
    const Trace trace = compute(nodes);
    EXPECT_EQ(trace.text, want);
    EXPECT_EQ(trace.status, kStatusFailed);
  }
}

}  // namespace
}  // namespace hiss::ggml
