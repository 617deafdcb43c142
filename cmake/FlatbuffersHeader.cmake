# minigptc_flatbuffers_header(TARGET SCHEMA)
#
# <build>/<folder of the schema>/<Schema>_generated.h, made at build time. The target
# stands for the file; what includes it depends on the target.
find_program(FLATC flatc)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h)
if(NOT FLATC OR NOT FLATBUFFERS_INCLUDE)
  message(FATAL_ERROR "minigptc needs FlatBuffers: the compiler flatc and the headers "
                      "(Debian: flatbuffers-compiler and libflatbuffers-dev).")
endif()

function(minigptc_flatbuffers_header target schema)
  cmake_path(ABSOLUTE_PATH schema BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(GET schema STEM name)
  cmake_path(GET schema PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(header ${PROJECT_BINARY_DIR}/${folder}/${name}_generated.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums --gen-object-api
            -o ${PROJECT_BINARY_DIR}/${folder} ${schema}
    DEPENDS ${schema} COMMENT "FlatBuffers header of ${name}.fbs")
  add_custom_target(${target} DEPENDS ${header})
endfunction()
