// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What check() refuses, and how it says so: each fault alone, in arguments that are right
// otherwise.

#include "ops/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/case.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

using testing::HasSubstr;

// The base row of an operator with something broken.
template <class Op, class Break>
Status broken(Break&& break_it, const std::string& row = "base") {
  for (const Case<Op>& c : cases<Op>()) {
    if (c.name != row) continue;
    TensorSet set(1);
    typename Op::Args args = c.make(set);
    EXPECT_TRUE(ok(Op::check(args)));
    break_it(args);
    return Op::check(args);
  }
  return NotFound(row);
}

void expect_refusal(const Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(text));
}

TEST(Check, NamesTheTensorWhatItIsAndWhatItShouldBe) {
  expect_refusal(broken<SelectiveScan>([](auto& a) { --a.dt.shape[2]; }),
                 "dt: got F32 [2, 37, 39], want F32 [batch=2, seqlen=37, dim=40]");
}

TEST(Check, RefusesAMissingTensor) {
  expect_refusal(broken<CausalConv1d>([](auto& a) { a.weight = {}; }),
                 "weight: got absent, want F32 [dim=40, width]");
  expect_refusal(broken<SelectiveStateUpdate>([](auto& a) { a.state = {}; }), "state: got absent");
}

TEST(Check, RefusesEveryTensorOfAWrongTypeOrShape) {
  for_each_operator([]<class Op>() {
    for (const char* row : {"base", "packed", "checkpoints"}) {
      bool exists = false;
      for (const Case<Op>& c : cases<Op>()) exists = exists || c.name == row;
      if (!exists) continue;
      int tensors = 0;
      broken<Op>([&](auto& a) { ops::Fields<Op>::tensors(a, [&](auto, auto&) { ++tensors; }); },
                 row)
          .ok();
      for (int wrong = 0; wrong < tensors; ++wrong) {
        for (const char* how : {"type", "rank", "size", "null"}) {
          std::string name;
          const Status status = broken<Op>(
              [&](auto& a) {
                int i = 0;
                ops::Fields<Op>::tensors(a, [&](std::string_view field, auto& view) {
                  if (i++ != wrong || !view.present()) return;
                  name = field;
                  if (how == std::string("type")) view.dtype = DType::kF64;
                  if (how == std::string("rank")) view.stride[view.rank++] = 1;
                  if (how == std::string("size")) view.shape[0] = -1;
                  if (how == std::string("null")) view.data = nullptr;
                });
              },
              row);
          if (name.empty()) continue;  // absent in this row
          EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << Op::kName << " " << name << how;
        }
      }
    }
  });
}

TEST(Check, RefusesGroupsThatDoNotDivide) {
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.B.shape[2] = a.C.shape[2] = 3; }),
                 "B: got ngroups=3, want a divisor of dim=40");
  expect_refusal(broken<SsdChunkScan>([](auto& a) { a.B.shape[2] = a.C.shape[2] = 0; }),
                 "B: got ngroups=0, want a divisor of nheads=4");
}

TEST(Check, RefusesAWidthOfZero) {
  expect_refusal(broken<CausalConv1d>([](auto& a) { a.weight.shape[1] = 0; }),
                 "weight: got width=0, want at least 1");
}

TEST(Check, RefusesAnUnalignedAddress) {
  expect_refusal(
      broken<CausalConv1d>([](auto& a) { a.x.data = static_cast<const std::byte*>(a.x.data) - 2; }),
      "x: got an address that is not a multiple of 4");
}

TEST(Check, RefusesWhatDoesNotFit64Bits) {
  expect_refusal(broken<CausalConv1d>([](auto& a) { a.x.stride[0] = int64_t{1} << 62; }),
                 "offsets that fit 64 bits");
  expect_refusal(broken<CausalConv1d>([](auto& a) {
                   a.x.shape[0] = a.x.shape[1] = int64_t{1} << 40, a.x.stride = {};
                 }),
                 "offsets that fit 64 bits");
}

TEST(Check, RefusesBadDtLimits) {
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.dt_min = 1, a.dt_max = 0; }), "dt_min");
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.dt_max = NAN; }), "dt_min, dt_max: got");
}

