#include "minigptc/runtime/Session.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "runtime/collectives/ProcessWorld.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/exec/DriverThreads.h"
#include "runtime/exec/GemmPeak.h"
#include "runtime/exec/NonFinite.h"
#include "runtime/exec/Placement.h"
#include "runtime/exec/Profiler.h"
#include "runtime/exec/ProgramMemory.h"
#include "runtime/exec/SessionInputs.h"
#include "runtime/exec/SessionProcesses.h"
#include "runtime/exec/Stepper.h"
#include "runtime/hal/Driver.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace minigptc::runtime {
namespace {

std::vector<ParameterInfo> describe(const std::vector<ParameterDecl> &parameters) {
  std::vector<ParameterInfo> infos;
  for (const ParameterDecl &decl : parameters) {
    ParameterInfo &info = infos.emplace_back();
    info.name = decl.name;
    info.type = decl.global;
    info.donatedTo = decl.donatedTo;
    info.indexBound = decl.indexBound;
    info.indexChecks = decl.indexChecks;
    info.spec = decl.spec;
    if (decl.type != decl.global)
      info.partShape = decl.type.shape;
  }
  return infos;
}

/// Of one of many devices of this machine: its share of the cores, so that nobody waits for a
/// core by keeping another busy.
int threadsOf(const SessionOptions &options, int64_t devices) {
  if (options.threads != 0 || devices == 1)
    return options.threads;
  return int(std::max<int64_t>(availableCores() / devices, 1));
}

/// A failure, told as that of one of many devices. Throws nothing, even without memory.
Status ofDevice(int64_t device, Status status) {
  if (status || status.code() == StatusCode::cancelled)
    return status;
  try {
    return Status(status.code(), "device " + std::to_string(device) + ": " + status.message())
        .withHelp(status.help());
  } catch (const std::bad_alloc &) {
    return status;
  }
}

/// From which device to which the program sends messages.
std::vector<std::pair<int64_t, int64_t>> waysOf(const Program &program) {
  std::set<std::pair<uint32_t, uint32_t>> stages;
  for (const Message &message : program.messages)
    stages.emplace(message.from, message.to);
  std::vector<std::pair<int64_t, int64_t>> ways;
  for (auto [from, to] : stages)
    for (int64_t device = 0; device < program.mesh.numDevices(); ++device)
      if (program.stageOf(device) == from)
        ways.emplace_back(device, program.onStage(device, to));
  return ways;
}

} // namespace

/// The driver that runs the program.
static StatusOr<std::string> driverFor(const Program &program, const SessionOptions &options) {
  bool cuda = program.target == fb::TargetKind::cuda;
  std::string own = driverOf(program);
  if (options.driver.empty())
    return own;
  if (options.driver.starts_with("cuda") == cuda || !findDriver(options.driver))
    return options.driver; // Who opens it names those that there are.
  return Status(StatusCode::failedPrecondition,
                "the program is compiled for " + quote(own) + ", not for " + quote(options.driver))
      .withHelp("compile it with --target " + (cuda ? "cpu" : options.driver));
}

struct Session::Impl {
  /// What runs a device's part of a program. `stepper` uses `device`.
  struct DeviceEnd {
    std::shared_ptr<Device> device; ///< arrays that lie there keep it, too
    std::optional<Stepper> stepper;
    std::unique_ptr<Profiler> profiler; ///< made when it is first wanted
  };

  Program program;
  std::string metadata, name, driver;
  std::vector<EntryInfo> entries;          ///< as `program.entries`
  std::shared_ptr<ProcessGroup> processes; ///< null: this one has all devices
  DeviceRange here;                        ///< the devices of this process
  bool stopped = false;                    ///< what the processes decided before the last run
  std::unique_ptr<World> world;            ///< null: a program for one device
  std::vector<DeviceEnd> devices;          ///< of this process
  std::unique_ptr<DriverThreads> threads;
  std::function<void(const InstructionEvent &)> callback; ///< empty: nobody profiles
  std::mutex callbackMutex;
  bool checksReplicas = false;
  std::function<void()> meanwhile; ///< of the next run

