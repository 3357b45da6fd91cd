// Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
// Forward pass of the Mamba layer's convolution and scan on the CPU, so that evaluation need not
// wait for Python loops. cc -O3 -march=native -ffast-math -fopenmp -shared -fPIC scan_cpu.c -o
// scan_cpu.so -lm
#include <math.h>
#include <string.h>

enum { kStates = 16, kMaxWidth = 512 };

// x [batch, length, 2 * width] (first half), taps [width, 4], bias [width] -> u [batch, length,
// width]
void conv(const float* x, const float* taps, const float* bias, float* u, int batch, int length,
          int width) {
#pragma omp parallel for
  for (int b = 0; b < batch; ++b) {
    for (int t = 0; t < length; ++t) {
      float* out = u + ((long)b * length + t) * width;
      for (int e = 0; e < width; ++e) {
        float s = bias[e];
        for (int k = 0; k < 4; ++k) {
          const int from = t - 3 + k;
          if (from >= 0) s += taps[e * 4 + k] * x[((long)b * length + from) * 2 * width + e];
        }
        out[e] = s / (1.f + expf(-s));
      }
    }
  }
}

// delta: step sizes after softplus; a [16, width] = -exp(A_log) transposed; bc [batch, length, 32]
// = B, C; gate: second half of x -> y [batch, length, width], gated
void scan(const float* u, const float* delta, const float* a, const float* bc, const float* d,
          const float* x, float* y, int batch, int length, int width) {
#pragma omp parallel for
  for (int b = 0; b < batch; ++b) {
    float h[kStates][kMaxWidth];
    memset(h, 0, sizeof h);
    for (int t = 0; t < length; ++t) {
      const long row = (long)b * length + t;
      const float *ut = u + row * width, *dt = delta + row * width,
                  *z = x + row * 2 * width + width;
      float* out = y + row * width;
      for (int e = 0; e < width; ++e) out[e] = d[e] * ut[e];
      for (int n = 0; n < kStates; ++n) {
        const float bn = bc[row * 32 + n], cn = bc[row * 32 + kStates + n];
        const float* an = a + n * width;
        for (int e = 0; e < width; ++e) {
          h[n][e] = expf(dt[e] * an[e]) * h[n][e] + dt[e] * ut[e] * bn;
          out[e] += h[n][e] * cn;
        }
      }
      for (int e = 0; e < width; ++e) out[e] *= z[e] / (1.f + expf(-z[e]));
    }
  }
}
