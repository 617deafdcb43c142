# Writes docs/reference/cost-124m.md: what a step of a model of 124M parameters would take on an H200, by a model.
#   cmake -DMINIGPTC=build/release/bin/minigptc -DOUT=page.md -P docs/cost.cmake
# Fails if kernels that are neither products nor attention take more than their share.
cmake_minimum_required(VERSION 3.20)
set(most 0.25)
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
file(WRITE "${OUT}" "# The cost of a training step on a GPU

Transformer LM with 124M parameters (d_model 768, 12 heads, d_ff 2048, 12 layers, 50257 tokens with tied embeddings, context 1024), batch
8, bf16. `minigptc inspect FILE.mgx --cost h200` prints these tables for any artifact that `minigptc compile --target cuda` makes, as text (`--markdown`: as here). Written by `docs/cost.cmake`; a test compares.

${tables}
${passes}")
