#!/usr/bin/env bash
# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0
#
# The shared library named as argument neither prints nor ends the program: it refers to no function
# that does. (std::terminate stays: the runtime calls it for a broken noexcept, never we.)
set -euo pipefail

forbidden='std::cout|std::cerr|std::clog|std::wcout'
forbidden+='|stdout|stderr|v?printf|v?fprintf|__v?f?printf_chk|puts|fputs|putchar|putc|fputc|perror|psignal|syslog'
forbidden+='|exit|_exit|_Exit|quick_exit|abort|__assert_fail|__assert|std::__glibcxx_assert_fail|std::exit|raise|kill'
forbidden+='|hwy::Abort|hwy::Warn|fmt::v[0-9]+::v?print'
symbols=$(nm -D --undefined-only --demangle "$1")
[[ -n $symbols ]] || { echo "$1: no symbols read" >&2; exit 1; }
found=$(sed 's/^ *[UwV] //; s/@.*//; s/(.*//' <<<"$symbols" | grep -xE "$forbidden") || exit 0
echo "$1 refers to:"
echo "$found"
exit 1