  Status openDevices(const SessionOptions &options);
  Status checkCount(int64_t asked) const;
  Status connect(const Driver &driver, int threadsPerDevice);
  bool many() const { return program.mesh.numDevices() > 1; }
  int64_t onThisMachine() const { return here.count * (processes ? processes->localCount() : 1); }
  StatusOr<size_t> find(std::string_view name) const;
  /// `cancelled` leaves `inputs` as they were; an entry that donates gives it only
  /// if it is `interruptible`. `observers`: none, or one for each device.
  StatusOr<std::vector<Array>> run(size_t number, std::vector<Array> &inputs,
                                   std::span<StepObserver *const> observers,
                                   bool interruptible = false);
  /// One run on all devices.
  Status step(const Entry &entry, Placement &placement, std::span<StepObserver *const> observers,
              bool interruptible);
  /// ... which have memory of their own.
  Status stepOnDevices(const Entry &entry, std::span<DeviceArguments> arguments,
                       std::span<StepObserver *const> observers, bool interruptible);
  /// Takes the inputs to the devices: nothing is lost if that fails, or the run is given up.
  Status bind(const Entry &entry, std::span<DeviceArguments> arguments, bool cancellable);
  /// `run` on each device's thread.
  Status onAllDevices(const std::function<Status(size_t)> &run);
  bool sharesHostMemory() const { return devices.front().device->info().sharesHostMemory; }
  std::vector<StepObserver *> observers();
};

Status Session::Impl::checkCount(int64_t asked) const {
  int64_t count = program.mesh.numDevices();
  if (asked != 0 && asked != count)
    return Status(StatusCode::invalidArgument,
                  "the program is compiled for " + std::to_string(count) +
                      (count == 1 ? " device" : " devices") +
                      (program.mesh.empty() ? "" : " (mesh " + program.mesh.toString() + ")") +
                      ", not for " + std::to_string(asked))
        .withHelp("compile it for as many, or leave the number out");
  if (here.count > kMaxDriverThreads)
    return Status(StatusCode::failedPrecondition,
                  "the program is for " + std::to_string(here.count) +
                      " devices; one process has " + std::to_string(kMaxDriverThreads) +
                      " at most");
  return {};
}

Status Session::Impl::openDevices(const SessionOptions &options) {
  int64_t count = program.mesh.numDevices();
  processes = options.processes;
  here = DeviceRange::all(program.mesh);
  if (processes) {
    StatusOr<DeviceRange> block = processes->devicesOf(processes->rank(), count);
    if (!block)
      return block.status();
    here = *block;
  }
  MINIGPTC_RETURN_IF_ERROR(checkCount(options.devices));
  const Driver *found = findDriver(driver);
  if (found && processes)
    MINIGPTC_RETURN_IF_ERROR(found->checkProcesses(here.count));
  if (found) // Before anything is loaded.
    MINIGPTC_RETURN_IF_ERROR(found->provide(onThisMachine()));
  checksReplicas = options.checkReplicas;
  int threadsPerDevice = threadsOf(options, onThisMachine());
  int64_t firstOfMachine = processes ? processes->localRank() * here.count : 0;
  for (int64_t number = 0; number < here.count; ++number) {
    StatusOr<std::unique_ptr<Device>> device = runtime::openDevice(
        driver, found ? found->indexOf(firstOfMachine + number) : 0, {.threads = threadsPerDevice});
    if (!device)
      return device.status();
    devices.emplace_back().device = std::move(*device);
  }
  if (many() || !program.groups.empty())
    MINIGPTC_RETURN_IF_ERROR(connect(*found, threadsPerDevice));
  for (int64_t number = 0; number < here.count; ++number) {
    DeviceEnd &end = devices[size_t(number)];
    StatusOr<Stepper> stepper =
        Stepper::create(program, end.device, world ? &world->end(here.first + number) : nullptr);
    if (!stepper)
      return stepper.status();
    end.stepper = std::move(*stepper);
  }
  StatusOr<std::unique_ptr<DriverThreads>> drivers = DriverThreads::create(here.count);
  if (!drivers)
    return drivers.status();
  threads = std::move(*drivers);
  name = devices.front().device->info().name;
  if (count > 1)
    name = std::to_string(count) + " devices" +
           (processes ? " in " + std::to_string(processes->count()) + " processes" : "") +
           ", each " + name;
  return {};
}

