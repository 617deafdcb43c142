//===- NormalForm.h - Unicode's normal form C -------------------*- C++ -*-===//
//
// Qwen's tokenizers bring texts into this form first: letters and marks composed where there
// is a character for both.
//
//   std::string normal;
//   if (!isNormal(begin, end))
//     appendNormal(begin, end, normal);                // "e\u0301" becomes "é"
//
// A character is stable if it is what it is whatever comes before: nothing before it joins
// with it. Texts can be cut before such ones. Bytes that are no UTF-8 are stable.
//
// The tables are those of Unicode 9.0, as in Hugging Face's tokenizers, with which these
// models were trained; newer characters are left as they are.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_NORMALFORM_H
#define MINIGPTC_RUNTIME_TEXT_NORMALFORM_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace minigptc::runtime::text {

/// A text in normal form has up to so many times the bytes that it had.
inline constexpr size_t kNormalGrowth = 3;

/// Whether the character at `p` is stable.
bool isStable(const uint8_t *p, const uint8_t *end);
/// Whether all characters are stable; such a text is in normal form.
bool isNormal(const uint8_t *p, const uint8_t *end);
/// Appends the text in normal form.
void appendNormal(const uint8_t *p, const uint8_t *end, std::string &out);

/// As UTF-8.
void appendUtf8(uint32_t code, std::string &out);

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_NORMALFORM_H
