//===- Memory.h - aligned blocks of host memory -----------------*- C++ -*-===//
//
//   std::shared_ptr<std::byte[]> block = allocateAligned(bytes);   // null: too little memory
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_MEMORY_H
#define MINIGPTC_RUNTIME_BASE_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace minigptc::runtime {

/// At least one byte, aligned to 64, contents undefined; null if memory is short.
/// Blocks of 2 MiB and more are aligned to huge pages and ask for them: a train step
/// is some per cent faster on them.
std::shared_ptr<std::byte[]> allocateAligned(uint64_t bytes);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_MEMORY_H
