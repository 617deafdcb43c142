#include "runtime/text/TokenFile.h"

#include "runtime/base/Format.h"
#include "runtime/base/InputFile.h"

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

std::string TokenFileInfo::toJson() const {
  std::string json = format("{\"dtype\": \"uint%d\"", 8 * width);
  auto add = [&](const char *key, const std::optional<int64_t> &value) {
    if (value)
      json += format(", \"%s\": %lld", key, (long long)*value);
  };
  add("tokens", tokens);
  add("vocabulary", vocabulary);
  if (!tokenizer.empty())
    json += ", \"tokenizer\": \"" + tokenizer + "\"";
  add("bytes", textBytes);
  add("separator", separator);
  return json + "}\n";
}

std::optional<SpecialToken> usualSeparator(const Tokenizer &tokenizer) {
  for (const char *text : {"<|endoftext|>", "<|end_of_text|>"})
    if (std::optional<int32_t> id = tokenizer.specialId(text))
      return SpecialToken{*id, text};
  return std::nullopt;
}

namespace {

/// The header of llm.c's token files, if the file has it.
std::optional<TokenFileInfo> readHeader(const std::string &path) {
  constexpr int64_t kHeaderBytes = 1024;
  int32_t header[3] = {};
  StatusOr<InputFile> file = InputFile::open(path);
  StatusOr<size_t> read = file ? file->read({reinterpret_cast<char *>(header), sizeof header})
                               : StatusOr<size_t>(file.status());
  if (!read || *read != sizeof header)
    return std::nullopt;
  TokenFileInfo info{.headerBytes = kHeaderBytes, .tokens = header[2]};
  if (header[0] == 20240520 && header[1] == 1) {
    info.width = 2;
    info.separator = 50256; // GPT-2's end of text
  } else if (header[0] == 20240801 && header[1] == 7) {
    info.width = 4;
    info.separator = 128000; // Llama 3's beginning of text, which llm.c puts between texts
  } else {
    return std::nullopt;
  }
  return info;
}

Status checkLength(const std::string &path, const TokenFileInfo &info) {
  std::error_code error;
  uint64_t bytes = std::filesystem::file_size(path, error);
  if (error || !info.tokens ||
      uint64_t(*info.tokens) * uint64_t(info.width) + uint64_t(info.headerBytes) == bytes)
    return Status::success();
  std::string says = info.headerBytes ? "its header says " : "its side file says ";
  return Status(StatusCode::dataLoss, "'" + path + "' has " + std::to_string(bytes) +
                                          " bytes, but " + says + std::to_string(*info.tokens) +
                                          " tokens of " + std::to_string(info.width) + " bytes")
      .at(info.headerBytes ? path : path + ".json")
      .withHelp(info.headerBytes
                    ? "it is cut short; make it anew"
                    : "it is cut short, or the side file is of another one: make it anew");
}

StatusOr<TokenFileInfo> parseSide(const std::string &side) {
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
  info.separator = count(json, "separator");
  if (auto hash = json.find("tokenizer"); hash != json.end() && hash->is_string())
    info.tokenizer = hash->get<std::string>();
  return info;
}

} // namespace

StatusOr<std::optional<TokenFileInfo>> readTokenFileInfo(const std::string &path) {
  std::string side = path + ".json";
  std::error_code ignored;
  std::optional<TokenFileInfo> info;
  if (std::filesystem::exists(side, ignored)) {
    StatusOr<TokenFileInfo> parsed = parseSide(side);
    if (!parsed)
      return parsed.status();
    info = *std::move(parsed);
  } else if (std::filesystem::is_regular_file(path, ignored)) {
    info = readHeader(path);
  }
  if (info)
    MINIGPTC_RETURN_IF_ERROR(checkLength(path, *info));
  return info;
}

TokenFileWriter::TokenFileWriter(AtomicFile file, AtomicFile side, const Tokenizer &tokenizer)
    : file_(std::move(file)), side_(std::move(side)),
      info_{.width = tokenizer.vocabularySize() > 65536 ? 4 : 2,
            .vocabulary = tokenizer.vocabularySize(),
            .tokenizer = tokenizerHashText(tokenizer)} {}

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
  if (info_.width == 4)
    return file_.write(std::as_bytes(ids));
  narrow_.assign(ids.begin(), ids.end());
  return file_.write(std::as_bytes(std::span(narrow_)));
}

Status TokenFileWriter::commit(int64_t textBytes) {
  info_.tokens = tokens_;
  info_.textBytes = textBytes;
  MINIGPTC_RETURN_IF_ERROR(side_.write(info_.toJson()));
  // Not the other way round: a side file alone is harmless, tokens with an old one are not.
  MINIGPTC_RETURN_IF_ERROR(side_.commit());
  return file_.commit();
}

} // namespace minigptc::runtime
