//===- MessageQueue.h - messages beside compute -----------------*- C++ -*-===//
//
// On a device whose queues work beside each other, what it sends goes by a queue for each device
// that it sends to. A message is copied first, so that the compute queue goes on at once; it waits
// only if the message before to the same device has not been received. What is received is
// received by the compute queue. In a recording of that, all take part.
//
//   auto mail = MessageQueue::create(device, queue, communicator, messages);
//   mail->send(messages[3], data, location);
//   queue.launch(…);                       // may overwrite the data
//   mail->receive(messages[4], target, location);
//   mail->finish();                        // the compute queue comes after all that was sent
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_MESSAGEQUEUE_H
#define MINIGPTC_RUNTIME_EXEC_MESSAGEQUEUE_H

#include "runtime/hal/Communicator.h"
#include "runtime/hal/Device.h"

#include <map>

namespace minigptc::runtime {

class MessageQueue {
public:
  /// `compute` and `communicator` outlive it. `messages`: of the program, as this device has ends
  /// of them.
  static StatusOr<std::unique_ptr<MessageQueue>> create(Device &device, Queue &compute,
                                                        Communicator &communicator,
                                                        std::span<const MessageProblem> messages);
  ~MessageQueue();

  Status send(const MessageProblem &message, const void *data, uint32_t location);
  Status receive(const MessageProblem &message, void *data, uint32_t location);
  /// To be called at the end of a run, or of a recording.
  Status finish();
  /// What is on its way is nobody's any more: the run has failed, or a new one begins.
  void forget();

private:
  /// To one device.
  struct Way {
    std::unique_ptr<Buffer> copy;
    std::unique_ptr<Queue> queue;
    std::unique_ptr<Event> sent; ///< null: nothing is on its way
  };

  MessageQueue(Queue &compute, Communicator &communicator)
      : compute_(compute), communicator_(communicator) {}

  Queue &compute_;
  Communicator &communicator_;
  std::map<int64_t, Way> ways_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_MESSAGEQUEUE_H
