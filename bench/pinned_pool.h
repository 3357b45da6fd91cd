// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "hiss/executor.h"

namespace hiss::bench {

// The processors this process could use when it first asked.
const std::vector<int>& processors();

// A pool whose workers stay on a processor each, the calling thread among them: on a machine that
// others use, too, the system may otherwise keep two of them on one processor for long.
std::unique_ptr<Executor> make_pinned_pool(int threads);

}  // namespace hiss::bench
