#include "runtime/text/TokenFile.h"

#include "runtime/base/Format.h"
#include "runtime/base/InputFile.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {

std::string tokenizerHashText(const Tokenizer &tokenizer) {
  return format("%016llx", (unsigned long long)tokenizer.hash());
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

//===----------------------------------------------------------------------===//
// llm.c's files
//===----------------------------------------------------------------------===//

/// A header of 256 int32: the kind, its version, the number of tokens; zeros but for one more.
struct LlmcHeader {
  int32_t magic, version, tokens, more, zeros[252];
};
static_assert(sizeof(LlmcHeader) == 1024);

bool isLlmc(const LlmcHeader &header) {
  bool known = header.magic == 20240520 || header.magic == 20240522 || header.magic == 20240801;
  return known && std::ranges::all_of(header.zeros, [](int32_t value) { return value == 0; });
}

/// The header, if the file has it. An error for those whose contents are not known: read as raw
/// ids they would be nonsense.
StatusOr<std::optional<TokenFileInfo>> readHeader(const std::string &path) {
  LlmcHeader header;
  StatusOr<InputFile> file = InputFile::open(path);
  if (!file)
    return file.status();
  StatusOr<size_t> read = file->read({reinterpret_cast<char *>(&header), sizeof header});
  if (!read)
    return read.status();
  if (*read != sizeof header || !isLlmc(header))
    return std::optional<TokenFileInfo>();
  TokenFileInfo info{.headerBytes = sizeof header, .tokens = header.tokens};
  if (header.magic == 20240520 && header.version == 1) {
    info.width = 2;
    info.separator = 50256; // GPT-2's end of text
  } else if (header.magic == 20240801 && header.version == 7) {
    info.width = 4;
    info.separator = 128000; // Llama 3's beginning of text, which llm.c puts between texts
  } else {
    return Status(StatusCode::dataLoss,
                  format("'%s' is a file of llm.c with the magic number %d and version %d, but "
                         "token files are read of 20240520 with 1 and 20240801 with 7",
                         path.c_str(), header.magic, header.version))
        .withHelp(header.magic == 20240522
                      ? "it has questions with several answers, which nothing here trains on"
                      : "make it anew with data prepare");
  }
  return std::optional(std::move(info));
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

/// What is there must be what it should be: a count that nobody can read checks nothing.
Status parseMembers(const nlohmann::json &json, TokenFileInfo &info) {
  auto broken = [](const char *key, const char *form) {
    return Status(StatusCode::dataLoss, format("\"%s\" must be %s", key, form));
  };
  auto dtype = json.find("dtype");
  info.width = dtype == json.end() ? 0 : *dtype == "uint16" ? 2 : *dtype == "uint32" ? 4 : 0;
  if (info.width == 0)
    return broken("dtype", "\"uint16\" or \"uint32\"");
  for (auto [key, value] :
       {std::pair("tokens", &info.tokens), std::pair("vocabulary", &info.vocabulary),
        std::pair("bytes", &info.textBytes), std::pair("separator", &info.separator)}) {
    auto at = json.find(key);
    if (at == json.end())
      continue;
    if (!at->is_number_integer() || at->get<int64_t>() < 0)
      return broken(key, "a whole number");
    *value = at->get<int64_t>();
  }
  auto hash = json.find("tokenizer");
  if (hash != json.end() && !hash->is_string())
    return broken("tokenizer", "a string");
  if (hash != json.end())
    info.tokenizer = hash->get<std::string>();
  return Status::success();
}

StatusOr<TokenFileInfo> parseSide(const std::string &side) {
  StatusOr<std::string> text = readTextFile(side);
  if (!text)
    return text.status();
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  TokenFileInfo info;
  Status status = json.is_object() ? parseMembers(json, info)
                                   : Status(StatusCode::dataLoss, "it is no JSON object");
  if (!status)
    return Status(StatusCode::dataLoss,
                  "'" + side + "' does not say how tokens are stored: " + status.message())
        .at(side)
        .withHelp("make the token file anew; without a side file the model's vocabulary decides "
                  "on how it is read");
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
    StatusOr<std::optional<TokenFileInfo>> header = readHeader(path);
    if (!header)
      return header.status();
    info = *std::move(header);
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
  std::error_code ignored;
  if (std::filesystem::is_other(path, ignored))
    return Status(StatusCode::invalidArgument,
                  "cannot write tokens to '" + path + "': not a regular file")
        .withHelp("a token file has a side file with '.json' behind its name");
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
