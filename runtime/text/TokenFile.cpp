#include "runtime/text/TokenFile.h"

#include "runtime/base/Format.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {

std::string tokenizerHashText(const Tokenizer &tokenizer) {
  return format("%016llx", (unsigned long long)tokenizer.hash());
}

static std::optional<int64_t> count(const nlohmann::json &json, const char *key) {
  auto at = json.find(key);
  if (at == json.end() || !at->is_number_integer())
    return std::nullopt;
  return at->get<int64_t>();
}

StatusOr<std::optional<TokenFileInfo>> readTokenFileInfo(const std::string &path) {
  std::string side = path + ".json";
  std::error_code ignored;
  if (!std::filesystem::exists(side, ignored))
    return std::optional<TokenFileInfo>();
  StatusOr<std::string> text = readTextFile(side);
  if (!text)
    return text.status();
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  TokenFileInfo info;
  if (json.is_object()) {
    auto dtype = json.find("dtype");
    info.width = dtype == json.end() ? 0 : *dtype == "uint16" ? 2 : *dtype == "uint32" ? 4 : 0;
  }
  if (info.width == 0)
    return Status(StatusCode::dataLoss, "'" + side +
                                            "' does not say how tokens are stored: \"dtype\" must "
                                            "be \"uint16\" or \"uint32\"");
  info.tokens = count(json, "tokens");
  info.vocabulary = count(json, "vocabulary");
  info.textBytes = count(json, "bytes");
  if (auto hash = json.find("tokenizer"); hash != json.end() && hash->is_string())
    info.tokenizer = hash->get<std::string>();
  uint64_t bytes = std::filesystem::file_size(path, ignored);
  if (!ignored && info.tokens && uint64_t(*info.tokens) * uint64_t(info.width) != bytes)
    return Status(StatusCode::dataLoss, "'" + path + "' has " + std::to_string(bytes) +
                                            " bytes, but its side file says " +
                                            std::to_string(*info.tokens) + " tokens of " +
                                            std::to_string(info.width) + " bytes")
        .at(side)
        .withHelp("it is cut short, or the side file is of another one: make it anew");
  return std::optional(info);
}

TokenFileWriter::TokenFileWriter(AtomicFile file, AtomicFile side, const Tokenizer &tokenizer)
    : file_(std::move(file)), side_(std::move(side)),
      width_(tokenizer.vocabularySize() > 65536 ? 4 : 2), vocabulary_(tokenizer.vocabularySize()),
      tokenizer_(tokenizerHashText(tokenizer)) {}

StatusOr<TokenFileWriter> TokenFileWriter::create(const std::string &path,
                                                  const Tokenizer &tokenizer) {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  StatusOr<AtomicFile> side = AtomicFile::create(path + ".json");
  if (!side)
    return side.status();
  return TokenFileWriter(*std::move(file), *std::move(side), tokenizer);
}

Status TokenFileWriter::write(std::span<const int32_t> ids) {
  tokens_ += int64_t(ids.size());
  if (width_ == 4)
    return file_.write(std::as_bytes(ids));
  narrow_.assign(ids.begin(), ids.end());
  return file_.write(std::as_bytes(std::span(narrow_)));
}

Status TokenFileWriter::commit(int64_t textBytes) {
  std::string side = format("{\"dtype\": \"uint%d\", \"tokens\": %lld, \"vocabulary\": %lld, "
                            "\"tokenizer\": \"%s\", \"bytes\": %lld}\n",
                            8 * width_, (long long)tokens_, (long long)vocabulary_,
                            tokenizer_.c_str(), (long long)textBytes);
  MINIGPTC_RETURN_IF_ERROR(side_.write(std::string_view(side)));
  // Not the other way round: a side file alone is harmless, tokens with an old one are not.
  MINIGPTC_RETURN_IF_ERROR(side_.commit());
  return file_.commit();
}

} // namespace minigptc::runtime
