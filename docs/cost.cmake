# Writes docs/reference/cost-124m.md: what a step of a model of 124M parameters would take on an H200, by a model.
#   cmake -DMINIGPTC=build/release/bin/minigptc -DOUT=page.md -P docs/cost.cmake
# Fails if kernels that are neither products nor attention take more than their share, or cost-passes.md does not name those of them
# that are walks over an activation, or names one that is not there.
cmake_minimum_required(VERSION 3.20)
set(most 0.25)
set(activation 12582912) # bytes
set(model --preset default --set model.d_model=768 --set model.num_heads=12 --set model.d_ff=2048
    --set model.num_layers=12 --set model.vocab_size=50257 --set model.tie_embeddings=true
    --set model.context_length=1024 --set training.batch_size=8 --set training.precision=bf16)

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

set(artifact ${OUT}.mgx)
run(ignored compile ${model} --target cuda --quiet -o ${artifact})
run(tables inspect ${artifact} --cost h200 --markdown)
run(json inspect ${artifact} --cost h200 --json)
file(REMOVE ${artifact})
string(JSON share GET "${json}" classes "other kernels" share)
if(share GREATER ${most})
  message(FATAL_ERROR "kernels that are neither matrix products nor attention take ${share} of the step, more than ${most}:\n${tables}")
endif()
file(READ ${CMAKE_CURRENT_LIST_DIR}/cost-passes.md passes)
string(REGEX MATCHALL "`[a-z_]+`" named "${passes}")
set(made "")
string(JSON count LENGTH "${json}" instructions)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON name GET "${json}" instructions ${i} name)
  string(JSON bytes GET "${json}" instructions ${i} bytes)
  string(JSON times GET "${json}" instructions ${i} count)
  string(REGEX REPLACE "^(.*)_[0-9a-f]+$" "`\\1`" name "${name}")
  list(APPEND made ${name})
  math(EXPR least "${activation} * ${times}")
  if(bytes GREATER_EQUAL least AND NOT name IN_LIST named AND name MATCHES "^`" AND NOT name MATCHES "^`attention")
    message(FATAL_ERROR "cost-passes.md does not say why there is a kernel ${name}")
  endif()
endforeach()
foreach(name IN LISTS named)
  if(NOT name IN_LIST made)
    message(FATAL_ERROR "cost-passes.md speaks of a kernel ${name}, which is not there")
  endif()
endforeach()
file(WRITE "${OUT}" "# The cost of a training step on a GPU

Transformer LM with 124M parameters (d_model 768, 12 heads, d_ff 2048, 12 layers, 50257 tokens with tied embeddings, context 1024), batch
8, bf16. `minigptc inspect FILE.mgx --cost h200` prints these tables for any artifact that `minigptc compile --target cuda` makes, as text (`--markdown`: as here). Written by `docs/cost.cmake`; a test compares.

${tables}
${passes}")
