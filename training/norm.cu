// Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
// Training kernels of the normalisations, channels-last:
//   ln:    LayerNorm over 32 channels, float32, forward and backward
//   inorm: InstanceNorm over M = H * W of [B, M, C] + PReLU, float32 or bfloat16, forward and
//   backward
// Plain C entry points; every launch goes to the caller's stream.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#define LAUNCH(k, g, b, s) k<<<g, b, 0, (cudaStream_t)s>>>

// ---------------------------------------------------------------- LayerNorm over 32 channels, one
// warp a row; gwb: [2, 32]
__device__ __forceinline__ float wsum(float v) {
#pragma unroll
  for (int x = 16; x >= 1; x >>= 1) v += __shfl_xor_sync(0xffffffffu, v, x);
  return v;
}
__global__ void ln_fwd_k(const float* x, const float* w, const float* b, float* y, int R) {
  int lane = threadIdx.x & 31, st = gridDim.x * (blockDim.x / 32);
  float wv = w[lane], bv = b[lane];
  for (int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; r < R; r += st) {
    float v = x[(int64_t)r * 32 + lane], d = v - wsum(v) * (1.f / 32), q = wsum(d * d) * (1.f / 32);
    y[(int64_t)r * 32 + lane] = d * rsqrtf(q + 1e-5f) * wv + bv;
  }
}
__global__ void ln_bwd_k(const float* x, const float* w, const float* dy, float* dx, float* gwb,
                         int R) {
  int lane = threadIdx.x & 31, st = gridDim.x * (blockDim.x / 32);
  float wv = w[lane], gw = 0, gb = 0;
  for (int r = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; r < R; r += st) {
    float v = x[(int64_t)r * 32 + lane], d = v - wsum(v) * (1.f / 32),
          k = rsqrtf(wsum(d * d) * (1.f / 32) + 1e-5f), n = d * k, o = dy[(int64_t)r * 32 + lane],
          g = o * wv;
    gw += o * n;
    gb += o;
    dx[(int64_t)r * 32 + lane] = k * (g - wsum(g) * (1.f / 32) - n * (wsum(g * n) * (1.f / 32)));
  }
  atomicAdd(gwb + lane, gw);
  atomicAdd(gwb + 32 + lane, gb);
}

