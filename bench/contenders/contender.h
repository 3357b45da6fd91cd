// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "hiss/ops/all.h"
#include "timer.h"

// Other people's implementations of the operators, run beside ours on the same inputs.
namespace hiss::bench {

// One problem in a contender's hands, its inputs in the layout the contender wants.
class Peer : public Timed {
 public:
  // What the contender makes of the inputs, as y of the operator: what the operator does and the
  // contender leaves to others is done here, outside of the time.
  virtual Result<TensorView> answer() = 0;
};

class Contender {
 public:
  virtual ~Contender() = default;
  // With its version, as the rows show it.
  virtual std::string name() const = 0;
  // What its time leaves out that ours has, in one line.
  virtual std::string leaves_out() const = 0;

  // kUnsupported: the contender has no such operator, or not with these options.
  using Prepared = Result<std::unique_ptr<Peer>>;
  virtual Prepared prepare(const CausalConv1d::Args& args, int threads) = 0;
  virtual Prepared prepare(const CausalConv1dUpdate::Args& args, int threads) = 0;
  virtual Prepared prepare(const SelectiveScan::Args& args, int threads) = 0;
  virtual Prepared prepare(const SsdChunkScan::Args& args, int threads) = 0;
  virtual Prepared prepare(const SelectiveStateUpdate::Args& args, int threads) = 0;
};

// kNotFound: not on this machine; the text says how to get it. `folder`: where get.sh has put it.
Result<std::unique_ptr<Contender>> open_ggml(const std::string& folder);
Result<std::unique_ptr<Contender>> open_torch(const std::string& folder);

}  // namespace hiss::bench
