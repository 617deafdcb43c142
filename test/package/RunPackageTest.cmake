# Installs the runtime into an empty folder, builds the consumer against it, runs it.
#   cmake -DBUILD=… -DCONSUMER=… -DWORK=… -DCXX=… -DWRITE_ARTIFACT=… [-DMINIGPTC=…] -P RunPackageTest.cmake
# MINIGPTC: the compiler, whose artifact the consumer trains.
include(${CMAKE_CURRENT_LIST_DIR}/Run.cmake)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component runtime)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WRITE_ARTIFACT} ${WORK}/step.mgx)
run(${WORK}/build/consumer ${WORK}/step.mgx)
run(${WORK}/prefix/bin/minigptc-run --help)
if(MINIGPTC)
  run(${MINIGPTC} compile --preset nano --quiet -o ${WORK}/nano.mgx)
  run(${WORK}/build/train ${WORK}/nano.mgx)
endif()

# find_package of the component fails, with a message that says so.
function(expect_no_component component message)
  file(WRITE ${WORK}/no_${component}/CMakeLists.txt
    "cmake_minimum_required(VERSION 3.20)\nproject(wrong LANGUAGES CXX)\nfind_package(minigptc REQUIRED COMPONENTS ${component})\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/no_${component} -B ${WORK}/no_${component}/build
                          -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  if(result EQUAL 0 OR NOT error MATCHES "${message}")
    message(FATAL_ERROR "no clear message about the component ${component}:\n${error}")
  endif()
endfunction()

# The runtime stands alone, and says so where the compiler is asked for.
expect_no_component(compiler "without its component 'compiler'")
# A component that is misspelt is named, with those there are.
expect_no_component(runtimes "no component 'runtimes'; it has runtime and compiler")
