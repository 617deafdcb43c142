# Installs the runtime as a CMake package, component "runtime":
#   cmake --install build --prefix P --component runtime
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(packageDir ${CMAKE_INSTALL_LIBDIR}/cmake/minigptc)

install(TARGETS MinigptcRuntimeCore MinigptcText MinigptcTrain MinigptcRuntime EXPORT minigptcTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)
install(EXPORT minigptcTargets NAMESPACE minigptc:: DESTINATION ${packageDir} COMPONENT runtime)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/minigptcConfig.cmake.in
  ${PROJECT_BINARY_DIR}/minigptcConfig.cmake INSTALL_DESTINATION ${packageDir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/minigptcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/minigptcConfig.cmake ${PROJECT_BINARY_DIR}/minigptcConfigVersion.cmake
        ${CMAKE_CURRENT_LIST_DIR}/MinigptcBlis.cmake ${CMAKE_CURRENT_LIST_DIR}/MinigptcMissing.cmake
        DESTINATION ${packageDir} COMPONENT runtime)
