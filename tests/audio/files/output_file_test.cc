// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "audio/files/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace hiss::audio {
namespace {

using testing_support::read_file;
using testing_support::TemporaryFolder;
using testing_support::write_file;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(OutputFile, AppearsWhenCommittedAndNotBefore) {
  const TemporaryFolder folder;
  auto file = OutputFile::create(folder / "out", {});
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_TRUE(file->write(bytes("hello")).ok());
  EXPECT_EQ(access((folder / "out").c_str(), F_OK), -1);
  EXPECT_EQ(folder.entries(), 1);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(folder / "out"), "hello");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFile, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    auto file = OutputFile::create(folder / "out", {});
    ASSERT_TRUE(file);
    OutputFile moved = *std::move(file);
    ASSERT_TRUE(moved.write(bytes("hello")).ok());
    EXPECT_EQ(folder.entries(), 1);
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(OutputFile, KeepsAFileThatSomebodyMadeMeanwhile) {
  const TemporaryFolder folder;
  auto file = OutputFile::create(folder / "out", {});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes("mine")).ok());
  write_file(folder / "out", "theirs");
  EXPECT_EQ(file->commit().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_file(folder / "out"), "theirs");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFile, FollowsASymbolicLink) {
  const TemporaryFolder folder;
  write_file(folder / "target", "old");
  ASSERT_EQ(symlink((folder / "target").c_str(), (folder / "link").c_str()), 0);
  EXPECT_EQ(OutputFile::create(folder / "link", {}).error().code(), StatusCode::kAlreadyExists);
  auto file = OutputFile::create(folder / "link", {.force = true});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes("new")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(folder / "target"), "new");
}

TEST(OutputFile, TakesAnotherPlaceWhenAssigned) {
  const TemporaryFolder folder;
  auto a = OutputFile::create(folder / "a", {}), b = OutputFile::create(folder / "b", {});
  ASSERT_TRUE(a && b);
  *a = *std::move(b);
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(a->path(), folder / "b");
  ASSERT_TRUE(a->commit().ok());
  EXPECT_EQ(access((folder / "b").c_str(), F_OK), 0);
}

TEST(OutputFile, ThereMayBeMoreOfThemThanEverNeededButNotWithoutEnd) {
  const TemporaryFolder folder;
  std::vector<OutputFile> files;
  Status last;
  for (int i = 0; i < 100 && last.ok(); ++i) {
    auto file = OutputFile::create(folder / ("out" + std::to_string(i)), {});
    last = file.error();
    if (file) files.push_back(*std::move(file));
  }
  EXPECT_EQ(last.code(), StatusCode::kResourceExhausted);
  EXPECT_GE(files.size(), 8u);
  EXPECT_EQ(folder.entries(), static_cast<long>(files.size()));
  files.clear();
  EXPECT_EQ(folder.entries(), 0);
  EXPECT_TRUE(OutputFile::create(folder / "again", {}));
}

TEST(OutputFile, NothingIsLeftWhenASignalEndsTheProgram) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, [](int) {
      unlink_unfinished_outputs();
      _exit(3);
    });
    auto done = OutputFile::create(folder / "done", {});
    auto a = OutputFile::create(folder / "a", {}), b = OutputFile::create(folder / "b", {});
    if (!a || !b || !done || !a->write(bytes("half")).ok() || !done->commit().ok()) _exit(1);
    if (folder.entries() != 3) _exit(2);
    raise(SIGINT);
    _exit(4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(access((folder / "done").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hiss::audio
