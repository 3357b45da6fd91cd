// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/temporary_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace hiss::io {
namespace {

using testing::HasSubstr;
using testing_support::read_file;
using testing_support::TemporaryFolder;
using testing_support::write_file;

TEST(TemporaryFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  auto file = TemporaryFile::create(folder / "out");
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_TRUE(file->write("abc", 3).ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read_file(folder / "out"), "abc");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(TemporaryFile, LeavesNothingWhenDropped) {
  const TemporaryFolder folder;
  {
    auto file = TemporaryFile::create(folder / "out");
    ASSERT_TRUE(file);
    const TemporaryFile moved = *std::move(file);
    EXPECT_EQ(folder.entries(), 1);
  }
  EXPECT_EQ(folder.entries(), 0);
}

TEST(TemporaryFile, KeepsWhatIsThereWhenAsked) {
  const TemporaryFolder folder;
  auto file = TemporaryFile::create(folder / "out");
  ASSERT_TRUE(file);
  write_file(folder / "out", "old");  // somebody was faster
  EXPECT_EQ(file->commit(Existing::kKeep).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_file(folder / "out"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(TemporaryFile, KeepCommitsUnderAFreeName) {
  const TemporaryFolder folder;
  auto file = TemporaryFile::create(folder / "out");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->commit(Existing::kKeep).ok());
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "out"));
}

TEST(TemporaryFile, ReplacingKeepsThePermissions) {
  const TemporaryFolder folder;
  write_file(folder / "out", "old");
  chmod((folder / "out").c_str(), 0600);
  auto file = TemporaryFile::create(folder / "out");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(std::filesystem::status(folder / "out").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(TemporaryFile, WritesThroughASymbolicLink) {
  const TemporaryFolder folder;
  write_file(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  auto file = TemporaryFile::create(folder / "link");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("new", 3).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");
}

TEST(TemporaryFile, FolderAndDeviceAreInvalidArguments) {
  const TemporaryFolder folder;
  EXPECT_EQ(TemporaryFile::create(folder.path().string()).error().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(TemporaryFile::create("/dev/null").error().code(), StatusCode::kInvalidArgument);
}

TEST(TemporaryFile, MissingFolderIsNotFound) {
  const TemporaryFolder folder;
  const auto file = TemporaryFile::create(folder / "no/such/out");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(file.error().message(), HasSubstr("no/such/out"));
}

TEST(TemporaryFile, FileAsFolderIsNotFound) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  EXPECT_EQ(TemporaryFile::create(folder / "file/out").error().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace hiss::io
