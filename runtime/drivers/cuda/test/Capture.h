//===- Capture.h - streams, events and graphs -------------------*- C++ -*-===//
//
// The objects of stream capture. While a stream captures, work becomes nodes of a graph
// instead of operations: `StreamState::captureDeps` are the nodes that its next one comes
// after, an event recorded then stands for such a list, and a stream that waits for it joins
// the capture. A graph keeps which stream a node came from: a launch gives each of these
// streams a lane, so that nodes without an order between them are checked as such.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_CAPTURE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_CAPTURE_H

#include "runtime/drivers/cuda/Api.h"
#include "runtime/drivers/cuda/test/Operation.h"

#include <thread>

namespace minigptc::runtime::cuda::test {

struct GraphNode {
  std::shared_ptr<const Work> work;
  size_t lane = 0;          ///< of `GraphState::lanes`
  std::vector<size_t> deps; ///< earlier nodes
};

struct GraphState {
  std::vector<GraphNode> nodes;
  struct CapturedLane {
    std::string name;
    int device;
  };
  std::vector<CapturedLane> lanes;
};

struct CaptureState {
  GraphState graph;
  Stream origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;
  bool invalid = false, ended = false;
};

struct StreamState {
  std::shared_ptr<Lane> lane;
  int device = 0;
  bool nonBlocking = false;              ///< not ordered with the default stream
  std::shared_ptr<CaptureState> capture; ///< while it captures
  size_t captureLane = 0;
  std::vector<size_t> captureDeps;
};

struct EventState {
  int device = 0;
  bool timing = true;
  std::shared_ptr<Operation> record; ///< null: never recorded, or in a capture
  std::shared_ptr<CaptureState> capture;
  std::vector<size_t> captureDeps;
};

struct GraphExecState {
  GraphState graph;
  std::vector<std::shared_ptr<Lane>> lanes;
  std::shared_ptr<Operation> lastEnd; ///< launches of one graph run one after the other
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_CAPTURE_H
