// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The chunked scan of state_in_accumulators.cu for states of BF16, an option that a caller names by
// the type of the state tensors. Up to dstate 128 only these are BF16: a block's state stays in
// float32 accumulators, which is faster than rounding it. Above, it is kept in bf16 and rounded
// once a chunk: it takes half the registers and is an operand as it lies; the new state is made in
// float32, 64 states at a time. docs/kernels/ssd_chunk_scan_bf16_state.md has the figures.

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/bf16_state.h"
#include "cuda/ssd_chunk_scan/hopper_host.h"

namespace hiss::cuda {
namespace {

using namespace ssd;  // the pieces this row is made of

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.state_in_bf16";

int64_t padded(int64_t dstate) { return dstate <= 64 ? 64 : dstate <= 128 ? 128 : 256; }

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  return fast_row_declines(p, machine, DType::kBF16, padded(p.dstate));
}

// Up to kAccumulatedDstate those of the other row; above it a chunk that is walked for its state
// waits for its tiles, which in the first of two passes the next chunk's products hide.
constexpr Costs kAccumulated{
    .state_chunk = 0.46, .begin = 2.5, .hand_over = 2, .state = 0.5, .unit = 1};
constexpr Costs kRounded{
    .state_chunk = 0.45, .begin = 2.5, .hand_over = 2, .state = 0.5, .unit = 1};
constexpr Costs kWalked{.state_chunk = 0.75, .begin = 2.5, .hand_over = 2, .state = 0.5, .unit = 1};

bool is_rounded(const SsdChunkScan::Problem& p) { return p.dstate > kAccumulatedDstate; }

Segments segments_of(const SsdChunkScan::Problem& p, const Machine& machine) {
  return choose_segments(work_of(p), machine.num_sms, is_rounded(p) ? kRounded : kAccumulated);
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine& machine) {
  return exchange_bytes(p, segments_of(p, machine).count, padded(p.dstate));
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (units(p) == 0) return {};
  const Segments segments = segments_of(p, this_machine());
  HopperScan scan = scan_of(args, p, segments.count);
  scan.ranges = ranges_of(args, p, is_rounded(p) ? kWalked : kAccumulated, segments.cost);
  if (scan.ranges.count > 0) scan.segments = 1;
  if (!encode(scan.x, args.x, true) || !encode(scan.y, args.y, true) ||
      !encode(scan.B, args.B, false) || !encode(scan.C, args.C, false) ||
      (p.has_z && !encode(scan.z, args.z, true)))
    return Internal(std::string(kName) + ": the driver made no tensor map");
  scan.exchange = reinterpret_cast<float*>(launch.workspace.data());
  const auto launch_padded = padded(p.dstate) == 64    ? launch_bf16_state<64>
                             : padded(p.dstate) == 128 ? launch_bf16_state<128>
                                                       : launch_bf16_state<256>;
  return device_status(kName, launch_padded(scan, p.dtype, p.has_z, stream_of(launch)));
}

}  // namespace

namespace ssd_chunk_scan {
extern constinit const Kernel<SsdChunkScan> state_in_bf16;
constinit const Kernel<SsdChunkScan> state_in_bf16{.name = kName,
                                                   .why_not = why_not,
                                                   .workspace_bytes = workspace_bytes,
                                                   .run = run,
                                                   .device = Device::kCuda};
}  // namespace ssd_chunk_scan
}  // namespace hiss::cuda
