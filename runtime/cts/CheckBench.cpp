#include "runtime/cts/CheckBench.h"

#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/hal/Driver.h"

namespace minigptc::runtime {

StatusOr<std::unique_ptr<CheckBench>> CheckBench::open(const std::string &driver,
                                                       const std::string &program) {
  registerBuiltinDrivers();
  std::unique_ptr<CheckBench> bench(new CheckBench);
  if (!program.empty()) {
    StatusOr<std::vector<std::byte>> bytes = readFile(program);
    if (!bytes)
      return bytes.status();
    StatusOr<Program> read = readArtifact(*bytes);
    if (!read)
      return read.status();
    bench->program_ = std::move(*read);
  }
  StatusOr<std::unique_ptr<Device>> device = openDevice(driver, 0);
  if (!device)
    return device.status();
  bench->device_ = std::move(*device);
  bench->driver_ = findDriver(driver);
  if (!program.empty()) {
    StatusOr<std::unique_ptr<Executable>> code = bench->device_->load(bench->program_.deviceCode());
    if (!code)
      return code.status();
    bench->code_ = std::move(*code);
  }
  StatusOr<std::unique_ptr<Queue>> queue = bench->device_->createQueue();
  if (!queue)
    return queue.status();
  bench->queue_ = std::move(*queue);
  return bench;
}

StatusOr<uint32_t> CheckBench::kernel(std::string_view symbol) const {
  for (size_t i = 0; i < program_.kernels.size(); ++i)
    if (program_.kernels[i].symbol == symbol)
      return uint32_t(i);
  return Status(StatusCode::notFound, "the program has no kernel " + quote(symbol));
}

StatusOr<std::unique_ptr<Buffer>> CheckBench::putBytes(std::span<const std::byte> bytes) {
  StatusOr<std::unique_ptr<Buffer>> buffer = device_->allocate(bytes.size());
  if (buffer)
    MINIGPTC_RETURN_IF_ERROR(device_->upload((*buffer)->data(), bytes));
  return buffer;
}

} // namespace minigptc::runtime
