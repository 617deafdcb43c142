//===- ByteAlphabet.h - how files write the bytes of tokens -----*- C++ -*-===//
//
// Vocabulary files are JSON, and write each byte as a printable character: printable Latin-1
// characters as themselves, the other bytes, in their order, as U+0100, U+0101, …:
//
//   writeBytes(" the") == "Ġthe"      readBytes("Ġthe") == " the"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_BYTEALPHABET_H
#define MINIGPTC_RUNTIME_TEXT_BYTEALPHABET_H

#include <optional>
#include <string>
#include <string_view>

namespace minigptc::runtime::text {

std::string writeBytes(std::string_view bytes);
/// Nothing if a character stands for no byte.
std::optional<std::string> readBytes(std::string_view written);

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_BYTEALPHABET_H
