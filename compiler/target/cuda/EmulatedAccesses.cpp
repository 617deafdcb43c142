#include "compiler/target/cuda/EmulatedAccesses.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;

namespace {
/// One address that an instruction reads or writes.
struct Access {
  Instruction *instruction;
  Value *address, *bytes;
  uint32_t flags;
  uint64_t alignment;
  const char *what;
};

class Checks {
public:
  Checks(EmulatedKernel &kernel, std::string &error)
      : kernel(kernel), layout(kernel.module().getDataLayout()), error(error) {}

  bool run() {
    SmallVector<Instruction *> all;
    for (Instruction &instruction : instructions(kernel.function()))
      all.push_back(&instruction);
    for (Instruction *instruction : all)
      if (!collect(*instruction))
        return false;
    return all_of(accesses, [&](const Access &access) { return emit(access); });
  }

private:
  bool fail(const Twine &what) {
    error = what.str();
    return false;
  }
  Value *size(Type *type) {
    return ConstantInt::get(Type::getInt64Ty(kernel.context()), layout.getTypeStoreSize(type));
  }

  bool collect(Instruction &instruction) {
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      if (!kernel.isOwn(*load))
        add(*load, load->getPointerOperand(), size(load->getType()),
            abi::siteReads | (kernel.isReadOnly(*load) ? abi::siteConstant : 0) |
                (load->isAtomic() ? abi::siteAtomic : 0),
            load->getAlign(), "load");
    } else if (auto *store = dyn_cast<StoreInst>(&instruction)) {
      add(*store, store->getPointerOperand(), size(store->getValueOperand()->getType()),
          abi::siteWrites | (store->isAtomic() ? abi::siteAtomic : 0), store->getAlign(), "store");
    } else if (auto *update = dyn_cast<AtomicRMWInst>(&instruction)) {
      update->setSyncScopeID(SyncScope::System);
      add(*update, update->getPointerOperand(), size(update->getType()),
          abi::siteReads | abi::siteWrites | abi::siteAtomic, update->getAlign(),
          "atomic operation");
    } else if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      exchange->setSyncScopeID(SyncScope::System);
      add(*exchange, exchange->getPointerOperand(), size(exchange->getNewValOperand()->getType()),
          abi::siteReads | abi::siteWrites | abi::siteAtomic, exchange->getAlign(),
          "atomic operation");
    } else if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
      addMemory(*memory);
    } else if (auto *local = dyn_cast<AllocaInst>(&instruction)) {
      if (!local->isStaticAlloca())
        return fail("local memory of a size that is not known when compiling");
      localBytes += layout.getTypeAllocSize(local->getAllocatedType());
      if (localBytes > kMaxLocalBytes)
        return fail("more than " + Twine(kMaxLocalBytes) + " bytes of local memory");
    } else if (!isa<CallInst>(instruction) && instruction.mayReadOrWriteMemory() &&
               !isa<FenceInst>(instruction)) {
      return fail("the emulator does not know the instruction:" + Twine(textOf(instruction)));
    }
    return true;
  }

  void addMemory(MemIntrinsic &memory) {
    IRBuilder<> builder(&memory);
    Value *bytes = builder.CreateZExtOrTrunc(memory.getLength(), builder.getInt64Ty());
    add(memory, memory.getRawDest(), bytes, abi::siteWrites, memory.getDestAlign().valueOrOne(),
        isa<MemSetInst>(memory) ? "filling" : "copy");
    if (auto *transfer = dyn_cast<MemTransferInst>(&memory))
      add(memory, transfer->getRawSource(), bytes, abi::siteReads,
          transfer->getSourceAlign().valueOrOne(), "copy");
  }

  void add(Instruction &instruction, Value *address, Value *bytes, uint32_t flags, Align alignment,
           const char *what) {
    unsigned space = address->getType()->getPointerAddressSpace();
    if (space == 3)
      flags |= abi::siteShared;
    if (space == 1)
      flags |= abi::siteGlobal;
    accesses.push_back({&instruction, address, bytes, flags, alignment.value(), what});
  }

  /// The number of bytes of a variable that the address provably points into, or none.
  std::optional<uint64_t> objectSize(const Value *object) const {
    if (auto *local = dyn_cast<AllocaInst>(object))
      return layout.getTypeAllocSize(local->getAllocatedType());
    auto *global = dyn_cast<GlobalVariable>(object);
    if (global && global->isConstant() && global->hasDefinitiveInitializer())
      return layout.getTypeAllocSize(global->getValueType());
    return std::nullopt;
  }

  bool emit(const Access &access) {
    Value *object = getUnderlyingObject(access.address, /*MaxLookup=*/0);
    auto *bytes = dyn_cast<ConstantInt>(access.bytes);
    std::optional<uint64_t> limit = objectSize(object);
    auto *global = dyn_cast<GlobalVariable>(object);
    if (global && !limit && global->getAddressSpace() != 3)
      return fail("the emulator does not know variables in device memory, as '" +
                  global->getName() + "'");
    APInt offset(64, 0);
    if (limit && bytes &&
        access.address->stripAndAccumulateConstantOffsets(layout, offset, true) == object &&
        !offset.isNegative() && offset.getZExtValue() + bytes->getZExtValue() <= *limit)
      return true;
    IRBuilder<> builder(access.instruction);
    Type *plain = builder.getPtrTy();
    Value *address = builder.CreateAddrSpaceCast(access.address, plain);
    std::string what = access.what;
    if (bytes)
      what += " of " + std::to_string(bytes->getZExtValue()) + " bytes";
    Value *site = kernel.addSite(*access.instruction, what, access.flags, access.alignment,
                                 kernel.parameterOf(access.address));
    if (limit)
      kernel.call(builder, CallSlot::localAccess,
                  {builder.CreateAddrSpaceCast(object, plain), builder.getInt64(*limit), address,
                   access.bytes, site});
    else
      kernel.call(builder, CallSlot::access, {address, access.bytes, site});
    return true;
  }

  static constexpr uint64_t kMaxLocalBytes = 32 * 1024;
  EmulatedKernel &kernel;
  const DataLayout &layout;
  std::string &error;
  SmallVector<Access> accesses;
  uint64_t localBytes = 0;
};
} // namespace

std::string minigptc::cuda::emulation::textOf(const Instruction &instruction) {
  std::string text;
  raw_string_ostream stream(text);
  instruction.print(stream);
  return text;
}

bool minigptc::cuda::emulation::checkAccesses(EmulatedKernel &kernel, std::string &error) {
  return Checks(kernel, error).run();
}
