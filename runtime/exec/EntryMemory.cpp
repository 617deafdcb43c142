#include "runtime/exec/EntryMemory.h"

#include "runtime/base/Log.h"

#include <cstring>

namespace minigptc::runtime {
namespace {

/// Inputs that are found elsewhere each time would never let the entry be recorded.
constexpr int kMaxMoves = 4;

Status addName(const Status &status, const ParameterDecl &decl) {
  return Status(status.code(), status.message() + ", for " + quote(decl.name))
      .withHelp(status.help());
}

} // namespace

EntryMemory::EntryMemory(const Entry &entry, std::shared_ptr<Device> device, int64_t stage)
    : entry_(&entry), device_(std::move(device)), stage_(stage),
      places_(entry.inputs.size() + entry.outputs.size()), staging_(entry.inputs.size()) {
  planSmall();
}

const ParameterDecl &EntryMemory::declOf(size_t argument) const {
  return argument < numInputs() ? entry_->inputs[argument]
                                : entry_->outputs[argument - numInputs()];
}

void EntryMemory::planSmall() {
  smallAt_.assign(places_.size(), -1);
  auto add = [&](size_t argument) {
    if (!isHere(argument) || smallAt_[argument] >= 0 ||
        uint64_t(declOf(argument).type.numBytes()) > kSmall)
      return;
    smallAt_[argument] = int64_t(smallBytes_);
    smallBytes_ += kSmall;
  };
  for (size_t i = 0; i < numInputs(); ++i)
    if (!isDonated(i))
      add(i);
  smallKept_ = smallBytes_;
  for (size_t i = 0; i < numInputs(); ++i)
    if (isDonated(i)) {
      add(i);
      smallAt_[numInputs() + size_t(entry_->inputs[i].donatedTo)] = smallAt_[i];
    }
  smallInputs_ = smallBytes_;
  for (size_t i = numInputs(); i < places_.size(); ++i)
    add(i);
}

Status EntryMemory::provideSmall() {
  if (small_ || smallBytes_ == 0)
    return {};
  StatusOr<std::unique_ptr<Buffer>> staging = device_->allocateStaging(smallBytes_);
  if (!staging)
    return staging.status();
  StatusOr<std::unique_ptr<Buffer>> memory = device_->allocate(smallBytes_);
  if (!memory)
    return memory.status();
  std::memset((*staging)->data(), 0, smallBytes_); // What lies between is copied, too.
  MINIGPTC_RETURN_IF_ERROR(
      device_->upload((*memory)->data(), {(*staging)->data(), size_t(smallBytes_)}));
  small_ = std::move(*memory);
  smallStaging_ = std::move(*staging);
  return {};
}

Status EntryMemory::writeSmall(DeviceArguments &arguments, Queue &queue) {
  for (size_t i = 0; i < numInputs(); ++i) {
    if (!isSmall(i))
      continue;
    MINIGPTC_RETURN_IF_ERROR(arguments.inputs[i]->fetch());
    std::memcpy(smallStaging_->data() + smallAt_[i], arguments.inputs[i]->read(),
                size_t(arguments.inputs[i]->size()));
  }
  arguments.outputs.assign(entry_->outputs.size(), nullptr);
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    if (!isSmall(numInputs() + i))
      continue;
    arguments.outputs[i] = ArrayBuffer::allocate(uint64_t(entry_->outputs[i].type.numBytes()));
    if (!arguments.outputs[i])
      return Status(StatusCode::resourceExhausted,
                    "not enough memory for " + quote(entry_->outputs[i].name));
  }
  return smallInputs_ ? queue.write(small_->data(), smallStaging_->data(), smallInputs_) : Status();
}

Status EntryMemory::readSmall(Queue &queue) {
  if (smallKept_ == smallBytes_)
    return {};
  return queue.read(smallStaging_->data() + smallKept_, small_->data() + smallKept_,
                    smallBytes_ - smallKept_);
}

Status EntryMemory::bind(DeviceArguments &arguments, Queue &queue) {
  claimed_.clear();
  submitted_ = false;
  for (bool donated : {true, false}) // What is written finds its memory first.
    for (size_t i = 0; i < numInputs(); ++i)
      if (isDonated(i) == donated && isHere(i) && !isSmall(i))
        MINIGPTC_RETURN_IF_ERROR(placeInput(i, arguments.inputs[i], arguments.owned[i], queue));
  std::vector<bool> takenOver(entry_->outputs.size());
  for (const ParameterDecl &input : entry_->inputs)
    if (input.donatedTo >= 0)
      takenOver[size_t(input.donatedTo)] = true;
  for (size_t i = 0; i < takenOver.size(); ++i)
    if (!takenOver[i] && isHere(numInputs() + i) && !isSmall(numInputs() + i))
      MINIGPTC_RETURN_IF_ERROR(provide(numInputs() + i, queue));
  MINIGPTC_RETURN_IF_ERROR(provideSmall());
  MINIGPTC_RETURN_IF_ERROR(writeSmall(arguments, queue));
  noteAddresses();
  return {};
}

