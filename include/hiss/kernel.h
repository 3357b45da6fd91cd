// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiss/executor.h"
#include "hiss/machine.h"
#include "hiss/status.h"

namespace hiss {

// How exact an answer the caller asks for. Each operator's contract states the bounds.
//   standard  float32-accurate.
//   strict    standard, and bit-identical for any thread count, batch split or cut of the sequence.
//   fast      16-bit operands allowed.
enum class Precision : uint8_t { kStandard, kStrict, kFast };
const char* to_string(Precision precision);

// Whose memory the tensors lie in.
enum class Device : uint8_t { kCpu, kCuda };
const char* to_string(Device device);

// Why a kernel does not take a problem; empty: it does.
using Decline = std::string_view;

// The only phrases a kernel may decline with. docs/kernels.md explains each.
namespace why {
inline constexpr Decline kIsa = "instruction set not available";
inline constexpr Decline kDevice = "no device of this architecture";
inline constexpr Decline kDtype = "data type";
inline constexpr Decline kStateDtype = "state data type";
inline constexpr Decline kPrecision = "precision class";
inline constexpr Decline kLayout = "memory layout";
inline constexpr Decline kWidth = "filter width";
inline constexpr Decline kDstate = "dstate not compiled in";
inline constexpr Decline kHeaddim = "headdim not compiled in";
inline constexpr Decline kFewChannels = "too few channels to fill a vector";
inline constexpr Decline kShort = "sequence too short to repay it";
inline constexpr Decline kLong = "sequence too long for it";
inline constexpr Decline kPacked = "packed sequences";
inline constexpr Decline kCheckpoints = "checkpoint states";
inline constexpr Decline kReverse = "reverse direction";
inline constexpr Decline kInitialStates = "initial states apart from the slots";
}  // namespace why

// What a run may use. Owned by the caller.
struct Launch {
  // As many bytes as the plan asked for, 64-byte aligned, in the memory of the kernel's device.
  std::span<std::byte> workspace;
  Executor* executor = nullptr;  // nullptr: the calling thread only
  void* stream = nullptr;        // a cudaStream_t for CUDA kernels
};

// One implementation of an operator: a row of its table.
template <class Op>
struct Kernel {
  std::string_view name;  // <op>/<backend>.<isa>.<algorithm>, as printed by explain()
  // A pure function: runs on any computer, sees no pointers. Ask through declines().
  Decline (*why_not)(const typename Op::Problem&, const Machine&);
  size_t (*workspace_bytes)(const typename Op::Problem&, const Machine&);  // nullptr: none
  // Arguments have been checked and the problem accepted. Allocates nothing.
  Status (*run)(const typename Op::Args&, const Launch&);
  Device device = Device::kCpu;  // where it runs

  // Why it does not take the problem: kDevice for tensors of another device, else why_not's answer.
  Decline declines(const typename Op::Problem& problem, const Machine& machine) const {
    return problem.device == device ? why_not(problem, machine) : why::kDevice;
  }
};

// The operator's rows, best first, reference last. Defined in src/kernel_table.cc.
template <class Op>
std::span<const Kernel<Op>* const> kernels();

// Which kernel a problem gets on a machine, and the phrase each of the others declines with.
struct Explanation {
  struct Row {
    std::string_view kernel;
    Decline declined;  // empty: accepts
  };
  std::string_view chosen;  // empty: nothing accepts
  std::vector<Row> rows;
};

template <class Op>
Explanation explain(const typename Op::Problem& problem, const Machine& machine) {
  Explanation e;
  for (const Kernel<Op>* kernel : kernels<Op>()) {
    e.rows.push_back({kernel->name, kernel->declines(problem, machine)});
    if (e.chosen.empty() && e.rows.back().declined.empty()) e.chosen = kernel->name;
  }
  return e;
}

// The first kernel that accepts; with `forced`, that kernel or the reason it cannot run.
template <class Op>
Result<const Kernel<Op>*> select(const typename Op::Problem& problem, const Machine& machine,
                                 std::string_view forced = {}) {
  for (const Kernel<Op>* kernel : kernels<Op>()) {
    if (!forced.empty() && kernel->name != forced) continue;
    const Decline declined = kernel->declines(problem, machine);
    if (declined.empty()) return kernel;
    if (!forced.empty())
      return Unsupported(std::string(forced) + " declines: " + std::string(declined));
  }
  if (forced.empty())
    return Unsupported(std::string(Op::kName) + ": no kernel accepts this problem");
  return NotFound("no kernel named " + std::string(forced) + " (hiss kernels lists them)");
}

}  // namespace hiss
