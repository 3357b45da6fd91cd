// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace hiss::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::read_file;
using testing_support::TemporaryFolder;
using testing_support::write_file;

template <class T>
std::vector<T> values(const ConstTensorView& view) {
  EXPECT_TRUE(view.contiguous());
  return {view.as<T>(), view.as<T>() + view.elements()};
}

TEST(Safetensors, RoundTripKeepsEveryDtypeShapeAndMetadata) {
  const TemporaryFolder folder;
  const std::string path = folder / "all.safetensors";
  const float f32[] = {1.5f, -2.0f, 0.0f, 1e-40f, 3.0f, 4.0f};
  const uint16_t f16[] = {0x3c00, 0xfc00, 0x7e01};
  const uint16_t bf16[] = {0x3f80, 0xff80};
  const double f64[] = {1e300, -0.0};
  const int32_t i32[] = {-2147483647 - 1, 7};
  const int64_t i64[] = {int64_t{1} << 60};
  const std::map<std::string, ConstTensorView> tensors = {
      {"f32", {f32, DType::kF32, {2, 3}}},
      {"f16", {f16, DType::kF16, {3}}},
      {"bf16", {bf16, DType::kBF16, {1, 2, 1, 1, 1}}},
      {"f64", {f64, DType::kF64, {2}}},
      {"i32", {i32, DType::kI32, {2, 1}}},
      {"i64 scalar", {i64, DType::kI64, {}}},
      {"empty", {nullptr, DType::kF32, {0, 4}}},
  };
  const Status written = write_safetensors(path, tensors, {{"config", "{\"a\": \"ü\"}\n"}});
  ASSERT_TRUE(written.ok()) << written.to_string();

  const auto file = Safetensors::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  ASSERT_EQ(file->tensors().size(), tensors.size());
  for (const auto& [name, view] : tensors) {
    const ConstTensorView read = file->find(name);
    EXPECT_EQ(to_string(read), to_string(view)) << name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.data) % size_of(read.dtype), 0u) << name;
    if (view.elements() == 0) continue;
    EXPECT_EQ(std::memcmp(read.data, view.data, view.elements() * size_of(view.dtype)), 0) << name;
  }
  EXPECT_EQ(file->metadata().at("config"), "{\"a\": \"ü\"}\n");
}

TEST(Safetensors, FindsNothingUnderAnUnknownName) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_safetensors(folder / "none.safetensors", {}).ok());
  const auto file = Safetensors::open(folder / "none.safetensors");
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_FALSE(file->find("a").present());
}

TEST(Safetensors, StridedViewsAreGathered) {
  const TemporaryFolder folder;
  const std::string path = folder / "strided.safetensors";
  const int32_t data[] = {0, 1, 2, 3, 4, 5};
  ASSERT_TRUE(write_safetensors(path, {{"transposed", {data, DType::kI32, {3, 2}, {1, 3}}},
                                       {"reversed", {data + 5, DType::kI32, {6}, {-1}}},
                                       {"broadcast", {data + 4, DType::kI32, {2, 2}, {0, 1}}}})
                  .ok());
  const auto file = Safetensors::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_THAT(values<int32_t>(file->find("transposed")), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values<int32_t>(file->find("reversed")), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(values<int32_t>(file->find("broadcast")), ElementsAre(4, 5, 4, 5));
}

TEST(Safetensors, StridedViewLargerThanTheGatherBufferIsComplete) {
  const TemporaryFolder folder;
  std::vector<double> data(60000);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
  ASSERT_TRUE(write_safetensors(folder / "big.safetensors",
                                {{"a", {data.data(), DType::kF64, {200, 300}, {1, 200}}}})
                  .ok());
  const auto file = Safetensors::open(folder / "big.safetensors");
  ASSERT_TRUE(file) << file.error().to_string();
  const auto read = values<double>(file->find("a"));
  ASSERT_EQ(read.size(), data.size());
  for (int64_t i = 0; i < 200; ++i) {
    for (int64_t j = 0; j < 300; ++j) ASSERT_EQ(read[i * 300 + j], data[i + 200 * j]);
  }
}

// The format promises no alignment: other writers leave a header of any length.
TEST(Safetensors, MisalignedTensorsAreReadable) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F32","shape":[0],"data_offsets":[8,8]},)"
                             R"("c":{"dtype":"F16","shape":[],"data_offsets":[8,10]}})";
  const float want[] = {1.25f, -7.0f};
  for (size_t padding = 0; padding < 8; ++padding) {
    const std::string text = header + std::string(padding, ' ');
    const uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    bytes += text + std::string(reinterpret_cast<const char*>(want), sizeof(want)) + "\x01\x3c";
    const auto file = Safetensors::parse(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->find("a").data) % 4, 0u);
    EXPECT_THAT(values<float>(file->find("a")), ElementsAre(1.25f, -7.0f));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file->find("c").data) % 2, 0u);
    EXPECT_THAT(values<uint16_t>(file->find("c")), ElementsAre(0x3c01));
  }
}

