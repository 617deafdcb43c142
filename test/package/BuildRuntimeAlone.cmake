# Configures and builds the runtime without the compiler, by another C++ compiler. It has the cuda driver: programs for GPUs
# run, or say in a line what is absent; for the emulated one they run anywhere.
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

# run_artifact(TARGET STATUS OUTPUT): times one step of a small model that was compiled for the target.
function(run_artifact target status output)
  string(REPLACE ":" "-" file "${WORK}/${target}.mgx")
  execute_process(COMMAND ${MINIGPTC} compile --preset nano --set model.num_layers=1 --set model.context_length=8
                  --set training.batch_size=2 --target ${target} --quiet -o ${file} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/bin/minigptc-run ${file} --time 1 RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${status} ${result} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

run_artifact(cuda:test status text)
if(NOT status EQUAL 0 OR NOT text MATCHES "1 steps on emulated")
  message(FATAL_ERROR "minigptc-run does not run on the emulated GPU: exit status ${status}\n${text}")
endif()
run_artifact(cuda status text)
if(NOT status EQUAL 0 AND NOT text MATCHES "^minigptc: error: cannot load '[^\n]*cuda.mgx': no [^\n]*\n  help: [^\n]*\n$")
  message(FATAL_ERROR "minigptc-run does not say what a program for GPUs lacks: exit status ${status}\n${text}")
endif()
