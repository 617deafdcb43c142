//===- SharedObject.h - machine code from memory ----------------*- C++ -*-===//
//
//   StatusOr<SharedObject> object = SharedObject::load(elfBytes);
//   auto add = reinterpret_cast<int (*)(int, int)>(object->find("add"));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_SHAREDOBJECT_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_SHAREDOBJECT_H

#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace minigptc::runtime {

/// An ELF shared object, loaded without touching the disk and unloaded with this
/// object. Movable.
class SharedObject {
public:
  /// Checks the form (`checkElf`), then loads. The bytes are copied.
  static StatusOr<SharedObject> load(std::span<const std::byte> elf);
  SharedObject(SharedObject &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedObject &operator=(SharedObject &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedObject();

  /// Null if there is no such symbol.
  void *find(const std::string &symbol) const;

private:
  explicit SharedObject(void *handle) : handle_(handle) {}
  void *handle_;
};

/// An ELF shared object of this machine's kind whose tables lie within the bytes.
Status checkElf(std::span<const std::byte> elf);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_SHAREDOBJECT_H
