// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/packing.h"

namespace hiss::models::re_use {
namespace {

Status pack_mamba(const ReUseConfig& config, Operands operands, Mamba& w) {
  const int64_t d = config.channels, e = config.expand * d;
  const int64_t row = config.dt_rank + 2 * config.d_state;
  HISS_ASSIGN_OR_RETURN(w.packed_in_proj,
                        PackedWeight::create({w.in_proj, d, 2 * e, 2 * e}, 2 * e, operands));
  HISS_ASSIGN_OR_RETURN(w.packed_x_proj, PackedWeight::create({w.x_proj, e, row, row},
                                                              dt_B_C_columns(config), operands));
  HISS_ASSIGN_OR_RETURN(w.packed_out_proj,
                        PackedWeight::create({w.out_proj, e, d, d}, d, operands));
  return {};
}

Status pack_both(const ReUseConfig& config, Operands operands, BiMamba& w) {
  const int64_t d = config.channels;
  HISS_RETURN_IF_ERROR(pack_mamba(config, operands, w.forward_blocks));
  HISS_RETURN_IF_ERROR(pack_mamba(config, operands, w.backward_blocks));
  HISS_ASSIGN_OR_RETURN(w.packed_output_forward,
                        PackedWeight::create({w.output_proj_weight, d, d, d}, d, operands));
  HISS_ASSIGN_OR_RETURN(w.packed_output_backward,
                        PackedWeight::create({w.output_proj_weight + d * d, d, d, d}, d, operands));
  return {};
}

Status pack_dense(DenseBlock& w) {
  for (ConvNormAct& stage : w.dense_block) {
    HISS_ASSIGN_OR_RETURN(stage.winograd, WinogradWeight::create(stage.conv));
  }
  return {};
}

}  // namespace

int64_t dt_B_C_columns(const ReUseConfig& config) {
  constexpr int64_t kVector = 16;
  return (config.dt_rank + 2 * config.d_state + kVector - 1) / kVector * kVector;
}

Status pack(const ReUseConfig& config, Operands operands, Weights& weights) {
  HISS_RETURN_IF_ERROR(pack_dense(weights.dense_encoder.dense_block));
  HISS_RETURN_IF_ERROR(pack_dense(weights.mask_decoder.dense_block));
  HISS_RETURN_IF_ERROR(pack_dense(weights.phase_decoder.dense_block));
  for (TFMamba& block : weights.TSMamba) {
    HISS_RETURN_IF_ERROR(pack_both(config, operands, block.time_mamba));
    HISS_RETURN_IF_ERROR(pack_both(config, operands, block.freq_mamba));
  }
  return {};
}

}  // namespace hiss::models::re_use
