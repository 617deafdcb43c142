#include "runtime/drivers/cuda/test/Pinned.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace minigptc::runtime::cuda::test {
namespace {

/// What the signal handler knows of a block: it may take no lock.
struct Slot {
  std::atomic<uintptr_t> begin{0}, end{0}, fault{0};
  std::atomic<bool> write{false};
};
std::array<Slot, 1024> slots;
struct sigaction previous;

/// Whether the processor says that the access was a write; if unknown, it was.
bool wasWrite(const void *context) {
#if defined(__x86_64__)
  return static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  (void)context;
  return true;
#endif
}

void onFault(int, siginfo_t *info, void *context) {
  uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Slot &slot : slots) {
    uintptr_t begin = slot.begin, end = slot.end;
    if (address < begin || address >= end)
      continue;
    if (mprotect(reinterpret_cast<void *>(begin), end - begin, PROT_READ | PROT_WRITE))
      break;
    slot.write = wasWrite(context);
    slot.fault = address;
    return;
  }
  sigaction(SIGSEGV, &previous, nullptr); // Not ours: the access happens again.
}

uint64_t pageSize() { return uint64_t(sysconf(_SC_PAGESIZE)); }

} // namespace

PinnedMemory::PinnedMemory() {
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &previous);
}

PinnedMemory::~PinnedMemory() {
  while (!blocks.empty())
    free(*blocks.begin()->second);
  struct sigaction now = {};
  sigaction(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == onFault)
    sigaction(SIGSEGV, &previous, nullptr);
}

std::shared_ptr<PinnedBlock> PinnedMemory::allocate(uint64_t bytes) {
  uint64_t mapped = (bytes + pageSize() - 1) / pageSize() * pageSize();
  int file = memfd_create("emulated-pinned-memory", MFD_CLOEXEC);
  if (file < 0)
    return nullptr;
  void *user = MAP_FAILED, *alias = MAP_FAILED;
  if (ftruncate(file, off_t(mapped)) == 0) {
    user = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    alias = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (user == MAP_FAILED || alias == MAP_FAILED) {
    if (user != MAP_FAILED)
      munmap(user, mapped);
    return nullptr;
  }
  auto block = std::make_shared<PinnedBlock>();
  block->user = static_cast<std::byte *>(user);
  block->alias = static_cast<std::byte *>(alias);
  block->bytes = bytes;
  block->mapped = mapped;
  block->name =
      "pinned host memory " + std::to_string(++made) + " (" + std::to_string(bytes) + " bytes)";
  uintptr_t begin = reinterpret_cast<uintptr_t>(user);
  block->log = AccessLog(begin, bytes);
  for (size_t i = 0; i < slots.size() && block->slot < 0; ++i) {
    uintptr_t unused = 0;
    if (slots[i].begin.compare_exchange_strong(unused, begin)) {
      slots[i].fault = 0;
      slots[i].end = begin + mapped;
      block->slot = int(i);
    }
  }
  blocks[begin] = block;
  return block;
}

std::shared_ptr<PinnedBlock> PinnedMemory::find(const void *pointer, uint64_t bytes) const {
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  const auto &block = std::prev(next)->second;
  uint64_t offset = address - std::prev(next)->first;
  return offset <= block->bytes && bytes <= block->bytes - offset ? block : nullptr;
}

void PinnedMemory::free(const PinnedBlock &block) {
  std::erase_if(uses, [&](const Pending &copy) { return copy.use().block.get() == &block; });
  if (block.slot >= 0) {
    slots[size_t(block.slot)].end = 0;
    slots[size_t(block.slot)].begin = 0;
  }
  munmap(block.user, block.mapped);
  munmap(block.alias, block.mapped);
  blocks.erase(reinterpret_cast<uintptr_t>(block.user));
}

void PinnedMemory::protect(const PinnedBlock &block) {
  if (block.slot < 0)
    return;
  mprotect(block.user, block.mapped, PROT_READ | PROT_WRITE);
  auto apply = [&](const PinnedUse &use, int protection) {
    uint64_t first = use.offset / pageSize() * pageSize();
    mprotect(block.user + first, use.offset + use.bytes - first, protection);
  };
  for (bool target : {false, true}) // Nothing at all is stronger than reading only.
    for (const Pending &copy : uses)
      if (const PinnedUse &use = copy.use();
          use.block.get() == &block && use.isTarget == target && use.bytes)
        apply(use, target ? PROT_NONE : PROT_READ);
}

void PinnedMemory::begin(const std::shared_ptr<Operation> &operation) {
  const PinnedUse &use = *operation->work->pinned;
  Pending copy{operation, {}};
  if (!use.isTarget)
    copy.source.assign(use.data(), use.data() + use.bytes);
  uses.push_back(std::move(copy));
  protect(*use.block);
}

void PinnedMemory::written(const PinnedUse &target) {
  for (Pending &copy : uses) {
    const PinnedUse &use = copy.use();
    if (copy.source.empty() || use.block != target.block)
      continue;
    uint64_t first = std::max(use.offset, target.offset);
    uint64_t last = std::min(use.offset + use.bytes, target.offset + target.bytes);
    if (first < last)
      std::copy_n(use.block->alias + first, last - first,
                  copy.source.begin() + ptrdiff_t(first - use.offset));
  }
}

void PinnedMemory::settle(const VectorClock &host, const Report &report) {
  std::vector<std::shared_ptr<PinnedBlock>> changed;
  std::erase_if(uses, [&](const Pending &copy) {
    if (!copy.operation->isBefore(host))
      return false;
    if (!std::equal(copy.source.begin(), copy.source.end(), copy.use().data()))
      report(*copy.operation, /*write=*/true);
    changed.push_back(copy.use().block);
    return true;
  });
  for (const auto &block : changed)
    protect(*block);
}

void PinnedMemory::collectFaults(const Report &report) {
  for (const auto &[begin, block] : blocks) {
    uintptr_t fault = block->slot < 0 ? 0 : slots[size_t(block->slot)].fault.exchange(0);
    if (!fault)
      continue;
    bool write = slots[size_t(block->slot)].write;
    for (const Pending &copy : uses) {
      const PinnedUse &use = copy.use();
      uintptr_t first = begin + use.offset;
      if (use.block == block && fault >= first && fault < first + use.bytes &&
          (write || use.isTarget))
        report(*copy.operation, write);
    }
    protect(*block); // for the next access, perhaps of other bytes
  }
}

} // namespace minigptc::runtime::cuda::test
