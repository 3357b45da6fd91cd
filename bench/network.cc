// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "network.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "contenders/python.h"
#include "models/re_use/shape.h"
#include "network_call.h"
#include "pinned_pool.h"

namespace hiss::bench {
namespace {

// Samples of the full-size network, which takes seconds.
constexpr int kFewest = 2;

// Multiply-adds; reading and writing memory is left out, which binds nothing here.
Work work_of(const ReUseConfig& c, int64_t frames, int64_t bins) {
  const auto shape = models::re_use::Shape::of(frames, bins, c);
  const auto d = static_cast<double>(c.channels), E = d * static_cast<double>(c.expand);
  const auto N = static_cast<double>(c.d_state);
  const double R = c.dt_rank > 0 ? static_cast<double>(c.dt_rank) : std::ceil(d / 16);
  const auto pixels = static_cast<double>(shape.padded_frames * shape.padded_bins);
  const auto tokens = static_cast<double>(shape.token_rows * shape.token_cols);
  const auto blocks = static_cast<double>(c.blocks);
  // A three-tap filter takes six products for four outputs (Winograd's F(4, 3)), not twelve.
  const double dense_block = 4.5 * (1 + 2 + 3 + 4) * d * d;
  // Both axes, both directions.
  const double products =
      4 * tokens * blocks * (2 * d * E + E * (R + 2 * N) + R * E + E * d + d * d);
  const double scans = 4 * tokens * blocks * E * (8 * N + 31 + static_cast<double>(c.d_conv) + 12);
  const double encoder = pixels * (2 * d + dense_block) + tokens * 3 * d * d;
  const double decoders = 2 * tokens * (dense_block + 6 * d * d + 24 * d * d) + 3 * pixels * d;
  return {.updates = 4 * tokens * blocks * E * N,
          .multiply_adds = products + scans + encoder + decoders,
          .matrix_multiply_adds = products + encoder + decoders};
}

// What needs a network of one block. With random weights thirty blocks make any difference large:
// an input off by 1e-4 changes the output by a third.
class OneBlock {
 public:
  static Result<std::unique_ptr<OneBlock>> create(ReUseConfig config, Context& context,
                                                  int64_t rate) {
    std::unique_ptr<OneBlock> one(new OneBlock);
    one->blocks_ = static_cast<double>(config.blocks);
    config.blocks = 1;
    HISS_ASSIGN_OR_RETURN(one->checkpoint_, Checkpoint::create(config));
    const std::string& path = one->checkpoint_->path;
    HISS_ASSIGN_OR_RETURN(one->standard_,
                          NetworkCall::create(path, context, Precision::kStandard, rate));
    HISS_ASSIGN_OR_RETURN(one->fast_, NetworkCall::create(path, context, Precision::kFast, rate));
    return one;
  }
  double error_of_fast() const {
    return relative_rms(fast_->answer().log_magnitude, standard_->answer().log_magnitude);
  }

  struct Eager {
    std::string name;
    double ms = 0, error = 0;
  };
  // The whole network's time in PyTorch, from that of its one block; `scan`: "stepwise" or
  // "slow_path", see torch_re_use.py.
  Result<Eager> run_eager(const std::string& contenders, const std::string& scan, int threads) {
    HISS_ASSIGN_OR_RETURN(const auto python, Python::start(contenders, "torch_re_use.py"));
    Features features = standard_->input();
    std::ofstream(python->folder() + "/case.json")
        << nlohmann::json{{"checkpoint", checkpoint_->path},
                          {"scan", scan},
                          {"threads", threads},
                          {"frames", features.frames},
                          {"bins", features.bins}};
    if (!python->write("log_magnitude", features.log_magnitude) ||
        !python->write("phase", features.phase))
      return Internal("torch: cannot write to " + python->folder());
    HISS_ASSIGN_OR_RETURN(const std::string version, python->ask("version"));
    HISS_ASSIGN_OR_RETURN(const std::string times, python->ask("case " + python->folder()));
    char* rest = nullptr;
    const double all = std::strtod(times.c_str(), &rest), block = std::strtod(rest, nullptr);
    if (!python->read("log_magnitude_out", features.log_magnitude) ||
        !python->read("phase_out", features.phase))
      return DataLoss("torch: the spectrum is too short");
    const auto& answer = standard_->answer();
    HISS_RETURN_IF_ERROR(check_answer("PyTorch, RE-USE, log magnitude",
                                      flat(features.log_magnitude), flat(answer.log_magnitude),
                                      {.relative_rms = 1e-4, .max_over_rms = 1e-2}));
    // An angle means nothing where both parts are near zero: a few phasors may differ at will.
    HISS_RETURN_IF_ERROR(check_answer("PyTorch, RE-USE, phase", flat(features.phasors()),
                                      flat(answer.phasors()),
                                      {.relative_rms = 1e-2, .max_over_rms = 3}));
    return Eager{"PyTorch " + version + " " + scan + ", 1 block x " +
                     std::to_string(static_cast<int>(blocks_)),
                 all + (blocks_ - 1) * block,
                 relative_rms(answer.log_magnitude, features.log_magnitude)};
  }

