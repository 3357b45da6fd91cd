// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/ssd_chunk_scan/mma_walk.cuh"

namespace hiss::cuda::ssd_chunk_scan {
namespace {

template <int N, int kParts>
cudaError_t launch(const Scan& scan, const SsdChunkScan::Problem& p, const Cut& cut, const Workspace& w,
                   bool in_fours, cudaStream_t stream) {
  constexpr int kPrepareShared = prepare_shared_bytes<N, kParts>();
  const auto blocks = [&](int64_t n) { return static_cast<unsigned>(n); };
  const size_t kShared = walk_shared_bytes<N, kParts>(cut.warps);
  cudaFuncSetAttribute(prepare<N, kParts>, cudaFuncAttributeMaxDynamicSharedMemorySize, kPrepareShared);
  cudaFuncSetAttribute(walk<N, kParts, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  cudaFuncSetAttribute(walk<N, kParts, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  const int64_t strips = cut.chunk_slots * p.ngroups * (kChunk / kStrip);
  if (p.seqlen > 0)
    prepare<N, kParts><<<blocks(strips), kPrepareThreads, kPrepareShared, stream>>>(scan, w.chunks);
  const int64_t walks = cut.segment_slots * p.nheads * cut.tiles;
  const int threads = cut.warps * 32;
  if (cut.cut)
    walk<N, kParts, false><<<blocks(walks), threads, kShared, stream>>>(scan, cut, w.chunks, w.segments, in_fours);
  walk<N, kParts, true><<<blocks(walks), threads, kShared, stream>>>(scan, cut, w.chunks, w.segments, in_fours);
  return cudaGetLastError();
}

template <int kParts>
cudaError_t dispatch(const Scan& scan, const SsdChunkScan::Problem& p, const Cut& cut, const Workspace& w,
                     bool in_fours, cudaStream_t stream) {
  switch (cut.dstate) {
    case 64: return launch<64, kParts>(scan, p, cut, w, in_fours, stream);
    case 128: return launch<128, kParts>(scan, p, cut, w, in_fours, stream);
    default: return launch<256, kParts>(scan, p, cut, w, in_fours, stream);
  }
}
}  // namespace

size_t mma_workspace(const SsdChunkScan::Problem& p, int whole) {
  Cut cut = cut_of(p);
  (void)whole;
  return lay_out(p, cut, nullptr).bytes;
}

cudaError_t mma_run(const SsdChunkScan::Args& a, void* memory, int whole, cudaStream_t stream, int64_t) {
  const SsdChunkScan::Problem p = SsdChunkScan::describe(a);
  (void)whole;
  if (p.nseq * p.nheads * p.headdim == 0) return cudaSuccess;
  Cut cut = cut_of(p);
  const Workspace w = lay_out(p, cut, static_cast<std::byte*>(memory));
  const Scan scan = scan_of(a, p);
  bool in_fours = p.headdim % 4 == 0;
  for (const ConstTensorView& v : {a.x, a.z, ConstTensorView(a.y)})
    if (v.present()) in_fours = in_fours && v.stride[3] == 1 && aligned_rows(v, 3, 4 * size_of(v.dtype));
  return cut.parts == 2 ? dispatch<2>(scan, p, cut, w, in_fours, stream) : dispatch<1>(scan, p, cut, w, in_fours, stream);
}

}  // namespace hiss::cuda::ssd_chunk_scan
