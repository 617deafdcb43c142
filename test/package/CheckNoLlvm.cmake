# minigptc-run must start where LLVM is not installed.
execute_process(COMMAND ldd ${PROGRAM} OUTPUT_VARIABLE libraries RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR NOT libraries MATCHES "libc\\.so")
  message(FATAL_ERROR "cannot list the libraries of ${PROGRAM}")
endif()
if(libraries MATCHES "LLVM|MLIR")
  message(FATAL_ERROR "${PROGRAM} needs LLVM:\n${libraries}")
endif()
