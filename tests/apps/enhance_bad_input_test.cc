// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/enhance_fixture.h"
#include "io/safetensors.h"

namespace hiss {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Ended;
using testing_support::EnhanceTest;
using testing_support::noisy_recording;
using testing_support::read_file;
using testing_support::read_recording;
using testing_support::Recording;
using testing_support::run_hiss;
using testing_support::write_file;
using testing_support::write_recording;

class EnhanceBadInput : public EnhanceTest {
 protected:
  // The run must end with this code and one line that holds `reason`, and leave no new file.
  void expect_refusal(const std::vector<std::string>& arguments, int exit_code,
                      const std::string& reason, const std::string& limits = "") {
    const long before = folder.entries();
    const Ended ended = run_hiss(arguments, limits);
    EXPECT_EQ(ended.exit_code, exit_code) << ended.err;
    EXPECT_THAT(ended.err, testing::StartsWith("hiss: "));
    EXPECT_THAT(ended.err, HasSubstr(reason));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("; ")) << "no word on what to do";
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(folder.entries(), before) << "a file was left behind";
  }
  std::vector<std::string> with(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = enhance(input(), output());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(EnhanceBadInput, MissingFile) {
  expect_refusal(enhance(folder / "no.wav", output()), 3, "no.wav: No such file");
}

TEST_F(EnhanceBadInput, Folder) {
  expect_refusal(enhance(folder.path().string(), output()), 3, folder.path().string());
}

TEST_F(EnhanceBadInput, ZeroBytes) {
  write_file(folder / "zero.wav", "");
  expect_refusal(enhance(folder / "zero.wav", output()), 3, "zero.wav");
}

TEST_F(EnhanceBadInput, HeaderOnly) {
  write_file(folder / "header.wav", read_file(input()).substr(0, 44));
  expect_refusal(enhance(folder / "header.wav", output()), 3, "header.wav");
}

TEST_F(EnhanceBadInput, HeaderCutShort) {
  write_file(folder / "cut.wav", read_file(input()).substr(0, 30));
  expect_refusal(enhance(folder / "cut.wav", output()), 3, "cut.wav");
}

TEST_F(EnhanceBadInput, TextNamedWav) {
  write_file(folder / "text.wav", "Dear reader, this is a letter and no recording at all.\n");
  expect_refusal(enhance(folder / "text.wav", output()), 3, "text.wav");
}

TEST_F(EnhanceBadInput, RawSamplesNamedWav) {
  write_file(folder / "raw.wav", read_file(input()).substr(44));
  expect_refusal(enhance(folder / "raw.wav", output()), 3, "raw.wav");
}

TEST_F(EnhanceBadInput, RateBelowTheModelsRange) {
  write_recording(folder / "slow.wav", noisy_recording(0.2, 1, 1000));
  expect_refusal(enhance(folder / "slow.wav", output()), 3, "1000");
}

// What is there is enhanced, and the user is told.
TEST_F(EnhanceBadInput, TruncatedRecordingIsAWarning) {
  const std::string whole = read_file(input());
  write_file(folder / "short.wav", whole.substr(0, 44 + (whole.size() - 44) / 4 * 2));
  const Ended ended = run_hiss(enhance(folder / "short.wav", output()));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("warning"), HasSubstr("short.wav")));
  EXPECT_EQ(read_recording(output()).frames(),
            static_cast<int64_t>((whole.size() - 44) / 4 * 2 / sizeof(int16_t)));
}

TEST_F(EnhanceBadInput, OutputFolderIsMissing) {
  expect_refusal(enhance(input(), folder / "no/such/out.wav"), 4, "no/such/out.wav");
}

TEST_F(EnhanceBadInput, OutputUnderAFile) {
  expect_refusal(enhance(input(), input() + "/out.wav"), 4, "Not a directory");
}

TEST_F(EnhanceBadInput, OutputIsAFolder) {
  expect_refusal(enhance(input(), folder.path().string()), 4, "is a folder");
}

TEST_F(EnhanceBadInput, OutputIsADevice) {
  expect_refusal(enhance(input(), "/dev/full"), 4, "is not a regular file");
}

TEST_F(EnhanceBadInput, OutputWhereNobodyMayWrite) {
  // Not even root writes there.
  expect_refusal(enhance(input(), "/proc/out.wav"), 4, "/proc/out.wav");
}

TEST_F(EnhanceBadInput, OutputInAReadOnlyFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms(0500));
  expect_refusal(enhance(input(), folder / "locked/out.wav"), 4, "Permission denied");
}

TEST_F(EnhanceBadInput, FullDisk) {
  // A limit on the size of files fails where a full disk does, and needs no disk of its own.
  expect_refusal(enhance(input(), output()), 6, "out.wav", "ulimit -f 8");
}

TEST_F(EnhanceBadInput, OutputIsTheInput) {
  const std::string before = read_file(input());
  std::filesystem::create_symlink("in.wav", folder / "link.wav");
  std::filesystem::create_hard_link(input(), folder / "hard.wav");
  for (const char* name : {"in.wav", "link.wav", "hard.wav", "no/../in.wav"}) {
    std::vector<std::string> arguments = enhance(input(), folder / name);
    arguments.push_back("--force");
    expect_refusal(arguments, 4, "is the same file as");
    EXPECT_EQ(read_file(input()), before) << name;
  }
}

