// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "exit_code.h"

#include <cstdio>
#include <string>

namespace hiss::app {
namespace {

std::string_view default_advice(const Status& status, Subject subject) {
  if (status.code() == StatusCode::kResourceExhausted) {
    return subject == Subject::kOutput ? "free some space or write elsewhere"
                                       : "free some memory or take a smaller --chunk-seconds";
  }
  switch (subject) {
    case Subject::kArguments:
      return "see --help";
    case Subject::kInput:
      return "check the path, or convert the recording to WAV or FLAC";
    case Subject::kOutput:
      if (status.code() == StatusCode::kAlreadyExists) return "use --force to replace it";
      if (status.code() == StatusCode::kUnsupported) return "ask for another format";
      return "choose another place to write to";
    case Subject::kModel:
      return "give a RE-USE checkpoint with --model";
    case Subject::kProgram:
      return "please report this";
  }
  return "";
}

}  // namespace

ExitCode exit_code(const Status& status, Subject subject) {
  if (status.ok()) return kExitOk;
  if (status.code() == StatusCode::kResourceExhausted) return kExitResources;
  if (status.code() == StatusCode::kCancelled) return kExitInterrupted;
  switch (subject) {
    case Subject::kArguments:
      return kExitUsage;
    case Subject::kInput:
      return kExitInput;
    case Subject::kOutput:
      return kExitOutput;
    case Subject::kModel:
      return kExitModel;
    case Subject::kProgram:
      break;
  }
  return kExitInternal;
}

ExitCode fail(const Status& status, Subject subject, std::string_view advice) {
  if (advice.empty()) advice = default_advice(status, subject);
  std::string line = "hiss: " + status.message() + "; ";
  line += advice;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  return exit_code(status, subject);
}

const char* exit_code_help() {
  return "Exit codes:\n"
         "  0  done\n"
         "  1  everything ran, and a check failed\n"
         "  2  unknown option, or a value out of range\n"
         "  3  the input cannot be read\n"
         "  4  the output cannot be written\n"
         "  5  the model cannot be used\n"
         "  6  out of memory or disk\n"
         "  7  a fault of the program: please report it\n"
         "  129, 130, 143  ended by SIGHUP, SIGINT (Ctrl-C) or SIGTERM; no file is left behind";
}

}  // namespace hiss::app
