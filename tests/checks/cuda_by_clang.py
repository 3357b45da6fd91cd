# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
"""cuda_by_clang.py BUILD: what only a build of this tree with CUDA compiles as C++, by clang too.

The other sources are compiled by clang in the build with sanitizers. Warnings are errors here as
there; nothing is written.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

FOLDERS = ("bench/gpu/", "src/cuda/", "tests/cuda/", "plugins/ggml/")


def sources(build, root):
    """The entries of the build's compilation database that are C++ under FOLDERS."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cc" and path.is_relative_to(root):
            if path.relative_to(root).as_posix().startswith(FOLDERS):
                yield entry


def compile_by_clang(entry):
    """clang's errors for one entry; empty when there are none."""
    options = []
    words = iter(shlex.split(entry["command"]))
    for word in words:
        if word == "-o":
            next(words)
        elif word.startswith(("-D", "-std=", "-W", "-I")):
            options.append(word)
        elif word == "-isystem":
            options += [word, next(words)]
    run = subprocess.run(["clang++", *options, "-fsyntax-only", entry["file"]],
                         cwd=entry["directory"], capture_output=True, text=True)
    return run.stderr or f"{entry['file']}: clang++ failed" if run.returncode else ""


def main():
    build, root = pathlib.Path(sys.argv[1]), pathlib.Path.cwd()
    entries = list(sources(build, root))
    if not entries:
        sys.exit(f"{build}/compile_commands.json has no C++ source that only CUDA builds compile")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [text for text in pool.map(compile_by_clang, entries) if text]
    print("\n".join(faults) or f"{len(entries)} sources, no fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
