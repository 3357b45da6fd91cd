// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "host.h"
#include "log.h"
#include "options.h"

namespace hiss::ggml {

// Takes SSM nodes inside ggml's CPU backend, on ggml's own threads: joins the list of buffer types
// that the backend asks for a node's traits. The list lives as long as the process and cannot be
// left again, so this is called once it is certain that ggml keeps this library loaded. False: this
// ggml shows no such list.
bool install_cpu_hook(const Host& host, const Options& options, Log& log);

// Lets ggml's own code run, or hiss's again: to compare the two in one process. False: the hook is
// not installed.
bool set_cpu_hook_enabled(bool enabled);
// Nodes that hiss has computed since the hook was installed.
int64_t nodes_computed_in_hook();

}  // namespace hiss::ggml
