// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <CLI/CLI.hpp>

// The sub-commands, one file each. add_<name>_command() declares the options; when the user calls
// the command it runs and leaves its exit code (exit_code.h) behind.
namespace hiss::app {

void add_enhance_command(CLI::App& app, int& exit_code);
void add_explain_command(CLI::App& app, int& exit_code);
void add_kernels_command(CLI::App& app, int& exit_code);
void add_llama_check_command(CLI::App& app, int& exit_code);
void add_op_command(CLI::App& app, int& exit_code);

}  // namespace hiss::app
