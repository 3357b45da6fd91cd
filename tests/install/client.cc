// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <hiss/context.h>
#include <hiss/version.h>

#include <filesystem>
#include <iostream>

// What a program that found hiss by find_package() can rely on. Exits with 0 if all of it works.
int main() {
  const auto context = hiss::Context::create({.threads = 1});
  if (!context) {
    std::cerr << context.error().to_string() << '\n';
    return 1;
  }
  std::cout << "hiss " << HISS_VERSION << " on " << hiss::to_string(context->machine()) << '\n';
  for (const auto& entry : std::filesystem::directory_iterator(MODELS_DIR))
    if (entry.path().extension() == ".safetensors") return 0;
  std::cerr << "no model in " << MODELS_DIR << '\n';
  return 1;
}
