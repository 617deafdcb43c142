# cmake -D PROGRAM=… -D EXPECTED=FILE -P compare_output.cmake: fails unless the program prints the file.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output RESULT_VARIABLE result)
file(READ ${EXPECTED} expected)
if(NOT result EQUAL 0 OR NOT output STREQUAL expected)
  message(FATAL_ERROR "exit status ${result}; printed:\n${output}\nexpected:\n${expected}")
endif()
