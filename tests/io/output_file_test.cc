// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/temporary_folder.h"

namespace hiss::io {
namespace {

using testing::HasSubstr;
using testing_support::read_file;
using testing_support::TemporaryFolder;
using testing_support::write_file;

Result<OutputFile> create(const std::string& path, bool force = false) {
  return OutputFile::create(path, {.force = force});
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  auto file = create(folder / "out");
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_TRUE(file->write(bytes("abc")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(folder / "out"), "abc");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFile, LeavesNothingWhenDropped) {
  const TemporaryFolder folder;
  {
    auto file = create(folder / "out");
    ASSERT_TRUE(file);
    const OutputFile moved = *std::move(file);
    EXPECT_EQ(folder.entries(), 1);
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(OutputFile, KeepsAnExistingFile) {
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  const auto file = create(folder / "out");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_file(folder / "out"), "old");
}

TEST(OutputFile, KeepsAFileThatAppearsMeanwhile) {
  const TemporaryFolder folder;
  auto file = create(folder / "out");
  ASSERT_TRUE(file);
  write_file(folder / "out", "faster");
  EXPECT_EQ(file->commit().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_file(folder / "out"), "faster");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(OutputFile, RefusesTheInputUnderAnyName) {
  const TemporaryFolder folder;
  write_file(folder / "in", "sound");
  std::filesystem::create_symlink("in", folder / "link");
  std::filesystem::create_hard_link(folder / "in", folder / "hard");
  for (const char* name : {"in", "link", "hard", "nowhere/../in"}) {
    const auto file = OutputFile::create(folder / name, {.force = true, .not_same = folder / "in"});
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(file.error().message(), HasSubstr("is the same file as"));
  }
  EXPECT_EQ(read_file(folder / "in"), "sound");
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

TEST(OutputFile, UnfinishedFilesAreGoneAfterTheSignalHandlersCall) {
  const TemporaryFolder folder;
  auto finished = create(folder / "finished"), unfinished = create(folder / "unfinished");
  ASSERT_TRUE(finished && unfinished);
  ASSERT_TRUE(finished->commit().ok());
  EXPECT_EQ(folder.entries(), 2);
  unlink_unfinished_outputs();
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "finished"));
}

TEST(OutputFile, SlotsOfUnfinishedFilesAreUsedAgain) {
  const TemporaryFolder folder;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(create(folder / "out"));
  for (int i = 0; i < 200; ++i) ASSERT_FALSE(create(folder / "no/such/out"));
  ASSERT_TRUE(create(folder / "out"));
}

TEST(OutputFile, ReplacingKeepsThePermissions) {
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  chmod((folder / "out").c_str(), 0600);
  auto file = create(folder / "out", true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(std::filesystem::status(folder / "out").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(OutputFile, WritesThroughASymbolicLink) {
  const TemporaryFolder folder;
  write_file(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  auto file = create(folder / "link", true);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes("new")).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");
}

TEST(OutputFile, FolderAndDeviceAreInvalidArguments) {
  const TemporaryFolder folder;
  EXPECT_EQ(create(folder.path().string()).error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(create("/dev/null").error().code(), StatusCode::kInvalidArgument);
}

TEST(OutputFile, MissingFolderIsNotFound) {
  const TemporaryFolder folder;
  const auto file = create(folder / "no/such/out");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(file.error().message(), HasSubstr("no/such/out"));
}

TEST(OutputFile, FileAsFolderIsNotFound) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  EXPECT_EQ(create(folder / "file/out").error().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace hiss::io