// ---------------------------------------------------------------- InstanceNorm + PReLU, [B, M, C],
// C = 32
template <class T>
__device__ __forceinline__ float2 ld2(const T* p);
template <>
__device__ __forceinline__ float2 ld2<float>(const float* p) {
  return *(const float2*)p;
}
template <>
__device__ __forceinline__ float2 ld2<__nv_bfloat16>(const __nv_bfloat16* p) {
  return __bfloat1622float2(*(const __nv_bfloat162*)p);
}
__device__ __forceinline__ void st2(float* p, float a, float b) { *(float2*)p = make_float2(a, b); }
__device__ __forceinline__ void st2(__nv_bfloat16* p, float a, float b) {
  *(__nv_bfloat162*)p = __floats2bfloat162_rn(a, b);
}
// each thread owns 2 channels (C/2 threads a pixel), blocks of 256 threads, grid (chunks, B)
template <class T>
__global__ void in_stat_k(const T* x, float* st, int M, int C) {
  int c2 = C / 2, lane = threadIdx.x % c2, row = threadIdx.x / c2, rows = blockDim.x / c2,
      b = blockIdx.y;
  float s0 = 0, s1 = 0, q0 = 0, q1 = 0;
  for (int m = blockIdx.x * rows + row; m < M; m += gridDim.x * rows) {
    float2 v = ld2(x + ((int64_t)b * M + m) * C + 2 * lane);
    s0 += v.x;
    s1 += v.y;
    q0 += v.x * v.x;
    q1 += v.y * v.y;
  }
  extern __shared__ float sm[];
  float* o = sm + threadIdx.x * 4;
  o[0] = s0;
  o[1] = s1;
  o[2] = q0;
  o[3] = q1;
  __syncthreads();
  if (row == 0) {
    for (int r = 1; r < rows; r++) {
      float* p = sm + (r * c2 + lane) * 4;
      s0 += p[0];
      s1 += p[1];
      q0 += p[2];
      q1 += p[3];
    }
    float* d = st + (int64_t)b * C * 2 + 4 * lane;
    atomicAdd(d, s0);
    atomicAdd(d + 1, q0);
    atomicAdd(d + 2, s1);
    atomicAdd(d + 3, q1);
  }
}
template <class T>
__global__ void in_apply_k(const T* x, const float* st, const float* w, const float* bias,
                           const float* slope, T* y, int M, int C, float eps) {
  int c2 = C / 2, lane = threadIdx.x % c2, row = threadIdx.x / c2, rows = blockDim.x / c2,
      b = blockIdx.y, c = 2 * lane;
  const float* p = st + ((int64_t)b * C + c) * 2;
  float im = 1.f / M;
  float m0 = p[0] * im, m1 = p[2] * im, k0 = rsqrtf(fmaxf(p[1] * im - m0 * m0, 0.f) + eps) * w[c],
        k1 = rsqrtf(fmaxf(p[3] * im - m1 * m1, 0.f) + eps) * w[c + 1], o0 = bias[c] - m0 * k0,
        o1 = bias[c + 1] - m1 * k1, a0 = slope[c], a1 = slope[c + 1];
  for (int m = blockIdx.x * rows + row; m < M; m += gridDim.x * rows) {
    int64_t i = ((int64_t)b * M + m) * C + c;
    float2 v = ld2(x + i);
    float f = v.x * k0 + o0, g = v.y * k1 + o1;
    st2(y + i, f > 0 ? f : a0 * f, g > 0 ? g : a1 * g);
  }
}
// red [B, C, 3]: sum dv, sum dv*n, sum dy*v*(v<=0)
template <class T>
__global__ void in_bwdr_k(const T* x, const T* dy, const float* st, const float* w,
                          const float* bias, const float* slope, float* red, int M, int C,
                          float eps) {
  int c2 = C / 2, lane = threadIdx.x % c2, row = threadIdx.x / c2, rows = blockDim.x / c2,
      b = blockIdx.y, c = 2 * lane;
  const float* p = st + ((int64_t)b * C + c) * 2;
  float im = 1.f / M;
  float m0 = p[0] * im, m1 = p[2] * im, r0 = rsqrtf(fmaxf(p[1] * im - m0 * m0, 0.f) + eps),
        r1 = rsqrtf(fmaxf(p[3] * im - m1 * m1, 0.f) + eps), w0 = w[c], w1 = w[c + 1], o0 = bias[c],
        o1 = bias[c + 1], a0 = slope[c], a1 = slope[c + 1];
  float s0 = 0, s1 = 0, q0 = 0, q1 = 0, e0 = 0, e1 = 0;
  for (int m = blockIdx.x * rows + row; m < M; m += gridDim.x * rows) {
    int64_t i = ((int64_t)b * M + m) * C + c;
    float2 v = ld2(x + i), d = ld2(dy + i);
    float n0 = (v.x - m0) * r0, n1 = (v.y - m1) * r1, f = n0 * w0 + o0, g = n1 * w1 + o1;
    if (!(f > 0)) {
      e0 += d.x * f;
      d.x *= a0;
    }
    if (!(g > 0)) {
      e1 += d.y * g;
      d.y *= a1;
    }
    s0 += d.x;
    s1 += d.y;
    q0 += d.x * n0;
    q1 += d.y * n1;
  }
  extern __shared__ float sm[];
  float* o = sm + threadIdx.x * 6;
  o[0] = s0;
  o[1] = q0;
  o[2] = e0;
  o[3] = s1;
  o[4] = q1;
  o[5] = e1;
  __syncthreads();
  if (row == 0) {
    for (int r = 1; r < rows; r++) {
      float* q = sm + (r * c2 + lane) * 6;
      s0 += q[0];
      q0 += q[1];
      e0 += q[2];
      s1 += q[3];
      q1 += q[4];
      e1 += q[5];
    }
    float* d = red + ((int64_t)b * C + c) * 3;
    atomicAdd(d, s0);
    atomicAdd(d + 1, q0);
    atomicAdd(d + 2, e0);
    atomicAdd(d + 3, s1);
    atomicAdd(d + 4, q1);
    atomicAdd(d + 5, e1);
  }
}
template <class T>
__global__ void in_bwda_k(const T* x, const T* dy, const float* st, const float* red,
                          const float* w, const float* bias, const float* slope, T* dx, int M,
                          int C, float eps) {
  int c2 = C / 2, lane = threadIdx.x % c2, row = threadIdx.x / c2, rows = blockDim.x / c2,
      b = blockIdx.y, c = 2 * lane;
  const float* p = st + ((int64_t)b * C + c) * 2;
  float im = 1.f / M;
  const float* rd = red + ((int64_t)b * C + c) * 3;
  float m0 = p[0] * im, m1 = p[2] * im, r0 = rsqrtf(fmaxf(p[1] * im - m0 * m0, 0.f) + eps),
        r1 = rsqrtf(fmaxf(p[3] * im - m1 * m1, 0.f) + eps), w0 = w[c], w1 = w[c + 1], o0 = bias[c],
        o1 = bias[c + 1], a0 = slope[c], a1 = slope[c + 1];
  float u0 = rd[0] * im, v0 = rd[1] * im, u1 = rd[3] * im, v1 = rd[4] * im;
  for (int m = blockIdx.x * rows + row; m < M; m += gridDim.x * rows) {
    int64_t i = ((int64_t)b * M + m) * C + c;
    float2 v = ld2(x + i), d = ld2(dy + i);
    float n0 = (v.x - m0) * r0, n1 = (v.y - m1) * r1;
    if (!(n0 * w0 + o0 > 0)) d.x *= a0;
    if (!(n1 * w1 + o1 > 0)) d.y *= a1;
    st2(dx + i, w0 * r0 * (d.x - u0 - n0 * v0), w1 * r1 * (d.y - u1 - n1 * v1));
  }
}

