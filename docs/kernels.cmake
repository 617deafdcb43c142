# Writes docs/reference/kernels.md: the CUDA kernels of models, and what they take of a GPU.
#   cmake -DMINIGPTC=build/release/bin/minigptc -DOUT=page.md [-DCOMPARE=committed.md] -P docs/kernels.cmake
# Registers are the toolkit's: with another one than the page's there is nothing to compare.
cmake_minimum_required(VERSION 3.20)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

run(version --version)
if(NOT version MATCHES "CUDA toolkit ([0-9.]+)")
  message(STATUS "SKIPPED: no CUDA toolkit, which makes the machine code that the page is about")
  return()
endif()
set(toolkit ${CMAKE_MATCH_1})
if(COMPARE)
  file(READ ${COMPARE} committed)
  if(NOT committed MATCHES "CUDA toolkit ${toolkit}[^0-9]")
    message(STATUS "SKIPPED: the page is of another CUDA toolkit than ${toolkit}")
    return()
  endif()
endif()

set(page "# CUDA kernels

The kernels of whole programs (`init`, `train_step`, `eval_loss`, `logits`) for sm_90a, as `minigptc inspect --markdown` lists them: made by
CUDA toolkit ${toolkit}. Registers and bytes of stack are those of a thread: spills would be on the stack, and there are none. Shared memory is
that of a block. Bytes and FLOPs are of a launch of one group of buffers: what is read and written once, and one FLOP for each element that an op
gives or a reduction takes. Matrix products are cuBLASLt's. Nothing here has run on a GPU. Written by `docs/kernels.cmake`; a test compares.
")
function(add_model title)
  set(artifact ${OUT}.mgx)
  run(ignored compile ${ARGN} --target cuda --gpu-arch sm_90a --quiet -o ${artifact})
  run(table inspect ${artifact} --markdown)
  file(REMOVE ${artifact})
  string(REPLACE "## kernels" "## ${title}: kernels" table "${table}")
  set(page "${page}\n${table}" PARENT_SCOPE)
endfunction()
add_model("Transformer LM, preset `tiny`, f32" --preset tiny)
add_model("Transformer LM, preset `tiny`, bf16" --preset tiny --set training.precision=bf16)
add_model("Transformer LM, preset `tiny`, f32, `fsdp_tp` on four GPUs" --preset tiny --devices 4 --mode fsdp_tp)
add_model("MiniGPT, preset `minigpt-tiny`, f32" --preset minigpt-tiny)
add_model("MiniGPT, preset `minigpt-tiny`, bf16" --preset minigpt-tiny --set training.precision=bf16)
file(WRITE "${OUT}" "${page}")
if(COPY_TO)
  file(WRITE "${COPY_TO}" "${page}")
endif()
if(COMPARE AND NOT committed STREQUAL page)
  message(FATAL_ERROR "${COMPARE} is out of date: the target `docs` writes it anew; what it should be is in ${OUT}")
endif()
