// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/network.h"

#include <algorithm>
#include <set>

#include "models/re_use/packing.h"

namespace hiss::models::re_use {
namespace {

// tokens [T', F', d] as [d, T', F'].
void record(Activations* dump, const std::string& name, const Map& tokens) {
  if (dump == nullptr) return;
  const int64_t n = tokens.rows * tokens.cols, d = tokens.channels;
  Activations::Tensor& tensor = dump->tensors[name];
  tensor.shape = {d, tokens.rows, tokens.cols};
  tensor.values.resize(static_cast<size_t>(n * d));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < d; ++c)
      tensor.values[static_cast<size_t>(c * n + i)] = tokens.data[i * d + c];
}

Status check(const SpectrumBatch& s) {
  if (s.batch < 0 || s.frames < 0 || s.bins < 0)
    return InvalidArgument("spectrum: got [" + std::to_string(s.batch) + ", " +
                           std::to_string(s.frames) + ", " + std::to_string(s.bins) +
                           "], want no size below 0");
  if (s.batch == 0 || s.frames == 0 || s.bins == 0) return {};
  if (s.log_magnitude == nullptr || s.phase == nullptr)
    return InvalidArgument("spectrum: log_magnitude or phase is null");
  constexpr int64_t kMostCells = int64_t{1} << 40;  // beyond, sizes in bytes could overflow
  if (s.frames > kMostCells / s.bins)
    return ResourceExhausted("no memory for a window of " + std::to_string(s.frames) + " x " +
                             std::to_string(s.bins));
  return {};
}

}  // namespace

Result<std::unique_ptr<ReUse>> Network::create(const ReUseConfig& config, Weights weights,
                                               Context& context, Precision precision) {
  HISS_RETURN_IF_ERROR(pack(config, operands_for(precision, context.machine()), weights));
  std::unique_ptr<Network> network(new Network(config, std::move(weights), context, precision));
  // Chosen again for each shape; choosing once now tells early when nothing can run.
  const int64_t n = run_tokens(config);
  HISS_ASSIGN_OR_RETURN(
      network->plan_,
      TFMambaPlan::create(context, config, network->weights_.TSMamba.front(), n, n, precision));
  return std::unique_ptr<ReUse>(std::move(network));
}

std::vector<std::string> Network::kernels() const {
  std::set<std::string> names;
  plan_.add_kernels(names);
  return {names.begin(), names.end()};
}

void Network::measure(StageTimes* times) {
  times_ = times;
  shape_ = {};
}

size_t Network::lay_out(const Shape& shape, std::byte* memory) {
  Executor& executor = context_.executor();
  Carver common(memory);
  tokens_ = common.map(shape.token_rows, shape.token_cols, shape.channels);
  // Encoder, blocks and decoders run one after the other in the same memory.
  std::byte* shared = memory == nullptr ? nullptr : memory + common.bytes();
  Carver encoder(shared), blocks(shared), decoder(shared);
  encoder_ = EncoderBuffers::carve(encoder, shape, executor);
  sequences_.clear();
  for (int worker = 0; worker < executor.workers(); ++worker) {
    sequences_.push_back(SequenceScratch::carve(
        blocks, config_, std::max(shape.token_rows, shape.token_cols), plan_.workspace_bytes()));
    sequences_.back().mamba.times = times_ == nullptr ? nullptr : times_ + worker;
  }
  decoder_ = DecoderBuffers::carve(decoder, shape, executor);
  return common.bytes() + std::max({encoder.bytes(), blocks.bytes(), decoder.bytes()});
}

Status Network::prepare(const Shape& shape) {
  if (shape == shape_) return {};
  shape_ = {};
  HISS_ASSIGN_OR_RETURN(plan_, TFMambaPlan::create(context_, config_, weights_.TSMamba.front(),
                                                   shape.token_rows, shape.token_cols, precision_));
  HISS_ASSIGN_OR_RETURN(encoder_dense_, DenseBlockPlan::create(shape.padded_bins,
                                                               weights_.dense_encoder.dense_block));
  HISS_ASSIGN_OR_RETURN(
      decoder_dense_, DenseBlockPlan::create(shape.token_cols, weights_.mask_decoder.dense_block));
  const size_t bytes = lay_out(shape, nullptr);
  if (bytes > memory_.capacity()) {
    memory_ = Arena();
    HISS_ASSIGN_OR_RETURN(memory_, Arena::create(bytes));
  }
  memory_.reset();
  lay_out(shape, memory_.take<std::byte>(static_cast<int64_t>(bytes)).data());
  shape_ = shape;
  return {};
}

Status Network::run(const SpectrumBatch& spectrum, Activations* dump) {
  HISS_RETURN_IF_ERROR(check(spectrum));
  if (spectrum.frames == 0 || spectrum.bins == 0) return {};
  const int64_t item = spectrum.frames * spectrum.bins;
  HISS_RETURN_IF_ERROR(prepare(Shape::of(spectrum.frames, spectrum.bins, config_)));
  for (int64_t b = 0; b < spectrum.batch; ++b)
    HISS_RETURN_IF_ERROR(run_item(spectrum.log_magnitude + b * item, spectrum.phase + b * item,
                                  b == 0 ? dump : nullptr));
  return {};
}

Status Network::run_item(float* log_magnitude, float* phase, Activations* dump) {
  StageClock encoder_clock(times_);
  HISS_RETURN_IF_ERROR(encode(weights_.dense_encoder, encoder_dense_, shape_, log_magnitude, phase,
                              encoder_, tokens_));
  encoder_clock.lap(Stage::kEncoder);
  record(dump, "encoder_out", tokens_);

  for (size_t b = 0; b < weights_.TSMamba.size(); ++b) {
    HISS_RETURN_IF_ERROR(plan_.run(weights_.TSMamba[b], tokens_, sequences_, context_.executor()));
    record(dump, "block_" + std::to_string(b) + "_out", tokens_);
  }

  StageClock decoder_clock(times_);
  HISS_RETURN_IF_ERROR(
      decode_mask(weights_.mask_decoder, decoder_dense_, shape_, tokens_, decoder_, log_magnitude));
  HISS_RETURN_IF_ERROR(
      decode_phase(weights_.phase_decoder, decoder_dense_, shape_, tokens_, decoder_, phase));
  decoder_clock.lap(Stage::kDecoders);
  return {};
}

}  // namespace hiss::models::re_use
