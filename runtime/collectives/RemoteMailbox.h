//===- RemoteMailbox.h - messages to another process's device ---*- C++ -*-===//
//
// One end of what a device sends to one of another process, which has the other end. As between
// threads (InProcess.h) there is room for one message: it is laid in the receiver's process, and
// the next one is not sent before its receipt has come back.
//
//   RemoteMailbox out(group, {.from = 0, .to = 2, .sends = true, .process = 1});
//   out.begin("run 4/");
//   out.send(message, data, " at model.cpp:3");          // in = the other end, in process 1:
//                                                        // in.receive(message, data, " at …");
//   out.sayEnd();                                        // in.checkEnd();
//   out.checkEnd();
//
// Each end says when its device has ended, if all is well, so that a message that does not come, or
// that nobody receives, is a failure with both its ends. Devices that wait for each other in a ring
// are not found here: no program has such messages (runtime/exec/StageChecks.cpp), and all
// processes have the same program.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_REMOTEMAILBOX_H
#define MINIGPTC_RUNTIME_COLLECTIVES_REMOTEMAILBOX_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/hal/Communicator.h"

namespace minigptc::runtime {

/// Used by the device's thread.
class RemoteMailbox {
public:
  struct Ends {
    int64_t from = 0, to = 0; ///< devices
    bool sends = false;       ///< this is the sender's end
    int64_t process = 0;      ///< that has the other end
  };
  /// `group` outlives it.
  RemoteMailbox(ProcessGroup &group, const Ends &ends) : group_(group), ends_(ends) {}

  bool isFor(const MessageProblem &message) const {
    return message.from == ends_.from && message.to == ends_.to;
  }
  /// A new run, whose name no other one has.
  void begin(const std::string &run);
  /// Waits for the receipt of the message before.
  Status send(const MessageProblem &message, const void *data, const std::string &at);
  Status receive(const MessageProblem &message, void *data, const std::string &at);
  /// The device's run has ended: of all its mailboxes first this, then
  void sayEnd();
  /// ... this, which waits until the other device has ended, or received what it was sent.
  Status checkEnd();

private:
  using Delivery = StatusOr<std::shared_ptr<const ProcessMessage>>;
  std::string keyOf(const char *kind, int64_t number) const;
  /// What the other end sends as its message of that number. `why`: what needs it.
  Delivery take(const std::string &why);
  Status awaitReceipt();

  ProcessGroup &group_;
  Ends ends_;
  std::string name_;
  int64_t number_ = 0; ///< of messages, in this run
  Status said_;        ///< whether the end could be told
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_REMOTEMAILBOX_H
