// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string>

#include "host.h"
#include "log.h"
#include "options.h"

namespace hiss::ggml {

// Computes nodes for one backend of ggml's scheduler.
class AccelRunner {
 public:
  virtual ~AccelRunner() = default;
  // Nodes that the memory takes, in order. Returns when they are computed: not every ggml waits for
  // a backend before it lets the next one read.
  virtual Status run(std::span<const Tensor* const> nodes) = 0;
  // Returns when nobody works in the memory any more, ggml's own device included: ggml asks before
  // it copies something to a place that a node of that device may still read.
  virtual Status wait() { return {}; }
};

// The memory that an accelerator device works in: that of one of ggml's own devices.
class AccelMemory {
 public:
  virtual ~AccelMemory() = default;
  virtual const char* description() const = 0;
  virtual BufferType* buffer_type() const = 0;
  virtual bool holds(BufferType* type) const = 0;
  virtual bool takes(const Tensor* node) const = 0;
  virtual Result<std::unique_ptr<AccelRunner>> make_runner() const = 0;
};

// An accelerator device in a memory: the way in where ggml cannot be joined. It costs ggml two
// graph splits a node. The device is there until the process ends.
Device* make_accel_device(const Host& host, Log& log, Registry* registry, std::string name,
                          std::unique_ptr<AccelMemory> memory);

// The CPU's memory; runners have threads of their own.
std::unique_ptr<AccelMemory> cpu_memory(const Host& host, const Options& options, Log& log);

}  // namespace hiss::ggml
