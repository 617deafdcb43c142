// libcuda's functions about streams and events, emulated.
#include "runtime/drivers/cuda/test/Machine.h"

namespace minigptc::runtime::cuda::test {
namespace {

/// Runs `body(stream)` with the stream of that handle, of any device.
template <typename Body> Result withStream(const char *call, Stream handle, Body body) {
  return enterDevice(call, [&](Machine &machine, Lock &lock, EmulatedDevice &) -> Result {
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(handle, call, owner);
    return stream ? body(machine, lock, *stream) : Result::invalidHandle;
  });
}
template <typename Body> Result withEvent(const char *call, EventHandle handle, Body body) {
  return enterDevice(call, [&](Machine &machine, Lock &lock, EmulatedDevice &) -> Result {
    std::shared_ptr<EventState> event = machine.events.find(handle);
    return event ? body(machine, lock, *event)
                 : machine.refuse(Result::invalidHandle,
                                  std::string(call) + ": no event, or one that was destroyed",
                                  HazardKind::useAfterFree);
  });
}

Result refuseCapturing(Machine &machine, CaptureState &capture, const char *call) {
  capture.invalid = true;
  return machine.refuse(Result::captureUnsupported,
                        std::string(call) + " on a stream that captures, which makes the capture "
                                            "invalid",
                        HazardKind::captureRule);
}

//===--- Streams ----------------------------------------------------------===//

Result streamCreate(Stream *handle, unsigned flags) {
  return enterDevice("cuStreamCreate", [&](Machine &machine, Lock &, EmulatedDevice &device) {
    auto stream = std::make_shared<StreamState>();
    stream->device = device.number;
    stream->nonBlocking = flags & kStreamNonBlocking;
    stream->lane =
        machine.makeLane(device.number, "stream " + std::to_string(++device.streamsMade) +
                                            " of device " + std::to_string(device.number));
    *handle = machine.streams.add(std::move(stream));
    return Result::success;
  });
}

Result streamDestroy(Stream handle) {
  return withStream("cuStreamDestroy", handle, [&](Machine &machine, Lock &, StreamState &stream) {
    if (!handle)
      return machine.refuse(Result::invalidHandle, "cuStreamDestroy of the default stream");
    if (stream.capture)
      return refuseCapturing(machine, *stream.capture, "cuStreamDestroy");
    machine.drain(); // What was submitted is still done.
    machine.streams.remove(handle);
    return Result::success;
  });
}

Result streamSynchronize(Stream handle) {
  return withStream("cuStreamSynchronize", handle,
                    [&](Machine &machine, Lock &lock, StreamState &stream) {
                      if (stream.capture)
                        return refuseCapturing(machine, *stream.capture, "cuStreamSynchronize");
                      return machine.synchronise(lock, stream.lane->last);
                    });
}

/// Whether the operation is done; who asks again and again makes the work go on.
Result query(Machine &machine, Lock &lock, const std::shared_ptr<Operation> &operation) {
  if (operation && !operation->done) {
    machine.step();
    return machine.failed ? Result::launchFailed : Result::notReady;
  }
  return machine.synchronise(lock, operation);
}

Result streamQuery(Stream handle) {
  return withStream("cuStreamQuery", handle,
                    [&](Machine &machine, Lock &lock, StreamState &stream) {
                      if (stream.capture)
                        return refuseCapturing(machine, *stream.capture, "cuStreamQuery");
                      return query(machine, lock, stream.lane->last);
                    });
}

/// The wait of a stream for an event that was recorded in a capture.
Result joinCapture(Machine &machine, StreamState &stream, const EventState &event, bool isDefault) {
  if (isDefault)
    return machine.refuse(Result::captureImplicit,
                          "cuStreamWaitEvent: the default stream would wait for a capture",
                          HazardKind::captureRule);
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalid = event.capture->invalid = true;
    return machine.refuse(Result::captureMerge,
                          "cuStreamWaitEvent: the event belongs to another capture",
                          HazardKind::captureRule);
  }
  if (event.capture->ended)
    return machine.refuse(Result::captureIsolation,
                          "cuStreamWaitEvent: the event was recorded in a capture that has ended",
                          HazardKind::captureRule);
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.captureDeps.clear();
    auto &lanes = stream.capture->graph.lanes;
    stream.captureLane = lanes.size();
    lanes.push_back({stream.lane->name + ", captured", stream.device});
  }
  for (size_t node : event.captureDeps)
    stream.captureDeps.push_back(node);
  return Result::success;
}

