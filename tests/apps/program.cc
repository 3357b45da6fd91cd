// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "apps/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hiss::testing_support {

RunningHiss::RunningHiss(const std::vector<std::string>& arguments, const std::string& limits) {
  std::vector<std::string> line = {
      "/bin/sh", "-c", (limits.empty() ? "" : limits + "; ") + "exec \"$@\"", "sh", HISS_PROGRAM};
  line.insert(line.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const std::string out = folder_ / "out", err = folder_ / "err";
  for (const auto& [fd, path] : {std::pair(STDOUT_FILENO, &out), std::pair(STDERR_FILENO, &err)}) {
    posix_spawn_file_actions_addopen(&actions, fd, path->c_str(), O_WRONLY | O_CREAT, 0600);
  }
  posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
}

bool RunningHiss::alive() const {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == 0;
}

Ended RunningHiss::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .out = read_file(folder_ / "out"),
          .err = read_file(folder_ / "err")};
}

}  // namespace hiss::testing_support
