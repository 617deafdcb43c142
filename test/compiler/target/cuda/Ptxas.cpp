//===- Ptxas.cpp ----------------------------------------------------------===//
#include "test/compiler/target/cuda/Ptxas.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <regex>

static std::string findPtxas() {
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  std::string usual = "/usr/local/cuda/bin/ptxas";
  return llvm::sys::fs::can_execute(usual) ? usual : "";
}

bool hasPtxas() { return !findPtxas().empty(); }

/// The sum of the numbers before a word.
static int sumOf(const std::string &text, const std::string &word) {
  int sum = 0;
  std::regex pattern("([0-9]+) " + word);
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    sum += std::stoi((*match)[1]);
  return sum;
}

/// What is said of each kernel, from its name to the next one's.
static std::map<std::string, PtxasKernel> readKernels(const std::string &text) {
  std::map<std::string, PtxasKernel> kernels;
  std::regex pattern("Compiling entry function '([^']+)'");
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end;) {
    std::string name = (*match)[1];
    size_t from = match->position();
    size_t to = ++match != end ? size_t(match->position()) : text.size();
    std::string part = text.substr(from, to - from);
    // A frame holds what is spilled.
    kernels[name] = {sumOf(part, "registers"), sumOf(part, "bytes stack frame"),
                     sumOf(part, "bytes smem")};
    if (kernels[name].localBytes == 0)
      kernels[name].localBytes =
          sumOf(part, "bytes spill stores") + sumOf(part, "bytes spill loads");
  }
  return kernels;
}

PtxasReport assemble(const std::string &ptx, const std::string &arch,
                     const std::string &output) {
  llvm::SmallString<128> input, said;
  PtxasReport report;
  if (llvm::sys::fs::createTemporaryFile("kernel", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("kernel", "txt", said))
    return report;
  {
    std::error_code error;
    llvm::raw_fd_ostream(input, error) << ptx;
  }
  std::string program = findPtxas(), option = "-arch=" + arch;
  llvm::StringRef arguments[] = {program, "-v", option, "-o", output, input};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(said),
                                                llvm::StringRef(said)};
  report.accepted = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects) == 0;
  if (auto text = llvm::MemoryBuffer::getFile(said))
    report.text = (*text)->getBuffer().str();
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(said);
  report.registers = sumOf(report.text, "registers");
  report.localBytes = sumOf(report.text, "bytes stack frame") +
                      sumOf(report.text, "bytes spill stores") +
                      sumOf(report.text, "bytes spill loads");
  report.kernels = readKernels(report.text);
  return report;
}