Result streamWaitEvent(Stream handle, EventHandle eventHandle, unsigned) {
  const char *call = "cuStreamWaitEvent";
  return withStream(call, handle, [&](Machine &machine, Lock &, StreamState &stream) {
    std::shared_ptr<EventState> event = machine.events.find(eventHandle);
    if (!event)
      return machine.refuse(Result::invalidHandle,
                            "cuStreamWaitEvent: no event, or one that was "
                            "destroyed",
                            HazardKind::useAfterFree);
    if (event->capture)
      return joinCapture(machine, stream, *event, !handle);
    if (!event->record) // Never recorded: there is nothing to wait for.
      return Result::success;
    if (stream.capture) {
      stream.capture->invalid = true;
      return machine.refuse(Result::captureIsolation,
                            "cuStreamWaitEvent: a stream that captures would wait for work "
                            "outside of the capture",
                            HazardKind::captureRule);
    }
    return machine.enqueue(stream, {.label = "wait for " + *event->record->name}, {event->record});
  });
}

//===--- Events -----------------------------------------------------------===//

Result eventCreate(EventHandle *handle, unsigned flags) {
  return enterDevice("cuEventCreate", [&](Machine &machine, Lock &, EmulatedDevice &device) {
    auto event = std::make_shared<EventState>();
    event->device = device.number;
    event->timing = !(flags & kEventDisableTiming);
    *handle = machine.events.add(std::move(event));
    return Result::success;
  });
}

Result eventDestroy(EventHandle handle) {
  return withEvent("cuEventDestroy", handle, [&](Machine &machine, Lock &, EventState &) {
    machine.events.remove(handle);
    return Result::success;
  });
}

Result eventRecord(EventHandle handle, Stream streamHandle) {
  return withEvent("cuEventRecord", handle, [&](Machine &machine, Lock &, EventState &event) {
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(streamHandle, "cuEventRecord", owner);
    if (!stream)
      return Result::invalidHandle;
    if (stream->device != event.device)
      return machine.refuse(Result::invalidHandle, "cuEventRecord: an event of device " +
                                                       std::to_string(event.device) + " in " +
                                                       stream->lane->name);
    event.capture = stream->capture;
    event.captureDeps = stream->captureDeps;
    event.record = nullptr;
    if (stream->capture)
      return Result::success;
    Result result = machine.enqueue(*stream, {.label = "event"});
    if (result == Result::success)
      event.record = stream->lane->last;
    return result;
  });
}

Result refuseCaptured(Machine &machine, EventState &event, const char *call) {
  event.capture->invalid = true;
  return machine.refuse(Result::capturedEvent,
                        std::string(call) + " of an event that was recorded in a capture",
                        HazardKind::captureRule);
}

Result eventQuery(EventHandle handle) {
  return withEvent("cuEventQuery", handle, [&](Machine &machine, Lock &lock, EventState &event) {
    return event.capture ? refuseCaptured(machine, event, "cuEventQuery")
                         : query(machine, lock, event.record);
  });
}

Result eventSynchronize(EventHandle handle) {
  return withEvent("cuEventSynchronize", handle,
                   [&](Machine &machine, Lock &lock, EventState &event) {
                     return event.capture ? refuseCaptured(machine, event, "cuEventSynchronize")
                                          : machine.synchronise(lock, event.record);
                   });
}

/// The time that the emulation took: a number to print, but no GPU's.
Result eventElapsedTime(float *milliseconds, EventHandle startHandle, EventHandle endHandle) {
  return withEvent(
      "cuEventElapsedTime", startHandle, [&](Machine &machine, Lock &, EventState &start) {
        std::shared_ptr<EventState> end = machine.events.find(endHandle);
        if (!end || !start.timing || !end->timing || !start.record || !end->record)
          return machine.refuse(Result::invalidHandle,
                                "cuEventElapsedTime: an event without timing, or never recorded");
        if (!start.record->done || !end->record->done)
          return Result::notReady;
        std::chrono::duration<float, std::milli> time =
            end->record->finished - start.record->finished;
        *milliseconds = time.count();
        return Result::success;
      });
}

} // namespace

void fillStreamCalls(DriverApi &api) {
  api.streamCreate = streamCreate;
  api.streamDestroy = streamDestroy;
  api.streamSynchronize = streamSynchronize;
  api.streamQuery = streamQuery;
  api.streamWaitEvent = streamWaitEvent;
  api.eventCreate = eventCreate;
  api.eventDestroy = eventDestroy;
  api.eventRecord = eventRecord;
  api.eventQuery = eventQuery;
  api.eventSynchronize = eventSynchronize;
  api.eventElapsedTime = eventElapsedTime;
}

} // namespace minigptc::runtime::cuda::test