void EntryMemory::noteAddresses() {
  std::vector<void *> addresses(places_.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    if (isSmall(i))
      addresses[i] = small_->data() + smallAt_[i];
    else if (places_[i])
      addresses[i] = places_[i]->address();
  for (size_t i = 0; i < numInputs(); ++i)
    if (isDonated(i))
      addresses[numInputs() + size_t(entry_->inputs[i].donatedTo)] = addresses[i];
  if (addresses == addresses_)
    return;
  addresses_ = std::move(addresses);
  forgetRecording();
}

Status EntryMemory::provide(size_t argument, Queue &queue) {
  std::shared_ptr<ResidentMemory> &place = places_[argument];
  if (place && claimed_.contains(place.get()))
    place = nullptr;
  if (place) {
    MINIGPTC_RETURN_IF_ERROR(place->vacate(queue));
  } else {
    const ParameterDecl &decl = declOf(argument);
    StatusOr<std::shared_ptr<ResidentMemory>> memory =
        ResidentMemory::allocate(device_, uint64_t(decl.type.numBytes()));
    if (!memory)
      return addName(memory.status(), decl);
    place = std::move(*memory);
  }
  claimed_.insert(place.get());
  return {};
}

Status EntryMemory::placeInput(size_t input, const std::shared_ptr<ArrayBuffer> &buffer, bool owned,
                               Queue &queue) {
  std::shared_ptr<ResidentMemory> &place = places_[input];
  std::shared_ptr<ResidentMemory> home = residenceOf(*buffer, *device_);
  if (home && home != place && !recording && moves_ < kMaxMoves && !home->isTransient() &&
      !claimed_.contains(home.get())) {
    moves_ += place != nullptr;
    place = home;
  }
  bool isFree = place && !claimed_.contains(place.get());
  if (isFree && place == home) {
    claimed_.insert(place.get());
    return isDonated(input) && !owned ? place->vacate(queue) : Status();
  }
  if (isFree && !isDonated(input) && place->holds(*buffer)) {
    claimed_.insert(place.get());
    return {};
  }
  MINIGPTC_RETURN_IF_ERROR(provide(input, queue));
  if (home) {
    submitted_ = true;
    MINIGPTC_RETURN_IF_ERROR(home->waitIn(queue));
    MINIGPTC_RETURN_IF_ERROR(queue.copy(place->address(), home->address(), buffer->size()));
  } else {
    MINIGPTC_RETURN_IF_ERROR(upload(input, *buffer, queue));
  }
  if (isDonated(input))
    return {};
  if (buffer->device())
    place->noteCopy(buffer);
  else
    place->settle(buffer);
  return {};
}

Status EntryMemory::upload(size_t input, ArrayBuffer &buffer, Queue &queue) {
  MINIGPTC_RETURN_IF_ERROR(buffer.fetch());
  std::span<const std::byte> bytes(buffer.read(), size_t(buffer.size()));
  if (isDonated(input) || bytes.size() > kMaxStaged) {
    if (submitted_) // Copies that are in the queue may still read this memory.
      MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
    submitted_ = false;
    return device_->upload(places_[input]->address(), bytes);
  }
  if (!staging_[input]) {
    StatusOr<std::unique_ptr<Buffer>> staging = device_->allocateStaging(bytes.size());
    if (!staging)
      return addName(staging.status(), entry_->inputs[input]);
    staging_[input] = std::move(*staging);
  }
  std::memcpy(staging_[input]->data(), bytes.data(), bytes.size());
  submitted_ = true;
  return queue.write(places_[input]->address(), staging_[input]->data(), bytes.size());
}

void EntryMemory::giveOutputs(DeviceArguments &arguments) {
  ++runs_;
  ++repeated_;
  abandon(); // Donated inputs have become outputs.
  for (size_t i = 0; i < numInputs(); ++i)
    if (isDonated(i) && isHere(i) && !isSmall(i))
      arguments.outputs[size_t(entry_->inputs[i].donatedTo)] =
          ArrayBuffer::onDevice(arguments.inputs[i]->size(), places_[i]);
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    std::shared_ptr<ArrayBuffer> &output = arguments.outputs[i];
    size_t argument = numInputs() + i;
    uint64_t bytes = uint64_t(entry_->outputs[i].type.numBytes());
    if (isSmall(argument))
      std::memcpy(output->write(), smallStaging_->data() + smallAt_[argument], bytes);
    else if (!output && isHere(argument))
      output = ArrayBuffer::onDevice(bytes, places_[argument]);
  }
  for (const std::shared_ptr<ArrayBuffer> &output : arguments.outputs)
    if (auto place = output ? residenceOf(*output, *device_) : nullptr)
      place->settle(output);
  // What has run once may never do so again, and its outputs live on: the state that `init` makes.
  if (runs_ == 1)
    for (size_t i = numInputs(); i < places_.size(); ++i)
      places_[i].reset();
}

void EntryMemory::abandon() {
  for (size_t i = 0; i < numInputs(); ++i)
    if (isDonated(i) && places_[i])
      places_[i]->abandon();
}

void EntryMemory::forgetRecording() {
  recording.reset();
  scalars.reset();
  repeated_ = 0;
}

} // namespace minigptc::runtime
