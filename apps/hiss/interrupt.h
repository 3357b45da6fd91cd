// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace hiss::app {

// From now on SIGINT, SIGTERM and SIGHUP remove every unfinished output file before they end the
// program. At once, even in the middle of a model window: the handler waits for nobody.
void leave_nothing_when_interrupted();

}  // namespace hiss::app
