// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// hiss op, hiss kernels and hiss explain, run as a user runs them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/program.h"
#include "hiss/ops/all.h"
#include "io/safetensors.h"

namespace hiss {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;
using testing_support::Ended;
using testing_support::run_hiss;
using testing_support::TemporaryFolder;

const std::string kGolden = HISS_SOURCE_DIR "/tests/golden/ops.safetensors";

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

void expect_refusal(const Ended& ended, int exit_code, const std::string& text) {
  EXPECT_EQ(ended.exit_code, exit_code);
  EXPECT_THAT(ended.err, AllOf(HasSubstr(text), MatchesRegex("hiss: [^\n]*\n")));
  EXPECT_EQ(ended.out, "");
}

// The golden file with some tensors or options changed, under a name of its own.
class EditedCases {
 public:
  EditedCases() : file_(*io::Safetensors::open(kGolden)) {
    for (const auto& [key, view] : file_.tensors()) tensors[key] = view;
    for (const auto& [key, value] : file_.metadata()) metadata[key] = value;
  }
  // An own copy of a tensor, to be changed.
  float* own(const std::string& key) {
    ConstTensorView& view = tensors.at(key);
    std::vector<float>& copy = copies_[key];
    copy.assign(view.as<float>(), view.as<float>() + view.elements());
    view.data = copy.data();
    return copy.data();
  }
  void keep_only(const std::string& prefix) {
    std::erase_if(tensors, [&](const auto& entry) { return !entry.first.starts_with(prefix); });
  }
  std::string write() {
    const std::string path = folder_ / "cases.safetensors";
    EXPECT_TRUE(io::write_safetensors(path, tensors, metadata).ok());
    return path;
  }
  std::map<std::string, ConstTensorView> tensors;
  std::map<std::string, std::string> metadata;

