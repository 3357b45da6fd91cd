// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "audio/files/audio_file.h"
#include "audio/files/audio_format.h"
#include "comparison.h"
#include "enhance.h"
#include "enhance_outputs.h"
#include "enhancer/enhancer_impl.h"
#include "hiss/machine.h"
#include "interrupt.h"
#include "model_path.h"
#include "progress.h"

namespace hiss::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBlockSamples = 1 << 16;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// One run of the command, step by step. subject() says what a failed Status is about.
class Run {
 public:
  explicit Run(const EnhanceOptions& options) : options_(options) {}
  Status run();
  Subject subject() const { return subject_; }
  const EnhanceOutcome& outcome() const { return outcome_; }
  std::string end_of_progress() { return progress_.finish(); }

 private:
  Status open_input();
  Status check_format();
  Status load_model();
  Status enhance_input();
  Status copy_input();
  Status finish();
  void take_in(std::span<const float> interleaved);
  void give_out(std::span<const float> interleaved);
  template <class Sample>
  Result<std::span<Sample>> read_block(std::vector<Sample>* block);

  const EnhanceOptions& options_;
  Subject subject_ = Subject::kArguments;
  EnhanceOutcome outcome_;
  std::unique_ptr<audio::AudioReader> reader_;
  std::optional<EnhanceOutputs> outputs_;
  std::optional<Comparison> comparison_;
  std::unique_ptr<Executor> threads_;
  std::unique_ptr<Enhancer> enhancer_;
  std::vector<float> first_window_;  // of channel 0, for --dump
  int64_t frames_out_ = 0;
  Progress progress_{isatty(STDERR_FILENO) != 0};
  Clock::time_point start_;
};

Status Run::run() {
  HISS_RETURN_IF_ERROR(open_input());
  subject_ = Subject::kModel;
  HISS_ASSIGN_OR_RETURN(outcome_.model_path, find_model(options_.model));
  HISS_RETURN_IF_ERROR(check_format());
  subject_ = Subject::kOutput;
  HISS_ASSIGN_OR_RETURN(outputs_, EnhanceOutputs::create(options_, *reader_, outcome_.model_path));
  HISS_RETURN_IF_ERROR(load_model());
  start_ = Clock::now();
  HISS_RETURN_IF_ERROR(options_.strength == 0 ? copy_input() : enhance_input());
  outcome_.enhance_seconds = seconds_since(start_);
  return finish();
}

Status Run::open_input() {
  subject_ = Subject::kInput;
  HISS_ASSIGN_OR_RETURN(reader_, audio::AudioReader::open(options_.input));
  const audio::AudioInfo& info = reader_->info();
  outcome_.input_format = to_string(info);
  outcome_.sample_rate = info.sample_rate;
  outcome_.channels = info.channels;
  if (!options_.reference.empty()) {
    HISS_ASSIGN_OR_RETURN(comparison_, Comparison::open(options_.reference, info));
  }
  return {};
}

// A word that is no format is the command line's mistake, not the output's.
Status Run::check_format() {
  subject_ = Subject::kArguments;
  const auto format = audio::choose_format(
      options_.output, reader_->info(),
      {.container = options_.container, .sample_format = options_.sample_format});
  return format.error().code() == StatusCode::kInvalidArgument ? format.error() : Status();
}

Status Run::load_model() {
  const auto start = Clock::now();
  threads_ = make_thread_pool(options_.threads);
  const EnhancerOptions wanted{.model = outcome_.model_path,
                               .chunk_seconds = options_.chunk_seconds,
                               .overlap = options_.overlap,
                               .strength = options_.strength,
                               .precision = options_.precision,
                               .context = {.executor = threads_.get(), .forced = options_.kernels}};
  // A wrong name of a kernel is the caller's mistake, not the model's.
  subject_ = Subject::kArguments;
  HISS_RETURN_IF_ERROR(Context::create(wanted.context).error());
  subject_ = Subject::kModel;
  auto enhancer = Enhancer::create(wanted);
  if (!enhancer && enhancer.error().code() == StatusCode::kUnsupported &&
      !options_.kernels.empty()) {
    subject_ = Subject::kArguments;  // a forced kernel declines
  }
  HISS_ASSIGN_OR_RETURN(enhancer_, std::move(enhancer));
  outcome_.model = enhancer_->describe();
  outcome_.kernels = enhancer_->kernels();
  for (const std::string& forced : options_.kernels) {
    if (std::ranges::find(outcome_.kernels, forced) != outcome_.kernels.end()) continue;
    subject_ = Subject::kArguments;
    return InvalidArgument(forced + ": the model has no use for this kernel");
  }
  outcome_.threads = threads_->workers();
  outcome_.machine = to_string(this_machine());
  outcome_.load_seconds = seconds_since(start);
  return {};
}

