#include "runtime/collectives/ProcessWorld.h"

#include "runtime/collectives/CollectiveWork.h"
#include "runtime/collectives/RemoteMailbox.h"
#include "runtime/collectives/TcpStore.h"
#include "runtime/hal/Device.h"

#include <set>

namespace minigptc::runtime {

/// One device's end.
class ProcessWorld::End final : public Communicator {
public:
  End(ProcessWorld &world, int64_t device) : world_(world), device_(device) {}
  int64_t device() const override { return device_; }
  Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
             std::span<void *const> outputs, const CollectiveSite &site) override;
  Status send(Queue &queue, const MessageProblem &message, const void *data,
              uint32_t location) override;
  Status receive(Queue &queue, const MessageProblem &message, void *data,
                 uint32_t location) override;
  /// A way to, or from, a device of another process.
  void add(const RemoteMailbox::Ends &ends) { mailboxes_.emplace_back(world_.group_, ends); }
  void begin();
  /// The run has ended well here.
  Status finish();

private:
  using Message = std::shared_ptr<const ProcessMessage>;
  std::string keyOf(int64_t device) const {
    return world_.name_ + std::to_string(number_) + "/" + std::to_string(device);
  }
  Status bring(const CollectiveProblem &problem, const std::vector<int64_t> &members,
               std::span<void *const> inputs, const std::string &what);
  StatusOr<Message> await(int64_t member, int readers, const CollectiveProblem &problem,
                          const std::string &what);
  /// Null: the other device is of this process.
  StatusOr<RemoteMailbox *> mailboxOf(const MessageProblem &message);

  ProcessWorld &world_;
  int64_t device_;
  int64_t number_ = 0; ///< collectives of this run between processes
  std::vector<RemoteMailbox> mailboxes_;
};

void ProcessWorld::End::begin() {
  number_ = 0;
  for (RemoteMailbox &mailbox : mailboxes_)
    mailbox.begin(world_.name_);
}

Status ProcessWorld::End::finish() {
  for (RemoteMailbox &mailbox : mailboxes_)
    mailbox.sayEnd();
  for (RemoteMailbox &mailbox : mailboxes_)
    MINIGPTC_RETURN_IF_ERROR(mailbox.checkEnd());
  return {};
}

StatusOr<RemoteMailbox *> ProcessWorld::End::mailboxOf(const MessageProblem &message) {
  if (world_.here_.has(message.from) && world_.here_.has(message.to))
    return static_cast<RemoteMailbox *>(nullptr);
  for (RemoteMailbox &mailbox : mailboxes_)
    if (mailbox.isFor(message))
      return &mailbox;
  return Status(StatusCode::internal, message.describe() + " was not known beforehand");
}

Status ProcessWorld::End::send(Queue &queue, const MessageProblem &message, const void *data,
                               uint32_t location) {
  StatusOr<RemoteMailbox *> mailbox = mailboxOf(message);
  if (!mailbox)
    return mailbox.status();
  if (!*mailbox)
    return world_.local_.end(device_).send(queue, message, data, location);
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize()); // Here is read what the queue wrote.
  return (*mailbox)->send(message, data, world_.at(location));
}

Status ProcessWorld::End::receive(Queue &queue, const MessageProblem &message, void *data,
                                  uint32_t location) {
  StatusOr<RemoteMailbox *> mailbox = mailboxOf(message);
  if (!mailbox)
    return mailbox.status();
  if (!*mailbox)
    return world_.local_.end(device_).receive(queue, message, data, location);
  MINIGPTC_RETURN_IF_ERROR(queue.synchronize()); // What it has may read what is overwritten.
  return (*mailbox)->receive(message, data, world_.at(location));
}

/// To the processes of the other members, this one among them.
Status ProcessWorld::End::bring(const CollectiveProblem &problem,
                                const std::vector<int64_t> &members, std::span<void *const> inputs,
                                const std::string &what) {
  std::vector<std::span<const std::byte>> data;
  for (size_t i = 0; i < inputs.size(); ++i)
    data.emplace_back(static_cast<const std::byte *>(inputs[i]), problem.inputBytes(i));
  std::set<int64_t> processes;
  for (int64_t member : members)
    if (member != device_)
      processes.insert(world_.processOf(member));
  for (int64_t process : processes)
    MINIGPTC_RETURN_IF_ERROR(world_.group_.send(process, keyOf(device_), what, data));
  return {};
}

