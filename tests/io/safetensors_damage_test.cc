// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "io/safetensors.h"
#include "support/temporary_folder.h"

namespace hiss::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::TemporaryFolder;
using testing_support::write_file;

std::string with_header(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file + header + std::string(data_bytes, '\0');
}

Result<Safetensors> parse(const std::string& file) {
  return Safetensors::parse(std::as_bytes(std::span(file)));
}

// An entry "name": {...}, ready for a header.
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  std::string text = R"("NAME":{"dtype":"DTYPE","shape":SHAPE,"data_offsets":OFFSETS})";
  for (const auto& [key, value] : {std::pair("NAME", &name), std::pair("DTYPE", &dtype),
                                   std::pair("SHAPE", &shape), std::pair("OFFSETS", &offsets)}) {
    text.replace(text.find(key), std::strlen(key), *value);
  }
  return text;
}

struct Damage {
  std::string name;
  std::string file;
  std::string reason;  // what the message must say
};

void PrintTo(const Damage& d, std::ostream* out) { *out << d.name; }

std::vector<Damage> damages() {
  const std::string good = entry("a", "F32", "[2]", "[0,8]");
  const auto header = [](const std::string& entries, size_t data_bytes) {
    return with_header(std::string("{") + entries + "}", data_bytes);
  };
  const auto shape = [&](const std::string& sizes) {
    return header(entry("a", "F32", sizes, "[0,8]"), 8);
  };
  const auto offsets = [&](const std::string& pair) {
    return header(entry("a", "F32", "[2]", pair), 8);
  };
  const std::string deep(100, '[');
  return {
      {"EmptyFile", "", "too short for a safetensors file: 0 bytes"},
      {"SevenBytes", "1234567", "too short for a safetensors file: 7 bytes"},
      {"TextFile", "hello, I am no model", "is longer than the file"},
      {"HeaderLongerThanFile", with_header("{}", 0).substr(0, 9),
       "header of 2 bytes is longer than the file (9 bytes)"},
      {"HeaderLengthWraps", std::string(8, '\xff') + "{}",
       "header of 18446744073709551615 bytes is longer than the file"},
      {"HeaderAboveTheLimit", with_header("{}" + std::string(kMaxSafetensorsHeader, ' '), 0),
       "above the limit of 33554432"},
      {"HeaderEmpty", with_header("", 8), "does not begin with '{'"},
      {"HeaderIsAnArray", with_header("[]", 0), "does not begin with '{'"},
      {"HeaderBeginsWithSpace", with_header(" {}", 0), "does not begin with '{'"},
      {"JsonCutShort", with_header("{\"a\":", 0), "bad JSON: parse error at line 1, column 6"},
      {"JsonGoesOn", with_header("{}{}", 0), "bad JSON: parse error at line 1, column 3"},
      {"JsonNotUtf8", with_header("{\"\xff\":1}", 0), "bad JSON: parse error at line 1, column 3"},
      {"NestedDeeply", with_header("{\"a\":" + deep, 0), "nested deeper than 32 levels"},
      {"DuplicateName", header(good + "," + entry("a", "F32", "[2]", "[8,16]"), 16),
       "key \"a\" occurs twice"},
      {"DuplicateField",
       header(R"("a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})", 8),
       "key \"dtype\" occurs twice"},
      {"EntryIsNoObject", header(R"("a":3)", 8), "tensor \"a\": is not an object"},
      {"NoDtype", header(R"("a":{"shape":[2],"data_offsets":[0,8]})", 8), "has no dtype"},
      {"NoShape", header(R"("a":{"dtype":"F32","data_offsets":[0,8]})", 8), "has no shape"},
      {"NoOffsets", header(R"("a":{"dtype":"F32","shape":[2]})", 8), "has no data_offsets"},
      {"UnknownField",
       header(R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"strides":[1]})", 8),
       "has fields besides dtype, shape and data_offsets"},
      {"UnknownDtype", header(entry("a", "F7", "[2]", "[0,8]"), 8), "unknown dtype \"\"F7\"\""},
      {"DtypeIsANumber", header(R"("a":{"dtype":5,"shape":[2],"data_offsets":[0,8]})", 8),
       "unknown dtype \"5\""},
      {"ShapeIsNoArray", shape("2"), "shape is not an array"},
      {"RankTooHigh", shape("[1,1,1,1,1,2]"), "rank 6 is above 5"},
      {"SizeNegative", shape("[-2]"), "size \"-2\" is not a whole number"},
      {"SizeIsAFraction", shape("[2.0]"), "size \"2.0\" is not a whole number"},
      {"SizeIsText", shape("[\"2\"]"), "is not a whole number"},
      {"SizeAbove64Bits", shape("[18446744073709551616]"), "is not a whole number"},
      {"SizeAbove63Bits", shape("[9223372036854775808]"), "overflows"},
      {"ShapeTimesSizeWrapsToTheRightSize", shape("[4611686018427387906]"), "overflows"},
      {"ShapeOverflows", shape("[4294967296,4294967296]"), "overflows"},
      {"ShapeOverflowsBesideAZero",
       header(entry("a", "F32", "[0,4294967296,4294967296]", "[0,0]"), 0), "overflows"},
      {"ShapeOverflowsBeforeAZero",
       header(entry("a", "F32", "[4294967296,4294967296,0]", "[0,0]"), 0), "overflows"},
      {"ShapeDoesNotFitOffsets", shape("[3]"), "F32 [3] takes 12 bytes, data_offsets give 8"},
      {"OffsetsNoPair", offsets("[0,8,8]"), "data_offsets is not a pair"},
      {"OffsetNegative", offsets("[-1,7]"), "offset \"-1\" is not a whole number"},
      {"OffsetIsAFraction", offsets("[0,8.5]"), "offset \"8.5\" is not a whole number"},
      {"OffsetsExchanged", offsets("[8,0]"), "[8, 0] do not lie within the 8 bytes of data"},
      {"OffsetBehindTheFile", header(entry("a", "F32", "[4]", "[0,16]"), 8),
       "[0, 16] do not lie within the 8 bytes of data"},
      {"TensorsOverlap", header(good + "," + entry("b", "F32", "[2]", "[4,12]"), 12),
       "tensor \"b\" overlaps another: begins at byte 4, another ends at 8"},
      {"HoleBetweenTensors", header(good + "," + entry("b", "F32", "[1]", "[12,16]"), 16),
       "bytes 8 to 12 of the data belong to no tensor"},
      {"DataOfNoTensor", header(good, 10), "bytes 8 to 10 of the data belong to no tensor"},
      {"NameWithControlCharacters", header(entry("a\\u001b[2J", "F32", "[2]", "[0,8]"), 8),
       "\"a\\x1b[2J\" holds control characters"},
      {"MetadataIsAnArray", header(R"("__metadata__":[])", 0), "__metadata__ is not an object"},
      {"MetadataIsNoText", header(R"("__metadata__":{"k":1})", 0),
       "metadata \"k\" is not a string"},
  };
}

