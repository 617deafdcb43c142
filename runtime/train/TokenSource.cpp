#include "runtime/train/TokenSource.h"

#include "runtime/base/File.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Philox.h"
#include "runtime/text/TokenFile.h"

#include <cstring>

namespace minigptc::runtime {
namespace {

/// Files up to this size are checked whole when they are opened, larger ones as
/// they are read.
constexpr size_t kCheckedBytes = size_t(1) << 30;
/// Of larger ones, so many pieces tell them apart.
constexpr size_t kPieces = 1024, kPieceBytes = 4096;

class MappedTokens : public TokenSource {
public:
  MappedTokens(MappedFile file, std::string path, const TokenFileOptions &options)
      : file_(std::move(file)), path_(std::move(path)), options_(options) {}

  int64_t size() const override { return options_.end - options_.begin; }
  Status read(int64_t begin, std::span<int32_t> out) const override;
  uint64_t contentHash() const override;
  Status checkAll() const;

private:
  const std::byte *data() const { return file_.bytes().data() + options_.headerBytes; }
  /// Element `index` of the whole file.
  uint32_t element(int64_t index) const {
    uint32_t value = 0; // Little-endian hosts only, as everywhere in the runtime.
    std::memcpy(&value, data() + index * options_.width, size_t(options_.width));
    return value;
  }
  /// The first element of [begin, end) that is outside the vocabulary, or `end`.
  int64_t firstOutside(int64_t begin, int64_t end) const;
  Status outOfVocabulary(int64_t index) const;