Status Session::Impl::connect(const Driver &driver, int threadsPerDevice) {
  bool roomToSpin = onThisMachine() * std::max(threadsPerDevice, 1) <= availableCores();
  WorldOptions options{.problems = program.collectives,
                       .placeOf = [this](uint32_t l) { return program.placeOf(l); },
                       .spinMicroseconds = roomToSpin ? 50 : 0,
                       .ways = waysOf(program)};
  if (processes)
    options.process = {&processes->store(), processes->rank(), processes->count(),
                       [group = processes] { return group->failure(); }};
  std::vector<Device *> members;
  for (DeviceEnd &end : devices)
    members.push_back(end.device.get());
  StatusOr<std::unique_ptr<World>> made = driver.connect(members, options);
  if (!made)
    return made.status();
  world = std::move(*made);
  InProcessOptions local{options.spinMicroseconds, options.placeOf};
  int64_t count = program.mesh.numDevices();
  if (!world && processes)
    world = std::make_unique<ProcessWorld>(*processes, here, count, std::move(local), options.ways);
  else if (!world)
    world = std::make_unique<InProcessWorld>(count, std::move(local));
  return {};
}

StatusOr<size_t> Session::Impl::find(std::string_view name) const {
  std::string known;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name)
      return i;
    known += (known.empty() ? "" : ", ") + entries[i].name;
  }
  return Status(StatusCode::notFound, "the program has no entry function " + quote(name))
      .withHelp("it has: " + known);
}

StatusOr<std::vector<Array>> Session::Impl::run(size_t number, std::vector<Array> &inputs,
                                                std::span<StepObserver *const> observers,
                                                bool interruptible) {
  const EntryInfo &info = entries[number];
  const Entry &entry = program.entries[number];
  bool onHost = sharesHostMemory();
  Status checked = checkInputs(info, inputs);
  StatusOr<Placement> placement = checked
                                      ? Placement::create(info, program.mesh, here, inputs,
                                                          onHost ? Memory::host : Memory::devices)
                                      : StatusOr<Placement>(checked);
  if (!processes && !placement)
    return placement.status();
  // On devices of their own, when all that can be short of memory has been taken.
  if (processes && (onHost || !placement))
    MINIGPTC_RETURN_IF_ERROR(agreeToRun(*processes, entry.name, placement.status(),
                                        interruptible || !entry.donates, stopped));
  if (onHost) {
    meanwhile = {};
    MINIGPTC_RETURN_IF_ERROR(step(entry, *placement, observers, interruptible));
  } else {
    std::vector<DeviceArguments> arguments = placement->deviceArguments();
    MINIGPTC_RETURN_IF_ERROR(stepOnDevices(entry, arguments, observers, interruptible));
    placement->setOutputs(arguments, program.mesh, inputs);
  }
  std::vector<Array> outputs = placement->takeOutputs();
  if (checksReplicas)
    MINIGPTC_RETURN_IF_ERROR(checkReplicas(info, outputs));
  return outputs;
}

Status Session::Impl::step(const Entry &entry, Placement &placement,
                           std::span<StepObserver *const> observers, bool interruptible) {
  bool undoable = interruptible && entry.donates && !processes;
  StepVote vote;
  std::vector<UndoLog> undo; // By device.
  for (size_t d = 0; undoable && d < devices.size(); ++d)
    undo.emplace_back(placement.donated(int64_t(d)), vote);
  std::vector<std::vector<void *>> arguments; // By device; made here, where memory may fail.
  for (size_t d = 0; d < devices.size(); ++d)
    arguments.push_back(placement.arguments(here.first + int64_t(d)));
  Status status = onAllDevices([&](size_t d) {
    StepOptions options{.observer = observers.empty() ? nullptr : observers[d],
                        .cancellable = !processes && (interruptible || !entry.donates),
                        .undo = undoable ? &undo[d] : nullptr,
                        .vote = undoable ? &vote : nullptr};
    return devices[d].stepper->run(entry, arguments[d], options);
  });
  if (vote.cancelled()) // Now that nobody writes any more.
    for (UndoLog &log : undo)
      log.undo();
  return status;
}

