// What a program prints: from the artifact to the line.
#include "runtime/base/PrintLine.h"
#include "runtime/exec/ArtifactReader.h"
#include "runtime/exec/Stepper.h"

#include <algorithm>

namespace minigptc::runtime {
namespace {

/// Of one print; as the compiler's (graph.print).
constexpr int64_t kMaxLines = int64_t(1) << 24;

StatusOr<Print> readPrint(const fb::Print &from, const Program &program) {
  Print print;
  for (uint32_t i = 0; i < (from.texts() ? from.texts()->size() : 0); ++i)
    print.texts.push_back(from.texts()->Get(i)->string_view());
  for (uint32_t i = 0; i < (from.types() ? from.types()->size() : 0); ++i) {
    StatusOr<TensorType> type = readType(from.types()->Get(i));
    if (!type)
      return type.status();
    print.types.push_back(std::move(*type));
  }
  if (print.texts.size() != print.types.size() + 1)
    return invalidArtifact("a print of " + std::to_string(print.types.size()) + " tensors with " +
                           std::to_string(print.texts.size()) + " texts around them");
  print.examples = from.examples();
  auto hasExamples = [&](const TensorType &type) {
    const Shape &first = print.types[0].shape;
    return type.shape.size() >= print.examples && first.size() >= print.examples &&
           std::equal(first.begin(), first.begin() + print.examples, type.shape.begin());
  };
  if (!std::ranges::all_of(print.types, hasExamples))
    return invalidArtifact("a print of tensors that have other examples than the first");
  int64_t lines = 1;
  for (uint32_t i = 0; i < (print.types.empty() ? 0 : print.examples); ++i)
    if (__builtin_mul_overflow(lines, print.types[0].shape[i], &lines) || lines > kMaxLines)
      return invalidArtifact("a print of too many lines");
  if (from.group() >= program.groups.size())
    return invalidArtifact("a print of a group that is not there");
  print.group = program.groups[from.group()];
  return print;
}

} // namespace

Status readPrints(const fb::Artifact &table, Program &program) {
  for (uint32_t i = 0; i < (table.prints() ? table.prints()->size() : 0); ++i) {
    StatusOr<Print> print = readPrint(*table.prints()->Get(i), program);
    if (!print)
      return print.status();
    program.prints.push_back(std::move(*print));
  }
  return {};
}

/// Of an entry that all stages run alike, the first stage prints.
Status Stepper::runPrint(const BoundInstruction &bound) {
  const Print &print = program_->prints[bound.instruction.target];
  if (print.group.rankOf(thisDevice()) != 0 || (!isStaged_ && stage_ != 0))
    return {};
  MINIGPTC_RETURN_IF_ERROR(queue_->synchronize()); // The host reads what the queue wrote.
  std::vector<PrintedTensor> tensors;
  std::vector<std::vector<std::byte>> copies;
  for (size_t i = 0; i < print.types.size(); ++i) {
    const TensorType &type = print.types[i];
    auto *data = static_cast<const std::byte *>(bound.inputs()[i]);
    if (state_) {
      std::vector<std::byte> &copy = copies.emplace_back(size_t(type.numBytes()));
      MINIGPTC_RETURN_IF_ERROR(device_->download(copy, data));
      data = copy.data();
    }
    tensors.push_back({type.dtype, type.shape, data});
  }
  printLines(print.texts, tensors, print.examples);
  return {};
}

} // namespace minigptc::runtime