 private:
  OneBlock() = default;

  double blocks_ = 1;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<NetworkCall> standard_, fast_;
};

}  // namespace

std::vector<NetworkShape> network_shapes() {
  return {{"re_use_16k_5s", "", 16000},
          {"re_use_48k_5s", "", 48000},
          {"bundled_16k_5s", HISS_SOURCE_DIR "/models/hiss-small.safetensors", 16000}};
}

Result<std::vector<Row>> measure_network(const NetworkShape& shape, const Settings& settings,
                                         const Peaks& peaks, const std::string& contenders) {
  std::vector<Row> rows;
  const auto wanted = [&](Precision precision) {
    return std::regex_search("re_use/network " + shape.name + " " + to_string(precision),
                             settings.filter);
  };
  if (!wanted(Precision::kStandard) && !wanted(Precision::kFast)) return rows;
  std::unique_ptr<Checkpoint> random;
  std::string path = shape.model;
  if (path.empty()) {
    HISS_ASSIGN_OR_RETURN(random, Checkpoint::create({}));
    path = random->path;
  }
  for (const int threads : settings.threads) {
    const auto pool = make_pinned_pool(threads);
    HISS_ASSIGN_OR_RETURN(Context context, Context::create({.executor = pool.get()}));
    std::vector<std::unique_ptr<NetworkCall>> calls;
    std::vector<Timed*> contestants;
    for (const Precision precision : kPrecisions) {
      if (!wanted(precision)) continue;
      HISS_ASSIGN_OR_RETURN(auto call, NetworkCall::create(path, context, precision, shape.rate));
      const Features& answer = call->answer();
      Row row{.op = "re_use",
              .kernel = "re_use/network",
              .name = shape.name,
              .dtype = "F32",
              .precision = to_string(precision),
              .threads = threads,
              .work = work_of(call->network().config(), answer.frames, answer.bins)};
      row.bound_ms = compute_bound(row.work, precision == Precision::kFast, threads, peaks);
      row.bound_kind =
          precision == Precision::kFast && peaks.bf16_multiply_adds > 0 ? "bf16" : "fma";
      if (!calls.empty())
        row.error = relative_rms(answer.log_magnitude, calls.front()->answer().log_magnitude);
      rows.push_back(row);
      contestants.push_back(call.get());
      calls.push_back(std::move(call));
    }
    const int least = shape.model.empty() ? std::min(settings.least, kFewest) : settings.least;
    HISS_ASSIGN_OR_RETURN(const auto times, take_turns(contestants, least, settings.budget_ms));
    const size_t first = rows.size() - calls.size();
    std::vector<OneBlock::Eager> eager;
    if (shape.model.empty()) {
      HISS_ASSIGN_OR_RETURN(
          const auto one, OneBlock::create(calls.front()->network().config(), context, shape.rate));
      for (const char* scan : {"stepwise", "slow_path"}) {
        if (contenders.empty()) break;
        HISS_ASSIGN_OR_RETURN(auto ran, one->run_eager(contenders, scan, threads));
        eager.push_back(std::move(ran));
      }
      for (size_t i = first; i < rows.size(); ++i) {
        const bool fast = rows[i].precision == to_string(Precision::kFast);
        rows[i].error = fast ? one->error_of_fast() : eager.empty() ? 0 : eager.front().error;
      }
    }
    std::vector<Row> done;
    for (size_t i = first; i < rows.size(); ++i) {
      rows[i].times = times[i - first];
      for (size_t k = 0; k < std::max<size_t>(1, eager.size()); ++k) {
        done.push_back(rows[i]);
        if (k < eager.size()) done.back().peer = eager[k].name;
        if (k < eager.size()) done.back().peer_median_ms = eager[k].ms;
        print(done.back());
      }
    }
    rows.resize(first);
    rows.insert(rows.end(), done.begin(), done.end());
  }
  return rows;
}

}  // namespace hiss::bench
