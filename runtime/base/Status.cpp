#include "minigptc/runtime/Status.h"

#include <string_view>

namespace minigptc::runtime {

/// Messages hold names from files and flags: a terminal must not obey these.
static std::string withoutControls(std::string_view text) {
  std::string shown;
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if ((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t') {
      shown += c;
      continue;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return shown;
}

std::string Status::toString() const {
  std::string text = message_;
  if (!place_.empty())
    text += "\n  at " + place_;
  if (!help_.empty())
    text += "\n  help: " + help_;
  return withoutControls(text);
}

} // namespace minigptc::runtime
