//===- Nesting.h - IR text that is nested too deep to be parsed -*- C++ -*-===//
//
//   if (size_t line = lineOfDeepNesting(text))
//     ...                                    // refuse it: the parser would overflow its stack
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_PIPELINES_NESTING_H
#define MINIGPTC_COMPILER_PIPELINES_NESTING_H

#include <cstddef>
#include <string_view>

namespace minigptc {

/// Brackets inside of each other; printed IR has some ten. MLIR's parser recurs at each.
inline constexpr size_t kMaxNesting = 256;

/// The line, from 1, of the first bracket that is deeper; 0: none.
size_t lineOfDeepNesting(std::string_view text);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_NESTING_H