class SafetensorsDamage : public testing::TestWithParam<Damage> {};

TEST_P(SafetensorsDamage, IsDataLossThatSaysWhy) {
  const auto file = parse(GetParam().file);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kDataLoss);
  EXPECT_THAT(file.error().message(), HasSubstr(GetParam().reason));
  EXPECT_THAT(file.error().message(), testing::Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(All, SafetensorsDamage, testing::ValuesIn(damages()),
                         [](const auto& test) { return test.param.name; });

// Guards the table above: what it damages is otherwise a valid file.
TEST(SafetensorsDamage, HasAnUndamagedTwin) {
  const auto file =
      parse(with_header(std::string("{") + entry("a", "F32", "[2]", "[0,8]") + "}", 8));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(to_string(file->find("a")), "F32 [2]");
}

TEST(SafetensorsOpen, NotFoundNamesThePath) {
  const auto file = Safetensors::open("/nowhere/model.safetensors");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(file.error().message(), HasSubstr("/nowhere/model.safetensors"));
}

TEST(SafetensorsOpen, FolderIsAnInvalidArgument) {
  const TemporaryFolder folder;
  const auto file = Safetensors::open(folder.path().string());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(file.error().message(), HasSubstr("is a folder"));
}

TEST(SafetensorsOpen, DeviceIsAnInvalidArgument) {
  const auto file = Safetensors::open("/dev/zero");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kInvalidArgument);
}

TEST(SafetensorsOpen, DamageNamesThePath) {
  const TemporaryFolder folder;
  const std::string path = folder / "cut.safetensors";
  write_file(path, "123");
  const auto file = Safetensors::open(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kDataLoss);
  EXPECT_THAT(file.error().message(), AllOf(HasSubstr(path), HasSubstr("too short")));
}

}  // namespace
}  // namespace hiss::io
