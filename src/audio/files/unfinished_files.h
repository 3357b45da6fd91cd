// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <signal.h>

#include <string_view>

// The temporary files of this process, where a signal handler can find them.
namespace hiss::audio {

inline constexpr int kNoSlot = -1;

// Notes a file to remove; kNoSlot when the path is too long or too many files are noted.
int note_unfinished(std::string_view path) noexcept;
// The file has got its name, or is gone. kNoSlot does nothing.
void forget_unfinished(int slot) noexcept;

// No signal handler runs in this thread while it lives: a file is made and noted in one step.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace hiss::audio
