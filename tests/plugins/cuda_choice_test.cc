// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Which nodes in CUDA memory hiss takes from ggml, on computers that are invented.

#include "ggml/cuda_choice.h"

#include <gtest/gtest.h>

#include <array>

#include "ggml/node.h"
#include "plugins/dense_tensor.h"
#include "support/hopper.h"

namespace hiss::ggml {
namespace {

constexpr int kConv = 76, kScan = 77;

Host host() {
  Host h;
  h.op_ssm_conv = kConv, h.op_ssm_scan = kScan;
  return h;
}

struct ScanShape {
  int64_t dstate = 128, headdim = 64, nheads = 48, ngroups = 1, tokens = 512, sequences = 1;
  bool scalar_decay = true;
  int slots = 1;
};

// A node without data, as ggml shows it to a device that it asks.
struct ScanNode {
  explicit ScanNode(const ScanShape& s)
      : sources{dense_tensor({s.dstate, s.headdim, s.nheads, s.sequences + 2}),
                dense_tensor({s.headdim, s.nheads, s.tokens, s.sequences}),
                dense_tensor({s.nheads, s.tokens, s.sequences, 1}),
                dense_tensor({s.scalar_decay ? 1 : s.dstate, s.nheads, 1, 1}),
                dense_tensor({s.dstate, s.ngroups, s.tokens, s.sequences}),
                dense_tensor({s.dstate, s.ngroups, s.tokens, s.sequences}),
                dense_tensor({s.sequences, 1, 1, 1}, kTypeI32)},
        node(dense_tensor(
            {s.headdim * s.nheads * s.sequences * (s.tokens + s.dstate * s.slots), 1, 1, 1})) {
    node.op = kScan;
    node.op_params[0] = s.slots;
    for (size_t i = 0; i < sources.size(); ++i) node.src[i] = &sources[i];
  }
  ScanNode(const ScanNode&) = delete;
  ScanNode& operator=(const ScanNode&) = delete;

  std::array<Tensor, 7> sources;
  Tensor node;
};

struct ConvNode {
  ConvNode(int64_t width, int64_t channels, int64_t tokens)
      : x(dense_tensor({width - 1 + tokens, channels, 1, 1})),
        weight(dense_tensor({width, channels, 1, 1})),
        node(dense_tensor({channels, tokens, 1, 1})) {
    node.op = kConv;
    node.src[0] = &x, node.src[1] = &weight;
  }
  ConvNode(const ConvNode&) = delete;
  ConvNode& operator=(const ConvNode&) = delete;

