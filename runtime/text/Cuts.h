//===- Cuts.h - where a text can be cut without changing its ids -*- C++ -*-===//
//
// A place is a cut if pieces end there whatever is before and behind (`alwaysCut`), and no
// special token reaches across it. The ids of the text are those of its parts, joined.
//
//   Cuts cuts(TextPattern::gpt2, matcher, /*normalize=*/false);
//   if (const uint8_t *cut = cuts.first(from, text)) ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_CUTS_H
#define MINIGPTC_RUNTIME_TEXT_CUTS_H

#include "runtime/text/SpecialMatcher.h"

namespace minigptc::runtime::text {

/// Does not own the matcher. Texts are the beginning of longer ones: nothing is supposed of
/// what follows them.
class Cuts {
public:
  /// `normalize`: what is cut is brought into normal form behind it.
  Cuts(TextPattern pattern, const SpecialMatcher &matcher, bool normalize)
      : pattern_(pattern), matcher_(matcher), normalize_(normalize) {}

  /// The first cut at `from` or behind it, inside the text; null if there is none.
  const uint8_t *first(const uint8_t *from, std::span<const uint8_t> text) const;
  /// The last cut inside the text; null if there is none.
  const uint8_t *last(std::span<const uint8_t> text) const;

private:
  /// Calls `visit(cut)` for the cuts at `from` and behind it until it returns false.
  template <typename Visit>
  void visitCuts(const uint8_t *from, std::span<const uint8_t> text, Visit &&visit) const;

  TextPattern pattern_;
  const SpecialMatcher &matcher_;
  bool normalize_;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_CUTS_H