TEST(Check, RefusesBadSequenceStarts) {
  const auto refused = [](int at, int32_t value, const std::string& text) {
    expect_refusal(
        broken<SelectiveScan>(
            [&](auto& a) { const_cast<int32_t*>(a.cu_seqlens.template as<int32_t>())[at] = value; },
            "packed"),
        text);
  };
  refused(0, 1, "cu_seqlens[0]: got 1, want 0");
  refused(2, 4, "cu_seqlens[2]: got 4, want at least the 5 before");
  refused(1, -3, "cu_seqlens[1]: got -3");
  refused(5, 38, "cu_seqlens[5]: got 38, want seqlen=37");
  refused(5, 36, "cu_seqlens[5]: got 36, want seqlen=37");
  for (const Device device : {Device::kCpu, Device::kCuda})
    expect_refusal(broken<CausalConv1d>(
                       [&](auto& a) {
                         a.device = device;
                         a.cu_seqlens.shape[0] = 1;
                         a.initial_state = {}, a.final_state = {};
                       },
                       "packed"),
                   "want at least two entries for seqlen=37");
  expect_refusal(broken<SelectiveScan>([](auto& a) {
                   static const int32_t starts[] = {0, 37};
                   a.cu_seqlens = ConstTensorView(starts, DType::kI32, {2});
                 }),
                 "batch: got 2, want 1 with cu_seqlens");
}

TEST(Check, RefusesBadCheckpoints) {
  const auto refused = [](const char* row, int at, int64_t value, const std::string& text) {
    expect_refusal(broken<SelectiveScan>(
                       [&](auto& a) {
                         const_cast<int64_t*>(a.checkpoint_tokens.template as<int64_t>())[at] =
                             value;
                       },
                       row),
                   text);
  };
  refused("checkpoints", 0, -1, "checkpoint_tokens[0]: got -1, want 0 ... seqlen-1=36");
  refused("checkpoints", 3, 37, "checkpoint_tokens[3]: got 37");
  refused("checkpoints", 2, 1, "checkpoint_tokens[2]: got 1, want a token consumed after 1");
  refused("checkpoints_reverse", 1, 36, "checkpoint_tokens[1]: got 36");
  refused("checkpoints_packed_reverse", 1, 4, "checkpoint_tokens[1]: got 4");
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.checkpoint_states = {}; }, "checkpoints"),
                 "checkpoint_states: got absent, want it together with checkpoint_tokens");
  expect_refusal(broken<SsdChunkScan>([](auto& a) { a.checkpoint_tokens = {}; }, "checkpoints"),
                 "checkpoint_states: got F32");
}

TEST(Check, RefusesBadSlots) {
  const auto refused = [](int at, int32_t value, const std::string& text) {
    const auto set = [&](auto& a) {
      const_cast<int32_t*>(a.state_indices.template as<int32_t>())[at] = value;
    };
    expect_refusal(broken<CausalConv1dUpdate>(set), text);
    expect_refusal(broken<SelectiveStateUpdate>(set), text);
  };
  refused(1, 5, "state_indices[1]: got 5, want below nslots=5");
  refused(1, 2, "state_indices: got slot 2 twice");
  expect_refusal(
      broken<CausalConv1dUpdate>([](auto& a) { a.state_indices = {}, a.state.shape[0] = 2; }),
      "state: got nslots=2, want at least batch=3");
}

TEST(Check, RefusesStatesOfDifferentTypes) {
  expect_refusal(broken<SsdChunkScan>([](auto& a) { a.final_states.dtype = DType::kBF16; }),
                 "final_states: got BF16 [2, 4, 16, 32], want F32");
}

