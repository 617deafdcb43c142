//===- ArtifactTables.cpp - entries, kernels, memory, the whole file ------===//
#include "compiler/target/artifact/ArtifactBuilder.h"
#include "compiler/target/artifact/ArtifactTypes.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/graph/IR/Graph.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;

flatbuffers::Offset<fb::TensorType> ArtifactBuilder::writeType(ShapedType type) {
  auto &offset = types[type];
  if (offset.IsNull()) {
    auto shape = builder.CreateVector(type.getShape().data(), type.getShape().size());
    offset = fb::CreateTensorType(builder, toElementType(type.getElementType()), shape);
  }
  return offset;
}

flatbuffers::Offset<flatbuffers::String> ArtifactBuilder::writeString(StringRef text) {
  auto &offset = strings[text];
  if (offset.IsNull())
    offset = builder.CreateString(text.data(), text.size());
  return offset;
}

flatbuffers::Offset<fb::Kernel> ArtifactBuilder::writeKernel(func::FuncOp kernel,
                                                             const KernelFacts &facts) {
  KernelWork work = workOf(kernel);
  auto types = [&](TypeRange range) {
    Offsets<fb::TensorType> offsets;
    for (Type type : range)
      offsets.push_back(writeType(cast<ShapedType>(type)));
    return builder.CreateVector(offsets);
  };
  auto symbol = builder.CreateString(kernel.getSymName().str());
  auto inputs = types(kernel.getArgumentTypes());
  auto outputs = types(kernel.getResultTypes());
  auto fused = writeFused(work);
  Offset<fb::CudaLaunch> launch;
  if (facts.gpu)
    launch = writeLaunch(*facts.gpu);
  return fb::CreateKernel(builder, symbol, facts.items, facts.grain, inputs, outputs, work.flops,
                          work.bytes, facts.scratch, launch, writeString(facts.kind), fused);
}

auto ArtifactBuilder::writeFused(const KernelWork &work) -> Offset<Vector<fb::FusedOp>> {
  struct Fused {
    StringRef op;
    uint32_t count, location;
  };
  std::vector<Fused> all;
  for (Operation *op : work.ops) {
    Fused next{op->getName().stripDialect(), 1, locations.number(op->getLoc())};
    auto same = llvm::find_if(all, [&](const Fused &other) {
      return other.op == next.op && other.location == next.location;
    });
    if (same != all.end())
      ++same->count;
    else
      all.push_back(next);
  }
  Offsets<fb::FusedOp> offsets;
  for (const Fused &fused : all)
    offsets.push_back(
        fb::CreateFusedOp(builder, writeString(fused.op), fused.count, fused.location));
  return builder.CreateVector(offsets);
}

auto ArtifactBuilder::writeLaunch(const GpuLaunch &launch) -> Offset<fb::CudaLaunch> {
  // With the NUL behind the text: the driver reads up to it.
  fb::Blob ptx = blobs.add(std::as_bytes(std::span(launch.ptx.c_str(), launch.ptx.size() + 1)));
  return fb::CreateCudaLaunch(builder, launch.grid, launch.block, launch.sharedBytes,
                              launch.grouped, &ptx);
}

auto ArtifactBuilder::writeTarget(const TargetCode &code) -> Offset<fb::Target> {
  std::vector<Offset<flatbuffers::String>> features;
  for (const std::string &feature : code.features)
    features.push_back(builder.CreateString(feature));
  Offset<flatbuffers::String> triple;
  if (!code.triple.empty())
    triple = builder.CreateString(code.triple);
  return fb::CreateTarget(builder, triple, builder.CreateVector(features), code.kind);
}

auto ArtifactBuilder::writeCubins(const TargetCode &code) -> Offsets<fb::Cubin> {
  Offsets<fb::Cubin> offsets;
  for (const GpuCode &gpu : code.gpus) {
    fb::Blob blob = blobs.add(std::as_bytes(std::span(gpu.bytes)));
    offsets.push_back(fb::CreateCubin(builder, gpu.arch, gpu.specific, &blob));
  }
  return offsets;
}

