// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Laws that need no reference, for every row of every table: what a caller may count on whatever
// kernel runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "support/case.h"
#include "support/pieces.h"
#include "support/rounded.h"
#include "support/run.h"

namespace hiss::testing_support {
namespace {

// Equal for kernels of the strict class, within two bounds of one another for the others.
template <class Op>
testing::AssertionResult agree(const typename Op::Args& a, const typename Op::Args& b) {
  if (a.precision != Precision::kStrict) return outputs_match<Op>(a, b, 2);
  auto verdict = testing::AssertionSuccess();
  ops::Fields<Op>::tensors(a, [&](std::string_view name, const auto& one) {
    ops::Fields<Op>::tensors(b, [&](std::string_view other_name, const auto& other) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, TensorView> &&
                    std::is_same_v<std::remove_cvref_t<decltype(other)>, TensorView>) {
        if (name != other_name || !one.present()) return;
        if (const auto same = identical(one, other); !same)
          verdict = testing::AssertionFailure() << name << ": " << same.message();
      }
    });
  });
  return verdict;
}

// The same tensors twice: for two runs that must agree.
template <class Op>
struct Twice {
  explicit Twice(const Case<Op>& c)
      : first_set(seed_of(c.name)),
        second_set(seed_of(c.name)),
        first(c.make(first_set)),
        second(c.make(second_set)) {}
  TensorSet first_set, second_set;
  typename Op::Args first, second;
};

// Calls law(kernel, twice) for each kernel that accepts each of the named cases.
template <class Op, class Law>
void hold(std::initializer_list<std::string_view> names, Law&& law) {
  size_t found = 0;
  for (const Case<Op>& c : cases<Op>()) {
    if (std::find(names.begin(), names.end(), c.name) == names.end()) continue;
    ++found;
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      Twice<Op> twice(c);
      if (!kernel->declines(Op::describe(twice.first), this_machine()).empty()) continue;
      SCOPED_TRACE(std::string(kernel->name) + " on " + c.name);
      law(*kernel, twice);
    }
  }
  EXPECT_EQ(found, names.size()) << "a name is not in the list of cases";
}

template <class Op>
class SequenceLaw : public testing::Test {};
using SequenceOperators = testing::Types<CausalConv1d, SelectiveScan, SsdChunkScan>;
TYPED_TEST_SUITE(SequenceLaw, SequenceOperators);
template <class Op>
class DirectedLaw : public testing::Test {};
using DirectedOperators = testing::Types<CausalConv1d, SelectiveScan>;
TYPED_TEST_SUITE(DirectedLaw, DirectedOperators);
template <class Op>
class UpdateLaw : public testing::Test {};
using UpdateOperators = testing::Types<CausalConv1dUpdate, SelectiveStateUpdate>;
TYPED_TEST_SUITE(UpdateLaw, UpdateOperators);

// Runs the sequence in two pieces, the first one's final state being the second's initial one.
// False: a piece of at most one token looks like another layout, which the kernel leaves to others.
template <class Op>
bool run_split(const Kernel<Op>& kernel, const typename Op::Args& args, int64_t cut, bool reverse) {
  const int64_t seqlen = args.y.shape[1];
  TensorSet set(1);
  const ConstTensorView& shape = final(args);
  typename Op::Args early = tokens(args, reverse ? cut : 0, reverse ? seqlen - cut : cut, Op());
  typename Op::Args late = tokens(args, reverse ? 0 : cut, reverse ? cut : seqlen - cut, Op());
  final(early) = set.output(shape.dtype, {shape.shape.begin(), shape.shape.begin() + shape.rank});
  initial(late) = final(early);
  for (const auto& piece : {early, late})
    if (piece.y.shape[1] <= 1 &&
        kernel.declines(Op::describe(piece), this_machine()) == why::kLayout)
      return false;
  EXPECT_TRUE(ok(run_kernel(kernel, early)));
  EXPECT_TRUE(ok(run_kernel(kernel, late)));
  return true;
}

