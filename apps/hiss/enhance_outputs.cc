// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "enhance_outputs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "io/safetensors.h"

namespace hiss::app {
namespace {

using io::OutputFile;

constexpr int kPictureWidth = 1400, kPictureHeight = 900;

Status check_names(const EnhanceOptions& options, const std::string& model_path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string* outputs[] = {&options.output, &options.report, &options.picture,
                                  &options.dump};
  for (const std::string* output : outputs) {
    if (output->empty()) continue;
    for (const std::string* input : {&options.input, &options.reference, &model_path}) {
      if (!input->empty() && fs::equivalent(*output, *input, error)) {
        return InvalidArgument(*output + ": is the same file as " + *input + ", which is read");
      }
    }
    for (const std::string* other : outputs) {
      if (other != output && !other->empty() &&
          fs::weakly_canonical(*output, error) == fs::weakly_canonical(*other, error)) {
        return InvalidArgument(*output + ": is to be written twice");
      }
    }
  }
  return {};
}

Status write_dump(OutputFile& file, const models::Activations& activations,
                  const EnhanceOutcome& outcome) {
  std::map<std::string, ConstTensorView> views;
  for (const auto& [name, tensor] : activations.tensors) {
    ConstTensorView& view = views[name];
    view.data = tensor.values.data();
    view.rank = static_cast<int>(tensor.shape.size());
    int64_t step = 1;
    for (int i = view.rank - 1; i >= 0; --i) {
      view.shape[i] = tensor.shape[i];
      view.stride[i] = step;
      step *= tensor.shape[i];
    }
  }
  return io::write_safetensors(
      file, views,
      {{"sampling_rate", std::to_string(outcome.sample_rate)}, {"model", outcome.model}});
}

}  // namespace

Result<EnhanceOutputs> EnhanceOutputs::create(const EnhanceOptions& options,
                                              const audio::AudioReader& reader,
                                              const std::string& model_path) {
  HISS_RETURN_IF_ERROR(check_names(options, model_path));
  EnhanceOutputs outputs;
  HISS_ASSIGN_OR_RETURN(outputs.recording_,
                        audio::AudioWriter::create(options.output, reader,
                                                   {.force = options.force,
                                                    .container = options.container,
                                                    .sample_format = options.sample_format}));
  const OutputFile::Options extra{.force = options.force, .not_same = options.input};
  if (!options.report.empty()) {
    HISS_ASSIGN_OR_RETURN(outputs.report_, OutputFile::create(options.report, extra));
  }
  if (!options.picture.empty()) {
    HISS_ASSIGN_OR_RETURN(outputs.picture_, OutputFile::create(options.picture, extra));
    const audio::AudioInfo& info = reader.info();
    const auto size = audio::plot_size(kPictureWidth, kPictureHeight, 2);
    for (auto* spectrogram : {&outputs.before_, &outputs.after_}) {
      HISS_ASSIGN_OR_RETURN(
          *spectrogram,
          audio::Spectrogram::create(info.sample_rate, info.channels,
                                     std::max<int64_t>(info.frames, 1), size.columns, size.rows));
    }
  }
  if (!options.dump.empty()) {
    HISS_ASSIGN_OR_RETURN(outputs.dump_, OutputFile::create(options.dump, extra));
  }
  return outputs;
}

void EnhanceOutputs::show_before(std::span<const float> interleaved) {
  if (before_) before_->add(interleaved);
}

void EnhanceOutputs::show_after(std::span<const float> interleaved) {
  if (after_) after_->add(interleaved);
}

Status EnhanceOutputs::commit(const EnhanceOptions& options, const EnhanceOutcome& outcome,
                              const models::Activations& activations) {
  if (picture_) {
    const audio::Panel panels[] = {{"before", before_.get()}, {"after", after_.get()}};
    HISS_RETURN_IF_ERROR(audio::draw_png(*picture_, panels, kPictureWidth, kPictureHeight));
  }
  if (report_) {
    const std::string text = report_json(options, outcome);
    HISS_RETURN_IF_ERROR(report_->write(std::as_bytes(std::span(text))));
  }
  if (dump_) HISS_RETURN_IF_ERROR(write_dump(*dump_, activations, outcome));
  HISS_RETURN_IF_ERROR(recording_->commit());
  for (auto* file : {&picture_, &report_, &dump_}) {
    if (*file) HISS_RETURN_IF_ERROR((*file)->commit());
  }
  return {};
}

}  // namespace hiss::app
