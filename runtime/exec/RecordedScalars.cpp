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

void KnownValues::wrote(const void *address, uint64_t bytes, const std::byte *place) {
  auto *begin = static_cast<const std::byte *>(address);
  if (bytes > 0)
    writes_.push_back({begin, begin + bytes, place});
}

std::optional<KnownValues::Source> KnownValues::find(const void *address, uint64_t bytes) const {
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

Status RecordedScalars::record(const HostProgram &program, std::span<void *const> sources,
                               std::span<void *const> targets, Queue &queue) {
  constexpr uint64_t room = 8; // of any scalar
  Evaluation evaluation{&program, {}, {}};
  for (size_t i = 0; i < sources.size(); ++i) {
    std::optional<KnownValues::Source> source =
        known_.find(sources[i], uint64_t(sizeOf(program.inputTypes[i])));
    if (!source)
      return Status(StatusCode::internal, "a recording of what the device computes for the host");
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
    known_.wrote(targets[i], bytes, place);
  }
  evaluations_.push_back(std::move(evaluation));
  return {};
}

Status RecordedScalars::recordConstant(int64_t value, void *target, Queue &queue) {
  StatusOr<std::byte *> place = allocate(sizeof(value));
  if (!place)
    return place.status();
  std::memcpy(*place, &value, sizeof(value));
  known_.wrote(target, sizeof(value), *place);
  return queue.write(target, *place, sizeof(value));
}

std::set<size_t> RecordedScalars::inputsRead() const {
  std::set<size_t> read;
  for (const Evaluation &evaluation : evaluations_)
    for (const KnownValues::Source &source : evaluation.sources)
      if (!source.place)
        read.insert(source.input);
  return read;
}

void RecordedScalars::evaluate(std::span<const std::byte *const> inputs) const {
  std::vector<const std::byte *> sources;
  for (const Evaluation &evaluation : evaluations_) {
    sources.clear();
    for (const KnownValues::Source &source : evaluation.sources)
      sources.push_back(source.place ? source.place : inputs[source.input] + source.offset);
    evaluateScalars(*evaluation.program, sources, evaluation.results);
  }
}

} // namespace minigptc::runtime
