#include "runtime/exec/RecordedScalars.h"

#include "runtime/base/Scalar.h"

#include <cstring>

namespace minigptc::runtime {

void evaluateScalars(const HostProgram &program, std::span<const std::byte *const> sources,
                     std::span<std::byte *const> results) {
  std::vector<double> inputs, values(program.results.size());
  for (size_t i = 0; i < program.inputTypes.size(); ++i)
    inputs.push_back(loadScalar(program.inputTypes[i], sources[i]));
  program.evaluate(inputs, values);
  for (size_t i = 0; i < values.size(); ++i)
    storeScalar(program.resultTypes[i], values[i], results[i]);
}

std::optional<RecordedScalars::Source> RecordedScalars::find(const void *address,
                                                             uint64_t bytes) const {
  auto *begin = static_cast<const std::byte *>(address), *end = begin + bytes;
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    if (write->end <= begin || end <= write->begin)
      continue;
    if (!write->place || begin < write->begin || end > write->end)
      return std::nullopt;
    return Source{write->place + (begin - write->begin)};
  }
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].address <= begin && end <= inputs_[i].address + inputs_[i].bytes)
      return Source{nullptr, i, uint64_t(begin - inputs_[i].address)};
  return std::nullopt;
}

StatusOr<std::byte *> RecordedScalars::allocate(uint64_t bytes) {
  StatusOr<std::unique_ptr<Buffer>> memory = device_.allocateStaging(bytes);
  if (!memory)
    return memory.status();
  memory_.push_back(std::move(*memory));
  return memory_.back()->data();
}

StatusOr<bool> RecordedScalars::record(const HostProgram &program, std::span<void *const> sources,
                                       std::span<void *const> targets, Queue &queue) {
  constexpr uint64_t room = 8; // of any scalar
  Evaluation evaluation{&program, {}, {}};
  for (size_t i = 0; i < sources.size(); ++i) {
    std::optional<Source> source = find(sources[i], uint64_t(sizeOf(program.inputTypes[i])));
    if (!source)
      return false;
    evaluation.sources.push_back(*source);
  }
  StatusOr<std::byte *> memory = allocate(room * targets.size());
  if (!memory)
    return memory.status();
  for (size_t i = 0; i < targets.size(); ++i) {
    uint64_t bytes = uint64_t(sizeOf(program.resultTypes[i]));
    std::byte *place = *memory + room * i;
    evaluation.results.push_back(place);
    MINIGPTC_RETURN_IF_ERROR(queue.write(targets[i], place, bytes));
    auto *target = static_cast<const std::byte *>(targets[i]);
    writes_.push_back({target, target + bytes, place});
  }
  evaluations_.push_back(std::move(evaluation));
  return true;
}

Status RecordedScalars::recordConstant(int64_t value, void *target, Queue &queue) {
  StatusOr<std::byte *> place = allocate(sizeof(value));
  if (!place)
    return place.status();
  std::memcpy(*place, &value, sizeof(value));
  auto *begin = static_cast<const std::byte *>(target);
  writes_.push_back({begin, begin + sizeof(value), *place});
  return queue.write(target, *place, sizeof(value));
}

void RecordedScalars::wrote(const void *address, uint64_t bytes) {
  auto *begin = static_cast<const std::byte *>(address);
  if (bytes > 0)
    writes_.push_back({begin, begin + bytes, nullptr});
}

std::set<size_t> RecordedScalars::inputsRead() const {
  std::set<size_t> read;
  for (const Evaluation &evaluation : evaluations_)
    for (const Source &source : evaluation.sources)
      if (!source.place)
        read.insert(source.input);
  return read;
}

void RecordedScalars::evaluate(std::span<const std::byte *const> inputs) const {
  std::vector<const std::byte *> sources;
  for (const Evaluation &evaluation : evaluations_) {
    sources.clear();
    for (const Source &source : evaluation.sources)
      sources.push_back(source.place ? source.place : inputs[source.input] + source.offset);
    evaluateScalars(*evaluation.program, sources, evaluation.results);
  }
}

} // namespace minigptc::runtime
