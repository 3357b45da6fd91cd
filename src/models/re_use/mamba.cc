// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/re_use/mamba.h"

#include <algorithm>

#include "cpu/simd/row_math.h"
#include "models/re_use/packing.h"

namespace hiss::models::re_use {
namespace {

constexpr int64_t kRunBytes = 512 << 10;  // of intermediates: half of a core's L2

}  // namespace

int64_t run_tokens(const ReUseConfig& config) {
  const int64_t e = config.expand * config.channels;
  const int64_t floats_a_token = 4 * e + config.dt_rank + 2 * config.d_state;
  const int64_t tokens = kRunBytes / (floats_a_token * static_cast<int64_t>(sizeof(float)));
  return std::clamp<int64_t>(tokens / 16 * 16, 16, 1024);
}

MambaScratch MambaScratch::carve(Carver& carver, const ReUseConfig& config,
                                 size_t workspace_bytes) {
  const int64_t n = run_tokens(config), e = config.expand * config.channels;
  MambaScratch s;
  s.xz = carver.take<float>(n * 2 * e);
  s.u = carver.take<float>(n * e);
  s.rounded = carver.take<uint16_t>(n * e);
  s.dt_B_C = carver.take<float>(n * dt_B_C_columns(config));
  s.dt = carver.take<float>(n * e);
  s.conv_state = carver.take<float>((config.d_conv - 1) * e);
  s.scan_state = carver.take<float>(e * config.d_state);
  s.workspace = {carver.take<std::byte>(static_cast<int64_t>(workspace_bytes)), workspace_bytes};
  return s;
}

Result<MambaPlan> MambaPlan::create(const Context& context, const ReUseConfig& config,
                                    const Mamba& like, int64_t seqlen, Direction direction,
                                    Precision precision) {
  MambaPlan plan;
  plan.d_ = config.channels;
  plan.e_ = config.expand * config.channels;
  plan.n_ = config.d_state;
  plan.r_ = config.dt_rank;
  plan.k_ = config.d_conv;
  plan.row_ = dt_B_C_columns(config);
  plan.operands_ = operands_for(precision, context.machine());
  plan.seqlen_ = seqlen;
  // Runs of equal length, but for the last.
  const int64_t runs = std::max<int64_t>(1, (seqlen + run_tokens(config) - 1) / run_tokens(config));
  plan.tokens_ = std::max<int64_t>(1, (seqlen + runs - 1) / runs);
  plan.direction_ = direction;
  plan.precision_ = precision;
  if (seqlen >= plan.tokens_) {
    HISS_ASSIGN_OR_RETURN(plan.whole_, plan.choose(context, like, plan.tokens_));
  }
  if (const int64_t rest = seqlen % plan.tokens_; rest != 0) {
    HISS_ASSIGN_OR_RETURN(plan.rest_, plan.choose(context, like, rest));
  }
  return plan;
}

Result<MambaPlan::Kernels> MambaPlan::choose(const Context& context, const Mamba& like,
                                             int64_t n) const {
  const Mamba no_weights;
  const MambaScratch no_scratch;
  const auto conv = CausalConv1d::describe(conv_args(no_weights, n, no_scratch));
  const auto scan = SelectiveScan::describe(scan_args(no_weights, n, no_scratch));
  HISS_ASSIGN_OR_RETURN(Plan<CausalConv1d> conv_plan, plan<CausalConv1d>(context, conv));
  HISS_ASSIGN_OR_RETURN(Plan<SelectiveScan> scan_plan, plan<SelectiveScan>(context, scan));
  HISS_ASSIGN_OR_RETURN(const PackedProduct in_proj,
                        PackedProduct::create(n, like.packed_in_proj, Write::kReplace));
  HISS_ASSIGN_OR_RETURN(const PackedProduct x_proj,
                        PackedProduct::create(n, like.packed_x_proj, Write::kReplace));
  HISS_ASSIGN_OR_RETURN(const PackedProduct out_proj,
                        PackedProduct::create(n, like.packed_out_proj, Write::kAdd));
  return Kernels{conv_plan, scan_plan, in_proj, x_proj, out_proj};
}

size_t MambaPlan::workspace_bytes() const {
  size_t bytes = 0;
  for (const auto* kernels : {&whole_, &rest_})
    if (kernels->has_value())
      bytes =
          std::max({bytes, (*kernels)->conv.workspace_bytes(), (*kernels)->scan.workspace_bytes()});
  return bytes;
}

void MambaPlan::add_kernels(std::set<std::string>& names) const {
  for (const auto* kernels : {&whole_, &rest_})
    if (kernels->has_value()) {
      names.emplace((*kernels)->conv.kernel());
      names.emplace((*kernels)->scan.kernel());
      names.emplace(product_name(operands_));
    }
}

// u = SiLU(causal_conv1d(x)), x being the first half of xz.
CausalConv1d::Args MambaPlan::conv_args(const Mamba& w, int64_t n, const MambaScratch& s) const {
  constexpr DType f32 = DType::kF32;
  CausalConv1d::Args args;
  args.x = {s.xz, f32, {1, n, e_}, {n * 2 * e_, 2 * e_, 1}};
  args.weight = {w.conv1d_weight, f32, {e_, k_}};
  args.bias = {w.conv1d_bias, f32, {e_}};
  args.initial_state = {s.conv_state, f32, {1, k_ - 1, e_}};
  args.final_state = {s.conv_state, f32, {1, k_ - 1, e_}};
  args.y = {s.u, f32, {1, n, e_}};
  args.activation = Activation::kSilu;
  args.direction = direction_;
  args.precision = precision_;
  return args;
}

// y = scan(u, dt, A, B, C, D) * SiLU(z), z being the second half of xz; y takes the place of u.
SelectiveScan::Args MambaPlan::scan_args(const Mamba& w, int64_t n, const MambaScratch& s) const {
  constexpr DType f32 = DType::kF32;
  SelectiveScan::Args args;
  args.u = {s.u, f32, {1, n, e_}};
  args.dt = {s.dt, f32, {1, n, e_}};
  args.A = {w.A, f32, {e_, n_}};
  args.B = {s.dt_B_C + r_, f32, {1, n, 1, n_}, {n * row_, row_, n_, 1}};
  args.C = {s.dt_B_C + r_ + n_, f32, {1, n, 1, n_}, {n * row_, row_, n_, 1}};
  args.D = {w.D, f32, {e_}};
  args.z = {s.xz + e_, f32, {1, n, e_}, {n * 2 * e_, 2 * e_, 1}};
  args.dt_bias = {w.dt_proj_bias, f32, {e_}};
  args.initial_state = {s.scan_state, f32, {1, e_, n_}, {e_ * n_, 1, e_}};
  args.final_state = {s.scan_state, f32, {1, e_, n_}, {e_ * n_, 1, e_}};
  args.y = {s.u, f32, {1, n, e_}};
  args.dt_softplus = true;
  args.direction = direction_;
  args.precision = precision_;
  return args;
}

const void* MambaPlan::as_operands(const MambaScratch& s, int64_t n) const {
  if (operands_ == Operands::kF32) return s.u;
  cpu::row_math().to_bf16(s.u, n * e_, s.rounded);
  return s.rounded;
}

Status MambaPlan::run_part(const Mamba& w, const Kernels& kernels, int64_t n, const void* x,
                           float* y, const MambaScratch& s) const {
  const Launch launch{.workspace = s.workspace};
  StageClock clock(s.times);

  HISS_RETURN_IF_ERROR(kernels.in_proj.run(x, w.packed_in_proj, s.xz));
  clock.lap(Stage::kInProj);
  HISS_RETURN_IF_ERROR(kernels.conv.run(conv_args(w, n, s), launch));
  clock.lap(Stage::kConv);
  HISS_RETURN_IF_ERROR(kernels.x_proj.run(as_operands(s, n), w.packed_x_proj, s.dt_B_C));
  clock.lap(Stage::kXProj);
  HISS_RETURN_IF_ERROR(
      matrix_product({s.dt_B_C, n, r_, row_}, {w.dt_proj_weight, r_, e_, e_}, {s.dt, n, e_, e_}));
  clock.lap(Stage::kDtProj);
  HISS_RETURN_IF_ERROR(kernels.scan.run(scan_args(w, n, s), launch));
  clock.lap(Stage::kScan);
  HISS_RETURN_IF_ERROR(kernels.out_proj.run(as_operands(s, n), w.packed_out_proj, y));
  clock.lap(Stage::kOutProj);
  return {};
}

Status MambaPlan::run(const Mamba& w, const void* x, float* y, const MambaScratch& scratch) const {
  std::fill_n(scratch.conv_state, (k_ - 1) * e_, 0.0f);
  std::fill_n(scratch.scan_state, e_ * n_, 0.0f);
  for (int64_t done = 0; done < seqlen_;) {
    const int64_t n = std::min(tokens_, seqlen_ - done);
    const int64_t first = direction_ == Direction::kForward ? done : seqlen_ - done - n;
    const auto* bytes = static_cast<const std::byte*>(x) + first * d_ * size_of(operands_);
    HISS_RETURN_IF_ERROR(
        run_part(w, n == tokens_ ? *whole_ : *rest_, n, bytes, y + first * d_, scratch));
    done += n;
  }
  return {};
}

}  // namespace hiss::models::re_use
