// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "models/nn/matrix.h"

#include <oneapi/dnnl/dnnl.h>

#include <cassert>

// Of OpenMP's run-time library, which oneDNN is built on; its header does not come with every
// compiler.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int);

namespace hiss::models {
namespace {

// Keeps oneDNN on the calling thread, since the executor owns the parallelism, and leaves the
// caller's own setting as it was.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

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
