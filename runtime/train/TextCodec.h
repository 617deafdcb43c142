//===- TextCodec.h - text to tokens and back --------------------*- C++ -*-===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TEXTCODEC_H
#define MINIGPTC_RUNTIME_TRAIN_TEXTCODEC_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// How a model's tokens stand for text. Stateless.
class TextCodec {
public:
  virtual ~TextCodec() = default;
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  /// The bytes of one token; empty for an id that stands for none.
  virtual std::string decode(int32_t token) const = 0;
};

/// A token is a byte; vocabulary 256. Gives bytes back as they are, valid UTF-8 or not.
class ByteCodec : public TextCodec {
public:
  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> tokens;
    for (char c : text)
      tokens.push_back(uint8_t(c));
    return tokens;
  }
  std::string decode(int32_t token) const override {
    return token >= 0 && token < 256 ? std::string(1, char(token)) : std::string();
  }
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TEXTCODEC_H