TYPED_TEST(SequenceLaw, CuttingASequenceAnywhereAndCarryingTheStateChangesNothing) {
  const auto law = [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    for (const int64_t cut : {0, 1, 2, 3, 16, 20, 36, 37}) {
      if (!run_split<TypeParam>(kernel, twice.second, cut, false)) continue;
      EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first)) << "cut at " << cut;
    }
  };
  hold<TypeParam>({"base", "strict", "channels_first", "mirrored"}, law);
}

TYPED_TEST(DirectedLaw, CuttingAReverseSequenceChangesNothing) {
  hold<TypeParam>({"strict_reverse", "reverse_wide_row"}, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    for (const int64_t cut : {0, 1, 2, 3, 16, 20, 36, 37}) {
      if (!run_split<TypeParam>(kernel, twice.second, cut, true)) continue;
      EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first)) << "cut at " << cut;
    }
  });
}

TYPED_TEST(DirectedLaw, ReverseIsFlipForwardFlip) {
  const auto law = [](const auto& kernel, auto& twice) {
    auto turned = twice.second;
    turned.direction = Direction::kForward;
    ops::Fields<TypeParam>::tensors(turned, [](std::string_view name, auto& view) {
      if (along_the_sequence(name)) view = flipped(view, 1);
    });
    if (!kernel.declines(TypeParam::describe(turned), this_machine()).empty()) return;
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    ASSERT_TRUE(ok(run_kernel(kernel, turned)));
    EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first));
  };
  hold<TypeParam>({"reverse_length_65", "strict_reverse", "reverse_channels_first"}, law);
}

TYPED_TEST(SequenceLaw, BatchOrderDoesNotMatter) {
  hold<TypeParam>({"base", "strict", "wide_row"}, [](const auto& kernel, auto& twice) {
    auto turned = twice.second;
    ops::Fields<TypeParam>::tensors(turned, [](std::string_view name, auto& view) {
      if (along_the_sequence(name) || name.starts_with("initial") || name.starts_with("final"))
        view = flipped(view, 0);
    });
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    ASSERT_TRUE(ok(run_kernel(kernel, turned)));
    EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first));
  });
}

TYPED_TEST(SequenceLaw, PackedSequencesAreSeparateSequences) {
  const auto law = [](const auto& kernel, auto& twice) {
    const ConstTensorView starts = twice.second.cu_seqlens;
    for (int64_t s = 0; s + 1 < starts.shape[0]; ++s) {
      const int64_t begin = starts.template as<int32_t>()[s];
      const int64_t end = starts.template as<int32_t>()[s + 1];
      auto alone = tokens(twice.second, begin, end - begin, TypeParam());
      alone.cu_seqlens = {};
      initial(alone) = row(initial(alone), s);
      final(alone) = row(final(alone), s);
      // Whether the kernel takes packed sequences or only separate ones is its own business.
      if (!kernel.declines(TypeParam::describe(alone), this_machine()).empty()) return;
      ASSERT_TRUE(ok(run_kernel(kernel, alone)));
    }
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    twice.first.cu_seqlens = twice.second.cu_seqlens = {};
    EXPECT_TRUE(outputs_match<TypeParam>(twice.second, twice.first, 2));
  };
  hold<TypeParam>({"packed", "packed_no_states"}, law);
}

TYPED_TEST(SequenceLaw, StrictResultsDoNotDependOnThreads) {
  hold<TypeParam>({"strict"}, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    for (const int threads : {1, 2, 3, 8}) {
      const auto pool = make_thread_pool(threads);
      ASSERT_TRUE(ok(run_kernel(kernel, twice.second, pool.get())));
      EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first)) << threads << " threads";
    }
  });
}

