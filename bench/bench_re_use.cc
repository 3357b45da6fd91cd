// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// bench_re_use [--model FILE] [--blocks N] [--channels N] [--expand N] [--rate HZ] [--seconds S]
//              [--threads N] [--runs N] [--precision standard|strict|fast] [--json FILE]
//
// The real-time factor of the RE-USE network (one window, features in, spectrum out; no STFT),
// where its time goes, and what memory it takes. Without --model: full size, random weights. FILE
// gets the same as one object.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "models/random_checkpoint.h"
#include "models/re_use/network.h"

namespace hiss::models::re_use {
namespace {

struct Options {
  std::string model, json;
  ReUseConfig config;
  Precision precision = Precision::kStandard;
  int64_t rate = 16000, seconds = 5, threads = 2, runs = 5;
};

int usage(const std::string& what) {
  std::fprintf(stderr, "bench_re_use: %s\n", what.c_str());
  return 2;
}

// Empty, or what is wrong.
std::string parse(int argc, char** argv, Options& o) {
  const std::map<std::string, int64_t*> numbers = {{"--blocks", &o.config.blocks},
                                                   {"--channels", &o.config.channels},
                                                   {"--expand", &o.config.expand},
                                                   {"--rate", &o.rate},
                                                   {"--seconds", &o.seconds},
                                                   {"--threads", &o.threads},
                                                   {"--runs", &o.runs}};
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return name + ": no value";
    const std::string_view value = argv[i + 1];
    if (name == "--model" || name == "--json") {
      (name == "--model" ? o.model : o.json) = value;
      continue;
    }
    if (name == "--precision") {
      const Precision all[] = {Precision::kStandard, Precision::kStrict, Precision::kFast};
      const auto* known = std::find_if(std::begin(all), std::end(all),
                                       [&](Precision p) { return value == to_string(p); });
      if (known == std::end(all)) return name + ": want standard, strict or fast";
      o.precision = *known;
      continue;
    }
    const auto number = numbers.find(name);
    if (number == numbers.end()) return "unknown option " + name;
    const auto end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, *number->second);
    if (error != std::errc() || rest != end || *number->second < 1)
      return name + ": want a positive number";
  }
  return {};
}

// The process's peak resident set in MB; 0 where the system does not tell.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1000;
  return 0;
}

Result<std::unique_ptr<ReUse>> load(const Options& o, Context& context) {
  if (!o.model.empty()) return ReUse::load(o.model, context, o.precision);
  const auto path = std::filesystem::temp_directory_path() / "hiss_bench_re_use.safetensors";
  HISS_RETURN_IF_ERROR(write_random_checkpoint(path.string(), o.config));
  auto model = ReUse::load(path.string(), context, o.precision);
  std::filesystem::remove(path);
  return model;
}

// Milliseconds. The encoder and the decoders are timed as a whole by one thread, Mamba's parts by
// each worker.
std::vector<double> stage_times(const std::vector<StageTimes>& workers) {
  std::vector<double> all;
  for (size_t stage = 0; stage < kStageNames.size(); ++stage) {
    double ms = 0;
    for (const StageTimes& times : workers) ms += static_cast<double>(times.ns[stage]) * 1e-6;
    const bool whole = stage == static_cast<size_t>(Stage::kEncoder) ||
                       stage == static_cast<size_t>(Stage::kDecoders);
    all.push_back(whole ? ms : ms / static_cast<double>(workers.size()));
  }
  return all;
}

// What was measured, one run after another in order of their times.
bool write_json(const Options& o, const std::vector<double>& wall_ms, double processor_ms,
                const std::vector<double>& stages, double activations_mb) {
  nlohmann::ordered_json json = {{"model", o.model},
                                 {"rate", o.rate},
                                 {"seconds", o.seconds},
                                 {"precision", to_string(o.precision)},
                                 {"threads", o.threads},
                                 {"best_ms", wall_ms.front()},
                                 {"median_ms", wall_ms[wall_ms.size() / 2]},
                                 {"runs", wall_ms.size()},
                                 {"processor_ms", processor_ms},
                                 {"activations_mb", activations_mb},
                                 {"process_peak_mb", peak_megabytes()}};
  for (size_t i = 0; i < stages.size(); ++i) json["stages_best_ms"][kStageNames[i]] = stages[i];
  std::ofstream file(o.json);
  file << json.dump(1) << "\n";
  return static_cast<bool>(file.flush());
}

