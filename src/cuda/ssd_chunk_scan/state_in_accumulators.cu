// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The chunked scan on Hopper's matrix units, bulk copies in, bulk copies out.
//
// A block owns 128 rows (channels of neighbouring heads of a group) of one segment of a sequence.
// One warpgroup copies tiles and makes decays, one makes W; two hold the state, 64 rows by dstate
// each, in the accumulators from the segment's first token to its last. Chunks of 64 tokens:
//
//   W   = (C B^T) masked, decayed, times dt     for the block, one for each head, through shared
//                                               memory
//   y^T = state C^T, decayed, + x^T W^T         the state, rounded, and x are operands in registers
//   state = state decayed + (x dt decay)^T B
//
// Where sequences and rows are too few for the chip, a sequence is cut: into ranges whose blocks
// walk the tokens before by themselves, or into segments, where a first launch makes the states
// that they end with and a second the outputs.
// docs/kernels/ssd_chunk_scan_sm90.md has the figures.

#include <algorithm>

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/hopper_host.h"

namespace hiss::cuda {
namespace {

using namespace ssd;  // the pieces this row is made of

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.state_in_accumulators";

int64_t padded(int64_t dstate) { return dstate <= 64 ? 64 : dstate <= 128 ? 128 : 256; }

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  return fast_row_declines(p, machine, DType::kF32, padded(p.dstate));
}

constexpr Costs kCosts{.state_chunk = 0.46, .begin = 2.5, .hand_over = 2, .state = 0.5, .unit = 1};

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine& machine) {
  const Segments segments = choose_segments(work_of(p), machine.num_sms, kCosts);
  return exchange_bytes(p, segments.count, padded(p.dstate));
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (units(p) == 0) return {};
  const Segments segments = choose_segments(work_of(p), this_machine().num_sms, kCosts);
  HopperScan scan = scan_of(args, p, segments.count);
  scan.ranges = ranges_of(args, p, kCosts, segments.cost);
  if (scan.ranges.count > 0) scan.segments = 1;
  if (!encode(scan.x, args.x, true) || !encode(scan.y, args.y, true) ||
      !encode(scan.B, args.B, false) || !encode(scan.C, args.C, false) ||
      (p.has_z && !encode(scan.z, args.z, true)))
    return Internal(std::string(kName) + ": the driver made no tensor map");
  scan.exchange = reinterpret_cast<float*>(launch.workspace.data());
  const auto launch_padded = padded(p.dstate) == 64    ? launch_hopper<64>
                             : padded(p.dstate) == 128 ? launch_hopper<128>
                                                       : launch_hopper<256>;
  return device_status(kName, launch_padded(scan, p.dtype, p.has_z, stream_of(launch)));
}

}  // namespace

namespace ssd_chunk_scan {
extern constinit const Kernel<SsdChunkScan> state_in_accumulators;
constinit const Kernel<SsdChunkScan> state_in_accumulators{.name = kName,
                                                           .why_not = why_not,
                                                           .workspace_bytes = workspace_bytes,
                                                           .run = run,
                                                           .device = Device::kCuda};
}  // namespace ssd_chunk_scan
}  // namespace hiss::cuda
