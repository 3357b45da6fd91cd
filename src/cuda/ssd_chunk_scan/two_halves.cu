// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Float32 on Hopper's 16-bit matrix units: an operand is two halves with a common exponent, a
// product three (src/cuda/tile/mma.cuh). Blocks, segments and the state in registers are those of
// state_in_accumulators.cu. Three launches, each begun while the one before it runs:
//
//   prepare  for each chunk and group: B and C as operands, and C B^T, for all heads;
//   states   where sequences are cut: the states that segments end with;
//   outputs  y and the last state. Sums of a chunk are added to the state in float32, since the
//            matrix units' own additions round towards zero.
//
// docs/kernels/ssd_chunk_scan_sm90.md has the figures.

#include <string>

#include "cuda/ssd_chunk_scan/halves.h"
#include "cuda/ssd_chunk_scan/hopper_host.h"

namespace hiss::cuda {
namespace {

using namespace ssd;  // the pieces this row is made of

constexpr std::string_view kName = "ssd_chunk_scan/cuda.sm90.two_halves";

// Fewer tokens of a sequence than this, on average, go faster one by one.
constexpr int64_t kFewTokens = 32;

int64_t padded(int64_t dstate) { return dstate <= 64 ? 64 : 128; }

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm != 90) return why::kDevice;
  if (p.precision == Precision::kStrict) return why::kPrecision;
  if (p.dtype != DType::kF32) return why::kDtype;
  if (p.state_dtype != DType::kF32) return why::kStateDtype;
  if (!p.dense || !p.blocks_of_16) return why::kLayout;
  if (p.dstate < 1 || p.dstate > 128) return why::kDstate;
  if (p.headdim < 64 || p.headdim % 16 != 0) return why::kHeaddim;
  if (p.ncheckpoints > 0) return why::kCheckpoints;
  if (p.batch * p.seqlen < kFewTokens * p.nseq) return why::kShort;
  constexpr int64_t kMost = int64_t{1} << 31;
  if (p.seqlen >= kMost || units(p) * kMaxSegments >= kMost || p.nheads * p.headdim >= kMost)
    return why::kLong;
  return {};
}

struct Memory {
  ssd_chunk_scan::Workspace workspace;
  float* exchange;
  size_t bytes;
};

Memory lay_out(const SsdChunkScan::Problem& p, int segments, std::byte* memory) {
  ssd_chunk_scan::Cut operands{};
  operands.parts = 2;
  operands.dstate = static_cast<int>(padded(p.dstate));
  operands.chunk_slots = ssd_chunk_scan::slots_of(p, kChunk);
  Memory m{
      .workspace = ssd_chunk_scan::lay_out(p, operands, memory), .exchange = nullptr, .bytes = 0};
  m.exchange = reinterpret_cast<float*>(memory + m.workspace.bytes);
  m.bytes = m.workspace.bytes + exchange_bytes(p, segments, padded(p.dstate));
  return m;
}

int segments_of(const SsdChunkScan::Problem& p, const Machine& machine) {
  constexpr Costs kCosts{.state_chunk = 0.25, .begin = 2.2, .hand_over = 0, .state = 0, .unit = 0};
  return choose_segments(work_of(p), machine.num_sms, kCosts).count;
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine& machine) {
  return lay_out(p, segments_of(p, machine), nullptr).bytes;
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (units(p) == 0) return {};
  HalvesScan scan{};
  const int segments = segments_of(p, this_machine());
  scan.base = scan_of(args, p, segments);
  if (!encode(scan.base.x, args.x, true) || !encode(scan.base.y, args.y, true))
    return Internal(std::string(kName) + ": the driver made no tensor map");
  const Memory memory = lay_out(p, segments, launch.workspace.data());
  scan.base.exchange = memory.exchange;
  scan.scan = ssd_chunk_scan::scan_of(args, p);
  scan.chunks = memory.workspace.chunks;
  scan.chunk_strips =
      ssd_chunk_scan::slots_of(p, kChunk) * p.ngroups * (kChunk / ssd_chunk_scan::kStrip);
  const auto launch_padded = padded(p.dstate) == 64 ? launch_halves<64> : launch_halves<128>;
  return device_status(kName, launch_padded(scan, stream_of(launch)));
}

}  // namespace

namespace ssd_chunk_scan {
extern constinit const Kernel<SsdChunkScan> two_halves;
constinit const Kernel<SsdChunkScan> two_halves{.name = kName,
                                                .why_not = why_not,
                                                .workspace_bytes = workspace_bytes,
                                                .run = run,
                                                .device = Device::kCuda};
}  // namespace ssd_chunk_scan
}  // namespace hiss::cuda
