#include "compiler/target/cuda/EmulatedKernel.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace minigptc::cuda::emulation;

/// Variables in shared memory lie apart, so that an access beyond one is seen.
static constexpr uint64_t kSharedGap = 16;

static Type *word(LLVMContext &context) { return Type::getInt32Ty(context); }
static PointerType *pointer(LLVMContext &context) { return PointerType::get(context, 0); }

static Constant *number(Type *type, uint64_t value) { return ConstantInt::get(type, value); }

Constant *StringPool::get(StringRef text) {
  Constant *&entry = strings[text];
  if (!entry) {
    Constant *bytes = ConstantDataArray::getString(module.getContext(), text);
    auto *global = new GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                      GlobalValue::PrivateLinkage, bytes, "text");
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    entry = global;
  }
  return entry;
}

/// A load of the emulator's own that gives the same value everywhere.
Value *EmulatedKernel::invariant(LoadInst *load) {
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(load->getContext(), {}));
  own.insert(load);
  return load;
}

EmulatedKernel::EmulatedKernel(Function &kernel) : kernelName(kernel.getName()) {
  for (StringRef attribute : {"nvvm.maxntid", "nvvm.reqntid"}) {
    StringRef text = kernel.getFnAttribute(attribute).getValueAsString();
    uint64_t threads = text.empty() ? 0 : 1;
    for (StringRef rest = text; !rest.empty();) {
      auto [first, others] = rest.split(',');
      uint64_t size = 0;
      if (!first.trim().getAsInteger(10, size))
        threads *= size;
      rest = others;
    }
    if (threads)
      maxThreads = uint32_t(threads);
  }
  kernel.setName("");
  moveBody(kernel);
}

void EmulatedKernel::moveBody(Function &kernel) {
  LLVMContext &ctx = kernel.getContext();
  const DataLayout &layout = kernel.getParent()->getDataLayout();
  auto *type = FunctionType::get(Type::getVoidTy(ctx), {pointer(ctx), pointer(ctx)}, false);
  body = Function::Create(type, GlobalValue::InternalLinkage, kernelName + ".thread",
                          kernel.getParent());
  body->setSubprogram(kernel.getSubprogram());
  kernel.setSubprogram(nullptr);
  body->splice(body->begin(), &kernel);
  body->setDoesNotThrow();
  IRBuilder<> builder(&body->getEntryBlock(), body->getEntryBlock().begin());
  for (Argument &argument : kernel.args()) {
    Value *slot =
        builder.CreateConstInBoundsGEP1_64(pointer(ctx), body->getArg(1), argument.getArgNo());
    LoadInst *address = builder.CreateLoad(pointer(ctx), slot);
    Type *copied = argument.getParamByValType();
    // A value behind a pointer stays where the launch has it.
    LoadInst *value = copied ? address : builder.CreateLoad(argument.getType(), address);
    own.insert(address);
    own.insert(value);
    bool isPointer = argument.getType()->isPointerTy() && !copied;
    uint64_t bytes = layout.getTypeAllocSize(copied ? copied : argument.getType());
    bool readOnly = argument.hasNoAliasAttr() && argument.onlyReadsMemory();
    parameters.push_back({uint32_t(bytes), isPointer, readOnly, value});
    value->takeName(&argument);
    argument.replaceAllUsesWith(value);
  }
}

ConstantInt *EmulatedKernel::addSite(const Instruction &instruction, const Twine &what,
                                     uint32_t flags, uint64_t alignment, int32_t parameter) {
  SiteText site{what.str(), "", 0, flags, alignment, parameter};
  if (const DILocation *location = instruction.getDebugLoc()) {
    site.file = location->getFilename();
    site.line = location->getLine();
  }
  sites.push_back(std::move(site));
  return ConstantInt::get(Type::getInt32Ty(context()), sites.size() - 1);
}