TEST(Safetensors, ViewsOutliveTheFilesName) {
  const TemporaryFolder folder;
  const float data[] = {3.0f};
  ASSERT_TRUE(write_safetensors(folder / "a.safetensors", {{"a", {data, DType::kF32, {1}}}}).ok());
  auto file = Safetensors::open(folder / "a.safetensors");
  ASSERT_TRUE(file);
  std::filesystem::remove(folder / "a.safetensors");
  const Safetensors moved = *std::move(file);
  EXPECT_THAT(values<float>(moved.find("a")), ElementsAre(3.0f));
}

TEST(SafetensorsWriter, AlignsEveryTensorWhateverTheirSizes) {
  const TemporaryFolder folder;
  const uint16_t f16[3] = {};
  const float f32[3] = {};
  const double f64[1] = {};
  ASSERT_TRUE(write_safetensors(folder / "x", {{"a", {f16, DType::kF16, {3}}},
                                               {"b", {f32, DType::kF32, {3}}},
                                               {"c", {f64, DType::kF64, {1}}}})
                  .ok());
  const std::string bytes = read_file(folder / "x");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  EXPECT_EQ(header_bytes % 8, 0u);
  const std::string header = bytes.substr(8, header_bytes);
  for (const char* offsets : {"[20,26]", "[8,20]", "[0,8]"})
    EXPECT_THAT(header, HasSubstr(offsets));
}

TEST(SafetensorsWriter, RefusesAnAbsentView) {
  const TemporaryFolder folder;
  const Status status = write_safetensors(folder / "x", {{"a", {}}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("\"a\" is absent"));
  EXPECT_EQ(folder.entries(), 0);
}

TEST(SafetensorsWriter, RefusesNamesTheFormatCannotHold) {
  const TemporaryFolder folder;
  const float data[] = {3.0f};
  const ConstTensorView view(data, DType::kF32, {1});
  EXPECT_EQ(write_safetensors(folder / "x", {{"__metadata__", view}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(write_safetensors(folder / "x", {{"\xff", view}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(folder.entries(), 0);
}

TEST(SafetensorsWriter, FullDiskIsResourceExhaustedAndLeavesNothing) {
  // A limit on the size of files fails like a full disk, and needs no file system of its own.
  const TemporaryFolder folder;
  write_file(folder / "x", "what was there");
  std::vector<float> data(1 << 16);
  const ConstTensorView view(data.data(), DType::kF32, {int64_t{1} << 16});
  const auto write_within_4096_bytes = [&] {
    const rlimit limit{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    const Status status = write_safetensors(folder / "x", {{"a", view}});
    _exit(status.code() == StatusCode::kResourceExhausted ? 0 : 1);
  };
  EXPECT_EXIT(write_within_4096_bytes(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(read_file(folder / "x"), "what was there");
}

}  // namespace
}  // namespace hiss::io
