// Writes the hand-made test artifact: the file that the package test runs.
#include "runtime/base/File.h"
#include "test/runtime/support/TestProgram.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  using namespace minigptc::runtime;
  Status status =
      writeFileAtomically(argv[1], std::span<const std::byte>(test::makeTestProgram().finish()));
  if (!status)
    std::fprintf(stderr, "%s\n", status.toString().c_str());
  return status ? 0 : 1;
}
