// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>

#include "hiss/kernel.h"
#include "models/nn/matrix.h"

// Products whose weight and sizes are known long before they run: the weight is laid out as the
// library reads it fastest, and what depends on sizes only is prepared once.
namespace hiss::models {

// What the factors of products are rounded to; sums are in F32.
enum class Operands : uint8_t { kF32, kBF16 };

// Bytes of one.
constexpr int64_t size_of(Operands operands) { return operands == Operands::kBF16 ? 2 : 4; }
// BF16 for Precision::kFast where the CPU multiplies it; F32 otherwise.
Operands operands_for(Precision precision, const Machine& machine);
// How a product is named among a network's kernels: "matrix_product/onednn.bf16".
const char* product_name(Operands operands);

// The right factor (k, n) of products. Copies share memory.
class PackedWeight {
 public:
  PackedWeight() = default;
  // A copy of `weight`, with columns of zeros up to `cols`. kResourceExhausted, kInternal.
  static Result<PackedWeight> create(const ConstMatrix& weight, int64_t cols, Operands operands);
  int64_t rows() const;
  int64_t cols() const;

 private:
  friend class PackedProduct;
  struct Data;
  std::shared_ptr<const Data> data_;
};

// c (m, n) = or += a (m, k) weight, a and c dense, on the calling thread; the bits of c depend on
// sizes and values only. Copies share what is prepared; any number of threads may run it.
class PackedProduct {
 public:
  PackedProduct() = default;
  // For every weight of this size and these operands. kResourceExhausted, kInternal: the library
  // said no.
  static Result<PackedProduct> create(int64_t m, const PackedWeight& weight, Write write);
  // a: elements of the operands' type.
  Status run(const void* a, const PackedWeight& weight, float* c) const;

 private:
  struct Prepared;
  std::shared_ptr<Prepared> prepared_;
};

}  // namespace hiss::models
