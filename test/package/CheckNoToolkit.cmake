# Of what is built, the test of NVIDIA's headers alone is built with the CUDA toolkit, if there is one; and PROGRAM needs none
# of its libraries: they are opened when they are asked for.
file(STRINGS ${BUILD}/build.ninja lines REGEX "^  (INCLUDES|FLAGS|LINK_LIBRARIES|LINK_FLAGS|LINK_PATH) = .*(/cuda[-0-9.]*/(include|lib64|targets)|-lcud|-lcublas|-lnccl|-lnv)")
list(LENGTH lines count)
if(count GREATER 1)
  list(JOIN lines "\n" text)
  message(FATAL_ERROR "built with the CUDA toolkit:\n${text}")
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM}
     RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing)
foreach(library IN LISTS found missing)
  if(library MATCHES "libcuda|cublas|nccl|nvJitLink|nvrtc")
    message(FATAL_ERROR "${PROGRAM} needs ${library}")
  endif()
endforeach()
