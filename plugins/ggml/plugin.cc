// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// What ggml looks for in a library named by GGML_BACKEND_PATH.

#include <cstdlib>
#include <vector>

#include "accel_device.h"
#include "cpu_hook.h"
#include "cuda_route.h"
#include "hiss/version.h"
#include "plugin_interface.h"

namespace hiss::ggml {
namespace {

std::vector<Device*> devices;  // of the device routes

const char* registry_name(Registry*) { return "HISS"; }
size_t device_count(Registry*) { return devices.size(); }
Device* device(Registry*, size_t index) { return devices[index]; }
void* no_function(Registry*, const char*) { return nullptr; }

// nullptr: ggml goes on as if the library had not been there.
Registry* load(const void* caller) {
  static Registry registry{0, registry_name, device_count, device, no_function, nullptr};
  const char* text = std::getenv("HISS_GGML");
  const Result<Options> options = parse_options(text == nullptr ? "" : text);
  static Log log(options.has_value() && options->log);
  if (!options) return log.say(options.error().message() + "; not used"), nullptr;
  if (!options->enabled) return nullptr;
  const Result<Host> host = find_host(caller);
  if (!host) return log.say(host.error().message() + "; not used"), nullptr;
  registry.api_version = host->api_version;
  const char* route = "device";
  if (options->route != Route::kDevice && install_cpu_hook(*host, *options, log)) {
    route = "hook";
  } else if (options->route == Route::kHook) {
    return log.say("route=hook: this ggml shows no list of buffer types; not used"), nullptr;
  } else {
    devices.push_back(
        make_accel_device(*host, log, &registry, "HISS", cpu_memory(*host, *options, log)));
  }
  const CudaRouteTaken cuda = take_cuda_route(*host, *options, log, &registry);
  devices.insert(devices.end(), cuda.devices.begin(), cuda.devices.end());
  if (log.problems())
    log.say(std::string(HISS_VERSION) + ", route " + route + ", CUDA " + cuda.text +
            ", precision " + to_string(options->precision) + ", " + to_string(this_machine()));
  return &registry;
}

}  // namespace
}  // namespace hiss::ggml

extern "C" void* ggml_backend_init() {
  static void* const registry = hiss::ggml::load(__builtin_return_address(0));
  return registry;
}

extern "C" int64_t hiss_ggml_nodes_computed() {
  return hiss::ggml::nodes_computed_in_hook() + hiss::ggml::nodes_computed_in_cuda_hook();
}
extern "C" int hiss_ggml_set_enabled(int enabled) {
  using namespace hiss::ggml;
  return (set_cpu_hook_enabled(enabled != 0) ? kCpuHook : 0) |
         (set_cuda_hook_enabled(enabled != 0) ? kCudaHook : 0);
}
