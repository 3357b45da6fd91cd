// Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
// Training kernels of the Mamba layer, float32, channels-last [batch, length, channel], E a
// multiple of 32:
//   conv: causal depthwise convolution (4 taps) + SiLU, forward and backward
//   scan: selective scan (16 states) with softplus, skip and gate, forward and backward
// Plain C entry points; every launch goes to the caller's stream.
//
// One thread per channel is too few threads to hide latency at training sizes (measured: 0.6
// instructions a cycle), so four neighbouring lanes share a channel of the scan, four states each,
// and a warp covers eight channels. Time advances in chunks of four steps: each of the four lanes
// loads, prepares and finishes one of them, and all loads of a chunk come before their first use.
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int kStates = 16;
constexpr int kChunk = 4;  // steps between the states kept for the backward pass
constexpr int kThreads = 128;
constexpr float kLog2e = 1.4426950408889634f;
constexpr unsigned kFull = 0xffffffffu;

__device__ __forceinline__ float Sigmoid(float x) { return 1.f / (1.f + __expf(-x)); }

__device__ __forceinline__ float Softplus(float x) {
  const float e = __expf(x);
  if (x > 20.f) return x;
  return e < 0.02f ? e * (1.f - e * (0.5f - e * (1.f / 3.f))) : __logf(1.f + e);
}

// x [batch, L, ldx] (first E columns), taps w [E, 4], bias b [E] -> u [batch, L, E].
__global__ void ConvForward(const float* __restrict__ x, int ldx, const float* __restrict__ w,
                            const float* __restrict__ b, float* __restrict__ u, int batch, int L,
                            int E) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * E) return;
  const int e = i % E;
  const float4 tap = ((const float4*)w)[e];
  const float bias = b[e];
  float x3 = 0, x2 = 0, x1 = 0;
  const float* in = x + (int64_t)(i / E) * L * ldx + e;
  float* out = u + (int64_t)(i / E) * L * E + e;
#pragma unroll 8
  for (int t = 0; t < L; ++t) {
    const float x0 = in[(int64_t)t * ldx];
    const float s = bias + tap.x * x3 + tap.y * x2 + tap.z * x1 + tap.w * x0;
    out[(int64_t)t * E] = s * Sigmoid(s);
    x3 = x2;
    x2 = x1;
    x1 = x0;
  }
}

// part [5, batch * E]: gradients of the four taps and of the bias.
__global__ void ConvBackward(const float* __restrict__ x, int ldx, const float* __restrict__ w,
                             const float* __restrict__ b, const float* __restrict__ du,
                             float* __restrict__ dx, int lddx, float* __restrict__ part, int batch,
                             int L, int E) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * E) return;
  const int e = i % E;
  const float4 tap = ((const float4*)w)[e];
  const float bias = b[e];
  const float* in = x + (int64_t)(i / E) * L * ldx + e;
  const float* grad = du + (int64_t)(i / E) * L * E + e;
  float* out = dx + (int64_t)(i / E) * L * lddx + e;
  float x3 = L > 0 ? in[(int64_t)(L - 1) * ldx] : 0, x2 = L > 1 ? in[(int64_t)(L - 2) * ldx] : 0,
        x1 = L > 2 ? in[(int64_t)(L - 3) * ldx] : 0;
  float s1 = 0, s2 = 0, s3 = 0, g0 = 0, g1 = 0, g2 = 0, g3 = 0, gb = 0;