/// Once a run that donates has begun it goes on to its end: what it overwrites is nowhere else.
Status Session::Impl::stepOnDevices(const Entry &entry, std::span<DeviceArguments> arguments,
                                    std::span<StepObserver *const> observers, bool interruptible) {
  bool cancellable = !processes && (interruptible || !entry.donates);
  std::function<void()> work = std::exchange(meanwhile, {});
  Status bound = bind(entry, arguments, cancellable);
  if (processes) {
    Status agreed =
        agreeToRun(*processes, entry.name, bound, interruptible || !entry.donates, stopped);
    if (bound && !agreed)
      threads->run([&](int64_t d) { devices[size_t(d)].stepper->giveUp(); });
    bound = std::move(agreed);
  }
  MINIGPTC_RETURN_IF_ERROR(bound);
  bool repeats =
      std::ranges::all_of(devices, [&](DeviceEnd &end) { return end.stepper->repeats(entry); });
  return onAllDevices([&](size_t d) {
    StepOptions options{.observer = observers.empty() ? nullptr : observers[d],
                        .cancellable = cancellable && !entry.donates,
                        .repeats = repeats,
                        .meanwhile = d == 0 && work ? &work : nullptr};
    return devices[d].stepper->run(entry, arguments[d], options);
  });
}

Status Session::Impl::bind(const Entry &entry, std::span<DeviceArguments> arguments,
                           bool cancellable) {
  std::vector<Status> statuses(devices.size());
  threads->run([&](int64_t d) {
    statuses[size_t(d)] = devices[size_t(d)].stepper->bind(entry, arguments[size_t(d)]);
  });
  Status status;
  for (size_t d = 0; status && d < statuses.size(); ++d)
    status = many() ? ofDevice(here.first + int64_t(d), statuses[d]) : statuses[d];
  if (status && cancellable && cancellationRequested())
    status = Status(StatusCode::cancelled, "interrupted");
  if (!status)
    threads->run([&](int64_t d) { devices[size_t(d)].stepper->giveUp(); });
  return status;
}

Status Session::Impl::onAllDevices(const std::function<Status(size_t)> &run) {
  Status alone; // Of the only device, if there is one.
  if (world)
    world->begin();
  threads->run([&](int64_t d) {
    Status status = run(size_t(d));
    if (world)
      world->finish(here.first + d, ofDevice(here.first + d, std::move(status)));
    else
      alone = std::move(status);
  });
  Status status = world ? world->failure() : alone;
  for (DeviceEnd &end : devices)
    if (!status)
      end.stepper->forgetRuns();
  return status;
}

std::vector<StepObserver *> Session::Impl::observers() {
  std::vector<StepObserver *> all;
  for (size_t d = 0; callback && d < devices.size(); ++d)
    all.push_back(devices[d].profiler.get());
  return all;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session &&) noexcept = default;
Session &Session::operator=(Session &&) noexcept = default;
Session::~Session() = default;

StatusOr<Session> Session::open(const std::string &path, const SessionOptions &options) {
  StatusOr<std::vector<std::byte>> bytes = readFile(path);
  if (!bytes)
    return bytes.status();
  StatusOr<Session> session = load(*bytes, options);
  if (!session)
    return Status(session.status().code(),
                  "cannot load " + quote(path) + ": " + session.status().message())
        .withHelp(session.status().help());
  return session;
}

