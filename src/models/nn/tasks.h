// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "hiss/executor.h"
#include "hiss/status.h"

namespace hiss::models {

// Runs tasks that can fail; gives the error of the first of them, by index.
Status run_tasks(Executor& executor, int64_t tasks,
                 FunctionRef<Status(int64_t task, int worker)> task);

}  // namespace hiss::models
