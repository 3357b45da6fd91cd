// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "hiss/status.h"

namespace hiss::app {

// What the program tells its caller. docs/hiss-enhance.md and every --help list the same numbers.
enum ExitCode : int {
  kExitOk = 0,
  kExitFinding = 1,        // everything ran, and a check failed
  kExitUsage = 2,          // unknown option, value out of range
  kExitInput = 3,          // the input cannot be read
  kExitOutput = 4,         // the output cannot be written
  kExitModel = 5,          // the model cannot be used
  kExitResources = 6,      // out of memory or disk
  kExitInternal = 7,       // a fault of the program: please report it
  kExitInterrupted = 130,  // SIGINT; SIGTERM gives 143, SIGHUP 129, as shells count
};

// What a Status is about; the library knows codes, the program knows what it was doing.
enum class Subject { kArguments, kInput, kOutput, kModel, kProgram };

// kResourceExhausted is kExitResources and kCancelled kExitInterrupted whatever the subject; all
// else follows the subject.
ExitCode exit_code(const Status& status, Subject subject);

// Prints "hiss: MESSAGE; ADVICE" as one line on stderr and returns the exit code. Without advice
// the subject's own is given.
ExitCode fail(const Status& status, Subject subject, std::string_view advice = {});

// "Exit codes: ..." for the end of a help text.
const char* exit_code_help();

}  // namespace hiss::app
