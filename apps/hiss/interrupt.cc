// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "io/output_file.h"

namespace hiss::app {
namespace {

void end_program(int signal_number) {
  io::unlink_unfinished_outputs();
  constexpr char kText[] = "\nhiss: interrupted; no unfinished file is left behind\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) {
    // Nobody is listening; there is nobody to tell.
  }
  // Dying of the signal itself tells the shell more than any exit code.
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

}  // namespace

void leave_nothing_when_interrupted() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    // Started with the signal ignored (nohup, a shell's background job): it stays ignored.
    if (sigaction(signal_number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = end_program;
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace hiss::app
