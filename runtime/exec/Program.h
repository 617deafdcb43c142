//===- Program.h - a checked artifact ---------------------------*- C++ -*-===//
//
// What `readArtifact` makes of an .mgx file. Every index, size and offset in here has been
// checked, so that the code that runs it checks nothing again:
//
// - operands count and are big enough for what their instruction does with them
// - instructions write neither constants nor a block's inputs; their outputs lie apart, and
//   reach into an input only in place, where the instruction can work so
// - what a program does has an end in sight: instructions, and pieces of a kernel's work
// - a callee's frame lies in its caller's; calls do not recurse; the operands of a
//   repeated call are big enough for all of its calls
// - registers of scalar programs name earlier ones
// - what is started is waited for, once, in the same block; what is between leaves its memory alone
// - groups are of the mesh's devices; parameters lie on the mesh as their specs say
// - a print has a text before each of its tensors and one behind, and examples as its tensors do
// - what a stage's block touches of an entry's parameters is on that stage; each message is sent
//   once and received once, and stages never wait for each other in a ring
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_PROGRAM_H
#define MINIGPTC_RUNTIME_EXEC_PROGRAM_H

#include "minigptc/runtime/IndexCheck.h"
#include "minigptc/runtime/Mesh.h"
#include "minigptc/runtime/PipelinePass.h"
#include "minigptc/runtime/TensorType.h"
#include "runtime/exec/Artifact_generated.h"
#include "runtime/exec/HostProgram.h"
#include "runtime/hal/Code.h"
#include "runtime/hal/Collective.h"
#include "runtime/hal/Gemm.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

inline constexpr uint32_t kNoLocation = 0xffffffff;

/// A place of the user's program; `caller` is where that place was called from.
struct Location {
  std::string_view file;
  uint32_t line = 0, column = 0;
  uint32_t caller = kNoLocation;
};

struct Instruction;

/// Ops of one name and place that a kernel fuses.
struct FusedOp {
  std::string_view op;
  uint32_t count = 1;
  uint32_t location = kNoLocation;
};

struct KernelInfo {
  /// How many groups of buffers a launch of this kernel has.
  int64_t groupsOf(const Instruction &launch) const;

  std::string_view symbol;
  int64_t items = 0, grain = 1;
  std::vector<TensorType> inputs, outputs;
  double flops = 0, bytes = 0;
  uint64_t scratch = 0; ///< bytes for each thread
  CudaLaunch cuda = {}; ///< target cuda
  std::string_view kind = {};
  std::vector<FusedOp> fused = {};
};

/// A product and the bytes that each of its operands must have.
struct GemmInfo {
  GemmProblem problem;
  uint64_t lhsBytes = 0, rhsBytes = 0, outBytes = 0, vectorBytes = 0;
};

struct BufferRef {
  fb::BufferKind kind;
  uint32_t index;
  uint64_t offset, size;
};

struct Instruction {
  fb::Opcode opcode;
  uint32_t target;
  uint32_t firstOperand, numInputs, numOutputs;
  uint32_t location;
  uint64_t frame;
  std::optional<PipelinePass> pass = std::nullopt; ///< that the call is
  bool isLayer = false;                            ///< a call of a layer of the model, in a pass

  /// Devices do something together, here or from here on.
  bool isCollective() const {
    return opcode == fb::Opcode::collective || opcode == fb::Opcode::start;
  }
  bool isMessage() const { return opcode == fb::Opcode::send || opcode == fb::Opcode::recv; }
  /// The host computes what it writes.
  bool isOfHost() const {
    return opcode == fb::Opcode::scalars || opcode == fb::Opcode::device_index;
  }
};

inline int64_t KernelInfo::groupsOf(const Instruction &launch) const {
  return launch.numOutputs / int64_t(outputs.size());
}

/// A repeated call: every operand is big enough for its last call.
struct Loop {
  uint32_t block = 0;
  uint64_t count = 0;
  std::vector<uint64_t> strides; ///< bytes by which operands move on, inputs then outputs
  bool reverse = false;          ///< the last parts come first

  /// What call number `call` gets of the instruction's operands.
  void bind(uint64_t call, std::span<void *const> operands, std::span<void *> arguments) const {
    uint64_t part = reverse ? count - 1 - call : call;
    for (size_t i = 0; i < operands.size(); ++i)
      arguments[i] = static_cast<std::byte *>(operands[i]) + part * strides[i];
  }
};

/// Blocks of which one is called; see Artifact.fbs.
struct Branch {
  uint32_t onTrue = 0, onFalse = 0;
};
/// `body` is called as long as `condition` says so.
struct WhileLoop {
  uint32_t condition = 0, body = 0;
};

/// A block that an instruction calls, as often as it does or, of branches and of loops whose
/// number of calls the program computes, once.
struct BlockCall {
  uint32_t block = 0;
  uint64_t count = 1;
  uint64_t ownOperands = 0; ///< addresses that differ from call to call
};

