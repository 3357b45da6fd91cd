// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// The chunked scan of state_in_accumulators.cu with the state rounded to bf16 between chunks: the
// option that a caller names by state tensors of BF16. Kept so, a state of 64 rows takes half the
// registers and is an operand as it lies; the new state is made in float32, 64 states at a time,
// and rounded once a chunk. docs/kernels/ssd_chunk_scan_bf16_state.md has the figures.

#include <numeric>

#include "cuda/launch.h"
#include "cuda/ssd_chunk_scan/bf16_state.h"
#include "cuda/ssd_chunk_scan/hopper_host.h"

namespace hiss::cuda {
namespace {

using namespace ssd;  // the pieces this row is made of

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.state_in_bf16";

int64_t padded(int64_t dstate) { return dstate <= 128 ? 128 : 256; }

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  return fast_row_declines(p, machine, DType::kBF16, padded(p.dstate));
}

// How the chunks of all units are spread over the processors.
struct Cut {
  int segments;  // of a unit, at most
  int64_t part;  // chunks of a block, over all units; 0: units are cut into equal segments
};

// States that blocks hand on, of two warpgroups each.
int64_t exchanged_states(const SsdChunkScan::Problem& p, const Cut& cut) {
  if (cut.segments == 1) return 0;
  if (cut.part == 0) return units(p) * cut.segments;
  return 2 * ceil_div(units(p) * ceil_div(p.seqlen, kChunk), cut.part);
}

constexpr Costs kCosts{.state_chunk = 0.45, .begin = 2.5, .hand_over = 2, .state = 0.5, .unit = 0};
constexpr double kPartsCost = 3;  // units that change within a block

// Of two passes over segments of up to `length` chunks.
double two_passes(int64_t length, int64_t segments) {
  return (1 + kCosts.state_chunk) * static_cast<double>(length) + 2 * kCosts.begin +
         kCosts.hand_over + kCosts.state * static_cast<double>(segments);
}

// Equal segments, or equal parts for all processors wherever they cut a unit. Blocks of parts are
// at different tokens at a time, so the second-level cache has to hold B and C of a group; and of
// packed sequences only the device knows the lengths.
Cut cut_parts(const SsdChunkScan::Problem& p, int num_sms) {
  constexpr int64_t kCached = int64_t{8} << 20;
  const Segments equal = choose_segments(work_of(p), num_sms, kCosts);
  const Cut segments{equal.count, 0};
  const int64_t chunks = ceil_div(p.seqlen, kChunk), all = units(p) * chunks;
  if (p.packed || all == 0 || 2 * p.seqlen * p.dstate * size_of(p.dtype) > kCached) return segments;
  const int64_t part = ceil_div(all, num_sms);
  // Units begin at multiples of this in a part.
  const int64_t step = std::gcd(part, chunks);
  const int64_t count = (part - step + chunks - 1) / part + 1;
  if (count == 1 || count > kMaxSegments) return segments;
  const double cost = two_passes(part, count) + kPartsCost -
                      kCosts.state_chunk * static_cast<double>(std::max<int64_t>(part - chunks, 0));
  return cost < 0.97 * equal.cost ? Cut{static_cast<int>(count), part} : segments;
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine& machine) {
  const int64_t states = exchanged_states(p, cut_parts(p, machine.num_sms));
  return static_cast<size_t>(states * 2 * exchange_floats(padded(p.dstate))) * sizeof(float);
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (units(p) == 0) return {};
  const Cut cut = cut_parts(p, this_machine().num_sms);
  Bf16StateScan scan{.base = scan_of(args, p, cut.segments),
                     .initial = args.initial_states.as<__nv_bfloat16>(),
                     .final = args.final_states.as<__nv_bfloat16>(),
                     .checkpoints = args.checkpoint_states.as<__nv_bfloat16>()};
  scan.base.part = cut.part;
  scan.base.initial = nullptr, scan.base.final = scan.base.checkpoints = nullptr;
  if (!encode(scan.base.x, args.x, true) || !encode(scan.base.y, args.y, true) ||
      !encode(scan.base.B, args.B, false) || !encode(scan.base.C, args.C, false) ||
      (p.has_z && !encode(scan.base.z, args.z, true)))
    return Internal(std::string(kName) + ": the driver made no tensor map");
  scan.base.exchange = reinterpret_cast<float*>(launch.workspace.data());
  const auto launch_padded =
      padded(p.dstate) == 128 ? launch_bf16_state<128> : launch_bf16_state<256>;
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
