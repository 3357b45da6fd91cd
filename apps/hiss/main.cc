// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>

int main(int argc, char** argv) {
  CLI::App app{"hiss: state-space-model layers and speech enhancement"};
  CLI11_PARSE(app, argc, argv);
  return 0;
}
