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
// walk the tokens before by themselves, or, where a first launch makes the states that are handed
// on and a second the outputs, into equal segments or into tails and what is before them.
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
// Chunks that a block walks ahead of its range take longer with long states: they wait for tiles.
constexpr double kLongWalk = 0.75;
// Two passes over tails are taken where they promise a twentieth less.
constexpr double kTailsLimit = 0.95;

// How work is spread over the processors.
struct Cut {
  int segments = 1;  // of a unit; of tails more than one
  Tails tails{};
  Ranges ranges{};
};

Cut cut_work(const SsdChunkScan::Problem& p, int num_sms, bool in_place) {
  const Work work = work_of(p);
  const Segments segments = choose_segments(work, num_sms, kCosts);
  Cut cut{.segments = segments.count};
  if (p.packed) return cut;  // only the device knows the lengths
  double cost = segments.cost;
  Costs of_ranges = kCosts;
  if (p.dstate > 128) of_ranges.state_chunk = kLongWalk;
  cut.ranges = ranges_of(p, num_sms, of_ranges, cost, in_place);
  if (cut.ranges.count > 0) cut.segments = 1, cost = longest_range(cut.ranges, work, of_ranges);
  // Where segments of equal length would leave processors idle, and where sequences are so long
  // that the states of many pieces cost little.
  if (p.dstate <= 128 && (segments.count == 1 || !is_cached(p))) {
    const CutTails tails = choose_tails(work, num_sms, kCosts, kTailsLimit * cost);
    if (tails.tails.part > 0) cut = {.segments = 2, .tails = tails.tails};
  }
  return cut;
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine& machine) {
  const auto bytes = [&](const Cut& cut) {
    if (cut.tails.part == 0) return exchange_bytes(p, cut.segments, padded(p.dstate));
    const int64_t states = cut.tails.numbers(static_cast<int>(units(p))) + units(p);
    return static_cast<size_t>(states * 2 * exchange_floats(padded(p.dstate))) * sizeof(float);
  };
  return std::max(bytes(cut_work(p, machine.num_sms, true)),
                  bytes(cut_work(p, machine.num_sms, false)));
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (units(p) == 0) return {};
  const Cut cut = cut_work(p, this_machine().num_sms, is_in_place(args));
  HopperScan scan = scan_of(args, p, cut.segments);
  scan.ranges = cut.ranges, scan.tails = cut.tails;
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