extern "C" {
int ln_fwd(const float* x, const float* w, const float* b, float* y, int R, void* s) {
  LAUNCH(ln_fwd_k, R < 4224 ? (R + 7) / 8 : 528, 256, s)(x, w, b, y, R);
  return cudaGetLastError();
}
int ln_bwd(const float* x, const float* w, const float* dy, float* dx, float* gwb, int R, void* s) {
  cudaMemsetAsync(gwb, 0, 256, (cudaStream_t)s);
  LAUNCH(ln_bwd_k, R < 4224 ? (R + 7) / 8 : 264, 256, s)(x, w, dy, dx, gwb, R);
  return cudaGetLastError();
}
#define GRID dim3 g(M < 4096 ? (M + 127) / 128 : (2048 + B - 1) / B < 8 ? 8 : (2048 + B - 1) / B, B)
int in_fwd(const void* x, float* st, const float* w, const float* b, const float* a, void* y, int B,
           int M, int C, float eps, int bf16, void* s) {
  GRID;
  cudaMemsetAsync(st, 0, sizeof(float) * B * C * 2, (cudaStream_t)s);
  if (bf16) {
    in_stat_k<__nv_bfloat16>
        <<<g, 256, 256 * 16, (cudaStream_t)s>>>((const __nv_bfloat16*)x, st, M, C);
    in_apply_k<__nv_bfloat16><<<g, 256, 0, (cudaStream_t)s>>>((const __nv_bfloat16*)x, st, w, b, a,
                                                              (__nv_bfloat16*)y, M, C, eps);
  } else {
    in_stat_k<float><<<g, 256, 256 * 16, (cudaStream_t)s>>>((const float*)x, st, M, C);
    in_apply_k<float>
        <<<g, 256, 0, (cudaStream_t)s>>>((const float*)x, st, w, b, a, (float*)y, M, C, eps);
  }
  return cudaGetLastError();
}
int in_bwd(const void* x, const void* dy, const float* st, float* red, const float* w,
           const float* b, const float* a, void* dx, int B, int M, int C, float eps, int bf16,
           void* s) {
  GRID;
  cudaMemsetAsync(red, 0, sizeof(float) * B * C * 3, (cudaStream_t)s);
  if (bf16) {
    in_bwdr_k<__nv_bfloat16><<<g, 256, 256 * 24, (cudaStream_t)s>>>(
        (const __nv_bfloat16*)x, (const __nv_bfloat16*)dy, st, w, b, a, red, M, C, eps);
    in_bwda_k<__nv_bfloat16><<<g, 256, 0, (cudaStream_t)s>>>((const __nv_bfloat16*)x,
                                                             (const __nv_bfloat16*)dy, st, red, w,
                                                             b, a, (__nv_bfloat16*)dx, M, C, eps);
  } else {
    in_bwdr_k<float><<<g, 256, 256 * 24, (cudaStream_t)s>>>((const float*)x, (const float*)dy, st,
                                                            w, b, a, red, M, C, eps);
    in_bwda_k<float><<<g, 256, 0, (cudaStream_t)s>>>((const float*)x, (const float*)dy, st, red, w,
                                                     b, a, (float*)dx, M, C, eps);
  }
  return cudaGetLastError();
}
}
