// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/unfinished_files.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "audio/files/output_file.h"

namespace hiss::audio {
namespace {

// A handler may not allocate or lock, so the names wait in memory that is always there.
struct Slot {
  enum State : int { kFree, kChanging, kNoted };
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
static_assert(std::atomic<int>::is_always_lock_free);

constinit Slot slots[16];

}  // namespace

int note_unfinished(std::string_view path) noexcept {
  if (path.size() >= sizeof(Slot::path)) return kNoSlot;
  for (int i = 0; i < static_cast<int>(std::size(slots)); ++i) {
    int expected = Slot::kFree;
    if (!slots[i].state.compare_exchange_strong(expected, Slot::kChanging)) continue;
    *std::copy(path.begin(), path.end(), slots[i].path) = '\0';
    slots[i].state = Slot::kNoted;
    return i;
  }
  return kNoSlot;
}

void forget_unfinished(int slot) noexcept {
  if (slot != kNoSlot) slots[slot].state = Slot::kFree;
}

void unlink_unfinished_outputs() noexcept {
  for (Slot& slot : slots) {
    if (slot.state == Slot::kNoted) unlink(slot.path);
  }
}

}  // namespace hiss::audio
