#include "minigptc/runtime/Tokenizer.h"

#include "runtime/text/PieceEncoder.h"
#include "runtime/text/Repair.h"

namespace minigptc::runtime {

using namespace text;

Tokenizer Tokenizer::bytes() {
  Definition definition;
  for (int byte = 0; byte < 256; ++byte)
    definition.tokens.push_back(std::string(1, char(byte)));
  return *build(std::move(definition)); // has all that `build` asks for
}

int64_t Tokenizer::vocabularySize() const { return int64_t(tables_->definition.tokens.size()); }

TextPattern Tokenizer::pattern() const { return tables_->definition.pattern; }

const std::vector<SpecialToken> &Tokenizer::specialTokens() const { return tables_->specials; }

std::optional<int32_t> Tokenizer::specialId(std::string_view text) const {
  for (const SpecialToken &special : tables_->specials)
    if (special.text == text)
      return special.id;
  return std::nullopt;
}

uint64_t Tokenizer::hash() const { return tables_->hash; }

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  auto ids = std::make_unique_for_overwrite<int32_t[]>(PieceEncoder::room(*tables_, text.size()));
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(text.data());
  PieceEncoder encoder(*tables_, text.size());
  return {ids.get(), encoder.encodeText(begin, begin + text.size(), ids.get())};
}

std::optional<std::string_view> Tokenizer::token(int32_t id) const {
  const std::vector<std::string> &tokens = tables_->definition.tokens;
  if (id < 0 || size_t(id) >= tokens.size() || tokens[size_t(id)].empty())
    return std::nullopt;
  return tokens[size_t(id)];
}

StatusOr<std::string> Tokenizer::decodeBytes(std::span<const int32_t> ids) const {
  std::string bytes;
  for (size_t i = 0; i < ids.size(); ++i) {
    std::optional<std::string_view> part = token(ids[i]);
    if (!part)
      return Status(StatusCode::invalidArgument, "no token has the id " + std::to_string(ids[i]) +
                                                     " (number " + std::to_string(i) + " of " +
                                                     std::to_string(ids.size()) + ")")
          .withHelp("the ids of this tokenizer lie in [0, " + std::to_string(vocabularySize()) +
                    "): is it the one that the text was encoded with?");
    bytes += *part;
  }
  return bytes;
}

StatusOr<std::string> Tokenizer::decode(std::span<const int32_t> ids) const {
  StatusOr<std::string> bytes = decodeBytes(ids);
  return bytes ? StatusOr<std::string>(repairUtf8(*bytes)) : bytes;
}

} // namespace minigptc::runtime
