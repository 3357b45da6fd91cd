// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "clock.h"
#include "contenders/contender.h"
#include "hiss/arena.h"
#include "ops/compare.h"
#include "ops/fields.h"
#include "report.h"

namespace hiss::bench {

struct Settings {
  std::regex filter{""};        // finds a match in "<kernel> <case> <precision>"
  std::vector<int> threads{1};  // each of these
  bool every_kernel = false;    // not only the one that a call would get
  int least = 5;                // samples of each
  double budget_ms = 500;       // for the calls of each kernel and contender
};

// kDataLoss: the answer is not y to within what float32 explains.
Status check_answer(const std::string& who, const ConstTensorView& answer,
                    const ConstTensorView& expected, const ErrorBound& bound);
// For contenders: all of them compute in float32, in an order of their own.
inline constexpr ErrorBound kPeerBound{.relative_rms = 2e-5, .max_over_rms = 2e-3};

// Milliseconds of the arithmetic at the machine's peak; sixteen_bits: where products may be of
// BF16.
double compute_bound(const Work& work, bool sixteen_bits, int threads, const Peaks& peaks);

// A kernel on arguments whose outputs are its own.
template <class Op>
class KernelCall final : public Timed {
 public:
  static Result<std::unique_ptr<KernelCall>> create(const Kernel<Op>& kernel,
                                                    typename Op::Args args, Executor& executor) {
    std::unique_ptr<KernelCall> call(new KernelCall(kernel, executor));
    ops::Fields<Op>::tensors(args, [&](std::string_view, auto& view) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(view)>, TensorView>)
        if (view.present()) view = call->outputs_.copy(view);
    });
    call->args_ = args;
    const auto problem = Op::describe(args);
    const size_t bytes =
        kernel.workspace_bytes ? kernel.workspace_bytes(problem, this_machine()) : 0;
    HISS_ASSIGN_OR_RETURN(call->arena_, Arena::create(bytes));
    call->workspace_ = call->arena_.template take<std::byte>(static_cast<int64_t>(bytes));
    HISS_RETURN_IF_ERROR(call->run());
    return call;
  }

  const Kernel<Op>& kernel() const { return kernel_; }
  const typename Op::Args& args() const { return args_; }
  Status run() { return kernel_.run(args_, {.workspace = workspace_, .executor = &executor_}); }
  // The clock of one thread is the thread's own: others disturb it less than the wall's.
  Result<double> milliseconds_of_a_call() override {
    const bool alone = executor_.workers() == 1;
    if (calls_ == 0) {
      const double start = milliseconds(alone);
      HISS_RETURN_IF_ERROR(run());
      calls_ = calls_in_a_sample(milliseconds(alone) - start);
    }
    const double start = milliseconds(alone);
    for (int i = 0; i < calls_; ++i) HISS_RETURN_IF_ERROR(run());
    return (milliseconds(alone) - start) / calls_;
  }

 private:
  KernelCall(const Kernel<Op>& kernel, Executor& executor) : kernel_(kernel), executor_(executor) {}

  const Kernel<Op>& kernel_;
  Executor& executor_;
  typename Op::Args args_;
  Tensors outputs_;
  Arena arena_;
  std::span<std::byte> workspace_;
  int calls_ = 0;
};

class Bench {
 public:
  // The contenders must outlive it.
  Bench(Settings settings, const Peaks& peaks,
        const std::vector<std::unique_ptr<Contender>>& contenders)
      : settings_(std::move(settings)), peaks_(peaks), contenders_(contenders) {}

  // Runs, checks, times and prints one case. An error: somebody's answer is wrong, or a failure.
  template <class Op>
  Status measure(const Shape<Op>& shape);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  bool wanted(std::string_view kernel, const std::string& name, Precision precision) const {
    const std::string id = std::string(kernel) + " " + name + " " + to_string(precision);
    return std::regex_search(id, settings_.filter);
  }
  template <class Op>
  Status measure(const Shape<Op>& shape, const typename Op::Args& args, const TensorView& expected,
                 int threads);
  // Fills in the bound and its kind.
  void bound(const Work& work, bool sixteen_bits, int threads, Row& row);
  double bytes_a_second(const Work& work, int threads);
  Executor& executor(int threads);

