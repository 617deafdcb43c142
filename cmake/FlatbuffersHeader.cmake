# minigptc_flatbuffers_header(TARGET SCHEMA)
#
# <build>/<folder of the schema>/<Schema>_generated.h, made at build time. The target
# stands for the file; what includes it depends on the target.
set(MINIGPTC_GENERATED_HEADERS "" CACHE PATH
    "Folder with the headers that flatc made elsewhere, for machines without it (tools/gpu-bundle.sh)")
find_program(FLATC flatc)
find_path(FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h)
if((NOT FLATC AND NOT MINIGPTC_GENERATED_HEADERS) OR NOT FLATBUFFERS_INCLUDE)
  message(FATAL_ERROR "minigptc needs FlatBuffers: the compiler flatc and the headers "
                      "(Debian: flatbuffers-compiler and libflatbuffers-dev).")
endif()

function(minigptc_flatbuffers_header target schema)
  cmake_path(ABSOLUTE_PATH schema BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(GET schema STEM name)
  cmake_path(GET schema PARENT_PATH folder)
  cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(header ${PROJECT_BINARY_DIR}/${folder}/${name}_generated.h)
  if(MINIGPTC_GENERATED_HEADERS)
    configure_file(${MINIGPTC_GENERATED_HEADERS}/${folder}/${name}_generated.h ${header} COPYONLY)
  else()
    add_custom_command(OUTPUT ${header}
      COMMAND ${FLATC} --cpp --cpp-std c++17 --scoped-enums --gen-object-api
              -o ${PROJECT_BINARY_DIR}/${folder} ${schema}
      DEPENDS ${schema} COMMENT "FlatBuffers header of ${name}.fbs")
  endif()
  add_custom_target(${target} DEPENDS ${header})
endfunction()
