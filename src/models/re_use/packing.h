// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "models/re_use/weights.h"

namespace hiss::models::re_use {

// The columns of a row of [dt, B, C] with the zeros that fill its last vector.
int64_t dt_B_C_columns(const ReUseConfig& config);

// Fills the packed fields from the plain ones. kResourceExhausted, kInternal.
Status pack(const ReUseConfig& config, Operands operands, Weights& weights);

}  // namespace hiss::models::re_use
