#include "runtime/train/TokenSource.h"

#include "runtime/base/File.h"
#include "runtime/base/Philox.h"
#include "runtime/text/TokenFile.h"
#include "runtime/train/TextTokens.h"

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {
namespace {

/// Files up to this size are checked whole when they are opened, larger ones as
/// they are read.
constexpr size_t kCheckedBytes = size_t(1) << 30;

class MappedTokens : public TokenSource {
public:
  MappedTokens(MappedFile file, std::string path, const TokenFileOptions &options)
      : file_(std::move(file)), path_(std::move(path)), options_(options) {}

  int64_t size() const override { return options_.end - options_.begin; }
  Status read(int64_t begin, std::span<int32_t> out) const override;
  Status checkAll() const;

private:
  /// Element `index` of the whole file.
  uint32_t element(int64_t index) const {
    uint32_t value = 0; // Little-endian hosts only, as everywhere in the runtime.
    std::memcpy(&value, file_.bytes().data() + index * options_.width, size_t(options_.width));
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
  return Status(StatusCode::dataLoss, "token " + std::to_string(element(index)) + " in '" + path_ +
                                          "' is not in [0, " + std::to_string(options_.vocabSize) +
                                          "): token number " + std::to_string(index) +
                                          ", at byte " + std::to_string(index * options_.width))
      .withHelp(options_.width == 1 ? "a text needs model.vocab_size of at least 256"
                                    : "is model.vocab_size that of the tokenizer?");
}

template <typename T>
int64_t firstAtLeast(std::span<const std::byte> bytes, int64_t begin, int64_t end, int64_t bound) {
  const T *elements = reinterpret_cast<const T *>(bytes.data());
  for (int64_t index = begin; index < end; ++index)
    if (int64_t(elements[index]) >= bound)
      return index;
  return end;
}

int64_t MappedTokens::firstOutside(int64_t begin, int64_t end) const {
  switch (options_.width) {
  case 1: return firstAtLeast<uint8_t>(file_.bytes(), begin, end, options_.vocabSize);
  case 2: return firstAtLeast<uint16_t>(file_.bytes(), begin, end, options_.vocabSize);
  default: return firstAtLeast<uint32_t>(file_.bytes(), begin, end, options_.vocabSize);
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
  Status read(int64_t begin, std::span<int32_t> out) const override {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = int32_t(uniformBelow(key_, uint64_t(begin) + i, uint64_t(vocabSize_)));
    return Status::success();
  }

private:
  int64_t size_, vocabSize_;
  RandomKey key_;
};

Status tooShort(const std::string &what, int64_t tokens, int64_t context) {
  return Status(StatusCode::failedPrecondition,
                what + " has " + std::to_string(tokens) + " tokens, but at least " +
                    std::to_string(context + 1) + " are needed (model.context_length + 1)")
      .withHelp("take a longer one, or a smaller model.context_length");
}

StatusOr<std::unique_ptr<TokenSource>> openChecked(const std::string &path, const std::string &name,
                                                   const TokenFileOptions &options,
                                                   int64_t context) {
  StatusOr<std::unique_ptr<TokenSource>> source = openTokens(path, options);
  if (source && (*source)->size() <= context)
    return tooShort("'" + name + "'", (*source)->size(), context);
  return source;
}

/// The file that has a text's tokens: itself where they are bytes.
StatusOr<std::string> tokensOfText(const RunConfig &config, TokenFileOptions &options,
                                   DataSources &data) {
  options = {.width = 1, .vocabSize = config.model.vocabSize};
  if (!data.tokenizer)
    return config.data.textPath;
  StatusOr<EncodedText> text = encodeText(config.data.textPath, *data.tokenizer);
  if (!text)
    return text.status();
  options.width = text->width;
  if (!text->known)
    data.remarks.push_back("'" + config.data.textPath + "' has " + std::to_string(text->tokens) +
                           " tokens, kept in '" + text->path + "'");
  return text->path;
}

StatusOr<DataSources> openText(const RunConfig &config, DataSources data) {
  const std::string &name = config.data.textPath;
  const ModelConfig &model = config.model;
  TokenFileOptions options;
  StatusOr<std::string> file = tokensOfText(config, options, data);
  if (!file)
    return file.status();
  const std::string &path = *file;
  StatusOr<std::unique_ptr<TokenSource>> whole =
      openChecked(path, name, options, model.contextLength);
  if (!whole)
    return whole.status();
  int64_t size = (*whole)->size(), held = size / 10;
  if (held <= model.contextLength) {
    data.remarks.push_back("'" + name +
                           "' is too short to hold out a tenth of it for evaluation: " +
                           "trained on whole, no val loss");
    data.train = *std::move(whole);
    return data;
  }
  for (auto [begin, end, target] : {std::tuple(int64_t(0), size - held, &data.train),
                                    std::tuple(size - held, size, &data.val)}) {
    options.begin = begin;
    options.end = end;
    StatusOr<std::unique_ptr<TokenSource>> part = openTokens(path, options);
    if (!part)
      return part.status();
    *target = *std::move(part);
  }
  return data;
}

/// An error if a token file says that it is of another tokenizer.
Status checkTokenizer(const std::string &path, const Tokenizer &tokenizer) {
  StatusOr<std::optional<TokenFileInfo>> info = readTokenFileInfo(path);
  if (!info)
    return info.status();
  std::string ours = tokenizerHashText(tokenizer);
  if (!*info || (*info)->tokenizer.empty() || (*info)->tokenizer == ours)
    return Status::success();
  return Status(StatusCode::invalidArgument,
                "'" + path + "' is of another tokenizer: its hash is " + (*info)->tokenizer +
                    ", that of --tokenizer " + ours)
      .at(path + ".json");
}

StatusOr<DataSources> openTokenFiles(const DataConfig &files, const ModelConfig &model,
                                     DataSources data) {
  for (auto [path, target] :
       {std::pair(&files.trainPath, &data.train), std::pair(&files.valPath, &data.val)}) {
    if (path->empty())
      continue;
    if (data.tokenizer)
      MINIGPTC_RETURN_IF_ERROR(checkTokenizer(*path, *data.tokenizer));
    StatusOr<int> width = tokenFileWidth(*path, model.vocabSize);
    if (!width)
      return width.status();
    StatusOr<std::unique_ptr<TokenSource>> source = openChecked(
        *path, *path, {.width = *width, .vocabSize = model.vocabSize}, model.contextLength);
    if (!source)
      return source.status();
    *target = *std::move(source);
  }
  if (!data.val)
    data.remarks.push_back("no validation tokens (--val FILE): no val loss");
  return data;
}

} // namespace

StatusOr<int> tokenFileWidth(const std::string &path, int64_t vocabSize) {
  std::string side = path + ".json";
  std::error_code ignored;
  if (!std::filesystem::exists(side, ignored))
    return vocabSize > 65536 ? 4 : 2;
  StatusOr<std::string> text = readTextFile(side);
  if (!text)
    return text.status();
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  std::string dtype;
  if (json.is_object() && json.contains("dtype") && json["dtype"].is_string())
    dtype = json["dtype"].get<std::string>();
  if (dtype == "uint16")
    return 2;
  if (dtype == "uint32")
    return 4;
  return Status(StatusCode::dataLoss,
                "'" + side +
                    "' does not say how tokens are stored: \"dtype\" must be \"uint16\" "
                    "or \"uint32\"");
}

StatusOr<std::unique_ptr<TokenSource>> openTokens(const std::string &path,
                                                  const TokenFileOptions &given) {
  StatusOr<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  uint64_t bytes = file->bytes().size();
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

std::unique_ptr<TokenSource> makeDummyTokens(int64_t size, int64_t vocabSize, uint64_t seed,
                                             std::string_view stream) {
  return std::make_unique<DummyTokens>(size, vocabSize,
                                       foldIn(seedKey(seed), streamNumber(stream)));
}

StatusOr<DataSources> openData(const RunConfig &config) {
  const DataConfig &data = config.data;
  if (int(data.dummy) + int(!data.textPath.empty()) + int(!data.trainPath.empty()) > 1)
    return Status(StatusCode::invalidArgument,
                  "more than one source of data: a text, a token file and dummy data exclude "
                  "each other");
  if (data.dummy) {
    int64_t size = std::max<int64_t>(1'000'000, 64 * (config.model.contextLength + 1));
    DataSources sources;
    sources.train =
        makeDummyTokens(size, config.model.vocabSize, config.training.seed, "dummy/train");
    sources.val = makeDummyTokens(size, config.model.vocabSize, config.training.seed, "dummy/val");
    return sources;
  }
  DataSources sources;
  if (!data.tokenizer.empty()) {
    StatusOr<Tokenizer> tokenizer = openTokenizer(config);
    if (!tokenizer)
      return tokenizer.status();
    sources.tokenizer = *tokenizer;
  }
  if (!data.textPath.empty())
    return openText(config, std::move(sources));
  if (!data.trainPath.empty())
    return openTokenFiles(data, config.model, std::move(sources));
  return Status(StatusCode::invalidArgument, "no data to train on")
      .withHelp("give --text FILE, --data FILE or --dummy-data");
}

} // namespace minigptc::runtime
