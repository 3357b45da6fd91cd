// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "enhance.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "commands.h"
#include "exit_code.h"

namespace hiss::app {
namespace {

constexpr char kFormats[] =
    "Reads WAV, AIFF, CAF, FLAC, Ogg Vorbis and Opus, MP3 and whatever else libsndfile reads. The\n"
    "output keeps rate, length, channels, sample format, container and tags, unless its extension\n"
    "or an option asks for another.\n";

constexpr char kExamples[] =
    "Examples:\n"
    "  hiss enhance noisy.wav -o clean.wav\n"
    "  hiss enhance talk.mp3 -o talk.flac --picture talk.png --report talk.json\n"
    "  hiss enhance noisy.wav -o clean.wav --strength 0.7 --threads 2 --force\n"
    "  hiss enhance noisy.wav -o clean.wav --model RE-USE/\n";

const std::map<std::string, Precision> kPrecisions = {
    {"standard", Precision::kStandard}, {"strict", Precision::kStrict}, {"fast", Precision::kFast}};

// CLI11's own range check lets NaN pass.
CLI::Validator between(double low, double high) {
  return {[=](std::string& text) -> std::string {
            double value = 0;
            if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return "";
            return fmt::format("'{}' is not a number from {} to {}", text, low, high);
          },
          fmt::format("{} ... {}", low, high)};
}

void add_sound_options(CLI::App& command, EnhanceOptions& options) {
  command.add_option("--model", options.model,
                     "Checkpoint: a .safetensors file, or a folder with one and its config.json "
                     "(default: the bundled model)");
  command
      .add_option("--strength", options.strength,
                  "0 gives the input back to the bit, 1 the model's output, between them a mix")
      ->check(between(0, 1))
      ->capture_default_str();
  command
      .add_option("--chunk-seconds", options.chunk_seconds,
                  "Length of the windows the model sees one at a time, in seconds")
      ->check(between(0.05, 600))
      ->capture_default_str();
  command
      .add_option("--overlap", options.overlap, "Part of a window that is crossfaded with the next")
      ->check(between(0, 0.5))
      ->capture_default_str();
}

void add_compute_options(CLI::App& command, EnhanceOptions& options) {
  command
      .add_option("--precision", options.precision,
                  "standard, strict (the same bits for any number of threads) or fast (16-bit "
                  "operands)")
      ->transform(CLI::CheckedTransformer(kPrecisions))
      ->option_text("CLASS [standard]");
  command.add_option("--threads", options.threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--kernel", options.kernels,
                  "Force a kernel by its full name ('hiss kernels' lists them); may be repeated, "
                  "once for each operator")
      ->allow_extra_args(false);
}

void add_output_options(CLI::App& command, EnhanceOptions& options) {
  command.add_option("--container", options.container,
                     "Container of the output: wav, flac, aiff, caf, ogg, mp3 ... (default: as its "
                     "extension says, else as the input's)");
  command.add_option("--sample-format", options.sample_format,
                     "Samples of the output: u8, s8, pcm16, pcm24, pcm32, float, double, vorbis, "
                     "opus, mp3 (default: the input's)");
  command.add_option("--report", options.report, "Write what was done as JSON to this file");
  command.add_option("--picture", options.picture,
                     "Write spectrograms before and after as PNG to this file");
  command.add_option("--reference", options.reference,
                     "Clean recording to measure SI-SDR and log-spectral distance against; keeps "
                     "the whole recording in memory");
  command.add_option("--dump", options.dump,
                     "Write the network's activations for the first window of the first channel "
                     "as safetensors to this file");
  command.add_flag("--force", options.force, "Replace files that exist");
  command.add_flag("--quiet", options.quiet, "No progress, no summary; only warnings and errors");
}

}  // namespace

void add_enhance_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("enhance", "Remove noise from a recording of speech");
  auto options = std::make_shared<EnhanceOptions>();
  command->add_option("input", options->input, "The recording")->required();
  command->add_option("-o,--output", options->output, "The file to write")->required();
  add_sound_options(*command, *options);
  add_compute_options(*command, *options);
  add_output_options(*command, *options);
  command->footer(fmt::format("{}\n{}\n{}", kFormats, kExamples, exit_code_help()));
  command->callback([options, &exit_code] { exit_code = enhance(*options); });
}

}  // namespace hiss::app
