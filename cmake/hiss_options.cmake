# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0

# Flags every hiss target is compiled with. No -march and no per-file -m flags: code for a particular
# instruction set lives in target regions, so that a shared inline function can never carry it.
function(hiss_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Werror -fno-math-errno -fno-trapping-math>)
  if(HISS_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HISS_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${HISS_SANITIZE})
  endif()
endfunction()
set(HISS_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

# hiss_add_test(name [APART part] source...): a GoogleTest program that knows where the golden files are.
# Its tests carry the folder's name as label: ctest -L audio.
# APART: two tests for ctest, those whose names contain this and the others, for programs with thousands
# of short cases.
function(hiss_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "APART" "")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  hiss_compile_options(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE HISS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE hiss hiss_test_support GTest::gmock GTest::gtest_main)
  get_filename_component(area ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  # Sanitizers or not, asking for more memory than there is is an error to report, not one to die of.
  set(properties LABELS ${area} ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1)
  if(arg_APART)
    set(tests ${name}.${arg_APART} ${name}.not_${arg_APART})
    add_test(NAME ${name}.${arg_APART} COMMAND ${name} --gtest_brief=1 --gtest_filter=*${arg_APART}*)
    add_test(NAME ${name}.not_${arg_APART} COMMAND ${name} --gtest_brief=1 --gtest_filter=-*${arg_APART}*)
    set_tests_properties(${tests} PROPERTIES ${properties})
  else()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  endif()
endfunction()

# The CUDA sources of a target: warnings are errors for both halves of a source. -Wpedantic is not for
# what nvcc makes of one.
function(hiss_cuda_compile_options target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:
    -Werror=all-warnings --expt-relaxed-constexpr -lineinfo
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror,-fno-math-errno,-fno-trapping-math>)
endfunction()
