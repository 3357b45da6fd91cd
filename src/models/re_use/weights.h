// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hiss/arena.h"
#include "hiss/status.h"
#include "io/safetensors.h"
#include "models/nn/conv2d.h"
#include "models/nn/packed_product.h"
#include "models/nn/winograd.h"
#include "models/re_use/re_use.h"

// The network's parameters under their names in the checkpoint. d = channels, E = expand * d,
// N = d_state, R = dt_rank, K = d_conv. Matrices are stored transposed, (in, out), as the products
// read them.
namespace hiss::models::re_use {

// Conv2d -> InstanceNorm2d -> PReLU, a Sequential of three.
struct ConvNormAct {
  Conv2d conv;                          // 0.weight, 0.bias
  const float* norm_weight = nullptr;   // 1.weight (d)
  const float* norm_bias = nullptr;     // 1.bias (d)
  const float* prelu_weight = nullptr;  // 2.weight (d)
  WinogradWeight winograd;              // of a dense block's convolution, by pack()
};

struct DenseBlock {
  std::array<ConvNormAct, 4> dense_block;
};

struct Encoder {
  ConvNormAct dense_conv_1;
  DenseBlock dense_block;
  ConvNormAct dense_conv_2;
};

// One direction of Mamba-1.
struct Mamba {
  const float* in_proj = nullptr;                               // (d, 2E): x, then z
  const float* conv1d_weight = nullptr;                         // (E, K)
  const float* conv1d_bias = nullptr;                           // (E)
  const float* x_proj = nullptr;                                // (E, R + 2N): dt, B, C
  const float* dt_proj_weight = nullptr;                        // (R, E)
  const float* dt_proj_bias = nullptr;                          // (E)
  const float* A = nullptr;                                     // (E, N): -exp(A_log)
  const float* D = nullptr;                                     // (E)
  const float* out_proj = nullptr;                              // (E, d)
  PackedWeight packed_in_proj, packed_x_proj, packed_out_proj;  // by pack()
};

// Mamba in both directions, merged.
struct BiMamba {
  Mamba forward_blocks, backward_blocks;
  const float* output_proj_weight = nullptr;                   // (2d, d): forward, backward
  const float* output_proj_bias = nullptr;                     // (d)
  const float* norm_weight = nullptr;                          // (d)
  const float* norm_bias = nullptr;                            // (d)
  PackedWeight packed_output_forward, packed_output_backward;  // its halves, by pack()
};

struct TFMamba {
  BiMamba time_mamba, freq_mamba;
};

// The trunk of both decoders.
struct Decoder {
  DenseBlock dense_block;
  ConvNormAct up_conv1,
      up_conv2;  // sub-pixel layers: out channel r * d + c is channel c of phase r
};
struct MaskDecoder : Decoder {
  const float* final_conv_weight = nullptr;  // (d)
  const float* final_conv_bias = nullptr;    // (1)
};
struct PhaseDecoder : Decoder {
  const float* phase_conv_r_weight = nullptr;  // (d)
  const float* phase_conv_r_bias = nullptr;    // (1)
  const float* phase_conv_i_weight = nullptr;  // (d)
  const float* phase_conv_i_bias = nullptr;    // (1)
};

struct Weights {
  Encoder dense_encoder;
  std::vector<TFMamba> TSMamba;
  MaskDecoder mask_decoder;
  PhaseDecoder phase_decoder;

  int64_t parameters = 0;
  Arena memory;
};

// What a value goes through between the checkpoint and the field.
enum class Packing : uint8_t {
  kAsIs,
  kTransposed,   // (out, in) -> (in, out)
  kTaps,         // (out, in, rows, cols) -> (rows, cols, in, out)
  kNegativeExp,  // v -> -exp(v)
};

// One tensor of the checkpoint: its PyTorch name and shape, and the field it fills.
struct Slot {
  std::string name;
  std::vector<int64_t> shape;
  Packing packing;
  const float** field;
};

// Every tensor of the network, in order; sets up the convolutions' geometry and the number of
// blocks on the way. The slots point into `weights`.
std::vector<Slot> slots(const ReUseConfig& config, Weights& weights);

// Reads a checkpoint in any key layout, F32, F16 or BF16. kInvalidArgument: not such a checkpoint
// or not of this configuration; lists every missing, unexpected and misshaped tensor; nothing has
// been allocated for weights then. kResourceExhausted.
Result<Weights> load_weights(const ReUseConfig& config, const io::Safetensors& file);

}  // namespace hiss::models::re_use
