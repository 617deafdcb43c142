# minigptc_missing(TEXT HINT): a library that is needed is not here, and the file that asks
# ends. In an installed package find_package() fails with the text; our own build stops, with
# the hint behind it. A macro, for its return() is the caller's.
macro(minigptc_missing text hint)
  if(CMAKE_FIND_PACKAGE_NAME)
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "${text}")
    return()
  endif()
  message(FATAL_ERROR "${text}${hint}")
endmacro()
