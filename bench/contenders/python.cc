// Copyright 2026 The hiss authors
// SPDX-License-Identifier: Apache-2.0

#include "contenders/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace hiss::bench {

Result<std::unique_ptr<Python>> Python::start(const std::string& contenders,
                                              const std::string& script) {
  std::string program = contenders + "/python",
              file = HISS_SOURCE_DIR "/bench/contenders/" + script;
  if (access(program.c_str(), X_OK) != 0)
    return NotFound("torch: not here; `./run bench contenders` brings it");
  std::string folder = (std::filesystem::temp_directory_path() / "hiss_bench_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return Internal("torch: cannot make " + folder);
  std::unique_ptr<Python> python(new Python(folder));
  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0)
    return Internal("torch: no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  char* const line[] = {program.data(), file.data(), nullptr};
  const int failed = posix_spawn(&python->pid_, line[0], &actions, nullptr, line, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(questions[0]), close(answers[1]);
  python->questions_ = fdopen(questions[1], "w");
  python->answers_ = fdopen(answers[0], "r");
  if (failed != 0) return NotFound("torch: cannot run " + program);
  return python;
}

Python::~Python() {
  if (questions_ != nullptr) std::fclose(questions_);
  if (answers_ != nullptr) std::fclose(answers_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> Python::ask(const std::string& question) {
  char line[256] = "";
  std::fprintf(questions_, "%s\n", question.c_str());
  if (std::fflush(questions_) != 0 || std::fgets(line, sizeof line, answers_) == nullptr)
    return Internal("torch: the Python process has ended");
  std::string text = line;
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool Python::write(const std::string& name, const std::vector<float>& values) const {
  std::ofstream file(folder_ + "/" + name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  return file.flush().good();
}

bool Python::read(const std::string& name, std::vector<float>& values) const {
  std::ifstream file(folder_ + "/" + name, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return file.good();
}

}  // namespace hiss::bench