flatbuffers::Offset<fb::Parameter> ArtifactBuilder::writeParameter(exec::BlockOp block,
                                                                   unsigned argument) {
  auto integer = [&](StringRef attribute, int64_t otherwise) {
    auto value = block.getArgAttrOfType<IntegerAttr>(argument, attribute);
    return value ? value.getInt() : otherwise;
  };
  auto nameAttr = block.getArgAttrOfType<StringAttr>(argument, graph::attr::kName);
  auto name = writeString(nameAttr ? nameAttr.str() : "arg" + std::to_string(argument));
  auto type = writeType(cast<ShapedType>(block.getArgument(argument).getType()));
  Layout layout = writeLayout(block, argument);
  Offset<flatbuffers::Vector<uint32_t>> stages;
  if (auto list = block.getArgAttrOfType<DenseI64ArrayAttr>(argument, dist::attr::kStages))
    stages = builder.CreateVector(
        std::vector<uint32_t>(list.asArrayRef().begin(), list.asArrayRef().end()));
  return fb::CreateParameter(builder, name, type, integer(graph::attr::kDonate, -1),
                             integer(graph::attr::kIndexBound, 0),
                             builder.CreateVector(writeIndexChecks(block, argument)),
                             layout.globalShape, layout.dims, stages);
}

auto ArtifactBuilder::writeIndexChecks(exec::BlockOp block, unsigned argument)
    -> Offsets<fb::IndexCheck> {
  Offsets<fb::IndexCheck> offsets;
  auto sizes = [&](DenseI64ArrayAttr list) {
    return list ? builder.CreateVector(list.asArrayRef().data(), list.size()) : 0;
  };
  auto checks = block.getArgAttrOfType<ArrayAttr>(argument, graph::attr::kIndexChecks);
  for (Attribute attribute : checks ? checks.getValue() : ArrayRef<Attribute>()) {
    auto check = cast<graph::IndexCheckAttr>(attribute);
    auto start = sizes(check.getStart()), limit = sizes(check.getLimit()),
         strides = sizes(check.getStrides());
    offsets.push_back(fb::CreateIndexCheck(builder, check.getBound(),
                                           check.getIgnored().value_or(0), start, limit, strides));
  }
  return offsets;
}

flatbuffers::Offset<fb::Entry> ArtifactBuilder::writeEntry(exec::BlockOp block) {
  Offsets<fb::Parameter> inputs, outputs;
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    (i < block.getNumInputs() ? inputs : outputs).push_back(writeParameter(block, i));
  std::vector<uint32_t> stages;
  for (exec::BlockOp stage : stagesOf(block))
    stages.push_back(blockNumbers.lookup(stage));
  auto name = builder.CreateString(entryNameOf(block).str());
  auto inputVector = builder.CreateVector(inputs);
  auto outputVector = builder.CreateVector(outputs);
  Offset<flatbuffers::Vector<uint32_t>> stageVector;
  if (stages.size() > 1)
    stageVector = builder.CreateVector(stages);
  return fb::CreateEntry(builder, name, blockNumbers.lookup(block), inputVector, outputVector,
                         stageVector);
}

/// A stage's part of an entry has a name of its own.
StringRef ArtifactBuilder::entryNameOf(exec::BlockOp block) {
  auto entry = block->getAttrOfType<StringAttr>(dist::attr::kStageOf);
  return entry ? entry.getValue() : block.getSymName();
}

/// The blocks of an entry, by stage; of one without stages this one.
SmallVector<exec::BlockOp> ArtifactBuilder::stagesOf(exec::BlockOp block) {
  auto entry = block->getAttrOfType<StringAttr>(dist::attr::kStageOf);
  SmallVector<exec::BlockOp> stages;
  for (exec::BlockOp other : blocks)
    if (other == block || (entry && other->getAttr(dist::attr::kStageOf) == entry))
      stages.push_back(other);
  auto stageOf = [](exec::BlockOp part) {
    auto stage = part->getAttrOfType<IntegerAttr>(dist::attr::kStage);
    return stage ? stage.getInt() : 0;
  };
  llvm::stable_sort(stages,
                    [&](exec::BlockOp a, exec::BlockOp b) { return stageOf(a) < stageOf(b); });
  return stages;
}

