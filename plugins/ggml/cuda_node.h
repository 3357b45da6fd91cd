// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hiss/context.h"
#include "log.h"
#include "node.h"

namespace hiss::ggml {

// Launches a node that takes_on_cuda() accepts into the context's stream and returns. The device
// must be the thread's current one. Each sequence's row of the state cache is first copied to where
// its last state goes, and the scan runs in place: ids, which lie on the device, are read there.
// kResourceExhausted: no memory for the workspace; nothing has been launched then.
Status launch_on_cuda(const Host& host, const Options& options, const Tensor* node,
                      Context& context, Log& log);

}  // namespace hiss::ggml
