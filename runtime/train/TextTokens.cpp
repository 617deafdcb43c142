#include "runtime/train/TextTokens.h"

#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/InputFile.h"
#include "runtime/text/TokenFile.h"

#include <cstdlib>
#include <filesystem>

namespace minigptc::runtime {
namespace {

template <typename Take> Status readPieces(const std::string &path, Take &&take) {
  StatusOr<InputFile> input = InputFile::open(path);
  if (!input)
    return input.status();
  std::vector<char> buffer(size_t(1) << 18);
  for (;;) {
    StatusOr<size_t> count = input->read(buffer);
    if (!count)
      return count.status();
    if (*count == 0)
      return Status::success();
    MINIGPTC_RETURN_IF_ERROR(take(std::string_view(buffer.data(), *count)));
  }
}

StatusOr<std::string> cacheFolder() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::filesystem::path base;
  if (cache && *cache)
    base = cache;
  else if (home && *home)
    base = std::filesystem::path(home) / ".cache";
  else
    return Status(StatusCode::failedPrecondition,
                  "there is no folder to keep a text's tokens in: neither XDG_CACHE_HOME nor HOME "
                  "is set");
  return (base / "minigptc" / "tokens").string();
}

Status inCache(Status status) {
  return std::move(status).withHelp(
      "a text's tokens are kept there; XDG_CACHE_HOME names another folder for caches");
}

} // namespace

StatusOr<Tokenizer> openTokenizer(const RunConfig &config) {
  const DataConfig &data = config.data;
  StatusOr<Tokenizer> tokenizer = Tokenizer::load(data.tokenizer);
  if (!tokenizer)
    return tokenizer.status();
  std::string hash = tokenizerHashText(*tokenizer);
  if (!data.tokenizerHash.empty() && data.tokenizerHash != hash)
    return Status(StatusCode::invalidArgument, "the tokenizer in '" + data.tokenizer +
                                                   "' has the hash " + hash + ", but " +
                                                   data.tokenizerHash + " is asked for")
        .at("data.tokenizer_hash");
  if (tokenizer->vocabularySize() > config.model.vocabSize)
    return Status(StatusCode::invalidArgument, "the tokenizer in '" + data.tokenizer + "' has " +
                                                   std::to_string(tokenizer->vocabularySize()) +
                                                   " tokens, but model.vocab_size is " +
                                                   std::to_string(config.model.vocabSize))
        .withHelp("--set model.vocab_size=" + std::to_string(tokenizer->vocabularySize()));
  return tokenizer;
}

StatusOr<EncodedText> encodeText(const std::string &path, const Tokenizer &tokenizer) {
  EncodedText text;
  Hasher64 hasher;
  MINIGPTC_RETURN_IF_ERROR(readPieces(path, [&](std::string_view piece) {
    hasher.update(std::as_bytes(std::span(piece)));
    text.textBytes += int64_t(piece.size());
    return Status::success();
  }));
  if (text.textBytes == 0)
    return Status(StatusCode::failedPrecondition, "'" + path + "' is empty");
  StatusOr<std::string> folder = cacheFolder();
  if (!folder)
    return folder.status();
  text.path = format("%s/%016llx-%s.bin", folder->c_str(), (unsigned long long)hasher.finish(),
                     tokenizerHashText(tokenizer).c_str());
  text.width = tokenizer.vocabularySize() > 65536 ? 4 : 2;
  // Damage is a reason to make it anew.
  if (auto known = readTokenFileInfo(text.path);
      known && *known && std::filesystem::exists(text.path) &&
      (*known)->textBytes == text.textBytes && (*known)->tokens) {
    text.tokens = *(*known)->tokens;
    text.known = true;
    return text;
  }
  if (Status status = createDirectories(*folder); !status)
    return inCache(std::move(status));
  StatusOr<TokenFileWriter> file = TokenFileWriter::create(text.path, tokenizer);
  if (!file)
    return inCache(file.status());
  TextEncoder encoder(tokenizer,
                      [&](std::span<const int32_t> ids) {
                        Status status = file->write(ids);
                        return status ? status : inCache(std::move(status));
                      },
                      {.threads = 0});
  Hasher64 encoded;
  MINIGPTC_RETURN_IF_ERROR(readPieces(path, [&](std::string_view piece) {
    encoded.update(std::as_bytes(std::span(piece)));
    return atInput(encoder.add(piece), path);
  }));
  MINIGPTC_RETURN_IF_ERROR(encoder.finish());
  // Or these tokens would be kept for that other text.
  if (encoded.finish() != hasher.finish())
    return Status(StatusCode::dataLoss, "'" + path + "' was another text when it was read again")
        .withHelp("a text is read twice, at first to see whether its tokens are known: nobody may "
                  "write to it meanwhile, and what a pipe has goes into a file first");
  text.tokens = file->tokens();
  if (Status status = file->commit(text.textBytes); !status)
    return inCache(std::move(status));
  return text;
}

StatusOr<double> bytesPerTarget(const TokenSource &source, const Tokenizer &tokenizer,
                                std::optional<int64_t> separator) {
  int64_t bytes = 0, targets = 0;
  std::optional<DocumentRows> documents = source.documents();
  if (documents)
    separator = documents->separator;
  std::vector<int32_t> ids;
  for (const TokenPart &part : source.parts()) {
    bool first = true; // of its part or document
    for (int64_t begin = part.begin; begin < part.end; begin += int64_t(ids.size())) {
      ids.resize(size_t(std::min<int64_t>(65536, part.end - begin)));
      MINIGPTC_RETURN_IF_ERROR(source.read(begin, ids));
      for (int32_t id : ids) {
        bool separates = id == separator;
        if (!first) {
          if (!separates)
            bytes += int64_t(tokenizer.token(id).value_or(std::string_view()).size());
          ++targets;
        }
        first = documents && separates;
      }
    }
  }
  return targets ? double(bytes) / double(targets) : 0;
}

} // namespace minigptc::runtime
