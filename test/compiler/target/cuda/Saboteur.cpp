#include "test/compiler/target/cuda/Saboteur.h"

#include <chrono>
#include <thread>

namespace minigptc::runtime::cuda::test {

/// Whose context the thread has entered.
static thread_local Context entered = nullptr;
/// Calls of the thread, for its pauses.
static thread_local uint64_t callsOfThread = 0;

const char *describe(Edit edit) {
  switch (edit) {
  case Edit::record: return "cuEventRecord left out";
  case Edit::wait: return "cuStreamWaitEvent left out";
  case Edit::synchronize: return "cuStreamSynchronize left out";
  case Edit::waitOnHost: return "cuEventSynchronize left out";
  case Edit::upload: return "copy from the host that nothing waits for";
  case Edit::download: return "copy to the host that nothing waits for";
  }
  return "";
}

std::string Site::toString() const {
  return std::string(describe(edit)) + ", device " + std::to_string(device) + ", number " +
         std::to_string(number);
}

Saboteur &Saboteur::get() {
  static Saboteur saboteur;
  return saboteur;
}

void Saboteur::start(std::optional<Site> site, uint64_t seed) {
  std::lock_guard lock(mutex);
  wrong = site;
  pauses = seed;
  devices.clear();
  calls.clear();
  asked.clear();
  counts.clear();
  records.clear();
  collectiveStreams.clear();
  capturing.clear();
  aside = {};
}

std::vector<Site> Saboteur::sites() const {
  std::lock_guard lock(mutex);
  std::vector<Site> result;
  for (const auto &[site, call] : calls)
    result.push_back(site);
  return result;
}

std::vector<Site> Saboteur::sitesOfCollectives() const {
  std::lock_guard lock(mutex);
  // Events that are recorded on, or waited for by, a queue of collectives.
  std::set<uint64_t> between;
  for (const auto &[site, call] : calls)
    if (call.event != 0 && collectiveStreams.contains(call.stream))
      between.insert(call.event);
  std::vector<Site> result;
  for (const auto &[site, call] : calls)
    if (between.contains(call.event))
      result.push_back(site);
  return result;
}

std::set<Site> Saboteur::unusedRecords() const {
  std::lock_guard lock(mutex);
  std::set<Site> result;
  for (const auto &[site, call] : calls)
    if (site.edit == Edit::record && !asked.contains(call.event))
      result.insert(site);
  return result;
}

int Saboteur::currentDevice() const {
  auto found = devices.find(entered);
  return found == devices.end() ? -1 : found->second;
}

void Saboteur::enter(Context context) {
  entered = context;
  pause();
}

/// One call in four waits for some of the others' work, one in fifty for much of it.
void Saboteur::pause() {
  uint64_t bits;
  {
    std::lock_guard lock(mutex);
    if (pauses == 0)
      return;
    bits = (pauses * 64 + uint64_t(currentDevice() + 1)) * 0x9E3779B97F4A7C15u + ++callsOfThread;
  }
  bits = (bits ^ (bits >> 31)) * 0xBF58476D1CE4E5B9u;
  bits ^= bits >> 29;
  if (bits % 4 == 0)
    std::this_thread::sleep_for(
        std::chrono::microseconds((bits >> 8) % (bits / 4 % 50 == 0 ? 5000 : 200)));
}

bool Saboteur::hits(Edit edit, Stream stream, EventHandle event) {
  std::lock_guard lock(mutex);
  int device = currentDevice();
  Site site{edit, device, counts[{edit, device}]++};
  if (edit == Edit::record)
    records[event] = ++lastRecord;
  auto record = records.find(event);
  uint64_t number = record == records.end() ? 0 : record->second;
  calls[site] = {stream, number};
  if (edit == Edit::wait || edit == Edit::waitOnHost)
    asked.insert(number);
  return wrong == site;
}

void Saboteur::noteQuery(EventHandle event) {
  std::lock_guard lock(mutex);
  if (auto record = records.find(event); record != records.end())
    asked.insert(record->second);
}

Stream Saboteur::asideOf(Stream stream) {
  const DriverApi &cu = real.driver;
  Aside made{.device = currentDevice(), .context = entered};
  if (cu.eventCreate(&made.event, kEventDisableTiming) != Result::success ||
      cu.streamCreate(&made.stream, kStreamNonBlocking) != Result::success ||
      cu.eventRecord(made.event, stream) != Result::success ||
      cu.streamWaitEvent(made.stream, made.event, 0) != Result::success)
    return stream;
  std::lock_guard lock(mutex);
  if (capturing.contains(stream))
    made.joins = stream;
  aside = made;
  return made.stream;
}

void Saboteur::endCapture(Stream stream) {
  std::lock_guard lock(mutex);
  capturing.erase(stream);
  if (!aside.joins || aside.joins != stream)
    return;
  (void)real.driver.eventRecord(aside.event, aside.stream);
  (void)real.driver.streamWaitEvent(stream, aside.event, 0);
}

void Saboteur::dropAside(int device) {
  Aside dropped;
  {
    std::lock_guard lock(mutex);
    if (aside.stream && aside.device == device)
      std::swap(dropped, aside);
  }
  if (!dropped.stream)
    return;
  (void)real.driver.ctxSetCurrent(dropped.context);
  (void)real.driver.streamDestroy(dropped.stream);
  (void)real.driver.eventDestroy(dropped.event);
}

/// What stands in the tables.
struct Hooks {
  static inline Saboteur &s = Saboteur::get();