#pragma unroll 8
  for (int t = L - 1; t >= 0; --t) {
    const float x0 = t >= 3 ? in[(int64_t)(t - 3) * ldx] : 0.f;
    const float s = bias + tap.x * x0 + tap.y * x1 + tap.z * x2 + tap.w * x3;
    const float q = Sigmoid(s), ds = grad[(int64_t)t * E] * q * (1.f + s * (1.f - q));
    out[(int64_t)t * lddx] = tap.w * ds + tap.z * s1 + tap.y * s2 + tap.x * s3;
    g0 += ds * x0;
    g1 += ds * x1;
    g2 += ds * x2;
    g3 += ds * x3;
    gb += ds;
    s3 = s2;
    s2 = s1;
    s1 = ds;
    x3 = x2;
    x2 = x1;
    x1 = x0;
  }
  const int64_t stride = (int64_t)batch * E;
  part[i] = g0;
  part[stride + i] = g1;
  part[2 * stride + i] = g2;
  part[3 * stride + i] = g3;
  part[4 * stride + i] = gb;
}

__device__ __forceinline__ float QuadSum(float v) {
  v += __shfl_xor_sync(kFull, v, 1);
  return v + __shfl_xor_sync(kFull, v, 2);
}

// Sums v[0..3] over the four lanes of a channel; lane q returns the sum of v[q].
__device__ __forceinline__ float QuadScatter(const float (&v)[4], int q) {
  const bool high = q & 2, odd = q & 1;
  const float lo = (high ? v[2] : v[0]) + __shfl_xor_sync(kFull, high ? v[0] : v[2], 2);
  const float hi = (high ? v[3] : v[1]) + __shfl_xor_sync(kFull, high ? v[1] : v[3], 2);
  return (odd ? hi : lo) + __shfl_xor_sync(kFull, odd ? lo : hi, 1);
}

// What lane j of the channel's four holds.
__device__ __forceinline__ float FromLane(float v, int j) { return __shfl_sync(kFull, v, j, 4); }

// u, dl (step size before bias and softplus) [batch, L, E]; A = -exp(A_log) [E, 16]; bc [batch, L,
// 32] = B, C; z [batch, L, ldz] -> y [batch, L, E]. kept (may be null) [ceil(L / 4), batch * E,
// 16]: states before every 4th step. Of the four steps of a chunk each lane of a channel loads,
// prepares and finishes one.
__global__ void __launch_bounds__(kThreads)
    ScanForward(const float* __restrict__ u, const float* __restrict__ dl,
                const float* __restrict__ A, const float* __restrict__ bc,
                const float* __restrict__ D, const float* __restrict__ bias,
                const float* __restrict__ z, int ldz, float* __restrict__ y,
                float* __restrict__ kept, int batch, int L, int E) {
  const int id = blockIdx.x * kThreads + threadIdx.x, i = id >> 2, q = id & 3;
  const int b = i / E, e = i % E;
  const int64_t channels = (int64_t)batch * E, row0 = (int64_t)b * L;
  const float4 a4 = ((const float4*)A)[e * 4 + q];
  const float a[4] = {a4.x * kLog2e, a4.y * kLog2e, a4.z * kLog2e, a4.w * kLog2e};
  float h[4] = {0, 0, 0, 0};
  const float skip = D[e], shift = bias[e];
  for (int t0 = 0; t0 < L; t0 += kChunk) {
    const int64_t own = row0 + min(t0 + q, L - 1);
    const float raw = dl[own * E + e], um = u[own * E + e], zm = z[own * ldz + e];
    float4 B4[kChunk], C4[kChunk];
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      const int64_t r = row0 + min(t0 + j, L - 1);
      B4[j] = ((const float4*)bc)[r * 8 + q];
      C4[j] = ((const float4*)bc)[r * 8 + 4 + q];
    }
    if (kept) {
      ((float4*)kept)[((int64_t)(t0 / kChunk) * channels + i) * 4 + q] =
          make_float4(h[0], h[1], h[2], h[3]);
    }
    const float dtm = Softplus(raw + shift), dtum = dtm * um;
    float out[kChunk];
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      const float dt = FromLane(dtm, j), dtu = FromLane(dtum, j);
      h[0] = exp2f(dt * a[0]) * h[0] + dtu * B4[j].x;
      h[1] = exp2f(dt * a[1]) * h[1] + dtu * B4[j].y;
      h[2] = exp2f(dt * a[2]) * h[2] + dtu * B4[j].z;
      h[3] = exp2f(dt * a[3]) * h[3] + dtu * B4[j].w;
      out[j] = h[0] * C4[j].x + h[1] * C4[j].y + h[2] * C4[j].z + h[3] * C4[j].w;
    }
    const float sum = QuadScatter(out, q);
    if (t0 + q < L) y[own * E + e] = (sum + skip * um) * zm * Sigmoid(zm);
  }
}

