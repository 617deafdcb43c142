#include "runtime/text/ByteAlphabet.h"

#include "runtime/text/Characters.h"

namespace minigptc::runtime::text {
namespace {

struct Alphabet {
  std::array<uint16_t, 256> codes{};  ///< by byte
  std::array<int16_t, 0x180> bytes{}; ///< by code point; -1: none
  constexpr Alphabet() {
    bytes.fill(-1);
    uint16_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      codes[size_t(byte)] = printable ? uint16_t(byte) : next++;
      bytes[codes[size_t(byte)]] = int16_t(byte);
    }
  }
};
constexpr Alphabet kAlphabet;

} // namespace

std::string writeBytes(std::string_view bytes) {
  std::string written;
  for (char c : bytes) {
    uint16_t code = kAlphabet.codes[uint8_t(c)];
    if (code < 0x80) {
      written += char(code);
      continue;
    }
    written += char(0xc0 | code >> 6);
    written += char(0x80 | (code & 0x3f));
  }
  return written;
}

std::optional<std::string> readBytes(std::string_view written) {
  std::string bytes;
  const uint8_t *p = reinterpret_cast<const uint8_t *>(written.data()), *end = p + written.size();
  while (p < end) {
    uint32_t code = *p, length = 1;
    if (*p >= 0x80)
      length = decodeSequence(p, end, code);
    if (!length || code >= kAlphabet.bytes.size() || kAlphabet.bytes[code] < 0)
      return std::nullopt;
    bytes += char(kAlphabet.bytes[code]);
    p += length;
  }
  return bytes;
}

} // namespace minigptc::runtime::text
