//===- Golden.cpp - the recorded values of test/golden --------------------===//
#include "test/support/Golden.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <stdexcept>

using namespace minigptc;
using namespace minigptc::test;

static const std::string kFolder = MINIGPTC_TEST_DIR "/golden/";

static llvm::json::Value readIndex() {
  auto file = llvm::MemoryBuffer::getFile(kFolder + "index.json");
  if (!file)
    throw std::runtime_error(kFolder + "index.json: " + file.getError().message());
  llvm::Expected<llvm::json::Value> index = llvm::json::parse((*file)->getBuffer());
  if (!index)
    throw std::runtime_error("index.json: " + llvm::toString(index.takeError()));
  return *index;
}

/// Calls `fn(name, case)` for each case.
template <typename Fn> static void forEachCase(const llvm::json::Value &index, Fn &&fn) {
  const llvm::json::Array *cases = index.getAsObject()->getArray("cases");
  for (const llvm::json::Value &value : *cases)
    fn(value.getAsObject()->getString("name")->str(), *value.getAsObject());
}

std::vector<std::string> test::goldenNames() {
  std::vector<std::string> names;
  forEachCase(readIndex(),
              [&](const std::string &name, const llvm::json::Object &) { names.push_back(name); });
  return names;
}

GoldenCase test::loadGolden(mlir::MLIRContext &context, const std::string &wanted) {
  GoldenCase golden;
  forEachCase(readIndex(), [&](const std::string &name, const llvm::json::Object &entry) {
    if (name != wanted)
      return;
    golden.tensors = readSafetensors(context, kFolder + entry.getString("file")->str());
    golden.tolerance = {.relative = *entry.getNumber("rtol"), .absolute = *entry.getNumber("atol")};
  });
  if (golden.tensors.empty())
    throw std::runtime_error("no golden case '" + wanted + "'");
  return golden;
}

const interpreter::Tensor &GoldenCase::at(const std::string &name) const {
  auto found = tensors.find(name);
  if (found != tensors.end())
    return found->second;
  std::string message = "no golden tensor '" + name + "'; there are";
  for (const auto &entry : tensors)
    message += " '" + entry.first + "'";
  throw std::runtime_error(message);
}
