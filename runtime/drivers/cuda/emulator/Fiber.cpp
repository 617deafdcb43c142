#include "runtime/drivers/cuda/emulator/Fiber.h"

#include <sys/mman.h>

#if defined(__x86_64__)
// Saves what a function must keep, on the old stack, and takes it from the new one. A fresh
// stack looks as if it had been left in the same way, with the body in %r12 and its argument
// in %r13.
asm(R"(
.text
.hidden minigptc_switch_stack
.globl minigptc_switch_stack
.type minigptc_switch_stack,@function
minigptc_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size minigptc_switch_stack, .-minigptc_switch_stack

.hidden minigptc_start_fiber
.globl minigptc_start_fiber
.type minigptc_start_fiber,@function
minigptc_start_fiber:
  movq %r13, %rdi
  callq *%r12
  ud2
.size minigptc_start_fiber, .-minigptc_start_fiber
)");
extern "C" void minigptc_switch_stack(void **save, void *next);
extern "C" void minigptc_start_fiber();
#else
static void minigptc_switch_stack(void **, void *) { __builtin_trap(); }
static void minigptc_start_fiber() { __builtin_trap(); }
#endif

namespace minigptc::runtime::emulator {

static constexpr size_t kGuardBytes = 4096;

Fiber::Fiber(void (*body)(void *), void *argument, uint32_t color) {
  void *mapping = mmap(nullptr, kGuardBytes + stackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return;
  memory = mapping;
  mprotect(memory, kGuardBytes, PROT_NONE); // a stack that is too small ends the process here
  low = reinterpret_cast<uintptr_t>(memory) + kGuardBytes;
  auto *top = reinterpret_cast<void **>(low + stackBytes - 64 - color % 12 * 320);
  *--top = nullptr; // start_fiber calls, and so begins at a multiple of 16
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(minigptc_start_fiber);
  *--top = nullptr;                        // rbp
  *--top = nullptr;                        // rbx
  *--top = reinterpret_cast<void *>(body); // r12
  *--top = argument;                       // r13
  *--top = nullptr;                        // r14
  *--top = nullptr;                        // r15
  stackPointer = top;
}

Fiber::~Fiber() {
  if (memory)
    munmap(memory, kGuardBytes + stackBytes);
}

MINIGPTC_ON_FIBER void switchFibers(Fiber &from, Fiber &to) {
  minigptc_switch_stack(&from.stackPointer, to.stackPointer);
}

} // namespace minigptc::runtime::emulator
