//===- Stories.h - small English stories from a seeded grammar --*- C++ -*-===//
//
// A text to train on where none is at hand: short stories in simple words, with a
// hero who keeps name and pronoun, a wish, a trouble, a helper and an end.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_STORIES_H
#define MINIGPTC_TOOLS_MINIGPTC_STORIES_H

#include <cstdint>
#include <functional>
#include <string>

namespace minigptc {

/// Hands whole stories to `write` until at least `bytes` bytes are out, the last
/// one cut so that it is exactly that many. Depends on the seed alone. Stops
/// early, with false, when `write` does.
bool writeStories(int64_t bytes, uint64_t seed,
                  const std::function<bool(const std::string &)> &write);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_STORIES_H
