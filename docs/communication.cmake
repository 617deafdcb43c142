# Writes docs/reference/communication.md: what a training step sends, by preset and mode.
#   cmake -DMINIGPTC=build/release/bin/minigptc -DOUT=page.md -P docs/communication.cmake
cmake_minimum_required(VERSION 3.20)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# json_number(OUT JSON DEFAULT PATH...): a number, or the default where there is none.
function(json_number out json default)
  string(JSON value ERROR_VARIABLE missing GET "${json}" ${ARGN})
  if(missing)
    set(value ${default})
  endif()
  set(${out} ${value} PARENT_SCOPE)
endfunction()

# kilobytes(OUT BYTES): "1234.5".
function(kilobytes out bytes)
  math(EXPR tenths "(${bytes} + 50) / 100")
  math(EXPR whole "${tenths} / 10")
  math(EXPR rest "${tenths} % 10")
  set(${out} "${whole}.${rest}" PARENT_SCOPE)
endfunction()

# add_case(NAME FLAGS...): a row of the table.
function(add_case name)
  run(json explain --json ${ARGN})
  json_number(count "${json}" 0 totals count)
  json_number(bytes "${json}" 0 totals bytes)
  kilobytes(sent ${bytes})
  set(row "| ${name} | ${count} | ${sent} |")
  foreach(kind all_gather reduce_scatter all_reduce all_to_all)
    json_number(kind_count "${json}" 0 totals by_kind ${kind} count)
    json_number(kind_bytes "${json}" 0 totals by_kind ${kind} bytes)
    kilobytes(kind_sent ${kind_bytes})
    if(kind_count EQUAL 0)
      string(APPEND row " – |")
    else()
      string(APPEND row " ${kind_count}: ${kind_sent} |")
    endif()
  endforeach()
  json_number(parameters "${json}" 0 memory_per_device parameters)
  json_number(optimizer "${json}" 0 memory_per_device optimizer)
  math(EXPR state "${parameters} + ${optimizer}")
  kilobytes(held ${state})
  set(page "${page}${row} ${held} |\n" PARENT_SCOPE)
endfunction()

function(add_header title column)
  set(page "${page}
## ${title}

| ${column} | collectives | kB sent | all-gather | reduce-scatter | all-reduce | all-to-all | kB of state |
|---|---|---|---|---|---|---|---|
" PARENT_SCOPE)
endfunction()

set(page "# What a training step sends

Of every sharding mode, as `minigptc explain` says it: the collectives of one step, and the bytes that one device of eight sends by
ring algorithms (n−1 of n parts for an all-gather or a reduce-scatter, twice that for an all-reduce). Under each kind: how many, and their kB.
State is what a device keeps of parameters and moments. Written by `docs/communication.cmake`; a test compares.
")
foreach(preset nano tiny)
  add_header("Transformer LM, preset `${preset}`" "mode")
  foreach(mode dp fsdp fsdp_full tp tp_sp fsdp_tp)
    add_case("`${mode}`" --preset ${preset} --devices 8 --mode ${mode})
  endforeach()
endforeach()
add_header("Transformer LM, the bench model: d 256, 4 layers, ff 1024, vocabulary 4096, context 128, batch 16" "mode")
foreach(mode dp fsdp fsdp_full tp tp_sp fsdp_tp)
  add_case("`${mode}`" --preset default --set model.num_heads=8 --set model.num_layers=4 --set model.vocab_size=4096
           --set model.context_length=128 --set training.batch_size=16 --devices 8 --mode ${mode})
endforeach()
add_header("MiniGPT, preset `minigpt-tiny`" "mesh and annotations")
foreach(mesh "batch=8" "batch=4,model=2" "batch=2,model=4")
  foreach(annotations default reference)
    add_case("`${mesh}`, ${annotations}" --preset minigpt-tiny --mesh ${mesh} --set model.annotations=${annotations})
  endforeach()
endforeach()
file(WRITE "${OUT}" "${page}")
