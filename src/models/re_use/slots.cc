// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/weights.h"

namespace hiss::models::re_use {
namespace {

// Walks the network in the order of the checkpoint.
class Walker {
 public:
  Walker(const ReUseConfig& config, std::vector<Slot>& slots)
      : d_(config.channels),
        e_(config.expand * config.channels),
        n_(config.d_state),
        r_(config.dt_rank),
        k_(config.d_conv),
        slots_(slots) {}

  void encoder(const std::string& prefix, Encoder& w) {
    conv_norm_act(prefix + "dense_conv_1.", "0.", {.in_channels = 2, .out_channels = d_},
                  w.dense_conv_1);
    dense_block(prefix + "dense_block.", w.dense_block);
    // The stride of 4 in time is taken by the dense block's last stage, which drops the rows that
    // this convolution would skip.
    conv_norm_act(prefix + "dense_conv_2.", "0.",
                  {.in_channels = d_, .out_channels = d_, .kernel_cols = 3, .stride_cols = 2},
                  w.dense_conv_2);
  }

  void tf_mamba(const std::string& prefix, TFMamba& w) {
    bi_mamba(prefix + "time_mamba.", w.time_mamba);
    bi_mamba(prefix + "freq_mamba.", w.freq_mamba);
  }

  void mask_decoder(const std::string& prefix, MaskDecoder& w) {
    decoder(prefix, w);
    head(prefix + "final_conv.", w.final_conv_weight, w.final_conv_bias);
  }

  void phase_decoder(const std::string& prefix, PhaseDecoder& w) {
    decoder(prefix, w);
    head(prefix + "phase_conv_r.", w.phase_conv_r_weight, w.phase_conv_r_bias);
    head(prefix + "phase_conv_i.", w.phase_conv_i_weight, w.phase_conv_i_bias);
  }

 private:
  void add(std::string name, std::vector<int64_t> shape, const float*& field,
           Packing packing = Packing::kAsIs) {
    slots_.push_back({std::move(name), std::move(shape), packing, &field});
  }

  void conv_norm_act(const std::string& prefix, const std::string& conv, const Conv2d& geometry,
                     ConvNormAct& w) {
    w.conv = geometry;
    add(prefix + conv + "weight",
        {geometry.out_channels, geometry.in_channels, geometry.kernel_rows, geometry.kernel_cols},
        w.conv.weight, Packing::kTaps);
    add(prefix + conv + "bias", {geometry.out_channels}, w.conv.bias);
    add(prefix + "1.weight", {d_}, w.norm_weight);
    add(prefix + "1.bias", {d_}, w.norm_bias);
    add(prefix + "2.weight", {d_}, w.prelu_weight);
  }

  void dense_block(const std::string& prefix, DenseBlock& w) {
    for (int64_t i = 0; i < 4; ++i)
      conv_norm_act(prefix + "dense_block." + std::to_string(i) + ".", "0.",
                    {.in_channels = d_ * (i + 1),
                     .out_channels = d_,
                     .kernel_rows = 3,
                     .kernel_cols = 3,
                     .dilation_rows = int64_t{1} << i,
                     .pad_rows = int64_t{1} << i,
                     .pad_cols = 1},
                    w.dense_block[static_cast<size_t>(i)]);
  }

  void mamba(const std::string& prefix, Mamba& w) {
    add(prefix + "in_proj.weight", {2 * e_, d_}, w.in_proj, Packing::kTransposed);
    add(prefix + "conv1d.weight", {e_, 1, k_}, w.conv1d_weight);
    add(prefix + "conv1d.bias", {e_}, w.conv1d_bias);
    add(prefix + "x_proj.weight", {r_ + 2 * n_, e_}, w.x_proj, Packing::kTransposed);
    add(prefix + "dt_proj.weight", {e_, r_}, w.dt_proj_weight, Packing::kTransposed);
    add(prefix + "dt_proj.bias", {e_}, w.dt_proj_bias);
    add(prefix + "A_log", {e_, n_}, w.A, Packing::kNegativeExp);
    add(prefix + "D", {e_}, w.D);
    add(prefix + "out_proj.weight", {d_, e_}, w.out_proj, Packing::kTransposed);
  }

  void bi_mamba(const std::string& prefix, BiMamba& w) {
    mamba(prefix + "forward_blocks.", w.forward_blocks);
    mamba(prefix + "backward_blocks.", w.backward_blocks);
    add(prefix + "output_proj.weight", {d_, 2 * d_}, w.output_proj_weight, Packing::kTransposed);
    add(prefix + "output_proj.bias", {d_}, w.output_proj_bias);
    add(prefix + "norm.weight", {d_}, w.norm_weight);
    add(prefix + "norm.bias", {d_}, w.norm_bias);
  }

  void decoder(const std::string& prefix, Decoder& w) {
    dense_block(prefix + "dense_block.", w.dense_block);
    const Conv2d sub_pixel{
        .in_channels = d_, .out_channels = 2 * d_, .kernel_cols = 3, .pad_cols = 1};
    conv_norm_act(prefix + "up_conv1.", "0.conv.", sub_pixel, w.up_conv1);
    Conv2d along_time = sub_pixel;
    along_time.out_channels = 4 * d_;
    conv_norm_act(prefix + "up_conv2.", "0.conv.", along_time, w.up_conv2);
    // The original runs it on the transposed map; here the kernel is turned instead.
    Conv2d& up_conv2 = w.up_conv2.conv;
    std::swap(up_conv2.kernel_rows, up_conv2.kernel_cols);
    std::swap(up_conv2.pad_rows, up_conv2.pad_cols);
  }

  void head(const std::string& prefix, const float*& weight, const float*& bias) {
    add(prefix + "weight", {1, d_, 1, 1}, weight);
    add(prefix + "bias", {1}, bias);
  }

  const int64_t d_, e_, n_, r_, k_;
  std::vector<Slot>& slots_;
};

}  // namespace

std::vector<Slot> slots(const ReUseConfig& config, Weights& weights) {
  std::vector<Slot> all;
  Walker walk(config, all);
  walk.encoder("dense_encoder.", weights.dense_encoder);
  weights.TSMamba.resize(static_cast<size_t>(config.blocks));
  for (size_t b = 0; b < weights.TSMamba.size(); ++b)
    walk.tf_mamba("TSMamba." + std::to_string(b) + ".", weights.TSMamba[b]);
  walk.mask_decoder("mask_decoder.", weights.mask_decoder);
  walk.phase_decoder("phase_decoder.", weights.phase_decoder);
  return all;
}

}  // namespace hiss::models::re_use
