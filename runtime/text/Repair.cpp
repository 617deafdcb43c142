#include "runtime/text/Repair.h"

#include "runtime/text/Characters.h"

#include <cstring>

namespace minigptc::runtime::text {
namespace {

/// Bytes of the unfinished character at `p`: those that some character begins with.
size_t brokenLength(const uint8_t *p, const uint8_t *end) {
  uint8_t first = p[0];
  if (first < 0xc2 || first > 0xf4)
    return 1;
  size_t whole = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // What may follow the first byte: nothing overlong, no surrogates, nothing past U+10FFFF.
  uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  size_t length = 1;
  while (length < whole && p + length < end && p[length] >= least && p[length] <= most) {
    ++length;
    least = 0x80;
    most = 0xbf;
  }
  return length;
}

/// Behind the valid text at `p`.
const uint8_t *skipValid(const uint8_t *p, const uint8_t *end) {
  while (p < end) {
    uint64_t eight = 0x80;
    if (end - p >= 8)
      std::memcpy(&eight, p, 8);
    if (!(eight & 0x8080808080808080u)) {
      p += 8;
      continue;
    }
    uint32_t code;
    uint32_t length = *p < 0x80 ? 1 : decodeSequence(p, end, code);
    if (!length)
      break;
    p += length;
  }
  return p;
}

} // namespace

size_t firstInvalid(std::string_view bytes) {
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  return size_t(skipValid(begin, begin + bytes.size()) - begin);
}

void Utf8Watch::add(std::string_view bytes) {
  if (found_)
    return;
  // The character that the piece before ends with, and its rest.
  while (!unfinished_.empty() && !bytes.empty()) {
    unfinished_ += bytes[0];
    bytes.remove_prefix(1);
    const uint8_t *begin = reinterpret_cast<const uint8_t *>(unfinished_.data());
    const uint8_t *end = begin + unfinished_.size();
    if (skipValid(begin, end) == end) {
      checked_ += unfinished_.size();
      unfinished_.clear();
    } else if (brokenLength(begin, end) < unfinished_.size()) {
      found_ = true;
      return;
    }
  }
  size_t valid = text::firstInvalid(bytes);
  checked_ += valid;
  bytes.remove_prefix(valid);
  if (bytes.empty())
    return;
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  bool unfinished = bytes.size() < 4 && begin[0] >= 0xc2 && begin[0] <= 0xf4 &&
                    brokenLength(begin, begin + bytes.size()) == bytes.size();
  if (unfinished)
    unfinished_ = bytes;
  else
    found_ = true;
}

std::optional<uint64_t> Utf8Watch::firstInvalid() {
  return found_ || !unfinished_.empty() ? std::optional(checked_) : std::nullopt;
}

std::string repairUtf8(std::string_view bytes) {
  std::string text;
  const uint8_t *p = reinterpret_cast<const uint8_t *>(bytes.data()), *end = p + bytes.size();
  while (p < end) {
    const uint8_t *valid = skipValid(p, end);
    text.append(reinterpret_cast<const char *>(p), size_t(valid - p));
    if (valid == end)
      break;
    text += "\xef\xbf\xbd";
    p = valid + brokenLength(valid, end);
  }
  return text;
}

} // namespace minigptc::runtime::text
