set(MINIGPTC_CODEGEN_ID_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/CodegenId.cmake)

# minigptc_add_codegen_id(FOLDERS...): CodegenId.inc in the binary directory, with the hash of a target's
# code generator: its folders, and what all targets share.
function(minigptc_add_codegen_id)
  set(patterns "")
  foreach(folder IN LISTS ARGN ITEMS compiler/target/common compiler/conversion/GraphToLoops)
    list(APPEND patterns ${PROJECT_SOURCE_DIR}/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns}
    ${PROJECT_SOURCE_DIR}/dialects/graph/IR/*.td ${PROJECT_SOURCE_DIR}/runtime/base/Philox.h)
  add_custom_command(OUTPUT CodegenId.inc
    COMMAND ${CMAKE_COMMAND} "-DSOURCES=${sources}" -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/CodegenId.inc
            -P ${MINIGPTC_CODEGEN_ID_SCRIPT}
    DEPENDS ${sources} ${MINIGPTC_CODEGEN_ID_SCRIPT}
    COMMENT "Hashing the code generator's sources" VERBATIM)
endfunction()
