//===- Format.h - printf into a string --------------------------*- C++ -*-===//
//
//   std::string text = format("%.2f of %s", ratio, name.c_str());
//   counted(1, "file") == "1 file"; counted(2, "file") == "2 files"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_FORMAT_H
#define MINIGPTC_RUNTIME_BASE_FORMAT_H

#include <cstdint>
#include <string>

namespace minigptc::runtime {

/// What printf would print, however long it is. The compiler checks the arguments.
__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...);

/// A number with its noun, in the plural where it is not 1.
std::string counted(int64_t number, const std::string &noun);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_FORMAT_H
