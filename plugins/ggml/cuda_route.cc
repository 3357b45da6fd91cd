// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda_route.h"

#include <cstdlib>

#include "accel_cuda.h"
#include "cuda_hook.h"
#include "cuda_lane.h"

namespace hiss::ggml {
namespace {

std::vector<Device*> devices_of(Registry* registry) {
  std::vector<Device*> devices;
  for (size_t i = 0; i < registry->get_device_count(registry); ++i)
    devices.push_back(registry->get_device(registry, i));
  return devices;
}

std::string devices_text(const char* route, size_t count) {
  return std::string(route) + " of " + std::to_string(count) +
         (count == 1 ? " device" : " devices");
}

}  // namespace

CudaRouteTaken take_cuda_route(const Host& host, const Options& options, Log& log,
                               Registry* registry) {
  if (options.cuda == CudaRoute::kOff) return {"off", {}};
  if (host.cuda_registry == nullptr) return {"none in this ggml", {}};
  if (this_machine().cuda_sm == 0) return {"no device", {}};
  if (!devices_are_alike()) return {"devices of several architectures; left to ggml", {}};
  const std::vector<Device*> cuda = devices_of(host.cuda_registry);
  if (options.cuda == CudaRoute::kHook) {
    if (host.graph_view == nullptr) return {"this ggml does not show ggml_graph_view", {}};
    // With it, ggml orders nodes of one graph on several streams, which pieces of it would not be.
    if (std::getenv("GGML_CUDA_GRAPH_OPT") != nullptr)
      return {"GGML_CUDA_GRAPH_OPT is set; left to ggml", {}};
    for (Device* device : cuda) hook_cuda_device(host, options, log, device);
    return {devices_text("hook", cuda.size()), {}};
  }
  CudaRouteTaken taken{devices_text("device", cuda.size()), {}};
  for (size_t i = 0; i < cuda.size(); ++i)
    taken.devices.push_back(
        make_accel_device(host, log, registry, std::string("HISS-") + cuda[i]->get_name(cuda[i]),
                          cuda_memory(host, options, log, cuda[i], static_cast<int>(i))));
  return taken;
}

}  // namespace hiss::ggml
