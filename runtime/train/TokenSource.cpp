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
constexpr uint64_t kCheckedBytes = uint64_t(1) << 30;
/// So much of them at a time.
constexpr uint64_t kReadBytes = uint64_t(1) << 18;
/// Of larger ones, so many pieces tell them apart.
constexpr uint64_t kPieces = 1024, kPieceBytes = 4096;

class FileTokens : public TokenSource {
public:
  FileTokens(RandomAccessFile file, std::string path, const TokenFileOptions &options)
      : file_(std::move(file)), path_(std::move(path)), options_(options) {}

  int64_t size() const override { return options_.end - options_.begin; }
  Status read(int64_t begin, std::span<int32_t> out) const override;
  uint64_t contentHash() const override;
  Status checkAll() const;

private:
  /// Of token `index` of the file.
  uint64_t offsetOf(int64_t index) const {
    return uint64_t(options_.headerBytes + index * options_.width);
  }
  Status outOfVocabulary(int64_t index, uint32_t id) const;

  RandomAccessFile file_;
  std::string path_;
  TokenFileOptions options_;
};

Status FileTokens::outOfVocabulary(int64_t index, uint32_t id) const {
  return Status(StatusCode::dataLoss, "token " + std::to_string(id) + " in '" + path_ +
                                          "' is not in [0, " + std::to_string(options_.vocabSize) +
                                          "): token number " + std::to_string(index) +
                                          ", at byte " + std::to_string(offsetOf(index)))
      .withHelp(options_.width == 1 ? "a text needs model.vocab_size of at least 256"
                                    : "is model.vocab_size that of the tokenizer?");
}

/// The ids that lie in the bytes. The number of the first one that is not below the bound; of all
/// where there is none. Little-endian hosts only, as everywhere in the runtime.
template <typename T>
size_t takeIds(std::span<const std::byte> bytes, int64_t bound, std::span<int32_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T id;
    std::memcpy(&id, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = int32_t(id);
    if (int64_t(id) >= bound)
      return i;
  }
  return out.size();
}

Status FileTokens::read(int64_t begin, std::span<int32_t> out) const {
  if (begin < 0 || begin > size() - int64_t(out.size()))
    return Status(StatusCode::internal, "tokens are read past the end of '" + path_ + "'");
  int64_t first = options_.begin + begin;
  std::vector<std::byte> bytes(out.size() * size_t(options_.width));
  MINIGPTC_RETURN_IF_ERROR(file_.read(offsetOf(first), bytes));
  auto take = options_.width == 1   ? takeIds<uint8_t>
              : options_.width == 2 ? takeIds<uint16_t>
                                    : takeIds<uint32_t>;
  size_t count = take(bytes, options_.vocabSize, out);
  return count == out.size() ? Status::success()
                             : outOfVocabulary(first + int64_t(count), uint32_t(out[count]));
}

uint64_t FileTokens::contentHash() const {
  uint64_t begin = offsetOf(options_.begin), length = uint64_t(size() * options_.width);
  const int64_t form[] = {size(), options_.width};
  Hasher64 hasher;
  hasher.update(std::as_bytes(std::span(form)));
  std::vector<std::byte> piece;
  // A file that has become shorter differs; who reads its tokens is told.
  auto add = [&](uint64_t offset, uint64_t bytes) {
    piece.resize(bytes);
    if (file_.read(begin + offset, piece))
      hasher.update(piece);
  };
  if (length <= kCheckedBytes) {
    for (uint64_t at = 0; at < length; at += kReadBytes)
      add(at, std::min(kReadBytes, length - at));
    return hasher.finish();
  }
  hasher.update(std::as_bytes(std::span(&options_.infoHash, 1)));
  for (uint64_t i = 0; i < kPieces; ++i) // The first bytes and the last ones among them.
    add((length - kPieceBytes) / (kPieces - 1) * i, kPieceBytes);
  add(length - kPieceBytes, kPieceBytes);
  return hasher.finish();
}

Status FileTokens::checkAll() const {
  if (file_.size() > kCheckedBytes)
    return Status::success();
  std::vector<int32_t> ids(kReadBytes / sizeof(int32_t));
  for (int64_t at = 0; at < size(); at += int64_t(ids.size())) {
    ids.resize(size_t(std::min(int64_t(ids.size()), size() - at)));
    MINIGPTC_RETURN_IF_ERROR(read(at, ids));
  }
  return Status::success();
}

class DummyTokens : public TokenSource {
public:
  DummyTokens(int64_t size, int64_t vocabSize, RandomKey key)
      : size_(size), vocabSize_(vocabSize), key_(key) {}
  int64_t size() const override { return size_; }
  uint64_t contentHash() const override {
    const int64_t form[] = {size_, vocabSize_};
    return hash64(std::as_bytes(std::span(form)), hash64(std::as_bytes(std::span(&key_, 1))));
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
  StatusOr<RandomAccessFile> file = RandomAccessFile::open(path);
  if (!file)
    return file.status();
  uint64_t bytes = file->size() - std::min(uint64_t(given.headerBytes), file->size());
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
  auto source = std::make_unique<FileTokens>(*std::move(file), path, options);
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
