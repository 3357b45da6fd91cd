// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/matrix.h"

#include <oneapi/dnnl/dnnl.h>

#include <cassert>

#include "models/nn/one_thread.h"

namespace hiss::models {
Status matrix_product(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c, Write write) {
  assert(a.rows == c.rows && a.cols == b.rows && b.cols == c.cols);
  const OneThread one_thread;
  const float keep = write == Write::kAdd ? 1.0f : 0.0f;
  const dnnl_status_t status = dnnl_sgemm('N', 'N', c.rows, c.cols, a.cols, 1.0f, a.data, a.stride,
                                          b.data, b.stride, keep, c.data, c.stride);
  if (status == dnnl_success) return {};
  if (status == dnnl_out_of_memory) return ResourceExhausted("no memory for a matrix product");
  return Internal("oneDNN refused a matrix product: status " + std::to_string(status));
}

}  // namespace hiss::models