StatusOr<Session> Session::load(std::span<const std::byte> artifact,
                                const SessionOptions &options) {
  registerBuiltinDrivers();
  StatusOr<Program> program = readArtifact(artifact);
  if (!program)
    return program.status();
  MINIGPTC_RETURN_IF_ERROR(checkTarget(*program));

  auto impl = std::make_unique<Impl>();
  impl->program = std::move(*program);
  impl->metadata = impl->program.metadata;
  StatusOr<std::string> driver = driverFor(impl->program, options);
  if (!driver)
    return driver.status();
  impl->driver = std::move(*driver);
  if (options.processes)
    MINIGPTC_RETURN_IF_ERROR(agreeOnProgram(*options.processes, artifact));
  MINIGPTC_RETURN_IF_ERROR(impl->openDevices(options));
  uint64_t collectiveBytes =
      impl->devices.front().device->collectiveMemory(impl->program.collectives);
  for (const Entry &entry : impl->program.entries)
    impl->entries.push_back({std::string(entry.name), describe(entry.inputs),
                             describe(entry.outputs), impl->program.frameSizeOf(entry),
                             queueMemory(impl->program, entry, *impl->devices.front().device),
                             sharesOfPeak(impl->program, entry.name), collectiveBytes});
  return Session(std::move(impl));
}

const std::vector<EntryInfo> &Session::entries() const { return impl_->entries; }
const std::string &Session::metadata() const { return impl_->metadata; }
const std::string &Session::deviceName() const { return impl_->name; }

std::string Session::target() const {
  const std::string &driver = impl_->devices.front().device->info().driver;
  return driver == "host" ? "cpu" : driver;
}
bool Session::isEmulated() const { return impl_->devices.front().device->info().emulated; }
int Session::threads() const { return impl_->devices.front().device->info().threads; }
int64_t Session::devices() const { return int64_t(impl_->devices.size()); }
ProcessGroup *Session::processes() const { return impl_->processes.get(); }
DeviceRange Session::here() const { return impl_->here; }
bool Session::interrupted() const {
  return impl_->processes ? impl_->stopped : cancellationRequested();
}
const Mesh &Session::mesh() const { return impl_->program.mesh; }

std::optional<MemorySize> Session::deviceMemory() const {
  std::optional<MemorySize> least;
  for (const Impl::DeviceEnd &end : impl_->devices)
    if (std::optional<MemoryLimits> memory = end.device->memory())
      if (!least || memory->available < least->free)
        least = {memory->total, memory->available};
  return least;
}

ProductAlgorithms Session::productAlgorithms() const {
  const Impl::DeviceEnd &first = impl_->devices.front(); // All devices are alike.
  ProductAlgorithms result{first.device->info().products};
  for (size_t i = 0; i < impl_->program.gemms.size(); ++i)
    if (std::string algorithm = first.stepper->algorithmOf(i); !algorithm.empty())
      result.algorithms.emplace(impl_->program.gemms[i].problem.identity(), std::move(algorithm));
  return result;
}

StatusOr<int64_t> Session::useProductAlgorithms(const ProductAlgorithms &algorithms) {
  const std::string &library = impl_->devices.front().device->info().products;
  if (algorithms.library != library)
    return Status(StatusCode::failedPrecondition,
                  "algorithms of " + quote(algorithms.library) + " are none of " + quote(library));
  std::set<std::string> others;
  for (size_t i = 0; i < impl_->program.gemms.size(); ++i) {
    std::string product = impl_->program.gemms[i].problem.identity();
    auto found = algorithms.algorithms.find(product);
    for (Impl::DeviceEnd &end : impl_->devices)
      if (!end.stepper->algorithmOf(i).empty() &&
          (found == algorithms.algorithms.end() || !end.stepper->useAlgorithm(i, found->second)))
        others.insert(product);
  }
  return int64_t(others.size());
}

double Session::measureGemmPeak() const {
  Device *device = impl_->devices.front().device.get();
  if (isEmulated())
    return 0; // Its times say nothing of a library's speed.
  std::unique_ptr<Device> all;
  if (devices() > 1) { // One with the threads of all of them.
    int64_t together = std::min<int64_t>(devices() * threads(), availableCores());
    auto opened = openDevice(device->info().driver, 0, {.threads = int(together)});
    if (!opened)
      return 0;
    all = std::move(*opened);
    device = all.get();
  }
  StatusOr<double> flops = runtime::measureGemmPeak(*device);
  return flops ? *flops : 0;
}

const EntryInfo *Session::entry(std::string_view name) const {
  StatusOr<size_t> number = impl_->find(name);
  return number ? &impl_->entries[*number] : nullptr;
}

