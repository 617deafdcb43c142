# Installs the runtime into an empty folder, builds the consumer against it, runs it.
#   cmake -DBUILD=… -DCONSUMER=… -DWORK=… -DCXX=… -DWRITE_ARTIFACT=… -P RunPackageTest.cmake
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGV}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component runtime)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WRITE_ARTIFACT} ${WORK}/step.mgx)
run(${WORK}/build/consumer ${WORK}/step.mgx)
run(${WORK}/prefix/bin/minigptc-run --help)
