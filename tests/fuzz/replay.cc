// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

// Runs a fuzz target without a fuzzer, under any compiler: every file of its corpus, and a few
// thousand mutations of them that are the same on every machine.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace hiss {
namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

std::vector<std::string> corpus() {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(HISS_FUZZ_CORPUS)) {
    paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const auto& path : paths) inputs.push_back(testing_support::read_file(path));
  return inputs;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& pool) : pool_(pool) {}

  std::string next() {
    std::string input = pick(pool_);
    for (uint32_t edits = 1 + below(4); edits > 0; --edits) edit(input);
    return input;
  }

 private:
  // Not a standard distribution: those differ from library to library.
  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % std::max<size_t>(n, 1)); }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void edit(std::string& input) {
    static const std::vector<std::string> kTokens = {"0",
                                                     "-1",
                                                     "18446744073709551615",
                                                     "9223372036854775808",
                                                     "1e999",
                                                     "[",
                                                     "]",
                                                     "{",
                                                     "}",
                                                     ",",
                                                     "\"",
                                                     "null",
                                                     "\\ud800",
                                                     std::string(40, '['),
                                                     std::string(8, '\xff'),
                                                     std::string(4, '\0')};
    const size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        input.resize(at);
        break;
      case 2:
        input.erase(at, below(16));
        break;
      case 3:
        input.insert(at, pick(kTokens));
        break;
      case 4:
        input.replace(at, std::min<size_t>(below(8), input.size() - at), pick(kTokens));
        break;
      case 5: {
        const std::string& other = pick(pool_);
        input = input.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
    }
  }

  const std::vector<std::string>& pool_;
  std::mt19937 random_{20260};
};

TEST(Replay, CorpusHasSeeds) { EXPECT_GE(corpus().size(), 3u); }

TEST(Replay, EveryFileOfTheCorpusPasses) {
  for (const std::string& input : corpus()) run(input);
}

TEST(Replay, MutatedInputsPass) {
  const std::vector<std::string> seeds = corpus();
  Mutator mutator(seeds);
  for (int i = 0; i < 5000; ++i) run(mutator.next());
}

}  // namespace
}  // namespace hiss
