# cmake --install puts the library, its headers and a package for find_package(flambeau) under the prefix. The
# OpenBLAS of scipy-openblas32 goes with it: it lies in a Python environment that may be gone tomorrow.
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/flambeau)
install(TARGETS flambeau EXPORT flambeauTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT flambeauTargets NAMESPACE flambeau:: DESTINATION ${package})
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${FB_GEN}/flambeau DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL FILES_MATCHING PATTERN "*.h")
if(FB_BLAS_FILE)
    install(FILES ${FB_BLAS_FILE} DESTINATION ${CMAKE_INSTALL_LIBDIR}/flambeau)
    get_filename_component(FB_BLAS_NAME ${FB_BLAS_FILE} NAME)
endif()

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/flambeauConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/flambeauConfig.cmake
    INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(
    ${CMAKE_CURRENT_BINARY_DIR}/flambeauConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/flambeauConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/flambeauConfigVersion.cmake
        DESTINATION ${package})
