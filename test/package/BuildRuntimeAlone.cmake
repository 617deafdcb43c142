# Configures and builds the runtime without the compiler, by another C++ compiler.
foreach(command "-S;${SOURCE};-B;${WORK};-G;Ninja;-DMINIGPTC_BUILD_COMPILER=OFF;-DMINIGPTC_BUILD_TESTS=OFF;-DCMAKE_C_COMPILER=${CC};-DCMAKE_CXX_COMPILER=${CXX};-DCMAKE_CXX_FLAGS=-Werror"
                "--build;${WORK}")
  execute_process(COMMAND ${CMAKE_COMMAND} ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: cmake ${command}\n${output}")
  endif()
endforeach()
if(NOT EXISTS ${WORK}/bin/minigptc-run)
  message(FATAL_ERROR "there is no ${WORK}/bin/minigptc-run")
endif()
