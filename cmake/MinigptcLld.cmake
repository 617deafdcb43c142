# The imported target minigptc::lld: LLVM's linker as a library. Its archives are found as
# files: their CMake targets would bring LLVM in a second time, statically. Comes after
# find_package(MLIR). Also used by the installed package.
include(${CMAKE_CURRENT_LIST_DIR}/MinigptcMissing.cmake)
find_library(MINIGPTC_LLD_ELF lldELF HINTS ${LLVM_LIBRARY_DIRS})
find_library(MINIGPTC_LLD_COMMON lldCommon HINTS ${LLVM_LIBRARY_DIRS})
find_library(MINIGPTC_ZSTD zstd)
find_package(ZLIB QUIET)
if(NOT MINIGPTC_LLD_ELF OR NOT MINIGPTC_LLD_COMMON OR NOT MINIGPTC_ZSTD OR NOT ZLIB_FOUND)
  minigptc_missing(
    "the compiler needs LLD 22's libraries, zlib and zstd (Debian: liblld-22-dev, zlib1g-dev and libzstd-dev)" ".")
endif()
if(NOT TARGET minigptc::lld)
  add_library(minigptc::lld INTERFACE IMPORTED)
  set_target_properties(minigptc::lld PROPERTIES INTERFACE_LINK_LIBRARIES
    "${MINIGPTC_LLD_ELF};${MINIGPTC_LLD_COMMON};LLVM;${MINIGPTC_ZSTD};ZLIB::ZLIB")
endif()