StatusOr<ArrayTree> Session::run(std::string_view entry, ArrayTree inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  if (!number)
    return number.status();
  const EntryInfo &info = impl_->entries[*number];
  StatusOr<std::vector<Array>> ordered = orderInputs(info, inputs);
  if (!ordered)
    return ordered.status();
  inputs = {}; // so that donated arrays have one owner
  StatusOr<std::vector<Array>> outputs = run(entry, std::move(*ordered));
  if (!outputs)
    return outputs.status();
  std::vector<std::pair<std::string, Array>> leaves;
  for (size_t i = 0; i < outputs->size(); ++i)
    leaves.emplace_back(info.outputs[i].name, std::move((*outputs)[i]));
  return ArrayTree::unflatten(leaves);
}

StatusOr<std::vector<Array>> Session::run(std::string_view entry, std::vector<Array> inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  return number ? impl_->run(*number, inputs, impl_->observers()) : number.status();
}

StatusOr<std::vector<Array>> Session::runInterruptibly(std::string_view entry,
                                                       std::vector<Array> &inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  return number ? impl_->run(*number, inputs, impl_->observers(), /*interruptible=*/true)
                : number.status();
}

void Session::meanwhile(std::function<void()> work) { impl_->meanwhile = std::move(work); }

StatusOr<Array> Session::prefetch(std::string_view entry, std::string_view input, Array array) {
  StatusOr<size_t> number = impl_->find(entry);
  if (!number)
    return number.status();
  const std::vector<ParameterInfo> &inputs = impl_->entries[*number].inputs;
  auto info = std::ranges::find(inputs, input, &ParameterInfo::name);
  if (info == inputs.end())
    return Status(StatusCode::notFound, "entry " + quote(entry) + " has no input " + quote(input));
  if (impl_->sharesHostMemory() || !array.valid() || array.type() != info->type)
    return array; // The run tells what is wrong with it.
  const Mesh &mesh = impl_->program.mesh;
  if (impl_->many() && !array.liesOn(mesh, info->spec))
    array = Array::shardedFrom(array, mesh, info->spec, impl_->here);
  if (!array.valid())
    return Status(StatusCode::resourceExhausted, "not enough memory for " + quote(input));
  for (size_t d = 0; d < impl_->devices.size(); ++d)
    if (const auto &buffer = ArrayParts::buffer(array, impl_->here.first + int64_t(d)))
      MINIGPTC_RETURN_IF_ERROR(impl_->devices[d].stepper->prefetch(buffer));
  return array;
}

StatusOr<NonFiniteReport> Session::findNonFinite(std::string_view entry,
                                                 std::vector<Array> inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  if (!number)
    return number.status();
  MINIGPTC_RETURN_IF_ERROR(checkInputs(impl_->entries[*number], inputs));
  const Entry &entryDecl = impl_->program.entries[*number];
  std::vector<std::unique_ptr<NonFiniteFinder>> finders;
  std::vector<StepObserver *> observers;
  for (int64_t d = 0; d < devices(); ++d) {
    finders.push_back(std::make_unique<NonFiniteFinder>(impl_->program));
    observers.push_back(finders.back().get());
  }
  finders.front()->inspectInputs(entryDecl, inputs);
  StatusOr<std::vector<Array>> outputs = impl_->run(*number, inputs, observers);
  if (!outputs)
    return outputs.status();
  const NonFiniteFinder *first = finders.front().get();
  for (const auto &finder : finders)
    if (finder->isBefore(*first))
      first = finder.get();
  if (impl_->processes)
    return firstOf(*impl_->processes, *first);
  return first->report();
}

void Session::profile(std::function<void(const InstructionEvent &)> callback) {
  impl_->callback = std::move(callback);
  for (size_t d = 0; d < impl_->devices.size(); ++d) {
    std::unique_ptr<Profiler> &profiler = impl_->devices[d].profiler;
    if (!impl_->callback)
      continue;
    if (!profiler)
      profiler = std::make_unique<Profiler>(impl_->program, impl_->here.first + int64_t(d));
    profiler->report([impl = impl_.get()](const InstructionEvent &event) {
      std::lock_guard lock(impl->callbackMutex);
      impl->callback(event);
    });
  }
}

} // namespace minigptc::runtime
