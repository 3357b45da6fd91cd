// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "hiss/ops/ssd_chunk_scan.h"
#include "support/hopper.h"

namespace hiss {

// Tests of one row of ssd_chunk_scan; skipped where the build has no CUDA rows.
class HopperRow : public testing::Test {
 protected:
  // problem: one that the row takes.
  HopperRow(std::string_view name, const SsdChunkScan::Problem& problem)
      : name_(name), problem_(problem) {}
  void SetUp() override {
    for (const Kernel<SsdChunkScan>* kernel : kernels<SsdChunkScan>())
      if (kernel->name == name_) row_ = kernel;
    if (row_ == nullptr) GTEST_SKIP() << "no CUDA rows in this build";
  }
  Decline declines(const SsdChunkScan::Problem& p) const { return row_->declines(p, hopper()); }
  // The problem with one thing changed.
  template <class F>
  Decline declines_with(F&& change) const {
    SsdChunkScan::Problem p = problem_;
    std::forward<F>(change)(p);
    return declines(p);
  }
  // On another machine of this compute capability.
  Decline declines_on(int sm) const {
    Machine machine = hopper();
    machine.cuda_sm = sm;
    return row_->declines(problem_, machine);
  }
  const Kernel<SsdChunkScan>* row_ = nullptr;

 private:
  std::string_view name_;
  SsdChunkScan::Problem problem_;
};

}  // namespace hiss