template <class Op>
void checkpoints_are_prefixes(std::initializer_list<std::string_view> names) {
  hold<Op>(names, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    const int64_t count = twice.first.checkpoint_tokens.shape[0];
    const int64_t seqlen = twice.first.y.shape[1];
    for (int64_t k = 0; k < count; ++k) {
      const int64_t token = twice.first.checkpoint_tokens.template as<int64_t>()[k];
      bool reverse = false;
      if constexpr (requires { twice.first.direction; })
        reverse = twice.first.direction == Direction::kReverse;
      auto prefix = reverse ? tokens(twice.second, token, seqlen - token, Op())
                            : tokens(twice.second, 0, token + 1, Op());
      prefix.checkpoint_tokens = {};
      prefix.checkpoint_states = {};
      ASSERT_TRUE(ok(run_kernel(kernel, prefix)));
      for (int64_t b = 0; b < twice.first.y.shape[0]; ++b) {
        // (batch, ncheckpoints, ...) at [b, k] beside (nseq, ...) at [b].
        ConstTensorView got = twice.first.checkpoint_states;
        got.data =
            got.template as<char>() + (b * got.stride[0] + k * got.stride[1]) * size_of(got.dtype);
        for (int axis = 1; axis + 1 < got.rank; ++axis) {
          got.shape[axis] = got.shape[axis + 1];
          got.stride[axis] = got.stride[axis + 1];
        }
        got.shape[0] = 1;
        --got.rank;
        const ops::Comparison c =
            ops::compare(got, row(ConstTensorView(final(prefix)), b),
                         ops::bound_of<Op>(Op::describe(twice.first), "state", got.dtype));
        EXPECT_TRUE(c.within) << "checkpoint " << k << ": " << c.text;
      }
    }
  });
}

TEST(CheckpointLaw, ACheckpointIsTheFinalStateOfItsPrefix) {
  checkpoints_are_prefixes<SelectiveScan>({"checkpoints", "checkpoints_reverse"});
  checkpoints_are_prefixes<SsdChunkScan>({"checkpoints", "checkpoints_last_tokens"});
}

TEST(DecayLaw, AStepOfZeroLeavesTheState) {
  hold<SelectiveScan>({"dt_zero"}, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    EXPECT_TRUE(identical(twice.first.final_state, twice.first.initial_state));
  });
  hold<SsdChunkScan>({"dt_zero"}, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    EXPECT_TRUE(identical(twice.first.final_states, twice.first.initial_states));
  });
}

TEST(RoundingLaw, StatesOf16BitsAreRoundedToNearest) {
  hold<SsdChunkScan>(
      {"exact_BF16_states_64", "exact_BF16_states_256", "exact_F16_states_64",
       "fast_exact_BF16_states_128", "fast_exact_F16_states_256"},
      [](const auto& kernel, auto& twice) {
        Expected<SsdChunkScan> expected(twice.second);
        ASSERT_TRUE(ok(expected.run()));
        ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
        EXPECT_EQ(misrounded(twice.first.final_states, expected.args().final_states), "");
        EXPECT_EQ(misrounded(twice.first.checkpoint_states, expected.args().checkpoint_states), "");
      });
}

TYPED_TEST(UpdateLaw, TokenByTokenIsAllAtOnceAndSnapshotsAreTheStatesBetween) {
  hold<TypeParam>({"tokens_9", "strict", "base"}, [](const auto& kernel, auto& twice) {
    ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
    for (int64_t t = 0; t < twice.second.y.shape[1]; ++t) {
      auto one = tokens(twice.second, t, 1, TypeParam());
      one.snapshots.data = one.snapshots.template as<char>() +
                           t * one.snapshots.stride[1] * size_of(one.snapshots.dtype);
      one.snapshots.shape[1] = 1;
      ASSERT_TRUE(ok(run_kernel(kernel, one)));
    }
    EXPECT_TRUE(agree<TypeParam>(twice.second, twice.first));
  });
}

// The same where single tokens take another inner loop.
TEST(UpdateWithoutSnapshotsLaw, TokenByTokenIsAllAtOnce) {
  hold<SelectiveStateUpdate>(
      {"no_snapshots", "strict_no_snapshots_tokens_5", "strict_no_snapshots_not_tied_tokens_5"},
      [](const auto& kernel, auto& twice) {
        ASSERT_TRUE(ok(run_kernel(kernel, twice.first)));
        for (int64_t t = 0; t < twice.second.y.shape[1]; ++t)
          ASSERT_TRUE(ok(run_kernel(kernel, tokens(twice.second, t, 1, SelectiveStateUpdate()))));
        EXPECT_TRUE(agree<SelectiveStateUpdate>(twice.second, twice.first));
      });
}

