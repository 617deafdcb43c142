//===- Linker.cpp ---------------------------------------------------------===//
#include "compiler/target/cpu/Linker.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace minigptc::cpu;

namespace {
/// A directory for lld's input and output, gone with this object.
class ScratchDirectory {
public:
  ScratchDirectory() { failure = sys::fs::createUniqueDirectory("minigptc-link", path); }
  ~ScratchDirectory() {
    if (!failure)
      sys::fs::remove_directories(path);
  }
  std::string file(const Twine &name) const {
    SmallString<128> result(path);
    sys::path::append(result, name);
    return std::string(result);
  }
  std::error_code error() const { return failure; }

private:
  SmallString<128> path;
  std::error_code failure;
};
} // namespace

static std::error_code writeFile(const std::string &path, StringRef bytes) {
  std::error_code error;
  raw_fd_ostream stream(path, error, sys::fs::OF_None);
  if (error)
    return error;
  stream << bytes;
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error;
}

static bool runLinker(ArrayRef<std::string> arguments, std::string &error) {
  static std::mutex oneAtATime; // lld keeps its state in globals
  std::lock_guard<std::mutex> lock(oneAtATime);
  SmallVector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  std::string out;
  raw_string_ostream outStream(out), errorStream(error);
  lld::Result result =
      lld::lldMain(pointers, outStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  return result.retCode == 0;
}

FailureOr<std::vector<std::byte>> minigptc::cpu::linkSharedObject(ArrayRef<std::string> objects,
                                                                  std::string &error) {
  ScratchDirectory scratch;
  auto fail = [&](std::error_code code) {
    error = "cannot write the linker's files to the temporary directory: " + code.message();
    return failure();
  };
  if (scratch.error())
    return fail(scratch.error());
  std::string output = scratch.file("kernels.so");
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "--strip-all",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "--threads=1",
                                        "-z",
                                        "noexecstack",
                                        "-o",
                                        output};
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back(scratch.file(Twine(i) + ".o"));
    if (std::error_code code = writeFile(arguments.back(), object))
      return fail(code);
  }
  if (!runLinker(arguments, error))
    return failure();
  auto linked = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return fail(linked.getError());
  auto *begin = reinterpret_cast<const std::byte *>((*linked)->getBufferStart());
  return std::vector<std::byte>(begin, begin + (*linked)->getBufferSize());
}