  MappedFile file_;
  std::string path_;
  TokenFileOptions options_;
};

Status MappedTokens::outOfVocabulary(int64_t index) const {
  return Status(StatusCode::dataLoss,
                "token " + std::to_string(element(index)) + " in '" + path_ + "' is not in [0, " +
                    std::to_string(options_.vocabSize) + "): token number " +
                    std::to_string(index) + ", at byte " +
                    std::to_string(options_.headerBytes + index * options_.width))
      .withHelp(options_.width == 1 ? "a text needs model.vocab_size of at least 256"
                                    : "is model.vocab_size that of the tokenizer?");
}

template <typename T>
int64_t firstAtLeast(const std::byte *data, int64_t begin, int64_t end, int64_t bound) {
  const T *elements = reinterpret_cast<const T *>(data);
  for (int64_t index = begin; index < end; ++index)
    if (int64_t(elements[index]) >= bound)
      return index;
  return end;
}

int64_t MappedTokens::firstOutside(int64_t begin, int64_t end) const {
  switch (options_.width) {
  case 1: return firstAtLeast<uint8_t>(data(), begin, end, options_.vocabSize);
  case 2: return firstAtLeast<uint16_t>(data(), begin, end, options_.vocabSize);
  default: return firstAtLeast<uint32_t>(data(), begin, end, options_.vocabSize);
  }
}

Status MappedTokens::read(int64_t begin, std::span<int32_t> out) const {
  int64_t count = int64_t(out.size());
  if (begin < 0 || begin > size() - count)
    return Status(StatusCode::internal, "tokens are read past the end of '" + path_ + "'");
  int64_t first = options_.begin + begin, end = first + count;
  if (int64_t bad = firstOutside(first, end); bad != end)
    return outOfVocabulary(bad);
  for (int64_t i = 0; i < count; ++i)
    out[size_t(i)] = int32_t(element(first + i));
  return Status::success();
}

uint64_t MappedTokens::contentHash() const {
  std::span<const std::byte> bytes(data() + options_.begin * options_.width,
                                   size_t(size() * options_.width));
  const int64_t form[] = {size(), options_.width};
  Hasher64 hasher;
  hasher.update(std::as_bytes(std::span(form)));
  if (bytes.size() <= kCheckedBytes) {
    hasher.update(bytes);
    return hasher.finish();
  }
  hasher.update(std::as_bytes(std::span(&options_.infoHash, 1)));
  for (size_t i = 0; i < kPieces; ++i) // The first bytes and the last ones among them.
    hasher.update(bytes.subspan((bytes.size() - kPieceBytes) / (kPieces - 1) * i, kPieceBytes));
  hasher.update(bytes.last(kPieceBytes));
  return hasher.finish();
}

Status MappedTokens::checkAll() const {
  if (file_.bytes().size() > kCheckedBytes)
    return Status::success();
  int64_t bad = firstOutside(options_.begin, options_.end);
  return bad == options_.end ? Status::success() : outOfVocabulary(bad);
}

class DummyTokens : public TokenSource {
public:
  DummyTokens(int64_t size, int64_t vocabSize, RandomKey key)
      : size_(size), vocabSize_(vocabSize), key_(key) {}
  int64_t size() const override { return size_; }
  uint64_t contentHash() const override {
    const int64_t form[] = {size_, vocabSize_};
    return hash64(std::as_bytes(std::span(form)),
                  hash64(std::as_bytes(std::span(&key_, 1))));
  }
  Status read(int64_t begin, std::span<int32_t> out) const override {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = int32_t(uniformBelow(key_, uint64_t(begin) + i, uint64_t(vocabSize_)));
    return Status::success();
  }

private:
  int64_t size_, vocabSize_;
  RandomKey key_;
};

} // namespace

StatusOr<std::unique_ptr<TokenSource>> openTokens(const std::string &path,
                                                  const TokenFileOptions &given) {
  StatusOr<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  uint64_t bytes =
      file->bytes().size() - std::min<uint64_t>(uint64_t(given.headerBytes), file->bytes().size());
  if (bytes == 0)
    return Status(StatusCode::failedPrecondition, "'" + path + "' is empty");
  if (bytes % uint64_t(given.width) != 0)
    return Status(StatusCode::dataLoss,
                  "'" + path + "' has " + std::to_string(bytes) + " bytes, not a multiple of " +
                      std::to_string(given.width) + ": it is no token file, or cut short")
        .withHelp("a token file holds raw little-endian uint" + std::to_string(8 * given.width) +
                  " numbers; a text goes with --text");
  TokenFileOptions options = given;
  int64_t size = int64_t(bytes / uint64_t(given.width));
  if (options.end < 0)
    options.end = size;
  if (options.begin < 0 || options.begin > options.end || options.end > size)
    return Status(StatusCode::internal, "part of '" + path + "' lies outside of it");
  auto source = std::make_unique<MappedTokens>(*std::move(file), path, options);
  MINIGPTC_RETURN_IF_ERROR(source->checkAll());
  return std::unique_ptr<TokenSource>(std::move(source));
}

StatusOr<std::unique_ptr<TokenSource>> openTokenFile(const std::string &path, int64_t vocabSize,
                                                     const Tokenizer *tokenizer) {
  StatusOr<std::optional<TokenFileInfo>> read = readTokenFileInfo(path);
  if (!read)
    return read.status();
  TokenFileInfo info = read->value_or(TokenFileInfo{.width = vocabSize > 65536 ? 4 : 2});
  if (info.vocabulary.value_or(0) > vocabSize)
    return Status(StatusCode::invalidArgument, "'" + path + "' has tokens of a vocabulary of " +
                                                   std::to_string(*info.vocabulary) +
                                                   ", but model.vocab_size is " +
                                                   std::to_string(vocabSize))
        .at(path + ".json")
        .withHelp("--set model.vocab_size=" + std::to_string(*info.vocabulary));
  if (std::string ours = tokenizer ? tokenizerHashText(*tokenizer) : "";
      tokenizer && !info.tokenizer.empty() && info.tokenizer != ours)
    return Status(StatusCode::invalidArgument, "'" + path +
                                                   "' is of another tokenizer: its hash is " +
                                                   info.tokenizer + ", that of the run's " + ours)
        .at(path + ".json");
  const std::string said = info.toJson();
  return openTokens(path, {.width = info.width,
                           .vocabSize = vocabSize,
                           .headerBytes = info.headerBytes,
                           .infoHash = hash64(std::as_bytes(std::span(said)))});
}

std::unique_ptr<TokenSource> makeDummyTokens(int64_t size, int64_t vocabSize, uint64_t seed,
                                             std::string_view stream) {
  return std::make_unique<DummyTokens>(size, vocabSize,
                                       foldIn(seedKey(seed), streamNumber(stream)));
}

} // namespace minigptc::runtime
