// libcuda's functions about stream capture and graphs, emulated.
#include "runtime/drivers/cuda/test/Machine.h"

#include <algorithm>

namespace minigptc::runtime::cuda::test {
namespace {

Result refuseCapture(Machine &machine, Result code, const std::string &text) {
  return machine.refuse(code, text, HazardKind::captureRule);
}

Result streamBeginCapture(Stream handle, CaptureMode mode) {
  const char *call = "cuStreamBeginCapture";
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(handle, call, owner);
    if (!stream)
      return Result::invalidHandle;
    if (!handle)
      return refuseCapture(machine, Result::captureUnsupported,
                           "cuStreamBeginCapture of the default stream");
    if (stream->capture)
      return refuseCapture(machine, Result::invalidValue,
                           "cuStreamBeginCapture of a stream that captures already");
    auto capture = std::make_shared<CaptureState>();
    capture->origin = handle;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->graph.lanes.push_back({stream->lane->name + ", captured", stream->device});
    stream->capture = capture;
    stream->captureLane = 0;
    stream->captureDeps.clear();
    std::erase_if(machine.captures, [](const auto &old) { return old.expired(); });
    machine.captures.push_back(capture);
    return Result::success;
  });
}

/// Whether each node comes before one of `ends`.
bool allReach(const GraphState &graph, const std::vector<size_t> &ends) {
  std::vector<bool> reached(graph.nodes.size());
  for (size_t node : ends)
    reached[node] = true;
  for (size_t node = graph.nodes.size(); node-- > 0;) // Dependencies have smaller numbers.
    if (reached[node])
      for (size_t dep : graph.nodes[node].deps)
        reached[dep] = true;
  return std::all_of(reached.begin(), reached.end(), [](bool is) { return is; });
}

/// The streams of the capture are ordinary ones again.
void leaveCapture(Machine &machine, const std::shared_ptr<CaptureState> &capture) {
  capture->ended = true;
  machine.wake();
  std::erase_if(machine.captures, [&](const auto &weak) { return weak.lock() == capture; });
  for (const auto &[handle, stream] : machine.streams.all())
    if (stream->capture == capture) {
      stream->capture = nullptr;
      stream->captureDeps.clear();
    }
}

Result streamEndCapture(Stream handle, Graph *graph) {
  const char *call = "cuStreamEndCapture";
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &) {
    *graph = nullptr;
    std::shared_ptr<StreamState> stream = machine.streams.find(handle);
    if (!stream || !stream->capture)
      return refuseCapture(machine, Result::invalidValue,
                           "cuStreamEndCapture of a stream that does not capture");
    std::shared_ptr<CaptureState> capture = stream->capture;
    if (capture->origin != handle)
      return refuseCapture(machine, Result::captureUnmatched,
                           "cuStreamEndCapture of a stream that only joined the capture");
    if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id())
      return refuseCapture(machine, Result::captureWrongThread,
                           "cuStreamEndCapture in another thread than where it began");
    bool joined = allReach(capture->graph, stream->captureDeps);
    leaveCapture(machine, capture);
    if (capture->invalid)
      return refuseCapture(machine, Result::captureInvalidated,
                           "cuStreamEndCapture: a call made the capture invalid");
    if (!joined)
      return refuseCapture(machine, Result::captureUnjoined,
                           "cuStreamEndCapture: work of a stream that joined the capture is not "
                           "waited for");
    *graph = machine.graphs.add(std::make_shared<GraphState>(std::move(capture->graph)));
    return Result::success;
  });
}

Result noGraph(Machine &machine, const char *call) {
  return machine.refuse(Result::invalidHandle,
                        std::string(call) + ": no graph, or one that was destroyed",
                        HazardKind::useAfterFree);
}

Result graphInstantiate(GraphExec *executable, Graph graph, unsigned long long) {
  return enterDevice("cuGraphInstantiate", [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<GraphState> state = machine.graphs.find(graph);
    if (!state)
      return noGraph(machine, "cuGraphInstantiate");
    auto made = std::make_shared<GraphExecState>();
    made->graph = *state;
    for (const GraphState::CapturedLane &lane : state->lanes)
      made->lanes.push_back(machine.makeLane(lane.device, lane.name));
    *executable = machine.executables.add(std::move(made));
    return Result::success;
  });
}

/// Every node an operation in the lane of the stream that it was captured from.
void launch(Machine &machine, GraphExecState &executable, StreamState &stream) {
  std::vector<std::shared_ptr<Operation>> before = machine.implicitOrder(stream);
  if (executable.lastEnd)
    before.push_back(executable.lastEnd);
  auto begin = machine.submit(
      *stream.lane, std::make_shared<const Work>(Work{.label = "begin of a graph"}), before);
  std::vector<std::shared_ptr<Operation>> operations;
  for (const GraphNode &node : executable.graph.nodes) {
    std::vector<std::shared_ptr<Operation>> after = {begin};
    for (size_t dep : node.deps)
      after.push_back(operations[dep]);
    operations.push_back(machine.submit(*executable.lanes[node.lane], node.work, after));
  }
  executable.lastEnd = machine.submit(
      *stream.lane, std::make_shared<const Work>(Work{.label = "end of a graph"}), operations);
}

Result graphLaunch(GraphExec handle, Stream streamHandle) {
  const char *call = "cuGraphLaunch";
  return enterDevice(call, [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<GraphExecState> executable = machine.executables.find(handle);
    if (!executable)
      return noGraph(machine, call);
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(streamHandle, call, owner);
    if (!stream)
      return Result::invalidHandle;
    if (stream->capture)
      return refuseCapture(machine, Result::captureUnsupported,
                           "cuGraphLaunch into a capture: the emulated device has no graphs "
                           "within graphs");
    launch(machine, *executable, *stream);
    return Result::success;
  });
}

Result graphExecDestroy(GraphExec handle) {
  return enterDevice("cuGraphExecDestroy", [&](Machine &machine, Lock &, EmulatedDevice &) {
    std::shared_ptr<GraphExecState> executable = machine.executables.find(handle);
    if (!executable)
      return noGraph(machine, "cuGraphExecDestroy");
    machine.drain();
    if (executable->lastEnd && !executable->lastEnd->isBefore(machine.host))
      machine.report(HazardKind::freeWhilePending,
                     "an executable graph is destroyed, and the host has not synchronised with " +
                         *executable->lastEnd->name);
    machine.executables.remove(handle);
    machine.wake();
    return Result::success;
  });
}

Result graphDestroy(Graph handle) {
  return enterDevice("cuGraphDestroy", [&](Machine &machine, Lock &, EmulatedDevice &) {
    if (!machine.graphs.find(handle))
      return noGraph(machine, "cuGraphDestroy");
    machine.graphs.remove(handle);
    machine.wake();
    return Result::success;
  });
}

} // namespace

void fillGraphCalls(DriverApi &api) {
  api.streamBeginCapture = streamBeginCapture;
  api.streamEndCapture = streamEndCapture;
  api.graphInstantiate = graphInstantiate;
  api.graphLaunch = graphLaunch;
  api.graphExecDestroy = graphExecDestroy;
  api.graphDestroy = graphDestroy;
}

} // namespace minigptc::runtime::cuda::test
