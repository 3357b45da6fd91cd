// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_lane.h"

#include <cuda_runtime_api.h>

#include <string>

namespace hiss::ggml {
namespace {

Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  return Internal(std::string("CUDA: ") + cudaGetErrorString(error));
}

cudaStream_t stream(void* s) { return static_cast<cudaStream_t>(s); }
cudaEvent_t event(void* e) { return static_cast<cudaEvent_t>(e); }

Status make_event(void*& e) {
  cudaEvent_t made = nullptr;
  HISS_RETURN_IF_ERROR(status_of(cudaEventCreateWithFlags(&made, cudaEventDisableTiming)));
  e = made;
  return {};
}

}  // namespace

CurrentDevice::CurrentDevice(const void* memory) {
  cudaPointerAttributes attributes{};
  if (!status_of(cudaPointerGetAttributes(&attributes, memory)).ok() ||
      attributes.type != cudaMemoryTypeDevice)
    return;
  enter(attributes.device);
}

void CurrentDevice::enter(int device) {
  if (!status_of(cudaGetDevice(&before_)).ok()) before_ = device;
  device_ = device;
  if (before_ != device) static_cast<void>(status_of(cudaSetDevice(device)));
}

CurrentDevice::~CurrentDevice() {
  if (before_ >= 0 && before_ != device_) static_cast<void>(status_of(cudaSetDevice(before_)));
}

Result<std::unique_ptr<CudaLane>> CudaLane::create() {
  std::unique_ptr<CudaLane> lane(new CudaLane);
  HISS_RETURN_IF_ERROR(status_of(cudaGetDevice(&lane->device_)));
  cudaStream_t made = nullptr;
  HISS_RETURN_IF_ERROR(status_of(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking)));
  lane->stream_ = made;
  HISS_RETURN_IF_ERROR(make_event(lane->before_));
  HISS_RETURN_IF_ERROR(make_event(lane->after_));
  HISS_ASSIGN_OR_RETURN(Context context, Context::create({.threads = 1, .stream = made}));
  lane->context_ = std::make_unique<Context>(std::move(context));
  return lane;
}

CudaLane::~CudaLane() {
  const CurrentDevice current(device_);
  static_cast<void>(wait_until_done());
  context_ = nullptr;
  for (void* e : {before_, after_})
    if (e != nullptr) static_cast<void>(status_of(cudaEventDestroy(event(e))));
  if (stream_ != nullptr) static_cast<void>(status_of(cudaStreamDestroy(stream(stream_))));
}

Status CudaLane::wait_for_before() {
  return status_of(cudaStreamWaitEvent(stream(stream_), event(before_), 0));
}
Status CudaLane::record_after() {
  return status_of(cudaEventRecord(event(after_), stream(stream_)));
}
Status CudaLane::wait_until_done() { return status_of(cudaStreamSynchronize(stream(stream_))); }

Status wait_for_device() { return status_of(cudaDeviceSynchronize()); }

bool devices_are_alike() {
  int devices = 0;
  if (!status_of(cudaGetDeviceCount(&devices)).ok()) return false;
  for (int i = 0; i < devices; ++i) {
    int major = 0, minor = 0;
    const Status status =
        status_of(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i));
    if (!status.ok() ||
        !status_of(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i)).ok() ||
        10 * major + minor != this_machine().cuda_sm)
      return false;
  }
  return true;
}

}  // namespace hiss::ggml
