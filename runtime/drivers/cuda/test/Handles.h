//===- Handles.h - objects behind opaque handles ----------------*- C++ -*-===//
//
// Handles are numbers that are no addresses and never come again, so that a wrong one is told
// from one that was given back.
//
//   HandleTable<Stream, StreamState> streams;
//   Stream handle = streams.add(std::make_shared<StreamState>());
//   std::shared_ptr<StreamState> state = streams.find(handle);   // null: not there
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_HANDLES_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_HANDLES_H

#include <cstdint>
#include <map>
#include <memory>

namespace minigptc::runtime::cuda::test {

/// The next handle's value, of this process.
uintptr_t nextHandle();

template <typename Handle, typename Object> class HandleTable {
public:
  Handle add(std::shared_ptr<Object> object) {
    uintptr_t value = nextHandle();
    objects[value] = std::move(object);
    return reinterpret_cast<Handle>(value);
  }
  std::shared_ptr<Object> find(Handle handle) const {
    auto found = objects.find(reinterpret_cast<uintptr_t>(handle));
    return found == objects.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { objects.erase(reinterpret_cast<uintptr_t>(handle)); }
  const std::map<uintptr_t, std::shared_ptr<Object>> &all() const { return objects; }

private:
  std::map<uintptr_t, std::shared_ptr<Object>> objects;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_HANDLES_H
