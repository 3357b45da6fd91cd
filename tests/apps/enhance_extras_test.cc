// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
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
using testing_support::run_hiss;
using testing_support::RunningHiss;
using testing_support::write_recording;

class EnhanceExtras : public EnhanceTest {
 protected:
  Ended run_with(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = enhance(input(), output());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_hiss(arguments);
  }
};

TEST_F(EnhanceExtras, SummarySaysWhatANewcomerWantsToKnow) {
  const Ended ended = run_with({});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  for (const char* part : {"input", "output", "model", "kernels", "selective_scan/",
                           "causal_conv1d/", "threads", "duration         0.500 s", "time",
                           "real-time factor", "limited samples  0", "replaced samples 0"}) {
    EXPECT_THAT(ended.out, HasSubstr(part));
  }
  EXPECT_THAT(ended.out, Not(HasSubstr("SI-SDR"))) << "no reference was given";
}

TEST_F(EnhanceExtras, QuietSaysNothing) {
  const Ended ended = run_with({"--quiet"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "");
}

TEST_F(EnhanceExtras, ReportIsJsonWithEveryField) {
  ASSERT_EQ(run_with({"--report", folder / "report.json", "--overlap", "0.1"}).exit_code, 0);
  const auto report = nlohmann::json::parse(read_file(folder / "report.json"), nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["input"]["path"], input());
  EXPECT_EQ(report["input"]["sample_rate"], 16000);
  EXPECT_EQ(report["input"]["channels"], 1);
  EXPECT_EQ(report["input"]["frames"], 8000);
  EXPECT_EQ(report["input"]["duration_seconds"], 0.5);
  EXPECT_EQ(report["input"]["truncation"], "");
  EXPECT_EQ(report["output"]["path"], output());
  EXPECT_EQ(report["output"]["limited_samples"], 0);
  EXPECT_EQ(report["output"]["notes"], nlohmann::json::array());
  EXPECT_EQ(report["model"]["path"], model());
  EXPECT_EQ(report["options"]["chunk_seconds"], 5.0);
  EXPECT_EQ(report["options"]["overlap"], 0.1);
  EXPECT_EQ(report["options"]["strength"], 1.0);
  EXPECT_EQ(report["options"]["precision"], "standard");
  EXPECT_EQ(report["options"]["threads"], 1);
  EXPECT_GE(report["kernels"].size(), 2u);
  EXPECT_GT(report["enhance_seconds"], 0.0);
  EXPECT_GT(report["load_seconds"], 0.0);
  EXPECT_NEAR(report["real_time_factor"].get<double>(),
              report["enhance_seconds"].get<double>() / 0.5, 1e-9);
  EXPECT_GT(report["peak_memory_bytes"], 1 << 20);
  EXPECT_EQ(report["replaced_samples"], 0);
  EXPECT_TRUE(report["metrics"].is_null());
  for (const char* field : {"hiss_version", "machine"}) EXPECT_TRUE(report.contains(field));
}

TEST_F(EnhanceExtras, ReferenceGivesMetrics) {
  const Ended ended = run_with({"--reference", input(), "--report", folder / "report.json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("SI-SDR"), HasSubstr("LSD")));
  const auto metrics =
      nlohmann::json::parse(read_file(folder / "report.json"), nullptr, false)["metrics"];
  // The input is its own reference: as good as it gets before, worse after.
  EXPECT_GT(metrics["si_sdr_before_db"], 100.0);
  EXPECT_LT(metrics["si_sdr_after_db"], 100.0);
  EXPECT_EQ(metrics["lsd_before_db"], 0.0);
  EXPECT_GT(metrics["lsd_after_db"], 0.0);
}

TEST_F(EnhanceExtras, SilentReferenceHasNoMetricsAndIsNoError) {
  auto silence = noisy_recording(0.5);
  for (double& sample : silence.samples) sample = 0;
  ASSERT_TRUE(write_recording(folder / "silence.wav", silence));
  const Ended ended =
      run_with({"--reference", folder / "silence.wav", "--report", folder / "report.json"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("(undefined)"));
  const auto report = nlohmann::json::parse(read_file(folder / "report.json"), nullptr, false);
  EXPECT_TRUE(report["metrics"]["si_sdr_before_db"].is_null());
}

TEST_F(EnhanceExtras, PictureIsAPng) {
  ASSERT_EQ(run_with({"--picture", folder / "picture.png"}).exit_code, 0);
  const std::string png = read_file(folder / "picture.png");
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(12, 4), "IHDR");
  EXPECT_EQ(png.substr(png.size() - 8, 4), "IEND");
}

TEST_F(EnhanceExtras, DumpHoldsTheActivationsOfTheParityFixtures) {
  ASSERT_EQ(run_with({"--dump", folder / "dump.safetensors"}).exit_code, 0);
  const auto dump = io::Safetensors::open(folder / "dump.safetensors");
  ASSERT_TRUE(dump) << dump.error().to_string();
  const auto golden =
      io::Safetensors::open(HISS_SOURCE_DIR "/tests/golden/reuse_tiny_io_16000.safetensors");
  ASSERT_TRUE(golden);
  for (const auto& [name, view] : golden->tensors()) {
    EXPECT_EQ(dump->find(name).rank, view.rank) << name;
  }
  EXPECT_EQ(dump->tensors().size(), golden->tensors().size());
  EXPECT_EQ(dump->find("waveform").elements(), 8000);
}

TEST_F(EnhanceExtras, DumpIsTheFirstWindowOfTheFirstChannel) {
  const auto stereo = noisy_recording(0.5, 2);
  ASSERT_TRUE(write_recording(input(), stereo));
  ASSERT_EQ(run_with({"--dump", folder / "d", "--chunk-seconds", "0.25"}).exit_code, 0);
  const auto dump = io::Safetensors::open(folder / "d");
  ASSERT_TRUE(dump);
  const ConstTensorView waveform = dump->find("waveform");
  ASSERT_EQ(waveform.elements(), 4000);
  const auto written = read_recording(input()).channel(0);
  for (int64_t i = 0; i < 4000; ++i) {
    ASSERT_EQ(waveform.as<float>()[i], static_cast<float>(written[i]));
  }
}

TEST_F(EnhanceExtras, TheForcedKernelIsTheOneThatRuns) {
  const Ended ended = run_with({"--kernel", "selective_scan/ref"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("selective_scan/ref"));
}

TEST_F(EnhanceExtras, StrictPrecisionDoesNotDependOnThreads) {
  std::vector<std::vector<double>> results;
  for (const char* threads : {"1", "2", "3"}) {
    const std::string path = folder / threads;
    ASSERT_EQ(run_hiss({"enhance", input(), "-o", path, "--model", model(), "--threads", threads,
                        "--precision", "strict", "--sample-format", "float", "--container", "wav"})
                  .exit_code,
              0);
    results.push_back(read_recording(path).samples);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

class EnhanceInterrupted : public EnhanceTest, public testing::WithParamInterface<int> {};

TEST_P(EnhanceInterrupted, LeavesNothingBehind) {
  // Minutes of work; the signal arrives as soon as the unfinished output is there.
  ASSERT_TRUE(write_recording(input(), noisy_recording(120)));
  auto arguments = enhance(input(), output());
  arguments.insert(arguments.end(), {"--report", folder / "r", "--picture", folder / "p"});
  RunningHiss running(arguments);
  while (folder.entries() < 4 && running.alive()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(folder.entries(), 4) << "the input and three unfinished files";
  kill(running.pid(), GetParam());
  const Ended ended = running.wait();
  EXPECT_EQ(ended.signal, GetParam());
  EXPECT_THAT(ended.err, HasSubstr("interrupted"));
  EXPECT_EQ(folder.entries(), 1) << "more than the input is there";
}

INSTANTIATE_TEST_SUITE_P(Signals, EnhanceInterrupted, testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace hiss
