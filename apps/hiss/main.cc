// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include <signal.h>

#include <exception>
#include <new>

#include "commands.h"
#include "exit_code.h"
#include "hiss/version.h"

namespace hiss::app {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  hiss enhance noisy.wav -o clean.wav\n"
    "  hiss enhance --help\n";

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string command = "hiss";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  return fail(InvalidArgument(error.what()), Subject::kArguments, "see " + command + " --help");
}

int run(int argc, char** argv) {
  int exit_code = kExitOk;
  CLI::App app{"hiss: state-space-model layers and what is built on them, on your own machine.",
               "hiss"};
  app.set_version_flag("--version", "hiss " HISS_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.footer(std::string(kExamples) + "\n" + exit_code_help());

  add_enhance_command(app, exit_code);
  add_op_command(app, exit_code);
  add_kernels_command(app, exit_code);
  add_explain_command(app, exit_code);
  add_llama_check_command(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_text) {
    return app.exit(asked_for_text);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return exit_code;
}

}  // namespace
}  // namespace hiss::app

int main(int argc, char** argv) {
  using namespace hiss;
  // A closed pipe or a file-size limit is an error of the write, not the end of the program.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  try {
    return app::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return app::fail(ResourceExhausted("out of memory"), app::Subject::kProgram);
  } catch (const std::exception& error) {
    return app::fail(Internal(error.what()), app::Subject::kProgram);
  }
}