void Run::take_in(std::span<const float> interleaved) {
  outputs_->show_before(interleaved);
  if (comparison_) comparison_->add_before(interleaved);
  if (options_.dump.empty()) return;
  const auto window = static_cast<size_t>(options_.chunk_seconds * outcome_.sample_rate);
  const auto channels = static_cast<size_t>(outcome_.channels);
  for (size_t i = 0; i < interleaved.size() && first_window_.size() < window; i += channels) {
    first_window_.push_back(interleaved[i]);
  }
}

void Run::give_out(std::span<const float> interleaved) {
  outputs_->show_after(interleaved);
  if (comparison_) comparison_->add_after(interleaved);
  frames_out_ += static_cast<int64_t>(interleaved.size()) / outcome_.channels;
  const int64_t expected = reader_->info().frames;
  if (options_.quiet || expected <= 0) return;
  const double done = static_cast<double>(frames_out_) / static_cast<double>(expected);
  fmt::print(stderr, "{}", progress_.update(done, seconds_since(start_)));
}

// The next samples of the input; empty at the end.
template <class Sample>
Result<std::span<Sample>> Run::read_block(std::vector<Sample>* block) {
  subject_ = Subject::kInput;
  block->resize(std::max<int64_t>(kBlockSamples / outcome_.channels, 1) * outcome_.channels);
  HISS_ASSIGN_OR_RETURN(const int64_t frames, reader_->read(std::span(*block)));
  outcome_.frames += frames;
  return std::span(*block).first(frames * outcome_.channels);
}

Status Run::enhance_input() {
  subject_ = Subject::kInput;
  HISS_ASSIGN_OR_RETURN(const auto session,
                        enhancer_->start(outcome_.sample_rate, outcome_.channels));
  const auto sink = [&](std::span<const float> enhanced) -> Status {
    subject_ = Subject::kOutput;
    HISS_RETURN_IF_ERROR(outputs_->recording().write(enhanced));
    subject_ = Subject::kModel;
    give_out(enhanced);
    return {};
  };
  std::vector<float> block;
  for (;;) {
    HISS_ASSIGN_OR_RETURN(const auto input, read_block(&block));
    subject_ = Subject::kModel;
    if (input.empty()) break;
    take_in(input);
    HISS_RETURN_IF_ERROR(session->process(input, sink));
  }
  HISS_RETURN_IF_ERROR(session->finish(sink));
  outcome_.replaced_samples = session->replaced_samples();
  return {};
}

// Strength 0: no model can change a bit of what passes by in double.
Status Run::copy_input() {
  std::vector<double> block;
  std::vector<float> shown;
  for (;;) {
    HISS_ASSIGN_OR_RETURN(const auto input, read_block(&block));
    if (input.empty()) return {};
    for (double& sample : input) {
      if (std::isfinite(sample)) continue;
      sample = 0;
      ++outcome_.replaced_samples;
    }
    shown.assign(input.begin(), input.end());
    take_in(shown);
    subject_ = Subject::kOutput;
    HISS_RETURN_IF_ERROR(outputs_->recording().write(input));
    give_out(shown);
  }
}

Status Run::finish() {
  outcome_.truncation = reader_->truncation();
  outcome_.output_format = to_string(outputs_->recording().info());
  outcome_.notes = outputs_->recording().notes();
  outcome_.limited_samples = outputs_->recording().limited_samples();
  if (comparison_) {
    subject_ = Subject::kInput;
    HISS_ASSIGN_OR_RETURN(outcome_.metrics, comparison_->result());
  }
  models::Activations activations;
  if (!options_.dump.empty()) {
    subject_ = Subject::kModel;
    HISS_ASSIGN_OR_RETURN(activations,
                          internal::dump_window(*enhancer_, outcome_.sample_rate, first_window_));
  }
  outcome_.peak_memory_bytes = peak_memory_bytes();
  subject_ = Subject::kOutput;
  return outputs_->commit(options_, outcome_, activations);
}

}  // namespace

ExitCode enhance(const EnhanceOptions& options) {
  leave_nothing_when_interrupted();
  Run run(options);
  const Status status = run.run();
  if (!options.quiet) fmt::print(stderr, "{}", run.end_of_progress());
  if (!status.ok()) return fail(status, run.subject());
  const EnhanceOutcome& outcome = run.outcome();
  if (!outcome.truncation.empty()) {
    fmt::print(stderr, "hiss: warning: {}: {}\n", options.input, outcome.truncation);
  }
  for (const std::string& note : outcome.notes) {
    fmt::print(stderr, "hiss: warning: {}: {}\n", options.output, note);
  }
  if (!options.quiet) fmt::print("{}", summary(options, outcome));
  return kExitOk;
}

}  // namespace hiss::app