static FunctionType *typeOf(CallSlot slot, LLVMContext &context) {
  Type *none = Type::getVoidTy(context), *i32 = word(context), *real = Type::getFloatTy(context);
  Type *address = pointer(context), *size = Type::getInt64Ty(context);
  auto of = [](Type *result, ArrayRef<Type *> operands) {
    return FunctionType::get(result, operands, false);
  };
  switch (slot) {
  case CallSlot::access: return of(none, {address, address, size, i32});
  case CallSlot::localAccess: return of(none, {address, address, size, address, size, i32});
  case CallSlot::barrier:
  case CallSlot::trap:
  case CallSlot::endless: return of(none, {address, i32});
  case CallSlot::warp: return of(none, {address, i32, i32, address, address, i32});
  case CallSlot::activeMask: return of(i32, {address});
  case CallSlot::copyAsync: return of(none, {address, address, address, i32, i32, i32});
  case CallSlot::commitCopies: return of(none, {address});
  case CallSlot::waitForCopies: return of(none, {address, i32, i32, i32});
  case CallSlot::unary: return of(real, {i32, real});
  case CallSlot::binary: return of(real, {i32, real, real});
  case CallSlot::ternary:
  case CallSlot::count: break;
  }
  return of(real, {i32, real, real, real});
}

static bool takesThread(CallSlot slot) { return slot < CallSlot::unary; }

CallInst *EmulatedKernel::call(IRBuilder<> &builder, CallSlot slot, ArrayRef<Value *> operands) {
  Value *&target = slots[unsigned(slot)];
  if (!target) {
    IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().begin());
    Value *table = invariant(entry.CreateLoad(pointer(context()), thread()));
    Value *place = entry.CreateConstInBoundsGEP1_64(pointer(context()), table, unsigned(slot));
    target = invariant(entry.CreateLoad(pointer(context()), place));
  }
  SmallVector<Value *> all;
  if (takesThread(slot))
    all.push_back(thread());
  append_range(all, operands);
  CallInst *result = builder.CreateCall(typeOf(slot, context()), target, all);
  result->setDoesNotThrow();
  return result;
}

Value *EmulatedKernel::threadWord(IRBuilder<> &builder, size_t offset) {
  Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread(), offset);
  return invariant(builder.CreateLoad(builder.getInt32Ty(), place));
}

Value *EmulatedKernel::words(bool results) {
  Value *&array = results ? out : in;
  if (!array) {
    IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().begin());
    array = entry.CreateAlloca(ArrayType::get(word(context()), 16));
  }
  return array;
}

int32_t EmulatedKernel::parameterOf(const Value *address) const {
  const Value *object = getUnderlyingObject(address, /*MaxLookup=*/0);
  for (auto [i, parameter] : llvm::enumerate(parameters))
    if (parameter.isPointer && parameter.value == object)
      return int32_t(i);
  return -1;
}

bool EmulatedKernel::isReadOnly(const LoadInst &load) const {
  if (load.hasMetadata(LLVMContext::MD_invariant_load))
    return true;
  int32_t parameter = parameterOf(load.getPointerOperand());
  return parameter >= 0 && parameters[size_t(parameter)].readOnly && load.isSimple();
}

Value *EmulatedKernel::sharedBase() {
  if (!base) {
    IRBuilder<> entry(&body->getEntryBlock(), body->getEntryBlock().begin());
    Value *place = entry.CreateConstInBoundsGEP1_64(entry.getInt8Ty(), thread(),
                                                    offsetof(abi::ThreadState, shared));
    base = invariant(entry.CreateLoad(PointerType::get(context(), 3), place));
  }
  return base;
}