StatusOr<ProcessWorld::End::Message>
ProcessWorld::End::await(int64_t member, int readers, const CollectiveProblem &problem,
                         const std::string &what) {
  StatusOr<Message> message =
      world_.group_.receive(world_.processOf(member), keyOf(member), readers, what);
  if (!message)
    return message.status();
  uint64_t bytes = 0;
  for (size_t i = 0; i < problem.operands.size(); ++i)
    bytes += problem.inputBytes(i);
  if ((*message)->text != what || (*message)->data.size() != bytes)
    return Status(StatusCode::internal, "device " + std::to_string(device_) + " is in " + what +
                                            ", but device " + std::to_string(member) + " in " +
                                            (*message)->text);
  return message;
}

Status ProcessWorld::End::run(Queue &queue, const CollectiveProblem &problem,
                              std::span<void *const> inputs, std::span<void *const> outputs,
                              const CollectiveSite &site) {
  std::vector<int64_t> members;
  int here = 0;
  for (int64_t rank = 0; rank < problem.group.size(); ++rank) {
    members.push_back(problem.group.memberOf(device_, rank));
    here += world_.here_.has(members.back());
  }
  if (here == int(members.size()))
    return world_.local_.end(device_).run(queue, problem, inputs, outputs, site);

  MINIGPTC_RETURN_IF_ERROR(queue.synchronize());
  std::string what = problem.describe() + world_.at(site.location);
  MINIGPTC_RETURN_IF_ERROR(bring(problem, members, inputs, what));
  std::vector<Message> messages(members.size()); // Null: this device's own.
  for (size_t r = 0; r < members.size(); ++r) {
    if (members[r] == device_)
      continue;
    // Of a device of this process, everybody here but itself reads it.
    StatusOr<Message> message =
        await(members[r], here - world_.here_.has(members[r]), problem, what);
    if (!message)
      return message.status();
    messages[r] = std::move(*message);
  }
  ++number_;
  std::vector<const void *> parts(members.size());
  uint64_t offset = 0;
  for (size_t operand = 0; operand < inputs.size(); ++operand) {
    for (size_t r = 0; r < members.size(); ++r)
      parts[r] = messages[r] ? messages[r]->data.data() + offset : inputs[operand];
    doWhole(problem, operand, problem.group.rankOf(device_), parts, outputs[operand]);
    offset += problem.inputBytes(operand);
  }
  return {};
}

ProcessWorld::ProcessWorld(ProcessGroup &group, DeviceRange here, int64_t devices,
                           InProcessOptions options,
                           std::span<const std::pair<int64_t, int64_t>> ways)
    : group_(group), here_(here), placeOf_(options.placeOf), local_(devices, std::move(options)),
      name_(group.store().newName()) {
  for (int64_t device = here.first; device < here.end(); ++device)
    ends_.push_back(std::make_unique<End>(*this, device));
  for (auto [from, to] : ways)
    if (here_.has(from) != here_.has(to)) {
      bool sends = here_.has(from);
      ends_[size_t((sends ? from : to) - here_.first)]->add(
          {from, to, sends, processOf(sends ? to : from)});
    }
}

ProcessWorld::~ProcessWorld() = default;

std::string ProcessWorld::at(uint32_t location) const {
  std::string place = placeOf_ ? placeOf_(location) : "";
  return place.empty() ? "" : " at " + place;
}

Communicator &ProcessWorld::end(int64_t device) { return *ends_[size_t(device - here_.first)]; }

void ProcessWorld::begin() {
  name_.resize(name_.find('/') + 1);
  name_ += std::to_string(runs_++) + "/";
  local_.begin();
  for (auto &end : ends_)
    end->begin();
}

void ProcessWorld::finish(int64_t device, const Status &status) {
  Status ended = status ? ends_[size_t(device - here_.first)]->finish() : status;
  if (!ended)
    group_.fail(ended);
  local_.finish(device, ended);
}

Status ProcessWorld::failure() { return local_.failure(); }

} // namespace minigptc::runtime
