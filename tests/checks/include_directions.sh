#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# Dependencies go one way (docs/design.md). Prints each include of the tree below the current folder
# that does not follow the two tables here; exits with 1 if there is any.
set -euo pipefail

# folder: what its files may include besides the folder's own. hiss = include/hiss/*.h, hiss/ops
# and hiss/enhancer.h apart from that.
layers='
include/hiss      hiss hiss/ops
src/core          hiss
src/io            hiss core
src/ops           hiss hiss/ops core
src/ref           hiss hiss/ops core
src/cpu           hiss hiss/ops core
src/cuda          hiss hiss/ops core
src/audio         hiss hiss/ops core io
src/models        hiss hiss/ops core io ops cpu
src/enhancer      hiss hiss/enhancer core audio models
src/kernel_table  hiss hiss/ops ref cpu cuda
plugins/ggml      hiss hiss/ops
'
# library: the folders that may include it. Nothing but the standard library enters include/.
libraries='
hwy        src/cpu tests bench
oneapi     src/models
kissfft    src/audio
sndfile    src/audio apps tests
png        src/audio apps tests
nlohmann   src/io src/models apps tests bench
CLI        apps bench
fmt        src apps tests bench
cuda       src/cuda plugins bench tests/cuda
ggml       bench apps tests
gtest      tests
gmock      tests
'

files=$(find . \( -name build -o -name out \) -prune -o -type f -regextype posix-extended \
  -regex '\./(include|src|plugins|apps|tests|bench|examples)/.*\.(h|cc|c|cu|cuh)' -printf '%P\n' | sort)
[[ -n $files ]] || { echo "no sources here" >&2; exit 1; }
# shellcheck disable=SC2086  # no path of ours has a blank
awk -v layers="$layers" -v libraries="$libraries" '
function refuse(why) { printf "%s:%d: %s\n    %s\n", FILENAME, FNR, why, $0; bad = 1 }
function has(list, word) { return index(" " list " ", " " word " ") > 0 }
BEGIN {
  n = split(layers, line, "\n")
  for (i = 1; i <= n; i++) if (split(line[i], w, " ")) { f = w[1]; sub(/^[^ ]+ */, "", line[i]); may[f] = line[i] }
  n = split(libraries, line, "\n")
  for (i = 1; i <= n; i++) if (split(line[i], w, " ")) { f = w[1]; sub(/^[^ ]+ */, "", line[i]); users[f] = line[i] }
}
FNR == 1 {
  split(FILENAME, part, "/")
  folder = part[1] "/" part[2]
  sub(/\.cc$/, "", folder)
}
/^ *# *include *["<]/ {
  quoted = $0 ~ /^ *# *include *"/
  split($0, between, /["<>]/)
  path = between[2]
  name = path
  sub(/[\/.].*/, "", name)
  if (!quoted && name ~ /^cuda/) name = "cuda"
  if (part[1] == "include" && (name in users || (!quoted && path ~ /[\/.]/ && path !~ /^std(int|bool|def)\.h$/)))
    refuse("a public header includes nothing but the standard library")
  else if (name in users && !has(users[name], part[1]) && !has(users[name], folder))
    refuse(name " is for " users[name])
  else if (!quoted && !(name in users) && path ~ /\// && path !~ /^(sys|hiss)\//)
    refuse("library " name " is not in the table of libraries")
  else if (quoted && !(name in users) && (part[1] == "src" || part[1] == "include")) {
    to = name
    if (path ~ /^hiss\/ops\//) to = "hiss/ops"
    if (path == "hiss/enhancer.h") to = "hiss/enhancer"
    if (!(folder in may)) refuse("folder " folder " is not in the table of folders")
    else if ("src/" to != folder && "include/" to != folder && !has(may[folder], to))
      refuse(folder " does not include from " to)
  }
}
END { exit bad }
' $files
