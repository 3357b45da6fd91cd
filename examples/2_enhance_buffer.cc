// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

// Enhances samples in memory, block by block, as they might come from a sound card: here two
// seconds of noise. Usage: 2_enhance_buffer MODEL.safetensors

#include <hiss/enhancer.h>

#include <cmath>
#include <iostream>
#include <random>
#include <vector>

namespace {

double level_db(const std::vector<float>& samples) {
  double power = 0;
  for (const float sample : samples) power += sample * sample;
  return 10 * std::log10(power / samples.size() + 1e-20);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 2_enhance_buffer MODEL.safetensors\n";
    return 2;
  }
  const int sample_rate = 16000;
  std::vector<float> noise(2 * sample_rate);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  for (float& sample : noise) sample = normal(random);

  auto enhancer = hiss::Enhancer::create({.model = argv[1]});
  if (!enhancer) {
    std::cerr << enhancer.error().to_string() << '\n';
    return 1;
  }
  std::cout << (*enhancer)->describe() << '\n';
  auto session = (*enhancer)->start(sample_rate, 1);
  if (!session) {
    std::cerr << session.error().to_string() << '\n';
    return 1;
  }

  std::vector<float> quiet;
  const auto keep = [&](std::span<const float> finished) {
    quiet.insert(quiet.end(), finished.begin(), finished.end());
    return hiss::Status();
  };
  const std::span<const float> all(noise);
  for (size_t i = 0; i < all.size(); i += 160) {
    if (const auto status = (*session)->process(all.subspan(i, 160), keep); !status.ok()) {
      std::cerr << status.to_string() << '\n';
      return 1;
    }
  }
  if (const auto status = (*session)->finish(keep); !status.ok()) {
    std::cerr << status.to_string() << '\n';
    return 1;
  }
  std::cout << "in " << level_db(noise) << " dB, out " << level_db(quiet) << " dB, " << quiet.size()
            << " samples\n";
  return quiet.size() == noise.size() && level_db(quiet) < level_db(noise) ? 0 : 1;
}
