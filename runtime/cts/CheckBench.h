//===- CheckBench.h - the device that checks work on ------------*- C++ -*-===//
//
//   StatusOr<std::unique_ptr<CheckBench>> bench = CheckBench::open("cuda", "kernels.mgx");
//   StatusOr<std::unique_ptr<Buffer>> a = (*bench)->put(std::vector<float>{1, 2, 3});
//   StatusOr<std::vector<float>> values = (*bench)->get<float>(**a);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_CHECKBENCH_H
#define MINIGPTC_RUNTIME_CTS_CHECKBENCH_H

#include "runtime/cts/Checks.h"
#include "runtime/exec/Program.h"
#include "runtime/hal/Driver.h"

#include <memory>
#include <span>
#include <vector>

namespace minigptc::runtime {

/// Returns from the enclosing function if `expr`, a StatusOr, failed; else declares `name`.
#define MINIGPTC_CTS_LET(name, expr)                                                               \
  auto name##Or = (expr);                                                                          \
  if (!name##Or)                                                                                   \
    return name##Or.status();                                                                      \
  auto &name = *name##Or
/// Returns a failure with this text from the enclosing function unless `condition` holds.
#define MINIGPTC_CTS_EXPECT(condition, text)                                                       \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return failed(text);                                                                         \
  } while (false)

/// Device 0 of a driver, a queue, and the kernels of a program, loaded.
class CheckBench {
public:
  /// `program`: a path; empty: no kernels.
  static StatusOr<std::unique_ptr<CheckBench>> open(const std::string &driver,
                                                    const std::string &program);

  const Driver &driver() const { return *driver_; }
  Device &device() { return *device_; }
  Queue &queue() { return *queue_; }
  /// Those below only with a program.
  const Program &program() const { return program_; }
  const Executable &code() const { return *code_; }
  /// notFound if the program has no such kernel.
  StatusOr<uint32_t> kernel(std::string_view symbol) const;

  template <typename T> StatusOr<std::unique_ptr<Buffer>> put(const std::vector<T> &values) {
    return putBytes(std::as_bytes(std::span(values)));
  }
  template <typename T> StatusOr<std::vector<T>> get(Buffer &buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    MINIGPTC_RETURN_IF_ERROR(
        device_->download(std::as_writable_bytes(std::span(values)), buffer.data()));
    return values;
  }

private:
  CheckBench() = default;
  StatusOr<std::unique_ptr<Buffer>> putBytes(std::span<const std::byte> bytes);

  Program program_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executable> code_;
  std::unique_ptr<Queue> queue_;
  const Driver *driver_ = nullptr;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_CHECKBENCH_H