// dbc [batch * L, E / 8, 32]: dB and dC summed over eight channels. part [18, batch * E]: dA (16),
// dD, dbias. Steps past the end have step size and gradient 0 and change nothing.
__global__ void __launch_bounds__(kThreads)
    ScanBackward(const float* __restrict__ u, const float* __restrict__ dl,
                 const float* __restrict__ A, const float* __restrict__ bc,
                 const float* __restrict__ D, const float* __restrict__ bias,
                 const float* __restrict__ z, int ldz, const float* __restrict__ dy,
                 const float* __restrict__ kept, float* __restrict__ du, float* __restrict__ ddl,
                 float* __restrict__ dz, int lddz, float* __restrict__ dbc,
                 float* __restrict__ part, int batch, int L, int E) {
  const int id = blockIdx.x * kThreads + threadIdx.x, i = id >> 2, q = id & 3,
            lane = threadIdx.x & 31;
  const int b = i / E, e = i % E;
  const int64_t channels = (int64_t)batch * E, row0 = (int64_t)b * L;
  const float4 a4 = ((const float4*)A)[e * 4 + q];
  const float a[4] = {a4.x * kLog2e, a4.y * kLog2e, a4.z * kLog2e, a4.w * kLog2e};
  const float skip = D[e], shift = bias[e];
  const int slot =
      (lane >> 4 & 1) * 4 + (lane >> 3 & 1) * 2 + (lane >> 2 & 1);  // which sum this lane ends with
  const int column = slot < 4 ? 4 * q + slot : kStates + 4 * q + slot - 4;
  float g[4] = {0, 0, 0, 0}, ga[4] = {0, 0, 0, 0}, gd = 0, gb = 0;
  for (int c = (L + kChunk - 1) / kChunk - 1; c >= 0; --c) {
    const int t0 = c * kChunk;
    const bool mine = t0 + q < L;
    const int64_t own = row0 + min(t0 + q, L - 1);
    const float raw = dl[own * E + e] + shift, um = u[own * E + e], zm = z[own * ldz + e],
                gom = mine ? dy[own * E + e] : 0.f;
    const float4 h4 = ((const float4*)kept)[((int64_t)c * channels + i) * 4 + q];
    float4 B4[kChunk], C4[kChunk];
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      const int64_t r = row0 + min(t0 + j, L - 1);
      B4[j] = ((const float4*)bc)[r * 8 + q];
      C4[j] = ((const float4*)bc)[r * 8 + 4 + q];
    }
    const float dtm = mine ? Softplus(raw) : 0.f, sm = Sigmoid(zm), gym = gom * zm * sm;
    float h[4] = {h4.x, h4.y, h4.z, h4.w}, before[kChunk][4];
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {  // the states again
      const float dt = FromLane(dtm, j), dtu = dt * FromLane(um, j);
      const float B[4] = {B4[j].x, B4[j].y, B4[j].z, B4[j].w};
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        before[j][n] = h[n];
        h[n] = exp2f(dt * a[n]) * h[n] + dtu * B[n];
      }
    }
    float outs[kChunk], gus[kChunk], gdts[kChunk];
