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
  SharedObject(SharedObject &&other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), descriptor_(other.descriptor_) {}
  SharedObject &operator=(SharedObject &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~SharedObject();

  /// Null if there is no such symbol.
  void *find(const std::string &symbol) const;

private:
  SharedObject(void *handle, int descriptor) : handle_(handle), descriptor_(descriptor) {}
  void *handle_;
  /// Open as long as the object is loaded: the loader knows objects by name, and
  /// would take the next one at this number for this one.
  int descriptor_;
};

/// An ELF shared object of this machine's kind whose tables lie within the bytes.
Status checkElf(std::span<const std::byte> elf);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_SHAREDOBJECT_H
