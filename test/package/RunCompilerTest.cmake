# Installs all into an empty folder and builds the guide's project against it, as a
# newcomer would; the program compiles its train step, trains and succeeds if the loss falls.
#   cmake -DBUILD=… -DPROJECT=… -DWORK=… -DCXX=… [-DMLIR_DIR=…] -P RunCompilerTest.cmake
include(${CMAKE_CURRENT_LIST_DIR}/Run.cmake)

file(REMOVE_RECURSE ${WORK})
foreach(component runtime compiler)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component ${component})
endforeach()
run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DMLIR_DIR=${MLIR_DIR})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/first_model)
run(${WORK}/prefix/bin/minigptc devices)
