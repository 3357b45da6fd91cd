// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Division by a number known at launch: a multiplication and a shift.
namespace hiss::cuda {

class Divider {
 public:
  // 1 <= divisor < 2^62.
  explicit Divider(int64_t divisor) : divisor_(divisor) {
    while ((int64_t{1} << shift_) < divisor) ++shift_;
    // ceil(2^(63 + shift) / divisor), by long division: it has 64 bits.
    unsigned __int128 power = static_cast<unsigned __int128>(1) << (63 + shift_);
    power += static_cast<unsigned __int128>(divisor - 1);
    factor_ = static_cast<uint64_t>(power / static_cast<unsigned __int128>(divisor));
  }
  __host__ __device__ int64_t divisor() const { return divisor_; }
  // floor(n / divisor) for 0 <= n < 2^62: n's error is below 2^-63 n / divisor.
  __device__ int64_t quotient(int64_t n) const {
    return static_cast<int64_t>(__umul64hi(static_cast<uint64_t>(n) << 1, factor_) >> shift_);
  }
  // n = quotient * divisor + remainder.
  __device__ int64_t divide(int64_t n, int64_t& remainder) const {
    const int64_t q = quotient(n);
    remainder = n - q * divisor_;
    return q;
  }

 private:
  int64_t divisor_;
  uint64_t factor_;
  int shift_ = 0;
};

}  // namespace hiss::cuda
