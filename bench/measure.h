// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "calls.h"
#include "contenders/contender.h"
#include "ops/compare.h"
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
  std::vector<std::unique_ptr<CallsApart<Op>>> apart;  // of several threads
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
        if (threads > 1) {
          HISS_ASSIGN_OR_RETURN(
              auto alone, CallsApart<Op>::create(*kernel, shape, precision, executor(threads)));
          apart.push_back(std::move(alone));
        }
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
  for (const auto& calls : apart) contestants.push_back(calls.get());
  HISS_ASSIGN_OR_RETURN(const std::vector<Times> times,
                        take_turns(contestants, settings_.least, settings_.budget_ms));
  for (size_t i = 0; i < ours.size(); ++i) {
    rows[i].times = times[i];
    if (!apart.empty()) rows[i].apart_ms = times[ours.size() + peers.size() + i].median_ms;
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
