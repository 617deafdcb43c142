#include "runtime/hal/Communicator.h"

#include <cstring>

namespace minigptc::runtime {

Communicator::~Communicator() = default;

namespace {

class SelfCommunicator final : public Communicator {
public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Status allReduce(void *target, const void *source, int64_t count, DType dtype,
                   ReduceKind) override {
    return copy(target, source, count, dtype);
  }
  Status allGather(void *target, const void *source, int64_t count, DType dtype) override {
    return copy(target, source, count, dtype);
  }
  Status reduceScatter(void *target, const void *source, int64_t count, DType dtype,
                       ReduceKind) override {
    return copy(target, source, count, dtype);
  }
  Status allToAll(void *target, const void *source, int64_t count, DType dtype) override {
    return copy(target, source, count, dtype);
  }
  Status barrier() override { return {}; }

private:
  static Status copy(void *target, const void *source, int64_t count, DType dtype) {
    if (count < 0)
      return Status(StatusCode::invalidArgument, "a collective of a negative number of elements");
    if (target != source && count)
      std::memcpy(target, source, uint64_t(count) * sizeOf(dtype));
    return {};
  }
};

} // namespace

std::unique_ptr<Communicator> createSelfCommunicator() {
  return std::make_unique<SelfCommunicator>();
}

} // namespace minigptc::runtime
