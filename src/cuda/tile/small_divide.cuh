// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

// Division by a number known at launch where everything is below 2^31: a quarter of the
// instructions of Divider.
namespace hiss::cuda {

class SmallDivider {
 public:
  // 1 <= divisor < 2^31.
  explicit SmallDivider(int64_t divisor) : divisor_(static_cast<uint32_t>(divisor)) {
    while ((uint32_t{1} << shift_) < divisor_) ++shift_;
    // ceil(2^(31 + shift) / divisor): it has 32 bits.
    factor_ = static_cast<uint32_t>(((uint64_t{1} << (31 + shift_)) + divisor_ - 1) / divisor_);
  }
  // n = quotient * divisor + remainder, exact for n < 2^31.
  __device__ __forceinline__ uint32_t divide(uint32_t n, uint32_t& remainder) const {
    const uint32_t q = __umulhi(n << 1, factor_) >> shift_;
    remainder = n - q * divisor_;
    return q;
  }

 private:
  uint32_t divisor_, factor_;
  int shift_ = 0;
};

}  // namespace hiss::cuda