#pragma unroll
    for (int j = kChunk - 1; j >= 0; --j) {  // h: state after step t0 + j
      const float dt = FromLane(dtm, j), ut = FromLane(um, j), gy = FromLane(gym, j), dtu = dt * ut;
      const float B[4] = {B4[j].x, B4[j].y, B4[j].z, B4[j].w},
                  C[4] = {C4[j].x, C4[j].y, C4[j].z, C4[j].w};
      float out = 0, gu = 0, gdt = 0, v[8];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const float gh = g[n] + gy * C[n], gex = gh * exp2f(dt * a[n]), ghp = gex * before[j][n];
        out += h[n] * C[n];
        v[n] = gh * dtu;
        v[n + 4] = gy * h[n];
        gdt += ghp * a[n] * (1.f / kLog2e) + gh * (B[n] * ut);
        gu += gh * (dt * B[n]);
        ga[n] += ghp * dt;
        g[n] = gex;
        h[n] = before[j][n];
      }
      outs[j] = out;
      gus[j] = gu;
      gdts[j] = gdt;
#pragma unroll
      for (int x = 4; x >= 1; x >>= 1) {  // eight sums over the eight channels of the warp
        const bool upper = lane & (x * 4);
#pragma unroll
        for (int m = 0; m < x; ++m) {
          const float send = upper ? v[m] : v[m + x], keep = upper ? v[m + x] : v[m];
          v[m] = keep + __shfl_xor_sync(kFull, send, x * 4);
        }
      }
      if (t0 + j < L) dbc[((row0 + t0 + j) * (E / 8) + e / 8) * 32 + column] = v[0];
    }
    const float out = QuadScatter(outs, q) + skip * um;
    const float gu = QuadScatter(gus, q) + gym * skip;
    const float gdt = QuadScatter(gdts, q) * (raw > 20.f ? 1.f : Sigmoid(raw));
    if (mine) {
      gd += gym * um;
      gb += gdt;
      dz[own * lddz + e] = gom * out * sm * (1.f + zm * (1.f - sm));
      du[own * E + e] = gu;
      ddl[own * E + e] = gdt;
    }
  }
  gd = QuadSum(gd);
  gb = QuadSum(gb);
#pragma unroll
  for (int n = 0; n < 4; ++n) part[(4 * q + n) * channels + i] = ga[n];
  if (q == 0) {
    part[16 * channels + i] = gd;
    part[17 * channels + i] = gb;
  }
}

}  // namespace

extern "C" {

int conv_fwd(const float* x, int ldx, const float* w, const float* b, float* u, int batch, int L,
             int E, void* stream) {
  ConvForward<<<(batch * E + kThreads - 1) / kThreads, kThreads, 0, (cudaStream_t)stream>>>(
      x, ldx, w, b, u, batch, L, E);
  return cudaGetLastError();
}

int conv_bwd(const float* x, int ldx, const float* w, const float* b, const float* du, float* dx,
             int lddx, float* part, int batch, int L, int E, void* stream) {
  ConvBackward<<<(batch * E + kThreads - 1) / kThreads, kThreads, 0, (cudaStream_t)stream>>>(
      x, ldx, w, b, du, dx, lddx, part, batch, L, E);
  return cudaGetLastError();
}

int scan_fwd(const float* u, const float* dl, const float* A, const float* bc, const float* D,
             const float* bias, const float* z, int ldz, float* y, float* kept, int batch, int L,
             int E, void* stream) {
  ScanForward<<<batch * E * 4 / kThreads, kThreads, 0, (cudaStream_t)stream>>>(
      u, dl, A, bc, D, bias, z, ldz, y, kept, batch, L, E);
  return cudaGetLastError();
}

int scan_bwd(const float* u, const float* dl, const float* A, const float* bc, const float* D,
             const float* bias, const float* z, int ldz, const float* dy, const float* kept,
             float* du, float* ddl, float* dz, int lddz, float* dbc, float* part, int batch, int L,
             int E, void* stream) {
  ScanBackward<<<batch * E * 4 / kThreads, kThreads, 0, (cudaStream_t)stream>>>(
      u, dl, A, bc, D, bias, z, ldz, dy, kept, du, ddl, dz, lddz, dbc, part, batch, L, E);
  return cudaGetLastError();
}

}  // extern "C"
