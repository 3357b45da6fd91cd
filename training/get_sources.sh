#!/usr/bin/env bash
# Copyright 2026 The hiss authors. SPDX-License-Identifier: Apache-2.0
# get_sources.sh SRC [--heldout]: brings in the recordings named in sources.json: Debian packages
# into SRC/x/<package>,
# checkouts of public repositories into SRC/git/<name>. --heldout adds the packages of the
# held-out test set, which
# are measured with and never trained on. Needs apt-get (Debian 12), dpkg-deb, git, python3 and
# about 4 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
src=${1:?usage: get_sources.sh SRC [--heldout]}
mkdir -p "$src/debs" "$src/x" "$src/git"
src=$(cd "$src" && pwd)

unpack() {
  [ -d "$src/x/$1" ] && return
  (cd "$src/debs" && apt-get download "$1")
  dpkg-deb -x "$src"/debs/"$1"_*.deb "$src/x/$1"
}

checkout() {  # NAME URL COMMIT
  [ -d "$src/git/$1" ] && return
  git clone --no-checkout "$2" "$src/git/$1"
  git -C "$src/git/$1" checkout --quiet "$3"
}

unpack_archive() {  # NAME PATH: beside the archive, once
  local archive=$src/git/$1/$2
  [ -e "$archive.unpacked" ] && return
  tar -xzf "$archive" -C "$(dirname "$archive")"
  touch "$archive.unpacked"
}

read_sources() {
  python3 - "$here/sources.json" <<'PY'
import json, sys
sources = json.load(open(sys.argv[1]))
for s in sources["speech"] + sources["noise"]:
  print("package", s["package"]) if "package" in s else print("repository", s["checkout"], s["repository"], s["commit"])
  if "archive" in s:
    print("archive", s["checkout"], s["archive"])
PY
}

read_sources | while read -r kind a b c; do
  case $kind in
    package) unpack "$a" ;;
    repository) checkout "$a" "$b" "$c" ;;
    archive) unpack_archive "$a" "$b" ;;
  esac
done
if [ "${2:-}" = --heldout ]; then
  for package in asterisk-core-sounds-{en,fr,es}-g722 tuxpaint-stamps-default \
      unknown-horizons minetest-data searchandrescue-data bucklespring-data; do
    unpack "$package"
  done
fi
