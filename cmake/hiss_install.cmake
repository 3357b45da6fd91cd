# Copyright 2026 The hiss authors
# SPDX-License-Identifier: Apache-2.0

# cmake --install: the library, its headers, the program, the models and find_package(hiss).
include(CMakePackageConfigHelpers)
set(HISS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/hiss)

install(TARGETS hiss EXPORT hiss_targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hiss ${PROJECT_BINARY_DIR}/include/hiss
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT hiss_targets NAMESPACE hiss:: FILE hiss-targets.cmake DESTINATION ${HISS_PACKAGE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/hiss-config.cmake.in
  ${PROJECT_BINARY_DIR}/hiss-config.cmake INSTALL_DESTINATION ${HISS_PACKAGE_DIR}
  PATH_VARS HISS_MODELS_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hiss-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hiss-config.cmake ${PROJECT_BINARY_DIR}/hiss-config-version.cmake
  DESTINATION ${HISS_PACKAGE_DIR})

if(TARGET hiss_app)
  # Found again beside itself, wherever the prefix is moved to.
  file(RELATIVE_PATH to_library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(hiss_app PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
  install(TARGETS hiss_app)
endif()
install(TARGETS ggml-hiss LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
