// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Chunks of 64 tokens on the matrix units. Three launches:
//
//   prepare  for each chunk and group: B and C as operands, and C B^T, which all heads of the group
//            share;
//   walk     where heads and sequences alone do not fill the device, sequences are cut into
//            segments: the states at their ends, as if each had begun from zero;
//   walk     for each segment and head: the state it begins with, from those before it, then chunk
//            by chunk y and the next state. The state stays in registers.
//
// Operands are halves with a common exponent for each tile: two of them stand for a float32 in the
// standard class (three products, 22 bits), one in the fast class.

#include "cuda/ssd_chunk_scan/chunked.cuh"

namespace hiss::cuda::ssd_chunk_scan {
namespace {

// Fewer tokens of a sequence than this, on average, go faster one by one.
constexpr int64_t kFewTokens = 32;

Decline why_not(const SsdChunkScan::Problem& p, const Machine& machine) {
  if (machine.cuda_sm < 80) return why::kDevice;
  if (p.precision == Precision::kStrict) return why::kPrecision;
  if (p.dstate > 256) return why::kDstate;
  if (walk_shared_bytes(cut_of(p)) + 1024 > machine.shared_bytes_per_sm) return why::kDstate;
  if (p.batch * p.seqlen < kFewTokens * p.nseq) return why::kShort;
  return {};
}

size_t workspace_bytes(const SsdChunkScan::Problem& p, const Machine&) {
  return lay_out(p, cut_of(p), nullptr).bytes;
}

Status run(const SsdChunkScan::Args& args, const Launch& launch) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(args);
  if (p.nseq * p.nheads * p.headdim == 0) return {};
  const Cut cut = cut_of(p);
  const Chunked c{.scan = scan_of(args, p),
                  .cut = cut,
                  .workspace = lay_out(p, cut, launch.workspace.data()),
                  .strips = p.seqlen > 0 ? cut.chunk_slots * p.ngroups * (kChunk / kStrip) : 0,
                  .walks = cut.segment_slots * p.nheads * cut.tiles,
                  .in_fours = in_fours({args.x, args.z, args.y}),
                  .states_in_fours = states_in_fours(args),
                  .stream = static_cast<cudaStream_t>(launch.stream)};
  if (cut.dstate == 64) return cut.parts == 1 ? launch_chunked<64, 1>(c) : launch_chunked<64, 2>(c);
  if (cut.dstate == 128)
    return cut.parts == 1 ? launch_chunked<128, 1>(c) : launch_chunked<128, 2>(c);
  return cut.parts == 1 ? launch_chunked<256, 1>(c) : launch_chunked<256, 2>(c);
}

}  // namespace

extern constinit const Kernel<SsdChunkScan> chunked;
constinit const Kernel<SsdChunkScan> chunked{.name = kChunkedName,
                                             .why_not = why_not,
                                             .workspace_bytes = workspace_bytes,
                                             .run = run,
                                             .device = Device::kCuda};
}  // namespace hiss::cuda::ssd_chunk_scan
