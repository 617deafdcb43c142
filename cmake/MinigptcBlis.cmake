# The imported target minigptc::blis: BLIS with its native interface. Threads are our
# own, so the serial build is enough. Also used by the installed package.
include(${CMAKE_CURRENT_LIST_DIR}/MinigptcMissing.cmake)
find_path(MINIGPTC_BLIS_INCLUDE blis.h PATH_SUFFIXES blis-serial blis)
find_library(MINIGPTC_BLIS_LIBRARY blis PATH_SUFFIXES blis-serial)
if(NOT MINIGPTC_BLIS_INCLUDE OR NOT MINIGPTC_BLIS_LIBRARY)
  minigptc_missing("the runtime's host driver needs BLIS (Debian: libblis-serial-dev)"
                   "; -DMINIGPTC_HOST_DRIVER=OFF builds the runtime without this driver.")
endif()
if(NOT TARGET minigptc::blis)
  add_library(minigptc::blis UNKNOWN IMPORTED)
  set_target_properties(minigptc::blis PROPERTIES IMPORTED_LOCATION ${MINIGPTC_BLIS_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${MINIGPTC_BLIS_INCLUDE})
endif()
