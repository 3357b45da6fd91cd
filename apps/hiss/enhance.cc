// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "commands.h"
#include "exit_code.h"

namespace hiss::app {

void add_enhance_command(CLI::App& app, int& exit_code) {
  app.add_subcommand("enhance", "Remove noise from a recording of speech")->callback([&exit_code] {
    exit_code = fail(Unsupported("enhance is not built yet"), Subject::kProgram);
  });
}

}  // namespace hiss::app
