// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "hiss/context.h"
#include "hiss/status.h"

namespace hiss::ggml {

// Makes the device of some device memory the thread's current one, and the former one again.
class CurrentDevice {
 public:
  explicit CurrentDevice(const void* memory);
  explicit CurrentDevice(int device) { enter(device); }
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  int device() const { return device_; }  // -1: that was not device memory

 private:
  void enter(int device);
  int device_ = -1, before_ = -1;
};

// A stream of hiss's own on one device, its workspace, and two events by which it takes turns with
// a stream of ggml's. Work of the legacy default stream and it do not wait for each other.
class CudaLane {
 public:
  // On the current device.
  static Result<std::unique_ptr<CudaLane>> create();
  ~CudaLane();
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;

  Context& context() { return *context_; }
  void* before() const { return before_; }  // cudaEvent_t, recorded by ggml
  void* after() const { return after_; }    // cudaEvent_t, waited for by ggml
  Status wait_for_before();                 // the stream waits
  Status record_after();
  Status wait_until_done();  // the host waits

 private:
  CudaLane() = default;
  int device_ = 0;
  void *stream_ = nullptr, *before_ = nullptr, *after_ = nullptr;
  std::unique_ptr<Context> context_;
};

// The host waits for all work on the current device.
Status wait_for_device();
// Whether every CUDA device of this computer is of the architecture this_machine() names.
bool devices_are_alike();

}  // namespace hiss::ggml