void EmulatedKernel::placeShared() {
  const DataLayout &layout = module().getDataLayout();
  SmallVector<GlobalVariable *> fixed, dynamic;
  SmallVector<Constant *> shared; // uses in constants are made instructions
  for (GlobalVariable &global : module().globals())
    if (global.getAddressSpace() == 3)
      shared.push_back(&global);
  convertUsersOfConstantsToInstructions(shared);
  for (Constant *global : shared)
    global->removeDeadConstantUsers();
  for (GlobalVariable &global : module().globals()) {
    bool used = any_of(global.users(), [&](User *user) {
      auto *instruction = dyn_cast<Instruction>(user);
      return instruction && instruction->getFunction() == body;
    });
    if (global.getAddressSpace() == 3 && used)
      (layout.getTypeAllocSize(global.getValueType()) == 0 ? dynamic : fixed).push_back(&global);
  }
  uint64_t end = kSharedGap;
  auto place = [&](GlobalVariable *global, bool isDynamic) {
    uint64_t align =
        layout.getValueOrABITypeAlignment(global->getAlign(), global->getValueType()).value();
    uint64_t bytes = layout.getTypeAllocSize(global->getValueType());
    if (!isDynamic)
      sharedBytes = alignTo(sharedBytes, align) + bytes;
    // No more aligned than it asks for, so that wider accesses are seen to be wrong.
    uint64_t offset = alignTo(end, align);
    if (align < 16 && offset % (2 * align) == 0)
      offset += align;
    variables.push_back({std::string(global->getName()), offset, bytes});
    IRBuilder<> entry(&*std::next(cast<Instruction>(sharedBase())->getIterator()));
    Value *address = entry.CreateConstInBoundsGEP1_64(entry.getInt8Ty(), sharedBase(), offset);
    global->replaceUsesWithIf(
        address, [&](Use &use) { return cast<Instruction>(use.getUser())->getFunction() == body; });
    return offset + bytes;
  };
  for (GlobalVariable *global : fixed)
    end = place(global, false) + kSharedGap;
  for (GlobalVariable *global : dynamic) // all at the end, at one place
    place(global, true);
}

Constant *EmulatedKernel::table(ArrayRef<Constant *> rows, StructType *type) {
  auto *array = ConstantArray::get(ArrayType::get(type, rows.size()), rows);
  return new GlobalVariable(module(), array->getType(), /*isConstant=*/true,
                            GlobalValue::PrivateLinkage, array, "table");
}

Constant *EmulatedKernel::sitesTable(StringPool &strings) {
  Type *i32 = word(context());
  auto *type =
      StructType::get(context(), {pointer(context()), pointer(context()), i32, i32, i32, i32});
  SmallVector<Constant *> rows;
  for (const SiteText &site : sites)
    rows.push_back(ConstantStruct::get(type, {strings.get(site.what), strings.get(site.file),
                                              number(i32, site.line), number(i32, site.flags),
                                              number(i32, site.alignment),
                                              ConstantInt::getSigned(i32, site.parameter)}));
  return table(rows, type);
}

Constant *EmulatedKernel::sharedTable(StringPool &strings) {
  Type *i64 = Type::getInt64Ty(context());
  auto *type = StructType::get(context(), {pointer(context()), i64, i64});
  SmallVector<Constant *> rows;
  for (const Variable &variable : variables)
    rows.push_back(
        ConstantStruct::get(type, {strings.get(variable.name), number(i64, variable.offset),
                                   number(i64, variable.bytes)}));
  return table(rows, type);
}

Constant *EmulatedKernel::parametersTable() {
  Type *i32 = word(context());
  auto *type = StructType::get(context(), {i32, i32});
  SmallVector<Constant *> rows;
  for (const Parameter &parameter : parameters)
    rows.push_back(ConstantStruct::get(
        type, {number(i32, parameter.bytes), number(i32, parameter.isPointer)}));
  return table(rows, type);
}

void EmulatedKernel::writeRecord(StringPool &strings) {
  Type *i32 = word(context());
  Constant *fields[] = {number(i32, abi::abiVersion),
                        number(i32, maxThreads),
                        strings.get(kernelName),
                        body,
                        number(Type::getInt64Ty(context()), sharedBytes),
                        sitesTable(strings),
                        sharedTable(strings),
                        parametersTable(),
                        number(i32, sites.size()),
                        number(i32, variables.size()),
                        number(i32, parameters.size()),
                        number(i32, 0)};
  auto *record = ConstantStruct::getAnon(fields);
  new GlobalVariable(module(), record->getType(), /*isConstant=*/true, GlobalValue::ExternalLinkage,
                     record, abi::kernelSymbolPrefix + kernelName);
}
