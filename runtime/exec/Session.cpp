#include "minigptc/runtime/Session.h"

#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "runtime/drivers/Builtin.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/exec/GemmPeak.h"
#include "runtime/exec/NonFinite.h"
#include "runtime/exec/Profiler.h"
#include "runtime/exec/SessionInputs.h"
#include "runtime/exec/Stepper.h"
#include "runtime/hal/Driver.h"

namespace minigptc::runtime {
namespace {

std::vector<ParameterInfo> describe(const std::vector<ParameterDecl> &parameters) {
  std::vector<ParameterInfo> infos;
  for (const ParameterDecl &decl : parameters)
    infos.push_back({std::string(decl.name), decl.type, decl.donatedTo, decl.indexBound,
                     decl.indexChecks});
  return infos;
}

Status outOfMemory(const std::string &name) {
  return Status(StatusCode::resourceExhausted, "not enough memory for " + quote(name));
}

} // namespace

struct Session::Impl {
  Program program;
  std::string metadata;
  std::vector<EntryInfo> entries; ///< as `program.entries`
  std::unique_ptr<Device> device;
  std::optional<Stepper> stepper;     ///< uses the two above
  std::unique_ptr<Profiler> profiler; ///< made when it is first wanted
  bool profiling = false;

  StatusOr<size_t> find(std::string_view name) const;
  /// Makes room for the outputs, donated inputs' first; `inputs` lose these.
  StatusOr<std::vector<Array>> prepareOutputs(const EntryInfo &entry, std::vector<Array> &inputs);
  /// `cancelled` leaves `inputs` as they were; an entry that donates gives it only
  /// if it is `interruptible`.
  StatusOr<std::vector<Array>> run(size_t number, std::vector<Array> &inputs,
                                   StepObserver *observer, bool interruptible = false);
  StepObserver *observer() { return profiling ? profiler.get() : nullptr; }
};

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

StatusOr<std::vector<Array>> Session::Impl::prepareOutputs(const EntryInfo &entry,
                                                           std::vector<Array> &inputs) {
  std::vector<Array> outputs(entry.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    int target = entry.inputs[i].donatedTo;
    if (target < 0)
      continue;
    outputs[target] = inputs[i].useCount() == 1 ? inputs[i] : inputs[i].clone();
    if (!outputs[target].valid())
      return outOfMemory(entry.inputs[i].name);
    inputs[i] = outputs[target]; // what the block reads is what it overwrites
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid())
      outputs[i] = Array::uninitialized(entry.outputs[i].type);
    if (!outputs[i].valid())
      return outOfMemory(entry.outputs[i].name);
  }
  return outputs;
}

StatusOr<std::vector<Array>> Session::Impl::run(size_t number, std::vector<Array> &inputs,
                                                StepObserver *observer, bool interruptible) {
  const EntryInfo &info = entries[number];
  MINIGPTC_RETURN_IF_ERROR(checkInputs(info, inputs));
  StatusOr<std::vector<Array>> outputs = prepareOutputs(info, inputs);
  if (!outputs)
    return outputs.status();
  std::vector<void *> arguments;
  std::vector<std::span<std::byte>> donated;
  for (size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(inputs[i].data());
    if (info.inputs[i].donatedTo >= 0)
      donated.emplace_back(inputs[i].data(), size_t(inputs[i].type().numBytes()));
  }
  for (Array &output : *outputs)
    arguments.push_back(output.data());
  const Entry &entry = program.entries[number];
  UndoLog undo(std::move(donated));
  StepOptions options{.observer = observer,
                      .cancellable = interruptible || !entry.donates,
                      .undo = interruptible && entry.donates ? &undo : nullptr};
  MINIGPTC_RETURN_IF_ERROR(stepper->run(entry, arguments, options));
  return outputs;
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

static std::vector<MemoryShare> describePeak(const Program &program, std::string_view entry) {
  std::vector<MemoryShare> shares;
  for (const MemoryReport &report : program.memory)
    if (report.entry == entry)
      for (const MemoryItem &item : report.items)
        shares.push_back({std::string(item.tensor), program.placeOf(item.location), item.bytes});
  return shares;
}

StatusOr<Session> Session::load(std::span<const std::byte> artifact,
                                const SessionOptions &options) {
  registerBuiltinDrivers();
  StatusOr<Program> program = readArtifact(artifact);
  if (!program)
    return program.status();
  MINIGPTC_RETURN_IF_ERROR(checkTarget(*program));
  StatusOr<std::unique_ptr<Device>> device =
      openDevice(options.driver, 0, {.threads = options.threads});
  if (!device)
    return device.status();

  auto impl = std::make_unique<Impl>();
  impl->program = std::move(*program);
  impl->device = std::move(*device);
  impl->metadata = impl->program.metadata;
  for (const Entry &entry : impl->program.entries)
    impl->entries.push_back({std::string(entry.name), describe(entry.inputs),
                             describe(entry.outputs), impl->program.blocks[entry.block].frameSize,
                             describePeak(impl->program, entry.name)});
  StatusOr<Stepper> stepper = Stepper::create(impl->program, *impl->device);
  if (!stepper)
    return stepper.status();
  impl->stepper = std::move(*stepper);
  return Session(std::move(impl));
}

const std::vector<EntryInfo> &Session::entries() const { return impl_->entries; }
const std::string &Session::metadata() const { return impl_->metadata; }
const std::string &Session::deviceName() const { return impl_->device->info().name; }
int Session::threads() const { return impl_->device->info().threads; }

double Session::measureGemmPeak() const {
  StatusOr<double> flops = runtime::measureGemmPeak(*impl_->device);
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
  return number ? impl_->run(*number, inputs, impl_->observer()) : number.status();
}

StatusOr<std::vector<Array>> Session::runInterruptibly(std::string_view entry,
                                                       std::vector<Array> &inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  return number ? impl_->run(*number, inputs, impl_->observer(), /*interruptible=*/true)
                : number.status();
}

StatusOr<NonFiniteReport> Session::findNonFinite(std::string_view entry,
                                                 std::vector<Array> inputs) {
  StatusOr<size_t> number = impl_->find(entry);
  if (!number)
    return number.status();
  MINIGPTC_RETURN_IF_ERROR(checkInputs(impl_->entries[*number], inputs));
  NonFiniteFinder finder(impl_->program);
  finder.inspectInputs(impl_->program.entries[*number], inputs);
  StatusOr<std::vector<Array>> outputs = impl_->run(*number, inputs, &finder);
  if (!outputs)
    return outputs.status();
  return finder.report();
}

void Session::profile(std::function<void(const InstructionEvent &)> callback) {
  impl_->profiling = bool(callback);
  if (impl_->profiling && !impl_->profiler)
    impl_->profiler = std::make_unique<Profiler>(impl_->program);
  if (impl_->profiler)
    impl_->profiler->report(std::move(callback));
}

} // namespace minigptc::runtime