TEST(Check, RefusesAnOutputThatOverlapsAnInput) {
  expect_refusal(broken<CausalConv1d>([](auto& a) { a.y.data = const_cast<void*>(a.x.data); }),
                 "y: got memory that overlaps x, want memory of its own");
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.y.data = const_cast<void*>(a.dt.data); }),
                 "y: got memory that overlaps dt");
  expect_refusal(broken<SelectiveScan>(
                     [](auto& a) { a.y.data = const_cast<float*>(a.u.template as<float>()) + 1; }),
                 "y: got memory that overlaps u");
  expect_refusal(broken<SelectiveStateUpdate>([](auto& a) { a.y.data = a.state.data; }),
                 "y: got memory that overlaps state");
  expect_refusal(broken<SelectiveScan>([](auto& a) { a.final_state.data = a.y.data; }),
                 "y: got memory that overlaps final_state");
}

TEST(Check, AllowsWhatTheContractsAllow) {
  EXPECT_TRUE(ok(broken<SelectiveScan>([](auto& a) { a.y.data = const_cast<void*>(a.u.data); })));
  EXPECT_TRUE(ok(broken<SelectiveScan>([](auto& a) { a.y.data = const_cast<void*>(a.z.data); })));
  EXPECT_TRUE(ok(broken<SsdChunkScan>(
      [](auto& a) { a.final_states.data = const_cast<void*>(a.initial_states.data); })));
  EXPECT_TRUE(ok(broken<CausalConv1d>(
      [](auto& a) { a.final_state.data = const_cast<void*>(a.initial_state.data); })));
}

TEST(Check, RefusesAnOutputThatMeetsItself) {
  expect_refusal(broken<CausalConv1d>([](auto& a) { a.y.stride[0] = 0; }),
                 "strides that interleave or repeat elements");
}

TEST(Check, ColumnsOfOneWideRowLieApart) {
  // x is columns 45 ... 84 of rows of 100; y lies before, behind, or in them.
  std::vector<float> rows(2 * 37 * 100), weight(40 * 4);
  CausalConv1d::Args a;
  a.x = ConstTensorView(rows.data() + 45, DType::kF32, {2, 37, 40}, {3700, 100, 1});
  a.weight = ConstTensorView(weight.data(), DType::kF32, {40, 4});
  const auto with_y_at = [&](int64_t column, int64_t channels, int64_t sign) {
    float* first = rows.data() + column + (sign < 0 ? 36 * 100 : 0);
    a.y = TensorView(first, DType::kF32, {2, 37, 40}, {3700, sign * 100, 1});
    a.x.shape[2] = a.y.shape[2] = a.weight.shape[0] = channels;
    return CausalConv1d::check(a);
  };
  for (const int64_t sign : {1, -1}) {
    EXPECT_TRUE(ok(with_y_at(5, 40, sign)));
    EXPECT_TRUE(ok(with_y_at(0, 40, sign)));
    EXPECT_TRUE(ok(with_y_at(60, 15, sign)));
    EXPECT_TRUE(ok(with_y_at(85, 15, sign)));
    expect_refusal(with_y_at(6, 40, sign), "y: got memory that overlaps x");
    expect_refusal(with_y_at(59, 15, sign), "y: got memory that overlaps x");
    // Columns 86 ... 99 and the first of the next row: no element in common, but that row's.
    EXPECT_TRUE(ok(with_y_at(86, 15, sign)));
  }
}

TEST(Check, ColumnsOfDifferentWidthsLieApartOrNot) {
  std::vector<float> rows(5 * 100);
  const auto columns = [&](int64_t from, int64_t width) {
    return TensorView(rows.data() + from, DType::kF32, {5, width}, {100, 1});
  };
  const auto apart = [](const TensorView& output, const TensorView& input) {
    const ops::Named in{"in", input}, out{"out", output};
    return ops::want_apart({&in, 1}, {&out, 1});
  };
  EXPECT_TRUE(ok(apart(columns(30, 10), columns(0, 30))));
  EXPECT_TRUE(ok(apart(columns(0, 30), columns(30, 10))));
  expect_refusal(apart(columns(20, 10), columns(0, 30)), "out: got memory that overlaps in");
  expect_refusal(apart(columns(0, 30), columns(20, 10)), "out: got memory that overlaps in");
  // Wider than a row: no window of its own.
  expect_refusal(apart(columns(0, 100), columns(50, 10)), "out: got memory that overlaps in");
}

}  // namespace
}  // namespace hiss::testing_support