// Each row has the slot of its own number, so that the state is (batch, ...) like the scans'.
template <class Op>
typename Op::Args in_order(typename Op::Args args) {
  args.state_indices = {};
  args.state.shape[0] = args.y.shape[0];
  return args;
}

TEST(UpdateIsScanLaw, ConvolutionUpdatesGiveWhatTheConvolutionGives) {
  hold<CausalConv1dUpdate>({"tokens_9", "no_bias"}, [](const auto& kernel, auto& twice) {
    const CausalConv1dUpdate::Args a = in_order<CausalConv1dUpdate>(twice.first);
    const CausalConv1dUpdate::Args b = in_order<CausalConv1dUpdate>(twice.second);
    ASSERT_TRUE(ok(run_kernel(kernel, a)));
    CausalConv1d::Args scan;
    scan.x = b.x, scan.weight = b.weight, scan.bias = b.bias, scan.activation = b.activation;
    scan.initial_state = scan.final_state = b.state;
    scan.y = b.y;
    ASSERT_TRUE(ok(run_kernel(*kernels<CausalConv1d>().back(), scan)));
    EXPECT_TRUE(identical(a.state, b.state));
    EXPECT_TRUE(
        ops::compare(a.y, b.y, CausalConv1dUpdate::error_bound(CausalConv1dUpdate::describe(a)))
            .within);
  });
}

TEST(UpdateIsScanLaw, StateUpdatesGiveWhatTheScansGive) {
  using Op = SelectiveStateUpdate;
  // A head of (headdim) rows as channels: (b, t, h, p) -> (b, t, p) and so on.
  const auto without = [](auto view, int axis) {
    if (!view.present()) return view;
    for (int i = axis; i + 1 < view.rank; ++i) {
      view.shape[i] = view.shape[i + 1];
      view.stride[i] = view.stride[i + 1];
    }
    --view.rank;
    return view;
  };
  const auto compare_all = [](const Op::Args& a, const Op::Args& b) {
    const Op::Problem problem = Op::describe(a);
    EXPECT_TRUE(ops::compare(a.y, b.y, ops::bound_of<Op>(problem, "y", a.y.dtype)).within);
    EXPECT_TRUE(
        ops::compare(a.state, b.state, ops::bound_of<Op>(problem, "state", a.state.dtype)).within);
  };
  hold<Op>({"mamba_1"}, [&](const auto& kernel, auto& twice) {
    const Op::Args a = in_order<Op>(twice.first), b = in_order<Op>(twice.second);
    ASSERT_TRUE(ok(run_kernel(kernel, a)));
    SelectiveScan::Args scan;
    scan.u = without(b.x, 2), scan.dt = without(b.dt, 2), scan.z = without(b.z, 2);
    scan.A = without(b.A, 0), scan.D = without(b.D, 0), scan.dt_bias = without(b.dt_bias, 0);
    scan.B = b.B, scan.C = b.C, scan.y = without(b.y, 2);
    scan.final_state = without(b.state, 1), scan.initial_state = scan.final_state;
    scan.dt_softplus = b.dt_softplus;
    ASSERT_TRUE(ok(run_kernel(*kernels<SelectiveScan>().back(), scan)));
    compare_all(a, b);
  });
  hold<Op>({"tokens_9", "no_z"}, [&](const auto& kernel, auto& twice) {
    const Op::Args a = in_order<Op>(twice.first), b = in_order<Op>(twice.second);
    ASSERT_TRUE(ok(run_kernel(kernel, a)));
    SsdChunkScan::Args scan;
    scan.x = b.x, scan.B = b.B, scan.C = b.C, scan.D = b.D, scan.z = b.z, scan.y = b.y;
    scan.dt = without(b.dt, 3), scan.A = without(without(b.A, 2), 1);
    scan.dt_bias = without(b.dt_bias, 1);
    scan.initial_states = scan.final_states = b.state;
    scan.dt_softplus = b.dt_softplus;
    ASSERT_TRUE(ok(run_kernel(*kernels<SsdChunkScan>().back(), scan)));
    compare_all(a, b);
  });
}

}  // namespace
}  // namespace hiss::testing_support
