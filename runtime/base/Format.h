//===- Format.h - printf into a string --------------------------*- C++ -*-===//
//
//   std::string text = format("%.2f of %s", ratio, name.c_str());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_FORMAT_H
#define MINIGPTC_RUNTIME_BASE_FORMAT_H

#include <string>

namespace minigptc::runtime {

/// What printf would print, however long it is. The compiler checks the arguments.
__attribute__((format(printf, 1, 2))) std::string format(const char *pattern, ...);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_FORMAT_H