int main(int argc, char** argv) {
  Options o;
  if (const std::string wrong = parse(argc, argv, o); !wrong.empty()) return usage(wrong);
  Result<Context> context = Context::create({.threads = static_cast<int>(o.threads)});
  if (!context) return usage(context.error().to_string());
  Result<std::unique_ptr<ReUse>> model = load(o, *context);
  if (!model) return usage(model.error().to_string());
  auto& network = static_cast<Network&>(**model);
  const ReUseConfig& c = network.config();

  const int64_t hop = c.hop_size * o.rate / c.sampling_rate / 2 * 2;
  const int64_t frames = o.seconds * o.rate / hop + 1;
  const int64_t bins = c.n_fft * o.rate / c.sampling_rate / 2 + 1;
  std::vector<float> log_magnitude(static_cast<size_t>(frames * bins)), phase(log_magnitude.size());
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(0, 1);

  std::vector<double> wall_ms, cpu_ms;
  std::vector<StageTimes> workers(static_cast<size_t>(o.threads)), best(workers);
  network.measure(workers.data());
  for (int64_t run = 0; run <= o.runs; ++run) {
    for (float& v : log_magnitude) v = 2 * uniform(engine);
    for (float& v : phase) v = 6 * uniform(engine) - 3;
    std::fill(workers.begin(), workers.end(), StageTimes{});
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    const Status status =
        network.run({1, frames, bins, log_magnitude.data(), phase.data()}, nullptr);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    const double cpu = static_cast<double>(std::clock() - cpu_start) * 1e3 / CLOCKS_PER_SEC;
    if (!status.ok()) return usage(status.to_string());
    if (run == 0 && o.runs > 1) continue;  // fills the caches and the page tables
    if (wall_ms.empty() || took.count() < *std::min_element(wall_ms.begin(), wall_ms.end()))
      best = workers;
    wall_ms.push_back(took.count());
    cpu_ms.push_back(cpu);
  }
  std::sort(wall_ms.begin(), wall_ms.end());
  const double audio_ms = 1e3 * static_cast<double>(o.seconds);
  std::printf("%s\n", to_string(context->machine()).c_str());
  std::printf("%lld parameters, %lld blocks, %lld channels, expand %lld; %lld x %lld spectrum\n",
              static_cast<long long>(network.parameters()), static_cast<long long>(c.blocks),
              static_cast<long long>(c.channels), static_cast<long long>(c.expand),
              static_cast<long long>(frames), static_cast<long long>(bins));
  for (const std::string& kernel : network.kernels()) std::printf("  %s\n", kernel.c_str());
  std::printf("%s, %lld Hz, %lld s, %lld threads: best %.0f ms, median %.0f ms of %zu runs\n",
              to_string(o.precision), static_cast<long long>(o.rate),
              static_cast<long long>(o.seconds), static_cast<long long>(o.threads), wall_ms.front(),
              wall_ms[wall_ms.size() / 2], wall_ms.size());
  std::printf("real-time factor: best %.3f, median %.3f\n", wall_ms.front() / audio_ms,
              wall_ms[wall_ms.size() / 2] / audio_ms);
  std::printf(
      "processor time: best %.0f ms, %.3f of real time on each thread\n",
      *std::min_element(cpu_ms.begin(), cpu_ms.end()),
      *std::min_element(cpu_ms.begin(), cpu_ms.end()) / audio_ms / static_cast<double>(o.threads));
  const std::vector<double> stages = stage_times(best);
  for (size_t i = 0; i < stages.size(); ++i)
    std::printf("  %-9s %8.1f ms  %5.1f %%\n", kStageNames[i], stages[i],
                100 * stages[i] / wall_ms.front());
  const double activations_mb = static_cast<double>(network.memory_bytes()) * 1e-6;
  std::printf("activations %.1f MB, peak of the process %.1f MB\n", activations_mb,
              peak_megabytes());
  const double processor_ms = *std::min_element(cpu_ms.begin(), cpu_ms.end());
  if (!o.json.empty() && !write_json(o, wall_ms, processor_ms, stages, activations_mb))
    return usage("cannot write " + o.json);
  return 0;
}

}  // namespace
}  // namespace hiss::models::re_use

int main(int argc, char** argv) { return hiss::models::re_use::main(argc, argv); }