flatbuffers::Offset<fb::MemoryReport> ArtifactBuilder::writeMemoryReport(exec::BlockOp block) {
  MemoryReport report;
  for (exec::BlockOp stage : stagesOf(block)) // Of the stage that takes most.
    if (MemoryReport other = computeMemoryReport(module, stage);
        report.items.empty() || other.total > report.total)
      report = std::move(other);
  auto name = builder.CreateString(entryNameOf(block).str());
  auto items = builder.CreateVector(writeMemoryItems(report.items));
  return fb::CreateMemoryReport(builder, name, items, report.total);
}

auto ArtifactBuilder::writeMemoryItems(const std::vector<MemoryItem> &items)
    -> Offsets<fb::PeakItem> {
  Offsets<fb::PeakItem> offsets;
  for (const MemoryItem &item : items) {
    auto tensor = writeString(item.tensor);
    offsets.push_back(
        fb::CreatePeakItem(builder, tensor, item.bytes, locations.number(item.location)));
  }
  return offsets;
}

std::vector<std::byte> ArtifactBuilder::finish(const TargetCode &code) {
  fb::Blob codeBlob = blobs.add(code.elf, runtime::kPageSize); // At the start of the blobs.
  std::vector<fb::Blob> constantBlobs;
  for (ElementsAttr constant : constants)
    constantBlobs.push_back(blobs.add(bytesOf(constant)));

  Offsets<fb::Kernel> kernelTables;
  for (auto [kernel, facts] : llvm::zip_equal(kernels, code.kernels))
    kernelTables.push_back(writeKernel(kernel, facts));
  Offsets<fb::Entry> entries;
  Offsets<fb::MemoryReport> memory;
  for (exec::BlockOp block : blocks) {
    if (!block->hasAttr(graph::attr::kEntry) || stagesOf(block).front() != block)
      continue;
    entries.push_back(writeEntry(block));
    memory.push_back(writeMemoryReport(block));
  }
  auto target = writeTarget(code);
  fb::Blob emulatedBlob = blobs.add(code.emulated);
  auto metadata = module->getAttrOfType<StringAttr>(graph::attr::kMetadata);
  auto compiler = builder.CreateString("minigptc " MINIGPTC_VERSION ", LLVM " LLVM_VERSION_STRING);
  auto kernelVector = builder.CreateVector(kernelTables);
  auto gemmVector = builder.CreateVector(gemms);
  auto loopVector = builder.CreateVector(loops);
  auto branchVector = builder.CreateVector(branches);
  auto whileVector = builder.CreateVector(whileLoops);
  auto blockVector = builder.CreateVector(blockTables);
  auto hostVector = builder.CreateVector(hostPrograms);
  auto constantVector = builder.CreateVectorOfStructs(constantBlobs);
  auto entryVector = builder.CreateVector(entries);
  auto recomputed = builder.CreateVector(writeMemoryItems(getRecomputed(module)));
  auto locationVector = builder.CreateVector(locations.write(builder));
  auto meshVector = builder.CreateVector(writeMesh());
  auto groupVector = builder.CreateVector(groups);
  auto collectiveVector = builder.CreateVector(collectives);
  auto messageVector = builder.CreateVector(writeMessages());
  auto printVector = builder.CreateVector(prints);
  auto memoryVector = builder.CreateVector(memory);
  auto cubinVector = builder.CreateVector(writeCubins(code));
  auto metadataString = builder.CreateString(metadata ? metadata.str() : "{}");
  builder.Finish(fb::CreateArtifact(builder, compiler, target, &codeBlob, kernelVector, gemmVector,
                                    blockVector, hostVector, constantVector, entryVector,
                                    locationVector, memoryVector, metadataString, recomputed,
                                    loopVector, meshVector, groupVector, collectiveVector,
                                    cubinVector, code.emulated.empty() ? nullptr : &emulatedBlob,
                                    branchVector, whileVector, messageVector, printVector));
  auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return runtime::assembleArtifact({begin, builder.GetSize()}, blobs);
}
