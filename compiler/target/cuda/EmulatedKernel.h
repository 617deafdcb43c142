//===- EmulatedKernel.h - a kernel on its way to the emulator ---*- C++ -*-===//
//
// A kernel's code is moved to a function `void (ptr thread, ptr parameters)`; this keeps what
// belongs to that function while its instructions are rewritten: its sites, the functions of
// the emulator it calls, its shared variables.
//
//   EmulatedKernel kernel(oldFunction, constants);
//   Value *call = kernel.call(builder, CallSlot::barrier, {kernel.thread(), site});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDKERNEL_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDKERNEL_H

#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace minigptc::cuda::emulation {

namespace abi = ::minigptc::runtime::emulator;

/// Functions of `abi::Calls`, by their place in it.
enum class CallSlot : unsigned {
  access,
  localAccess,
  barrier,
  warp,
  activeMask,
  copyAsync,
  commitCopies,
  waitForCopies,
  trap,
  endless,
  unary,
  binary,
  ternary,
  count
};

/// Strings of a module, each once.
class StringPool {
public:
  explicit StringPool(llvm::Module &module) : module(module) {}
  llvm::Constant *get(llvm::StringRef text);

private:
  llvm::Module &module;
  llvm::StringMap<llvm::Constant *> strings;
};

class EmulatedKernel {
public:
  /// Moves the code of `kernel` into a new function; `kernel` is empty then.
  explicit EmulatedKernel(llvm::Function &kernel);

  llvm::Function &function() { return *body; }
  llvm::Module &module() { return *body->getParent(); }
  llvm::LLVMContext &context() { return body->getContext(); }
  const std::string &name() const { return kernelName; }
  llvm::Value *thread() { return body->getArg(0); }

  /// A new site for the instruction.
  llvm::ConstantInt *addSite(const llvm::Instruction &instruction, const llvm::Twine &what,
                             uint32_t flags, uint64_t alignment = 1, int32_t parameter = -1);
  /// A call of the emulator; a `ThreadState` is put before the operands, but for scalar
  /// functions.
  llvm::CallInst *call(llvm::IRBuilder<> &builder, CallSlot slot,
                       llvm::ArrayRef<llvm::Value *> operands);
  /// A word of the `ThreadState`, by its offset there.
  llvm::Value *threadWord(llvm::IRBuilder<> &builder, size_t offset);
  /// Words that pass operands and results of warp operations.
  llvm::Value *words(bool results);
  /// Which pointer parameter the address comes from, or -1.
  int32_t parameterOf(const llvm::Value *address) const;
  /// A load by which the emulated function gets at its parameters and at the emulator.
  bool isOwn(const llvm::Instruction &instruction) const { return own.contains(&instruction); }
  /// Whether NVPTX reads the address through the cache of constants.
  bool isReadOnly(const llvm::LoadInst &load) const;

  /// Gives shared variables their places.
  void placeShared();
  /// Exports the kernel's record.
  void writeRecord(StringPool &strings);

private:
  struct SiteText {
    std::string what, file;
    uint32_t line, flags;
    uint64_t alignment;
    int32_t parameter;
  };
  struct Parameter {
    uint32_t bytes;
    bool isPointer, readOnly;
    const llvm::Value *value;
  };
  struct Variable {
    std::string name;
    uint64_t offset, bytes;
  };

  void moveBody(llvm::Function &kernel);
  llvm::Value *invariant(llvm::LoadInst *load);
  llvm::Value *sharedBase();
  llvm::Constant *sitesTable(StringPool &strings);
  llvm::Constant *sharedTable(StringPool &strings);
  llvm::Constant *parametersTable();
  llvm::Constant *table(llvm::ArrayRef<llvm::Constant *> rows, llvm::StructType *type);

  std::string kernelName;
  llvm::Function *body = nullptr;
  uint32_t maxThreads = 0;
  std::vector<SiteText> sites;
  std::vector<Parameter> parameters;
  std::vector<Variable> variables;
  uint64_t sharedBytes = 0;
  llvm::SmallPtrSet<const llvm::Instruction *, 16> own;
  llvm::DenseMap<unsigned, llvm::Value *> slots;
  llvm::Value *base = nullptr, *in = nullptr, *out = nullptr;
};

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDKERNEL_H
