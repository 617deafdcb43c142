# Installs the compiler as component "compiler" of the CMake package; it needs the
# component "runtime", of which the package's own files are part:
#   cmake --install build --prefix P
# A library that is linked here and missing in the list fails to configure.
install(TARGETS MinigptcMLIR MinigptcAnalysis MinigptcGraph MinigptcGraphTransforms MinigptcDist MinigptcSchedules MinigptcDistTransforms MinigptcExec MinigptcExecTransforms MinigptcInterpreter
                MinigptcGraphToLoops MinigptcGraphToExec MinigptcTargetCommon MinigptcArtifact MinigptcCpuTarget MinigptcCudaEmulation MinigptcCudaTarget MinigptcPipelines MinigptcCompile
                MinigptcTrace MinigptcNn MinigptcOptim MinigptcJit MinigptcExplain MinigptcCompiler
        EXPORT minigptcCompilerTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler)
install(EXPORT minigptcCompilerTargets NAMESPACE minigptc:: DESTINATION ${packageDir} COMPONENT compiler)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/MinigptcLld.cmake DESTINATION ${packageDir} COMPONENT compiler)