struct Block {
  std::string_view name;
  uint32_t numInputs = 0;
  std::vector<uint64_t> arguments; ///< bytes, inputs then outputs
  uint64_t frameSize = 0;
  std::vector<BufferRef> operands; ///< of all instructions, one after the other
  std::vector<Instruction> instructions;
  /// Most operands of this block and those that it calls that are alive at a time; those
  /// of a repeated call twice: as they are, and as they are in one of the calls. So are those of
  /// a `while_loop`: as they are, and as its condition gets them.
  uint64_t nestedOperands = 0;

  /// Where its operands lie; `constantAt` tells it of a constant's number.
  template <typename ConstantAt>
  void bind(std::span<void *const> buffers, std::byte *frame, ConstantAt constantAt,
            std::span<void *> addresses) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      const BufferRef &buffer = operands[i];
      std::byte *base = frame;
      if (buffer.kind == fb::BufferKind::argument)
        base = static_cast<std::byte *>(buffers[buffer.index]);
      else if (buffer.kind == fb::BufferKind::constant) // never written: see above
        base = constantAt(buffer.index);
      addresses[i] = base + buffer.offset;
    }
  }
};

struct ParameterDecl {
  std::string_view name;
  TensorType type; ///< on one device
  int donatedTo = -1;
  int64_t indexBound = 0;
  std::vector<IndexCheck> indexChecks = {};
  /// Of the whole tensor, and how the mesh cuts it.
  TensorType global;
  PartitionSpec spec;

  bool liesAs(const ParameterDecl &other) const {
    return type == other.type && global == other.global && spec == other.spec;
  }
  bool isOn(int64_t stage) const {
    return spec.stages.empty() || std::ranges::find(spec.stages, stage) != spec.stages.end();
  }
};

/// From the devices of a stage to those of another: each to that with the same coordinates
/// along the other axes.
struct Message {
  uint32_t from = 0, to = 0;
  TensorType type;
};

/// A line, or one for each example of a `vmap`; see Artifact.fbs.
struct Print {
  std::vector<std::string_view> texts;
  std::vector<TensorType> types;
  uint32_t examples = 0; ///< dimensions of each tensor that go over the examples
  DeviceGroup group;     ///< of which the first device prints
};

struct Entry {
  std::string_view name;
  std::vector<uint32_t> blocks; ///< one for all devices, or one for each stage
  std::vector<ParameterDecl> inputs, outputs;
  bool donates = false;

  uint32_t blockOf(int64_t stage) const { return blocks[blocks.size() == 1 ? 0 : size_t(stage)]; }
};

struct MemoryItem {
  std::string_view tensor;
  uint64_t bytes = 0;
  uint32_t location = kNoLocation;
};
/// What an entry's peak of memory consists of.
struct MemoryReport {
  std::string_view entry;
  std::vector<MemoryItem> items;
  uint64_t total = 0;
};

/// Strings and blobs point into `image`.
struct Program {
  std::shared_ptr<const std::byte[]> image;
  std::string_view compiler, triple, metadata;
  fb::TargetKind target = fb::TargetKind::cpu;
  std::vector<std::string_view> features;
  std::span<const std::byte> code;     ///< cpu
  std::vector<Cubin> cubins;           ///< cuda
  std::span<const std::byte> emulated; ///< cuda; empty: the program is for GPUs only
  std::vector<std::span<const std::byte>> constants;
  std::vector<KernelInfo> kernels;
  std::vector<GemmInfo> gemms;
  std::vector<HostProgram> hostPrograms;
  std::vector<Loop> loops;
  std::vector<Branch> branches;
  std::vector<WhileLoop> whileLoops;
  std::vector<Block> blocks;
  std::vector<Entry> entries;
  std::vector<Location> locations;
  std::vector<MemoryReport> memory;
  std::vector<MemoryItem> recomputed; ///< by gradients, for want of memory
  Mesh mesh;                          ///< no axes: one device
  std::vector<DeviceGroup> groups;
  std::vector<CollectiveProblem> collectives;
  std::vector<Message> messages;
  std::vector<Print> prints;

  /// The blocks that an instruction calls: none, for most.
  std::vector<BlockCall> callsOf(const Instruction &instruction) const;
  int64_t stageOf(int64_t device) const { return mesh.coordinate(device, kStageAxis); }
  /// The device of a stage with the other coordinates of `device`.
  int64_t onStage(int64_t device, int64_t stage) const;
  /// Of the block that needs most.
  uint64_t frameSizeOf(const Entry &entry) const;
  /// All kernels with their code, which lies in `image`.
  DeviceCode deviceCode() const;
  const Entry *findEntry(std::string_view name) const;
  /// "models/lm.cpp:42", or "" if there is none.
  std::string placeOf(uint32_t location) const;
  /// The place, the place that it was called from, and so on; a line that calls
  /// itself stands once.
  std::vector<std::string> placesOf(uint32_t location) const;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_PROGRAM_H
