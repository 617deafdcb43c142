//===- Print.h - where programs print ---------------------------*- C++ -*-===//
//
// What `print` in a traced program makes at run time is a line on standard error, so that it never
// mixes with results on standard output. A program that wants it elsewhere says so:
//
//   setPrintSink([](std::string_view line) { std::cout << line << '\n'; });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_PRINT_H
#define MINIGPTC_RUNTIME_PRINT_H

#include <functional>
#include <string_view>

namespace minigptc {

/// Gets a line at a time, without its end, from one thread at a time; one of several devices or
/// programs may be the caller. It must not run a program itself. What it throws, as a
/// std::exception, ends the run with an error.
using PrintSink = std::function<void(std::string_view line)>;

/// For all programs of the process; an empty function restores standard error. Thread-safe, also
/// within a sink, for the lines of the prints after that one.
void setPrintSink(PrintSink sink);

} // namespace minigptc

#endif // MINIGPTC_RUNTIME_PRINT_H
