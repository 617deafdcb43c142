# minigptc_add_library(NAME SOURCES... [DEPENDS targets...] [LINK libraries...])
#
# A static library of the compiler: sees the source and build roots as include
# roots, and shares one precompiled header of MLIR's core.
function(minigptc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MinigptcMLIR)
  minigptc_use_pch(${name})
endfunction()

function(minigptc_use_pch name)
  if(MINIGPTC_PCH AND TARGET MinigptcPch)
    target_precompile_headers(${name} REUSE_FROM MinigptcPch)
  endif()
endfunction()