 private:
  TemporaryFolder folder_;
  io::Safetensors file_;
  std::map<std::string, std::vector<float>> copies_;
};

TEST(HissOp, ChecksEveryCaseWithTheKernelThatIsChosen) {
  const Ended ended = run_hiss({"op", kGolden, "--check"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(lines(ended.out), 12);
  EXPECT_THAT(ended.out, Not(HasSubstr("FAIL")));
  EXPECT_THAT(ended.out, AllOf(HasSubstr("ok    conv/plain"), HasSubstr("bound"),
                               HasSubstr("ssd_chunk_scan/")));
}

TEST(HissOp, ChecksEveryCaseWithEveryKernel) {
  const Ended ended = run_hiss({"op", kGolden, "--check", "--all-kernels", "--device", "cpu"});
  EXPECT_EQ(ended.exit_code, 0);
  const auto per = [](size_t cases, size_t kernels) { return static_cast<int>(cases * kernels); };
  EXPECT_EQ(lines(ended.out), per(3, kernels<CausalConv1d>().size()) +
                                  per(4, kernels<SelectiveScan>().size()) +
                                  per(5, kernels<SsdChunkScan>().size()));
  EXPECT_THAT(ended.out, HasSubstr("selective_scan/ref"));
}

TEST(HissOp, RunsOneCaseByEitherName) {
  for (const char* name : {"scan/base", "selective_scan/base"}) {
    const Ended ended = run_hiss({"op", kGolden, "--case", name, "--kernel", "selective_scan/ref"});
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_THAT(ended.out, MatchesRegex("ran +scan/base +selective_scan/ref +.*\n"));
  }
  EXPECT_EQ(lines(run_hiss({"op", kGolden, "--case", "base"}).out), 2);  // scan's and ssd's
}

TEST(HissOp, AWrongStoredResultFailsWithItsPlace) {
  EditedCases cases;
  cases.own("scan/base/y")[24] += 1;
  const Ended ended = run_hiss({"op", cases.write(), "--check", "--case", "scan/base"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("FAIL  scan/base"), HasSubstr("worst at [0, 1, 0]")));
}

TEST(HissOp, WritesCasesThatCheckOut) {
  const TemporaryFolder folder;
  const std::string results = folder / "results.safetensors";
  ASSERT_EQ(run_hiss({"op", kGolden, "-o", results, "--precision", "strict"}).exit_code, 0);
  const Ended again = run_hiss({"op", results, "--check"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(lines(again.out), 12);
}

TEST(HissOp, PrintsJson) {
  const Ended ended = run_hiss({"op", kGolden, "--check", "--case", "ssd/limit", "--json"});
  EXPECT_EQ(ended.exit_code, 0);
  const auto report = nlohmann::json::parse(ended.out);
  EXPECT_EQ(report["failed"], 0);
  ASSERT_EQ(report["results"].size(), 1u);
  const auto& result = report["results"][0];
  EXPECT_EQ(result["case"], "ssd/limit");
  EXPECT_EQ(result["within"], true);
  ASSERT_EQ(result["outputs"].size(), 2u);
  for (const auto& output : result["outputs"])
    EXPECT_LT(output["relative_rms"].get<double>(), output["bound"].get<double>());
}

TEST(HissOp, ReadsOptionsOfFullNames) {
  EditedCases cases;
  cases.keep_only("scan/base/");
  std::map<std::string, ConstTensorView> renamed;
  for (const auto& [key, view] : cases.tensors)
    renamed["selective_scan/mine" + key.substr(key.rfind('/'))] = view;
  cases.tensors = renamed;
  EXPECT_EQ(run_hiss({"op", cases.write(), "--check"}).exit_code, 1) << "softplus is off";
  cases.metadata["selective_scan/mine/dt_softplus"] = "true";
  EXPECT_EQ(run_hiss({"op", cases.write(), "--check"}).exit_code, 0);
  cases.metadata["selective_scan/mine/direction"] = "sideways";
  expect_refusal(run_hiss({"op", cases.write(), "--check"}), 3,
                 "selective_scan/mine: direction: got \"sideways\", want one of forward, reverse");
}

TEST(HissOp, RunsAnUpdateTokenByToken) {
  const float x[] = {1, 2}, weight[] = {1, 10, 100}, before[] = {5, 6}, after[] = {1, 2};
  const float y[] = {5 + 60 + 100, 6 + 10 + 200};
  std::map<std::string, ConstTensorView> tensors;
  const std::string name = "causal_conv1d_update/two_tokens/";
  tensors[name + "x"] = {x, DType::kF32, {1, 2, 1}};
  tensors[name + "weight"] = {weight, DType::kF32, {1, 3}};
  tensors[name + "state"] = {before, DType::kF32, {1, 2, 1}};
  tensors[name + "state_after"] = {after, DType::kF32, {1, 2, 1}};
  tensors[name + "y"] = {y, DType::kF32, {1, 2, 1}};
  const TemporaryFolder folder;
  const std::string path = folder / "update.safetensors";
  ASSERT_TRUE(io::write_safetensors(path, tensors).ok());
  const Ended ended = run_hiss({"op", path, "--check", "--all-kernels"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out << ended.err;
}

TEST(HissOp, RefusesWhatItCannotRun) {
  expect_refusal(run_hiss({"op", "/nowhere.safetensors"}), 3, "/nowhere.safetensors");
  expect_refusal(run_hiss({"op", kGolden, "--case", "scan/none"}), 2, "the file has conv/plain");
  expect_refusal(run_hiss({"op", kGolden, "--kernel", "scan/abacus"}), 2,
                 "no kernel named scan/abacus");
  expect_refusal(run_hiss({"op", kGolden, "--precision", "sloppy"}), 2, "precision");
  expect_refusal(run_hiss({"op", kGolden, "--device", "tpu"}), 2, "tpu");
  expect_refusal(run_hiss({"op", HISS_SOURCE_DIR "/tests/golden/reuse_tiny_weights.safetensors"}),
                 3, "want a name of the form operator/case/tensor");
  const Ended unwritten =
      run_hiss({"op", kGolden, "--case", "conv/plain", "-o", "/nowhere/x.safetensors"});
  EXPECT_EQ(unwritten.exit_code, 4);
  EXPECT_THAT(unwritten.err, HasSubstr("/nowhere"));
}

TEST(HissOp, RefusesCasesThatAreNotRight) {
  EditedCases unknown;
  unknown.keep_only("conv/plain/");
  unknown.tensors["conv/plain/kernel"] = unknown.tensors["conv/plain/weight"];
  expect_refusal(run_hiss({"op", unknown.write()}), 3, "conv/plain: tensor kernel");
  EditedCases no_weight;
  no_weight.keep_only("conv/plain/");
  no_weight.tensors.erase("conv/plain/weight");
  expect_refusal(run_hiss({"op", no_weight.write()}), 3, "conv/plain: weight: got absent");
  EditedCases no_results;
  no_results.keep_only("conv/plain/");
  no_results.tensors.erase("conv/plain/y");
  no_results.tensors.erase("conv/plain/final_state");
  expect_refusal(run_hiss({"op", no_results.write(), "--check"}), 3,
                 "conv/plain: has no stored results");
}

TEST(HissKernels, ListsEveryRowOnce) {
  const auto report = nlohmann::json::parse(run_hiss({"kernels", "--json"}).out);
  const std::string text = run_hiss({"kernels"}).out;
  size_t rows = 0;
  for_each_operator([&]<class Op>() {
    for (const Kernel<Op>* kernel : kernels<Op>()) {
      ++rows;
      EXPECT_THAT(text, HasSubstr("  " + std::string(kernel->name)));
    }
  });
  EXPECT_EQ(report["kernels"].size(), rows);
  EXPECT_THAT(run_hiss({"kernels", "--machine", "sm_90"}).out,
              StartsWith("an invented machine, 1 core, a device sm_90\n"));
  for (const auto& row : report["kernels"])
    EXPECT_TRUE(row["available"] || !row["kernel"].get<std::string>().ends_with("/ref"));
}

TEST(HissExplain, SaysWhatRunsAndWhyTheOthersDecline) {
  const Ended ended =
      run_hiss({"explain", "selective_scan", "batch=3", "seqlen=81", "dim=256", "dstate=100000"});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("batch=3 seqlen=81 dim=256 dstate=100000"),
                               HasSubstr("nseq=3"), HasSubstr("runs selective_scan/")));
  EXPECT_EQ(lines(ended.out), 3 + static_cast<int>(kernels<SelectiveScan>().size()));
  EXPECT_THAT(run_hiss({"explain", "scan"}).out, HasSubstr("runs selective_scan/"));
}

TEST(HissExplain, AnswersForAMachineThatIsNotHere) {
  const std::vector<std::string> problem = {"explain", "causal_conv1d", "seqlen=64", "dim=256"};
  const auto on = [&](const char* machine, const char* device) {
    std::vector<std::string> words = problem;
    words.insert(words.end(), {std::string("device=") + device, "--machine", machine});
    return run_hiss(words).out;
  };
  EXPECT_THAT(on("avx2", "cpu"), HasSubstr("runs causal_conv1d/cpu.avx2.lanes_over_dim"));
  EXPECT_THAT(on("avx2", "cpu"), HasSubstr("an invented machine, 1 core avx2 sse4"));
  EXPECT_THAT(on("neon", "cpu"), HasSubstr("causal_conv1d/ref"));
  const bool has_cuda = kernels<CausalConv1d>().front()->device == Device::kCuda;
  EXPECT_THAT(on("avx2,sm_90", "cuda"),
              HasSubstr(has_cuda ? "runs causal_conv1d/cuda.sm80." : "runs nothing"));
  EXPECT_THAT(on("avx2", "cuda"), HasSubstr("runs nothing"));
  expect_refusal(run_hiss({"explain", "causal_conv1d", "--machine", "avx2,abacus"}), 2,
                 "--machine: got \"abacus\", want names out of sse4");
  expect_refusal(run_hiss({"kernels", "--machine", "sm_x"}), 2, "--machine: got \"sm_x\"");
}

TEST(HissExplain, RefusesUnknownKeysAndValuesListingTheValidOnes) {
  expect_refusal(run_hiss({"explain", "selective_scan", "length=3"}), 2,
                 "got \"length=3\", want key=value with a key of selective_scan: batch, seqlen");
  expect_refusal(run_hiss({"explain", "selective_scan", "seqlen"}), 2, "want key=value");
  expect_refusal(run_hiss({"explain", "selective_scan", "seqlen=-1"}), 2,
                 "seqlen: got \"-1\", want a whole number from 0 on");
  expect_refusal(run_hiss({"explain", "selective_scan", "dtype=F64"}), 2,
                 "dtype: got \"F64\", want one of F32, F16, BF16");
  expect_refusal(run_hiss({"explain", "attention"}), 2,
                 "got operator \"attention\", want one of causal_conv1d");
}

}  // namespace
}  // namespace hiss
