//===- Repair.h - text that is no valid UTF-8 -------------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_TEXT_REPAIR_H
#define MINIGPTC_RUNTIME_TEXT_REPAIR_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minigptc::runtime::text {

/// The text with U+FFFD for each longest beginning of a character that is not completed,
/// and for each byte that begins none: what Unicode recommends, and most decoders do.
std::string repairUtf8(std::string_view bytes);

/// Where the first byte is that is not part of valid UTF-8, or `bytes.size()`.
size_t firstInvalid(std::string_view bytes);

/// Watches a text that arrives in pieces for what is no valid UTF-8.
class Utf8Watch {
public:
  void add(std::string_view bytes);
  /// Where the first invalid byte is, of all that was added, which is the whole text.
  std::optional<uint64_t> firstInvalid();

private:
  std::string unfinished_; ///< the beginning of a character
  uint64_t checked_ = 0;
  bool found_ = false;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_REPAIR_H