TEST_F(EnhanceBadInput, ExistingOutputIsKept) {
  write_file(output(), "precious");
  expect_refusal(enhance(input(), output()), 4, "out.wav: exists already; use --force");
  EXPECT_EQ(read_file(output()), "precious");
}

TEST_F(EnhanceBadInput, ForceReplacesTheOutput) {
  write_file(output(), "precious");
  const Ended ended = run_hiss(with({"--force"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(read_recording(output()).frames(), read_recording(input()).frames());
}

TEST_F(EnhanceBadInput, ExistingExtrasAreKept) {
  for (const char* option : {"--report", "--picture", "--dump"}) {
    write_file(folder / "extra", "precious");
    expect_refusal(with({option, folder / "extra"}), 4, "extra: exists already");
    EXPECT_EQ(read_file(folder / "extra"), "precious");
  }
}

TEST_F(EnhanceBadInput, TwoOutputsUnderOneName) {
  expect_refusal(with({"--report", output()}), 4, "is to be written twice");
  expect_refusal(with({"--report", folder / "a", "--picture", folder / "./a"}), 4,
                 "is to be written twice");
}

TEST_F(EnhanceBadInput, ExtraOverAnInput) {
  expect_refusal(with({"--force", "--report", input()}), 4, "is the same file as");
  const std::string weights = read_file(model());
  write_file(folder / "model.safetensors", weights);
  expect_refusal({"enhance", input(), "-o", output(), "--model", folder / "model.safetensors",
                  "--force", "--dump", folder / "model.safetensors"},
                 4, "is the same file as");
  EXPECT_EQ(read_file(folder / "model.safetensors"), weights);
}

TEST_F(EnhanceBadInput, ModelIsMissing) {
  expect_refusal({"enhance", input(), "-o", output(), "--model", folder / "no.safetensors"}, 5,
                 "no.safetensors");
}

TEST_F(EnhanceBadInput, ModelIsText) {
  write_file(folder / "text.safetensors", "I am no model, only a text that is named like one.");
  expect_refusal({"enhance", input(), "-o", output(), "--model", folder / "text.safetensors"}, 5,
                 "longer than the file");
}

TEST_F(EnhanceBadInput, ModelIsCutShort) {
  const std::string whole = read_file(model());
  write_file(folder / "cut.safetensors", whole.substr(0, whole.size() / 2));
  expect_refusal({"enhance", input(), "-o", output(), "--model", folder / "cut.safetensors"}, 5,
                 "data");
}

TEST_F(EnhanceBadInput, CheckpointOfSomethingElse) {
  const float weights[4] = {};
  ASSERT_TRUE(io::write_safetensors(folder / "other.safetensors",
                                    {{"lm_head.weight", {weights, DType::kF32, {2, 2}}}})
                  .ok());
  expect_refusal({"enhance", input(), "-o", output(), "--model", folder / "other.safetensors"}, 5,
                 "other.safetensors");
}

TEST_F(EnhanceBadInput, ReferenceOfAnotherRate) {
  write_recording(folder / "ref.wav", noisy_recording(0.25, 1, 8000));
  expect_refusal(with({"--reference", folder / "ref.wav"}), 3, "8000 Hz");
}

TEST_F(EnhanceBadInput, ReferenceOfAnotherLength) {
  write_recording(folder / "ref.wav", noisy_recording(0.1));
  expect_refusal(with({"--reference", folder / "ref.wav"}), 3, "1600 frames");
}

TEST_F(EnhanceBadInput, UnknownOptionValues) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--strength", "1.01"},
      {"--strength", "-0.1"},
      {"--strength", "nan"},
      {"--strength", "much"},
      {"--chunk-seconds", "0"},
      {"--chunk-seconds", "-5"},
      {"--chunk-seconds", "nan"},
      {"--chunk-seconds", "1e9"},
      {"--overlap", "0.6"},
      {"--overlap", "-0.01"},
      {"--precision", "sloppy"},
      {"--threads", "-1"},
      {"--threads", "two"},
      {"--no-such-option"},
      {"surplus.wav"},
      {"--kernel", "scan/abacus"},
      {"--kernel"},
      {"--report"},
  };
  for (const auto& arguments : wrong) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    expect_refusal(with(arguments), 2, arguments.back());
  }
}

TEST_F(EnhanceBadInput, KernelThatTheModelDoesNotUse) {
  expect_refusal(with({"--kernel", "ssd_chunk_scan/ref"}), 2, "no use for this kernel");
}

TEST_F(EnhanceBadInput, UnknownFormatsOfTheOutput) {
  expect_refusal(with({"--container", "tape"}), 2, "tape");
  expect_refusal(with({"--sample-format", "pcm17"}), 2, "pcm17");
}

TEST_F(EnhanceBadInput, NoInputOrNoOutput) {
  expect_refusal({"enhance", input()}, 2, "--output");
  expect_refusal({"enhance", "-o", output()}, 2, "input");
}

}  // namespace
}  // namespace hiss