  const Settings settings_;
  const Peaks peaks_;
  const std::vector<std::unique_ptr<Contender>>& contenders_;
  std::map<int, std::unique_ptr<Executor>> executors_;
  std::map<std::tuple<double, bool, int>, double> moving_;  // footprint, in place, threads
  std::vector<Row> rows_;
};

inline constexpr Precision kPrecisions[] = {Precision::kStandard, Precision::kFast};

template <class Op>
Status Bench::measure(const Shape<Op>& shape) {
  bool any = false;
  for (const Kernel<Op>* kernel : kernels<Op>())
    for (const Precision precision : kPrecisions)
      any = any || wanted(kernel->name, shape.name, precision);
  if (!any) return {};
  Tensors tensors;
  const typename Op::Args args = shape.make(tensors);
  HISS_RETURN_IF_ERROR(Op::check(args));
  Executor& all = executor(this_machine().cores);
  HISS_ASSIGN_OR_RETURN(const auto reference,
                        KernelCall<Op>::create(*kernels<Op>().back(), args, all));
  for (const int threads : settings_.threads)
    HISS_RETURN_IF_ERROR(measure(shape, args, reference->args().y, threads));
  return {};
}

template <class Op>
Status Bench::measure(const Shape<Op>& shape, const typename Op::Args& args,
                      const TensorView& expected, int threads) {
  std::vector<std::unique_ptr<KernelCall<Op>>> ours;
  std::vector<Row> rows;
  for (const Precision precision : kPrecisions) {
    typename Op::Args classed = args;
    classed.precision = precision;
    const auto problem = Op::describe(classed);
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      if (kernel == kernels<Op>().back()) break;  // the reference is not for speed
      if (!kernel->declines(problem, this_machine()).empty()) continue;
      if (wanted(kernel->name, shape.name, precision)) {
        HISS_ASSIGN_OR_RETURN(auto call,
                              KernelCall<Op>::create(*kernel, classed, executor(threads)));
        const TensorView& y = call->args().y;
        HISS_RETURN_IF_ERROR(check_answer(std::string(kernel->name) + ", " + shape.name, y,
                                          expected, Op::error_bound(problem)));
        Row row{.op = std::string(Op::kName),
                .kernel = std::string(kernel->name),
                .name = shape.name,
                .dtype = to_string(y.dtype),
                .precision = to_string(precision),
                .threads = threads,
                .work = work_of(classed)};
        row.error = ops::compare(y, expected, {}).relative_rms;
        bound(row.work, precision == Precision::kFast, threads, row);
        rows.push_back(row);
        ours.push_back(std::move(call));
      }
      if (!settings_.every_kernel) break;
    }
  }
  if (ours.empty()) return {};

  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::string> names;
  for (const auto& contender : contenders_) {
    Contender::Prepared peer = contender->prepare(args, threads);
    if (!peer && peer.error().code() == StatusCode::kUnsupported) continue;
    if (!peer) return peer.error();
    HISS_ASSIGN_OR_RETURN(const TensorView answer, (*peer)->answer());
    HISS_RETURN_IF_ERROR(
        check_answer(contender->name() + ", " + shape.name, answer, expected, kPeerBound));
    peers.push_back(*std::move(peer));
    names.push_back(contender->name());
  }

  std::vector<Timed*> contestants;
  for (const auto& call : ours) contestants.push_back(call.get());
  for (const auto& peer : peers) contestants.push_back(peer.get());
  HISS_ASSIGN_OR_RETURN(const std::vector<Times> times,
                        take_turns(contestants, settings_.least, settings_.budget_ms));
  for (size_t i = 0; i < ours.size(); ++i) {
    rows[i].times = times[i];
    for (size_t k = 0; k < std::max<size_t>(1, peers.size()); ++k) {
      Row row = rows[i];
      if (k < peers.size())
        row.peer = names[k], row.peer_median_ms = times[ours.size() + k].median_ms;
      print(row);
      rows_.push_back(row);
    }
  }
  return {};
}

}  // namespace hiss::bench
