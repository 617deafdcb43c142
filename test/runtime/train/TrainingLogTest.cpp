#include "runtime/train/TrainingLog.h"
#include "test/runtime/train/TestFiles.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

void tell(TrainingLog &log) {
  log.remark("a remark");
  log.step({.step = 0, .loss = 5.5, .stepSeconds = 2, .tokensPerSecond = 512}, 10, true);
  log.step({.step = 1, .loss = 4.25, .stepSeconds = 2, .tokensPerSecond = 512}, 10, false);
  log.evaluation({2, "val", 4});
}

/// What is written to a terminal.
std::string onTerminal() {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE((terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0));
  std::FILE *stream = std::fopen(ptsname(terminal), "w");
  REQUIRE(stream);
  tell(*makeConsoleLog(stream, false));
  std::fclose(stream); // What was written can still be read, then reading fails.
  std::string text;
  char part[4096];
  for (ssize_t bytes; (bytes = read(terminal, part, sizeof part)) > 0;)
    text.append(part, size_t(bytes));
  close(terminal);
  return text;
}

std::string inFile(bool quiet) {
  TempFolder folder;
  std::FILE *stream = std::fopen(folder.file("log").c_str(), "w");
  tell(*makeConsoleLog(stream, quiet));
  std::fclose(stream);
  return readText(folder.file("log"));
}

} // namespace

TEST_CASE("log: plain lines for logged steps, none at all if quiet") {
  std::string text = inFile(false);
  CHECK(contains(text, "remark: a remark\n"));
  CHECK(contains(text, "step 1/10  loss 5.5000  lr 0  512 tokens/s  0:18 left\n"));
  CHECK_FALSE(contains(text, "4.25"));
  CHECK(contains(text, "step 2  val loss 4.0000\n"));
  CHECK_FALSE(contains(text, "\033"));
  CHECK(inFile(true).empty());
}

TEST_CASE("log: a live line on a terminal, colours unless NO_COLOR") {
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  std::string text = onTerminal();
  CHECK(contains(text, "\rstep 1/10"));
  CHECK(contains(text, "\033[1m5.5000\033[0m"));
  setenv("NO_COLOR", "1", 1);
  text = onTerminal();
  CHECK(contains(text, "\rstep 1/10"));
  CHECK_FALSE(contains(text, "\033[1m"));
  unsetenv("NO_COLOR");
}
