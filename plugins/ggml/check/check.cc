// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "check.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>

#include "../plugin_interface.h"
#include "compare_nodes.h"

namespace hiss::ggml {
namespace {

constexpr char kCpu[] = "CPU";
constexpr int kTimesOnADevice = 20;

// Of one run; on a device of several, so that starting and waiting are not what is measured.
double milliseconds(BuiltNode& node, int times) {
  const auto start = std::chrono::steady_clock::now();
  node.compute_again(times);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
             .count() /
         times;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

NodeProblem scan(int64_t N, int64_t P, int64_t H, int64_t G, int64_t T) {
  NodeProblem p;
  p.N = N, p.P = P, p.H = H, p.G = G, p.T = T;
  p.scalar_decay = P > 1, p.one_wide_row = P > 1;
  return p;
}

NodeProblem conv(int64_t W, int64_t C, int64_t T) {
  NodeProblem p;
  p.conv = true, p.W = W, p.C = C, p.T = T;
  return p;
}

}  // namespace

Result<Comparison> Comparison::load(const std::string& ggml_folder, const std::string& plugin,
                                    const std::string& device) {
  Comparison c;
  c.device_ = device;
  HISS_ASSIGN_OR_RETURN(c.ggml_, load_ggml(ggml_folder));
  void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return NotFound(why == nullptr ? plugin + ": cannot be loaded" : why);
  }
  if (c.ggml_.load_backend(plugin.c_str()) == nullptr)
    return Unsupported("ggml did not take " + plugin);
  c.set_enabled_ = reinterpret_cast<int (*)(int)>(dlsym(library, "hiss_ggml_set_enabled"));
  c.nodes_computed_ = reinterpret_cast<int64_t (*)()>(dlsym(library, "hiss_ggml_nodes_computed"));
  if (c.set_enabled_ == nullptr || c.nodes_computed_ == nullptr)
    return Unsupported(plugin + " is no plugin of hiss");
  const int hooks = c.set_enabled_(1);
  if ((hooks & (device == kCpu ? kCpuHook : kCudaHook)) == 0)
    return Unsupported("the plugin is not inside this ggml's backend of " + device +
                       ": there is nothing to switch");
  return c;
}

Result<Backend*> Comparison::start(const std::string& device, int threads) const {
  Backend* backend = ggml_.init_by_name(device.c_str(), nullptr);
  if (backend == nullptr) return NotFound("ggml has no device " + device);
  if (device == kCpu) ggml_.set_n_threads(backend, threads);
  return backend;
}

Result<Comparison::Row> Comparison::compare(const NodeProblem& problem, int threads,
                                            int runs) const {
  const auto release = [this](Backend* b) { ggml_.backend_free(b); };
  using Owned = std::unique_ptr<Backend, decltype(release)>;
  HISS_ASSIGN_OR_RETURN(Backend* const started, start(device_, threads));
  const Owned backend(started, release);
  Owned reference_backend(nullptr, release);
  if (device_ != kCpu) {
    HISS_ASSIGN_OR_RETURN(Backend* const cpu, start(kCpu, threads));
    reference_backend.reset(cpu);
  }
  Row row;
  row.problem = problem.text();
  set_enabled_(0);
  BuiltNode node(ggml_, backend.get(), problem);
  const bool ggml_can = node.supported();
  std::vector<float> reference;
  const auto reference_from = [&](BuiltNode& from) {
    if (!from.compute()) return false;
    reference = from.output();
    return true;
  };
  bool computed;
  if (reference_backend == nullptr) {
    computed = reference_from(node);
  } else {
    BuiltNode on_cpu(ggml_, reference_backend.get(), problem);
    computed = reference_from(on_cpu);
  }
  set_enabled_(1);
  const int64_t before = nodes_computed_();
  computed = computed && node.supported() && node.compute();
  if (!computed) return Internal(row.problem + ": ggml could not run it");
  const bool by_hiss = nodes_computed_() == before + 1;
  row.left_to_device = !by_hiss && device_ != kCpu && ggml_can;
  row.nmse = by_hiss || row.left_to_device ? nmse(node.output(), reference)
                                           : std::numeric_limits<double>::infinity();
  const int times = device_ == kCpu ? 1 : kTimesOnADevice;
  std::vector<double> ggml_ms, hiss_ms;
  for (int i = 0; i < runs; ++i) {
    set_enabled_(0);
    if (ggml_can) ggml_ms.push_back(milliseconds(node, times));
    set_enabled_(1);
    hiss_ms.push_back(milliseconds(node, times));
  }
  if (!hiss_ms.empty()) row.times = {{}, median(hiss_ms)};
  if (!ggml_ms.empty()) row.times->ggml_ms = median(ggml_ms);
  return row;
}

std::string Comparison::ggml_version() const {
  return ggml_.version == nullptr ? "of before version numbers" : ggml_.version();
}

std::vector<NodeProblem> model_problems() {
  std::vector<NodeProblem> all;
  for (const int64_t T : {int64_t{512}, int64_t{1}}) {
    all.push_back(scan(16, 1, 1536, 1, T));   // Mamba 130M
    all.push_back(scan(16, 1, 8192, 1, T));   // Falcon-Mamba 7B
    all.push_back(scan(128, 64, 80, 1, T));   // Mamba-2 2.7B
    all.push_back(scan(128, 64, 48, 1, T));   // Granite 4 H tiny
    all.push_back(scan(128, 80, 128, 8, T));  // Nemotron Nano 9B v2
    all.push_back(scan(256, 128, 24, 1, T));  // Falcon-H1 7B
    all.push_back(scan(96, 64, 128, 8, T));   // Nemotron 3 Puzzle
    all.push_back(scan(64, 128, 32, 1, T));   // PLaMo-2 1B
    all.push_back(conv(4, 3328, T)), all.push_back(conv(4, 8192, T));
  }
  return all;
}

}  // namespace hiss::ggml
