// Buffers, transfers between host and device, copies within it, and memory that is short.
#include "runtime/base/File.h"
#include "runtime/cts/CheckBench.h"
#include "runtime/cts/Conformance.h"

#include <cstring>
#include <numeric>

namespace minigptc::runtime {
namespace {

std::vector<float> numbers(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

CheckOutcome sizesAndAlignment(CheckBench &bench) {
  for (uint64_t bytes :
       {uint64_t(0), uint64_t(1), uint64_t(63), uint64_t(4000), uint64_t(9) << 20}) {
    MINIGPTC_CTS_LET(buffer, bench.device().allocate(bytes));
    MINIGPTC_CTS_EXPECT(buffer->size() == bytes, "a buffer has another size than was asked for");
    MINIGPTC_CTS_EXPECT(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0,
                        "a buffer is not aligned to 64 bytes");
  }
  return passed();
}

CheckOutcome transfers(CheckBench &bench) {
  // Odd sizes; more than the blocks that a driver may copy by; not at the buffer's begin.
  for (size_t count : {size_t(1), size_t(1000), (size_t(9) << 18) + 7}) {
    MINIGPTC_CTS_LET(buffer, bench.put(numbers(count)));
    MINIGPTC_CTS_LET(values, bench.get<float>(*buffer));
    MINIGPTC_CTS_EXPECT(values == numbers(count), "what comes back is not what was put in");
    if (count < 100)
      continue;
    std::vector<float> part = numbers(50, -7);
    MINIGPTC_RETURN_IF_ERROR(
        bench.device().upload(buffer->data() + 4 * 33, std::as_bytes(std::span(part))));
    MINIGPTC_CTS_LET(again, bench.get<float>(*buffer));
    std::vector<float> expected = numbers(count);
    std::copy(part.begin(), part.end(), expected.begin() + 33);
    MINIGPTC_CTS_EXPECT(again == expected, "an upload into the middle went elsewhere");
  }
  return passed();
}

CheckOutcome staging(CheckBench &bench) {
  constexpr size_t count = 5000;
  MINIGPTC_CTS_LET(in, bench.device().allocateStaging(count * 4));
  MINIGPTC_CTS_LET(out, bench.device().allocateStaging(count * 4));
  MINIGPTC_CTS_LET(buffer, bench.device().allocate(count * 4));
  std::vector<float> values = numbers(count, 3);
  std::memcpy(in->data(), values.data(), count * 4);
  Queue &queue = bench.queue();
  MINIGPTC_RETURN_IF_ERROR(queue.write(buffer->data(), in->data(), count * 4));
  MINIGPTC_RETURN_IF_ERROR(queue.read(out->data(), buffer->data(), count * 4));
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  MINIGPTC_CTS_EXPECT(std::memcmp(out->data(), values.data(), count * 4) == 0,
                      "what went through page-locked memory came back changed");
  return passed();
}

CheckOutcome copies(CheckBench &bench) {
  constexpr size_t count = 1 << 20;
  MINIGPTC_CTS_LET(a, bench.put(numbers(count)));
  MINIGPTC_CTS_LET(b, bench.put(std::vector<float>(count)));
  Queue &queue = bench.queue();
  MINIGPTC_RETURN_IF_ERROR(queue.copy(b->data(), a->data(), count * 4));
  MINIGPTC_RETURN_IF_ERROR(queue.copy(b->data(), b->data(), count * 4));
  MINIGPTC_RETURN_IF_ERROR(queue.copy(nullptr, nullptr, 0));
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*b));
  MINIGPTC_CTS_EXPECT(values == numbers(count), "a copy differs");
  return passed();
}

/// By `shift` elements, up or down.
CheckOutcome overlapping(CheckBench &bench, int shift) {
  constexpr size_t count = 300'001;
  size_t from = shift < 0 ? size_t(-shift) : 0, to = shift < 0 ? 0 : size_t(shift);
  size_t moved = count - from - to;
  MINIGPTC_CTS_LET(a, bench.put(numbers(count)));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().copy(a->data() + 4 * to, a->data() + 4 * from, moved * 4));
  MINIGPTC_RETURN_IF_ERROR(bench.queue().synchronize());
  MINIGPTC_CTS_LET(values, bench.get<float>(*a));
  std::vector<float> expected = numbers(count);
  std::memmove(expected.data() + to, expected.data() + from, moved * 4);
  MINIGPTC_CTS_EXPECT(values == expected, "a copy between ranges that overlap mixed them up");
  return passed();
}

CheckOutcome outOfMemory(CheckBench &bench) {
  StatusOr<std::unique_ptr<Buffer>> tooMuch = bench.device().allocate(uint64_t(1) << 50);
  MINIGPTC_CTS_EXPECT(!tooMuch, "a PiB was given");
  MINIGPTC_CTS_EXPECT(tooMuch.status().code() == StatusCode::resourceExhausted,
                      "not said to be short of memory: " + tooMuch.status().message());
  // The device goes on.
  MINIGPTC_CTS_LET(buffer, bench.put(numbers(100)));
  MINIGPTC_CTS_LET(values, bench.get<float>(*buffer));
  MINIGPTC_CTS_EXPECT(values == numbers(100), "nothing works after memory was short");
  return passed(tooMuch.status().message());
}

CheckOutcome manyBuffers(CheckBench &bench) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 300; ++i) {
    MINIGPTC_CTS_LET(buffer, bench.put(numbers(100 + size_t(i), float(i))));
    buffers.push_back(std::move(buffer));
  }
  for (int i = 0; i < 300; i += 2)
    buffers[size_t(i)].reset();
  for (int i = 1; i < 300; i += 2) {
    MINIGPTC_CTS_LET(values, bench.get<float>(*buffers[size_t(i)]));
    MINIGPTC_CTS_EXPECT(values == numbers(100 + size_t(i), float(i)), "buffers share memory");
  }
  return passed();
}

} // namespace

void addMemoryChecks(std::vector<Check> &checks) {
  checks.push_back({"memory: sizes and alignment", sizesAndAlignment});
  checks.push_back({"memory: host to device and back", transfers});
  checks.push_back({"memory: page-locked, by the queue", staging});
  checks.push_back({"memory: copies within the device", copies});
  for (int shift : {1, -1, 1000, -1000})
    checks.push_back({"memory: copy by " + std::to_string(shift) + " onto itself",
                      [=](CheckBench &bench) { return overlapping(bench, shift); }});
  checks.push_back({"memory: many buffers", manyBuffers});
  checks.push_back({"memory: more than there is", outOfMemory});
}

} // namespace minigptc::runtime
