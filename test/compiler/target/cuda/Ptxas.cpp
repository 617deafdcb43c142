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

PtxasReport assemble(const std::string &ptx, const std::string &arch) {
  llvm::SmallString<128> input, output;
  PtxasReport report;
  if (llvm::sys::fs::createTemporaryFile("kernel", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("kernel", "txt", output))
    return report;
  {
    std::error_code error;
    llvm::raw_fd_ostream(input, error) << ptx;
  }
  std::string program = findPtxas(), option = "-arch=" + arch;
  llvm::StringRef arguments[] = {program, "-v", option, "-o", "/dev/null", input};
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, llvm::StringRef(output),
                                                llvm::StringRef(output)};
  report.accepted = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, redirects) == 0;
  if (auto text = llvm::MemoryBuffer::getFile(output))
    report.text = (*text)->getBuffer().str();
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  report.registers = sumOf(report.text, "registers");
  report.localBytes = sumOf(report.text, "bytes stack frame") +
                      sumOf(report.text, "bytes spill stores") +
                      sumOf(report.text, "bytes spill loads");
  return report;
}