  static Result primaryCtxRetain(Context *context, DeviceId device) {
    Result result = s.real.driver.primaryCtxRetain(context, device);
    std::lock_guard lock(s.mutex);
    if (result == Result::success)
      s.devices[*context] = int(device);
    return result;
  }
  static Result primaryCtxRelease(DeviceId device) {
    s.dropAside(int(device));
    return s.real.driver.primaryCtxRelease(device);
  }
  static Result ctxSetCurrent(Context context) {
    s.enter(context);
    return s.real.driver.ctxSetCurrent(context);
  }
  static Result eventRecord(EventHandle event, Stream stream) {
    return s.hits(Edit::record, stream, event) ? Result::success
                                               : s.real.driver.eventRecord(event, stream);
  }
  static Result streamWaitEvent(Stream stream, EventHandle event, unsigned flags) {
    return s.hits(Edit::wait, stream, event) ? Result::success
                                             : s.real.driver.streamWaitEvent(stream, event, flags);
  }
  static Result streamSynchronize(Stream stream) {
    return s.hits(Edit::synchronize, stream, nullptr) ? Result::success
                                                      : s.real.driver.streamSynchronize(stream);
  }
  static Result eventSynchronize(EventHandle event) {
    return s.hits(Edit::waitOnHost, nullptr, event) ? Result::success
                                                    : s.real.driver.eventSynchronize(event);
  }
  static Result eventQuery(EventHandle event) {
    s.noteQuery(event);
    return s.real.driver.eventQuery(event);
  }
  static Result memcpyHtoDAsync(DevicePtr to, const void *from, size_t bytes, Stream stream) {
    Stream used = s.hits(Edit::upload, stream, nullptr) ? s.asideOf(stream) : stream;
    return s.real.driver.memcpyHtoDAsync(to, from, bytes, used);
  }
  static Result memcpyDtoHAsync(void *to, DevicePtr from, size_t bytes, Stream stream) {
    Stream used = s.hits(Edit::download, stream, nullptr) ? s.asideOf(stream) : stream;
    return s.real.driver.memcpyDtoHAsync(to, from, bytes, used);
  }
  static Result streamBeginCapture(Stream stream, CaptureMode mode) {
    std::lock_guard lock(s.mutex);
    s.capturing.insert(stream);
    return s.real.driver.streamBeginCapture(stream, mode);
  }
  static Result streamEndCapture(Stream stream, Graph *graph) {
    s.endCapture(stream);
    return s.real.driver.streamEndCapture(stream, graph);
  }

  static void seen(Stream stream) {
    std::lock_guard lock(s.mutex);
    s.collectiveStreams.insert(stream);
  }
  static NcclResult allReduce(const void *input, void *output, size_t count, NcclType type,
                              NcclReduce combine, NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.allReduce(input, output, count, type, combine, comm, stream);
  }
  static NcclResult allGather(const void *input, void *output, size_t count, NcclType type,
                              NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.allGather(input, output, count, type, comm, stream);
  }
  static NcclResult reduceScatter(const void *input, void *output, size_t count, NcclType type,
                                  NcclReduce combine, NcclComm comm, Stream stream) {
    seen(stream);
    return s.real.nccl.reduceScatter(input, output, count, type, combine, comm, stream);
  }
  static NcclResult send(const void *input, size_t count, NcclType type, int peer, NcclComm comm,
                         Stream stream) {
    seen(stream);
    return s.real.nccl.send(input, count, type, peer, comm, stream);
  }
};

std::shared_ptr<const CudaApi> Saboteur::wrap(const CudaApi &tables) {
  real = tables;
  auto api = std::make_shared<CudaApi>(tables);
  DriverApi &driver = api->driver;
  driver.primaryCtxRetain = Hooks::primaryCtxRetain;
  driver.primaryCtxRelease = Hooks::primaryCtxRelease;
  driver.ctxSetCurrent = Hooks::ctxSetCurrent;
  driver.eventRecord = Hooks::eventRecord;
  driver.streamWaitEvent = Hooks::streamWaitEvent;
  driver.streamSynchronize = Hooks::streamSynchronize;
  driver.eventSynchronize = Hooks::eventSynchronize;
  driver.eventQuery = Hooks::eventQuery;
  driver.memcpyHtoDAsync = Hooks::memcpyHtoDAsync;
  driver.memcpyDtoHAsync = Hooks::memcpyDtoHAsync;
  driver.streamBeginCapture = Hooks::streamBeginCapture;
  driver.streamEndCapture = Hooks::streamEndCapture;
  api->nccl.allReduce = Hooks::allReduce;
  api->nccl.allGather = Hooks::allGather;
  api->nccl.reduceScatter = Hooks::reduceScatter;
  api->nccl.send = Hooks::send;
  return api;
}

} // namespace minigptc::runtime::cuda::test