  Tensor x, weight, node;
};

class CudaChoice : public testing::Test {
 protected:
  void SetUp() override {
    if (HISS_EXPECT_CUDA == 0) GTEST_SKIP() << "no CUDA rows in this build";
  }
  bool takes(const Tensor& node, bool ggml_can) const {
    return takes_on_cuda(host(), options, &node, ggml_can, machine);
  }
  bool takes_scan(const ScanShape& shape, bool ggml_can) const {
    return takes(ScanNode(shape).node, ggml_can);
  }
  Options options;
  Machine machine = hopper();
};

TEST_F(CudaChoice, WhatGgmlDeclinesIsTakenAtEveryLength) {
  for (const int64_t tokens : {1, 2, 3, 63, 64, 512})
    for (const int64_t sequences : {1, 4}) {
      EXPECT_TRUE(takes_scan(
          {.dstate = 64, .headdim = 32, .nheads = 24, .tokens = tokens, .sequences = sequences},
          false));
      EXPECT_TRUE(takes_scan(
          {.headdim = 17, .nheads = 6, .ngroups = 3, .tokens = tokens, .sequences = sequences},
          false));
      EXPECT_TRUE(takes_scan({.dstate = 16,
                              .headdim = 1,
                              .nheads = 100,
                              .tokens = tokens,
                              .sequences = sequences,
                              .scalar_decay = false},
                             false));
    }
}

TEST_F(CudaChoice, WhatGgmlCanIsTakenFromTheSetLengthOn) {
  EXPECT_FALSE(takes_scan({.tokens = 1}, true));
  EXPECT_FALSE(takes_scan({.tokens = 63}, true));
  EXPECT_TRUE(takes_scan({.tokens = 64}, true));
  options.cuda_min_tokens = 5;
  EXPECT_FALSE(takes_scan({.tokens = 4}, true));
  EXPECT_TRUE(takes_scan({.tokens = 5}, true));
}

TEST_F(CudaChoice, LongScansOf256StatesAreLeftToGgmlWhereItCan) {
  EXPECT_TRUE(takes_scan({.dstate = 256, .headdim = 128, .nheads = 24, .tokens = 128}, true));
  EXPECT_FALSE(takes_scan({.dstate = 256, .headdim = 128, .nheads = 24, .tokens = 129}, true));
  EXPECT_TRUE(takes_scan({.dstate = 256, .headdim = 17, .nheads = 24, .tokens = 512}, false));
  options.cuda_min_tokens = 64;
  EXPECT_TRUE(takes_scan({.dstate = 256, .headdim = 128, .nheads = 24, .tokens = 512}, true));
}

// ggml asks before it has given the tensors memory, and the hook again when it computes them.
TEST_F(CudaChoice, WhereTheTensorsLieDoesNotMatter) {
  for (const int64_t tokens : {1, 2, 3, 512}) {
    ScanNode scan({.dstate = 64, .tokens = tokens, .sequences = 2});
    EXPECT_TRUE(takes(scan.node, false)) << tokens;
    for (size_t i = 0; i < scan.sources.size(); ++i)
      scan.sources[i].data = reinterpret_cast<void*>((i + 1) << 32);
    EXPECT_TRUE(takes(scan.node, false)) << tokens;
    scan.node.data = reinterpret_cast<void*>(uintptr_t{9} << 32);
    EXPECT_TRUE(takes(scan.node, false)) << tokens;
  }
}

TEST_F(CudaChoice, TheCpusLeastLengthIsNotCudas) {
  options.min_tokens = 1000;
  EXPECT_TRUE(takes_scan({.dstate = 64, .tokens = 1}, false));
  EXPECT_TRUE(takes_scan({.tokens = 512}, true));
}

TEST_F(CudaChoice, RollbackIsTakenAsFarAsItGoes) {
  EXPECT_TRUE(takes_scan({.dstate = 64, .tokens = 8, .slots = 4}, false));
  EXPECT_TRUE(takes_scan({.dstate = 64, .tokens = 100, .slots = 64}, false));
  EXPECT_FALSE(takes_scan({.dstate = 64, .tokens = 100, .slots = 65}, false));
}

TEST_F(CudaChoice, WorkspaceIsKnownBeforeTheListOfRollbackTokens) {
  const ScanNode plain({.tokens = 512}), rollback({.tokens = 512, .slots = 4});
  const Place place{.device = hiss::Device::kCuda, .machine = &machine, .rollback_tokens = nullptr};
  EXPECT_GT(workspace_bytes(host(), options, &plain.node, place), 0);
  EXPECT_GE(workspace_bytes(host(), options, &rollback.node, place),
            workspace_bytes(host(), options, &plain.node, place));
  EXPECT_EQ(rollback_tokens(&rollback.node).first, 508);
  EXPECT_EQ(rollback_tokens(&rollback.node).count, 3);
  EXPECT_EQ(rollback_tokens(&plain.node).count, 0);
}

TEST_F(CudaChoice, ConvolutionsAreTakenOnlyWhereGgmlDeclines) {
  EXPECT_FALSE(takes(ConvNode(4, 3328, 512).node, true));
  EXPECT_TRUE(takes(ConvNode(4, 100, 512).node, false));
  EXPECT_TRUE(takes(ConvNode(4, 100, 1).node, false));
}

TEST_F(CudaChoice, ConvolutionsOfWidthsThatGgmlMayLackAreTaken) {
  EXPECT_FALSE(takes(ConvNode(3, 3328, 512).node, true));
  for (const int64_t width : {1, 2, 5, 9, 15, 16})
    EXPECT_TRUE(takes(ConvNode(width, 3328, 512).node, true)) << width;
}

TEST_F(CudaChoice, WhatHissHasNoKernelForStaysWhereItWas) {
  EXPECT_FALSE(takes_scan({.dstate = 1000}, false));
  machine.cuda_sm = 75;
  EXPECT_FALSE(takes_scan({.dstate = 64}, false));
  machine.cuda_sm = 0;
  EXPECT_FALSE(takes_scan({.dstate = 64}, false));
}

TEST_F(CudaChoice, OtherTypesAndOtherNodesStayWhereTheyWere) {
  ScanNode half({.dstate = 64});
  half.sources[1].type = 1;
  EXPECT_FALSE(takes(half.node, false));
  ScanNode indices({.dstate = 64});
  indices.sources[6].type = kTypeF32;
  EXPECT_FALSE(takes(indices.node, false));
  ScanNode other({.dstate = 64});
  other.node.op = kScan + 1;
  EXPECT_FALSE(takes(other.node, false));
}

TEST(CudaChoiceOfAnyBuild, NothingIsTakenWithoutADevice) {
  const ScanNode scan({.dstate = 64});
  EXPECT_FALSE(takes_on_cuda(host(), {}, &scan.node, false, Machine{}));
}

}  // namespace
}  // namespace hiss::ggml
