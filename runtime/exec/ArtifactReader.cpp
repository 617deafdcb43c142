#include "runtime/exec/ArtifactReader.h"

#include "runtime/base/Cpu.h"
#include "runtime/base/Log.h"
#include "runtime/base/Memory.h"
#include "runtime/base/Scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <set>

namespace minigptc::runtime {

Status invalidArtifact(const std::string &what) {
  return Status(StatusCode::dataLoss, "not a valid artifact: " + what);
}

/// The part lies inside of the tensor, or is all of it.
bool isSensible(const IndexCheck &check, const TensorType &type) {
  if (check.bound < 1 || !isInteger(type.dtype))
    return false;
  size_t rank = check.start.empty() ? 0 : type.shape.size();
  if (check.start.size() != rank || check.limit.size() != rank || check.strides.size() != rank)
    return false;
  for (size_t i = 0; i < rank; ++i)
    if (check.start[i] < 0 || check.limit[i] > type.shape[i] || check.strides[i] < 1 ||
        check.strides[i] > type.shape[i])
      return false;
  return true;
}

StatusOr<TensorType> readType(const fb::TensorType *type) {
  TensorType result;
  if (!type || type->element() > fb::ElementType::MAX)
    return invalidArtifact("an unknown element type");
  result.dtype = DType(type->element());
  if (type->shape()) {
    if (type->shape()->size() > kMaxRank)
      return invalidArtifact("a tensor of too many dimensions");
    result.shape.assign(type->shape()->begin(), type->shape()->end());
  }
  uint64_t bytes = sizeOf(result.dtype);
  for (int64_t size : result.shape)
    if (size < 0 || __builtin_mul_overflow(bytes, uint64_t(size), &bytes) || bytes > kMaxBytes)
      return invalidArtifact("a tensor of no sensible size");
  return result;
}

StatusOr<std::span<const std::byte>> readBlob(const fb::Blob *blob,
                                              std::span<const std::byte> blobs) {
  if (!blob)
    return std::span<const std::byte>();
  if (blob->offset() > blobs.size() || blob->size() > blobs.size() - blob->offset())
    return invalidArtifact("a blob lies outside of the file");
  if (blob->offset() % kBufferAlignment)
    return invalidArtifact("a blob is not aligned");
  return blobs.subspan(blob->offset(), blob->size());
}

std::vector<BlockCall> Program::callsOf(const Instruction &instruction) const {
  uint32_t target = instruction.target;
  switch (instruction.opcode) {
  case fb::Opcode::call: return {{target}};
  case fb::Opcode::repeat: {
    const Loop &loop = loops[target];
    return {{loop.block, loop.count, loop.strides.size()}};
  }
  case fb::Opcode::branch: return {{branches[target].onTrue}, {branches[target].onFalse}};
  case fb::Opcode::while_loop: {
    uint64_t own = uint64_t(instruction.numInputs) + instruction.numOutputs;
    return {{whileLoops[target].condition, 1, own}, {whileLoops[target].body, 1, own}};
  }
  default: return {};
  }
}

const Entry *Program::findEntry(std::string_view name) const {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

std::string Program::placeOf(uint32_t location) const {
  if (location >= locations.size())
    return "";
  return std::string(locations[location].file) + ":" + std::to_string(locations[location].line);
}

std::vector<std::string> Program::placesOf(uint32_t location) const {
  std::vector<std::string> places;
  for (; location < locations.size(); location = locations[location].caller)
    if (std::string place = placeOf(location); places.empty() || places.back() != place)
      places.push_back(std::move(place));
  return places;
}

int64_t Program::onStage(int64_t device, int64_t stage) const {
  int64_t stride = mesh.numDevices();
  for (const MeshAxis &axis : mesh.axes()) {
    stride /= axis.size;
    if (axis.name == kStageAxis)
      return device + (stage - stageOf(device)) * stride;
  }
  return device;
}

uint64_t Program::frameSizeOf(const Entry &entry) const {
  uint64_t bytes = 0;
  for (uint32_t block : entry.blocks)
    bytes = std::max(bytes, blocks[block].frameSize);
  return bytes;
}

namespace {

std::string_view viewOf(const flatbuffers::String *text) {
  return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

/// Elements of a vector that may be absent. Those of vectors of tables are pointers.
template <typename T> uint32_t sizeOfVector(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// Fills a Program from verified FlatBuffers, table by table.
class Reader {
public:
  Reader(const fb::Artifact &table, std::span<const std::byte> blobs, Program &program)
      : table_(table), blobs_(blobs), program_(program) {}

  Status read() {
    program_.compiler = viewOf(table_.compiler());
    program_.metadata = viewOf(table_.metadata());
    MINIGPTC_RETURN_IF_ERROR(readCode(table_, blobs_, program_));
    MINIGPTC_RETURN_IF_ERROR(readConstants());
    MINIGPTC_RETURN_IF_ERROR(readLocations());
    MINIGPTC_RETURN_IF_ERROR(readKernels());
    for (uint32_t i = 0; i < sizeOfVector(table_.gemms()); ++i) {
      StatusOr<GemmInfo> gemm = readGemm(*table_.gemms()->Get(i));
      if (!gemm)
        return gemm.status();
      program_.gemms.push_back(std::move(*gemm));
    }
    MINIGPTC_RETURN_IF_ERROR(readHostPrograms());
    MINIGPTC_RETURN_IF_ERROR(readDevices(table_, program_));
    MINIGPTC_RETURN_IF_ERROR(readMessages(table_, program_));
    MINIGPTC_RETURN_IF_ERROR(readPrints(table_, program_));
    MINIGPTC_RETURN_IF_ERROR(readBlocks());
    for (const Block &block : program_.blocks)
      MINIGPTC_RETURN_IF_ERROR(checkBlock(program_, block));
    MINIGPTC_RETURN_IF_ERROR(checkCalls(program_));
    MINIGPTC_RETURN_IF_ERROR(readEntries());
    MINIGPTC_RETURN_IF_ERROR(checkStages(program_));
    return readMemory();
  }

private:
  Status readConstants() {
    for (uint32_t i = 0; i < sizeOfVector(table_.constants()); ++i) {
      StatusOr<std::span<const std::byte>> constant = readBlob(table_.constants()->Get(i), blobs_);
      if (!constant)
        return constant.status();
      program_.constants.push_back(*constant);
    }
    return {};
  }

  Status readLocations() {
    uint32_t count = sizeOfVector(table_.locations());
    for (uint32_t i = 0; i < count; ++i) {
      const fb::Location &location = *table_.locations()->Get(i);
      if (location.caller() < -1 ||
          (location.caller() >= 0 && uint32_t(location.caller()) >= count))
        return invalidArtifact("a location's caller is not there");
      program_.locations.push_back(
          {viewOf(location.file()), location.line(), location.column(),
           location.caller() < 0 ? kNoLocation : uint32_t(location.caller())});
    }
    return checkCallers();
  }

  /// Every chain of callers has an end.
  Status checkCallers() const {
    std::vector<uint32_t> walkedFrom(program_.locations.size(), kNoLocation);
    for (uint32_t start = 0; start < walkedFrom.size(); ++start)
      for (uint32_t i = start; i < walkedFrom.size(); i = program_.locations[i].caller) {
        if (walkedFrom[i] == start)
          return invalidArtifact("a location is its own caller");
        if (walkedFrom[i] != kNoLocation)
          break;
        walkedFrom[i] = start;
      }
    return {};
  }

  Status readTypes(const flatbuffers::Vector<flatbuffers::Offset<fb::TensorType>> *from,
                   std::vector<TensorType> &to) {
    for (uint32_t i = 0; i < sizeOfVector(from); ++i) {
      StatusOr<TensorType> type = readType(from->Get(i));
      if (!type)
        return type.status();
      to.push_back(std::move(*type));
    }
    return {};
  }

  Status readKernels() {
    for (uint32_t i = 0; i < sizeOfVector(table_.kernels()); ++i) {
      const fb::Kernel &from = *table_.kernels()->Get(i);
      KernelInfo kernel{viewOf(from.symbol()),
                        from.items(),
                        from.grain(),
                        {},
                        {},
                        from.flops(),
                        from.bytes(),
                        from.scratch(),
                        {},
                        viewOf(from.kind()),
                        {}};
      if (kernel.symbol.empty() || kernel.symbol.find('\0') != std::string_view::npos)
        return invalidArtifact("kernel " + std::to_string(i) + " has no name");
      if (kernel.items < 0 || uint64_t(kernel.items) > kMaxBytes || kernel.grain < 1 ||
          kernel.scratch > kMaxScratch)
        return invalidArtifact("kernel " + quote(kernel.symbol) + " has no sensible size");
      for (uint32_t op = 0; op < sizeOfVector(from.fused()); ++op) {
        const fb::FusedOp &fused = *from.fused()->Get(op);
        if (fused.location() != kNoLocation && fused.location() >= sizeOfVector(table_.locations()))
          return invalidArtifact("kernel " + quote(kernel.symbol) + " is from nowhere");
        kernel.fused.push_back({viewOf(fused.op()), fused.count(), fused.location()});
      }
      MINIGPTC_RETURN_IF_ERROR(readTypes(from.inputs(), kernel.inputs));
      MINIGPTC_RETURN_IF_ERROR(readTypes(from.outputs(), kernel.outputs));
      if (piecesOf(kernel) > mostPiecesOf(kernel))
        return invalidArtifact("kernel " + quote(kernel.symbol) + " has more work than operands");
      MINIGPTC_RETURN_IF_ERROR(readLaunch(from, blobs_, program_.target, kernel));
      program_.kernels.push_back(std::move(kernel));
    }
    return {};
  }

  static uint64_t piecesOf(const KernelInfo &kernel) {
    return uint64_t(kernel.items / kernel.grain) + (kernel.items % kernel.grain != 0);
  }

  /// A piece is some thousand operations, or an element at least: nobody makes more of them.
  static uint64_t mostPiecesOf(const KernelInfo &kernel) {
    uint64_t pieces = uint64_t(1) << 20;
    for (const std::vector<TensorType> *types : {&kernel.inputs, &kernel.outputs})
      for (const TensorType &type : *types)
        pieces += uint64_t(type.numElements());
    return pieces;
  }

  Status readDTypes(const flatbuffers::Vector<fb::ElementType> *from, std::vector<DType> &to) {
    for (uint32_t i = 0; i < sizeOfVector(from); ++i) {
      if (from->Get(i) > fb::ElementType::MAX)
        return invalidArtifact("an unknown element type");
      to.push_back(DType(from->Get(i)));
    }
    return {};
  }

  Status readHostPrograms() {
    for (uint32_t i = 0; i < sizeOfVector(table_.host_programs()); ++i) {
      const fb::HostProgram &from = *table_.host_programs()->Get(i);
      HostProgram program;
      program.name = viewOf(from.name());
      if (from.instructions())
        for (const fb::ScalarInstruction *instruction : *from.instructions())
          program.instructions.push_back(*instruction);
      if (from.results())
        program.results.assign(from.results()->begin(), from.results()->end());
      MINIGPTC_RETURN_IF_ERROR(readDTypes(from.input_types(), program.inputTypes));
      MINIGPTC_RETURN_IF_ERROR(readDTypes(from.result_types(), program.resultTypes));
      if (Status status = program.check(); !status)
        return invalidArtifact(status.message());
      program_.hostPrograms.push_back(std::move(program));
    }
    return {};
  }

  Status readBlock(const fb::Block &from, Block &block) {
    block.name = viewOf(from.name());
    block.numInputs = from.num_inputs();
    block.frameSize = from.frame_size();
    if (from.arguments())
      block.arguments.assign(from.arguments()->begin(), from.arguments()->end());
    for (uint32_t i = 0; i < sizeOfVector(from.operands()); ++i) {
      uint32_t number = from.operands()->Get(i);
      if (number >= sizeOfVector(from.buffers()))
        return invalidArtifact("block " + quote(block.name) + ": an operand is no buffer of it");
      const fb::Buffer &buffer = *from.buffers()->Get(number);
      block.operands.push_back({buffer.kind(), buffer.index(), buffer.offset(), buffer.size()});
    }
    if (from.instructions())
      for (const fb::Instruction *i : *from.instructions())
        block.instructions.push_back({i->opcode(), i->target(), i->first_operand(), i->num_inputs(),
                                      i->num_outputs(), i->location(), i->frame()});
    return readPasses(from, block);
  }

  /// No model has more; profiles have a list of them.
  static constexpr uint32_t kMostPieces = 1 << 20;

  /// The instruction of a number, which is a call.
  static Instruction *findCall(Block &block, uint32_t number) {
    if (number >= block.instructions.size())
      return nullptr;
    Instruction &instruction = block.instructions[number];
    return instruction.opcode == fb::Opcode::call ? &instruction : nullptr;
  }

  static Status readPasses(const fb::Block &from, Block &block) {
    auto fail = [&](const char *what) {
      return invalidArtifact("block " + quote(block.name) + ": " + what + " is no call of it");
    };
    for (uint32_t i = 0; i < sizeOfVector(from.passes()); ++i) {
      const fb::Pass &pass = *from.passes()->Get(i);
      Instruction *call = findCall(block, pass.instruction());
      if (!call)
        return fail("a pass of a micro-batch");
      if (pass.piece() >= kMostPieces)
        return invalidArtifact("block " + quote(block.name) + ": a pass through piece " +
                               std::to_string(pass.piece()) + " of a model");
      call->pass = {pass.piece(), pass.micro_batch(), pass.backward()};
    }
    for (uint32_t i = 0; i < sizeOfVector(from.layers()); ++i) {
      Instruction *call = findCall(block, from.layers()->Get(i));
      if (!call)
        return fail("a layer");
      call->isLayer = true;
    }
    return {};
  }

  /// What loops and branches name and touch is checked where they are used.
  void readLoops() {
    for (uint32_t i = 0; i < sizeOfVector(table_.loops()); ++i) {
      const fb::Loop &from = *table_.loops()->Get(i);
      Loop &loop = program_.loops.emplace_back();
      loop.block = from.block();
      loop.count = from.count();
      if (from.strides())
        loop.strides.assign(from.strides()->begin(), from.strides()->end());
      loop.reverse = from.reverse();
    }
    for (uint32_t i = 0; i < sizeOfVector(table_.branches()); ++i)
      program_.branches.push_back(
          {table_.branches()->Get(i)->on_true(), table_.branches()->Get(i)->on_false()});
    for (uint32_t i = 0; i < sizeOfVector(table_.while_loops()); ++i)
      program_.whileLoops.push_back(
          {table_.while_loops()->Get(i)->condition(), table_.while_loops()->Get(i)->body()});
  }

  Status readBlocks() {
    readLoops();
    for (uint32_t i = 0; i < sizeOfVector(table_.blocks()); ++i) {
      Block &block = program_.blocks.emplace_back();
      MINIGPTC_RETURN_IF_ERROR(readBlock(*table_.blocks()->Get(i), block));
    }
    return {};
  }

  std::vector<IndexCheck> readIndexChecks(const fb::Parameter &parameter) {
    std::vector<IndexCheck> checks;
    for (uint32_t i = 0; i < sizeOfVector(parameter.index_checks()); ++i) {
      const fb::IndexCheck &from = *parameter.index_checks()->Get(i);
      IndexCheck &check = checks.emplace_back(IndexCheck{from.bound(), from.ignored()});
      for (auto [list, to] :
           {std::pair(from.start(), &check.start), std::pair(from.limit(), &check.limit),
            std::pair(from.strides(), &check.strides)})
        if (list)
          to->assign(list->begin(), list->end());
    }
    return checks;
  }

  Status readParameters(const flatbuffers::Vector<flatbuffers::Offset<fb::Parameter>> *from,
                        std::string_view entry, std::vector<ParameterDecl> &to) {
    std::set<std::string_view> names;
    for (uint32_t i = 0; i < sizeOfVector(from); ++i) {
      const fb::Parameter &parameter = *from->Get(i);
      StatusOr<TensorType> type = readType(parameter.type());
      if (!type)
        return type.status();
      ParameterDecl decl{viewOf(parameter.name()),
                         std::move(*type),
                         parameter.donated_to(),
                         parameter.index_bound(),
                         readIndexChecks(parameter),
                         {},
                         {}};
      MINIGPTC_RETURN_IF_ERROR(readLayout(parameter, program_.mesh, decl));
      if (!names.insert(decl.name).second)
        return invalidArtifact("entry " + quote(entry) + " has two parameters " + quote(decl.name));
      if (decl.indexBound < 0 || (decl.indexBound > 0 && !isInteger(decl.type.dtype)))
        return invalidArtifact("the bound of " + quote(decl.name) + " makes no sense");
      for (const IndexCheck &check : decl.indexChecks)
        if (!isSensible(check, decl.global))
          return invalidArtifact("a check of " + quote(decl.name) + " makes no sense");
      to.push_back(std::move(decl));
    }
    return {};
  }

  /// Every output has at most one donor, of its type.
  Status checkDonations(Entry &entry) {
    std::vector<bool> taken(entry.outputs.size());
    for (const ParameterDecl &input : entry.inputs) {
      if (input.donatedTo == -1)
        continue;
      if (input.donatedTo < -1 || size_t(input.donatedTo) >= entry.outputs.size() ||
          taken[input.donatedTo] || !entry.outputs[input.donatedTo].liesAs(input))
        return invalidArtifact("entry " + quote(entry.name) + " donates " + quote(input.name) +
                               " to an output that cannot have it");
      taken[input.donatedTo] = true;
      entry.donates = true;
    }
    return {};
  }

  Status readEntries() {
    if (sizeOfVector(table_.entries()) > kMaxEntries)
      return invalidArtifact("too many entry functions");
    for (uint32_t i = 0; i < sizeOfVector(table_.entries()); ++i) {
      const fb::Entry &from = *table_.entries()->Get(i);
      Entry entry;
      entry.name = viewOf(from.name());
      entry.blocks = {from.block()};
      if (sizeOfVector(from.stages()) > 0)
        entry.blocks.assign(from.stages()->begin(), from.stages()->end());
      if (entry.name.empty() || program_.findEntry(entry.name))
        return invalidArtifact("an entry function without a name of its own");
      if (std::ranges::any_of(entry.blocks,
                              [&](uint32_t b) { return b >= program_.blocks.size(); }))
        return invalidArtifact("entry " + quote(entry.name) + " names a block that is not there");
      MINIGPTC_RETURN_IF_ERROR(readParameters(from.inputs(), entry.name, entry.inputs));
      MINIGPTC_RETURN_IF_ERROR(readParameters(from.outputs(), entry.name, entry.outputs));
      for (uint32_t block : entry.blocks)
        MINIGPTC_RETURN_IF_ERROR(checkArguments(entry, program_.blocks[block]));
      MINIGPTC_RETURN_IF_ERROR(checkDonations(entry));
      program_.entries.push_back(std::move(entry));
    }
    return {};
  }

  /// The entry's tensors are its block's arguments.
  Status checkArguments(const Entry &entry, const Block &block) {
    std::vector<const ParameterDecl *> parameters;
    for (const ParameterDecl &input : entry.inputs)
      parameters.push_back(&input);
    for (const ParameterDecl &output : entry.outputs)
      parameters.push_back(&output);
    if (block.numInputs != entry.inputs.size() || block.arguments.size() != parameters.size())
      return invalidArtifact("entry " + quote(entry.name) + " and its block differ in arguments");
    for (size_t i = 0; i < parameters.size(); ++i)
      if (block.arguments[i] != uint64_t(parameters[i]->type.numBytes()))
        return invalidArtifact("entry " + quote(entry.name) + ": " + quote(parameters[i]->name) +
                               " and the block's argument differ in size");
    return {};
  }

  Status readMemory() {
    for (uint32_t i = 0; i < sizeOfVector(table_.memory()); ++i) {
      const fb::MemoryReport &from = *table_.memory()->Get(i);
      program_.memory.push_back({viewOf(from.entry()), readItems(from.items()), from.total()});
    }
    program_.recomputed = readItems(table_.recomputed());
    return {};
  }

  static std::vector<MemoryItem>
  readItems(const flatbuffers::Vector<flatbuffers::Offset<fb::PeakItem>> *from) {
    std::vector<MemoryItem> items;
    for (uint32_t i = 0; i < sizeOfVector(from); ++i) {
      const fb::PeakItem &item = *from->Get(i);
      items.push_back({viewOf(item.tensor()), item.bytes(), item.location()});
    }
    return items;
  }

  static constexpr uint32_t kMaxEntries = 1000;

  const fb::Artifact &table_;
  std::span<const std::byte> blobs_;
  Program &program_;
};

StatusOr<Program> readWhole(std::span<const std::byte> bytes) {
  StatusOr<ArtifactHeader> header = checkArtifactHeader(bytes);
  if (!header)
    return header.status();
  std::shared_ptr<std::byte[]> image = allocateAligned(bytes.size());
  if (!image)
    throw std::bad_alloc();
  std::memcpy(image.get(), bytes.data(), bytes.size());
  auto metadata = std::span<const std::byte>(image.get(), bytes.size())
                      .subspan(sizeof(ArtifactHeader), header->metadataSize);
  const fb::Artifact *table = verifyTables(metadata);
  if (!table)
    return invalidArtifact("its tables are malformed");
  Program program;
  auto blobs = std::span<const std::byte>(image.get() + header->blobsOffset, header->blobsSize);
  program.image = image;
  MINIGPTC_RETURN_IF_ERROR(Reader(*table, blobs, program).read());
  return program;
}

} // namespace

StatusOr<Program> readArtifact(std::span<const std::byte> bytes) {
  try {
    return readWhole(bytes);
  } catch (const std::bad_alloc &) {
    return Status(StatusCode::resourceExhausted, "not enough memory to load the artifact");
  }
}

std::string driverOf(const Program &program) {
  if (program.target != fb::TargetKind::cuda)
    return "host";
  // Nobody but the test device needs code for the emulator.
  return program.emulated.empty() ? "cuda" : "cuda:test";
}

Status checkTarget(const Program &program) {
  if (program.target == fb::TargetKind::cuda)
    return {}; // The device tells, when it loads the code.
  auto cpuOf = [](std::string_view triple) { return triple.substr(0, triple.find('-')); };
  if (cpuOf(program.triple) != cpuOf(hostTriple()))
    return Status(StatusCode::failedPrecondition, "the artifact is for " + quote(program.triple) +
                                                      ", this machine is " + quote(hostTriple()))
        .withHelp("compile it on this machine");
  std::string missing;
  for (std::string_view feature : program.features)
    if (std::ranges::find(hostCpuFeatures(), feature) == hostCpuFeatures().end())
      missing += (missing.empty() ? "" : ", ") + quote(feature);
  if (missing.empty())
    return {};
  return Status(StatusCode::failedPrecondition,
                "the artifact is for another CPU: this one (" + cpuName() + ") has no " + missing)
      .withHelp("compile it on this machine");
}

} // namespace minigptc::runtime
