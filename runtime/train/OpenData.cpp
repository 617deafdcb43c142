//===- OpenData.cpp - what a configuration's data section names -----------===//
#include "runtime/text/DataFolder.h"
#include "runtime/text/TokenFile.h"
#include "runtime/train/JoinedTokens.h"
#include "runtime/train/TextTokens.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace minigptc::runtime {
namespace {

using SourceOr = StatusOr<std::unique_ptr<TokenSource>>;

class DataOpener {
public:
  explicit DataOpener(const RunConfig &config)
      : data_(config.data), model_(config.model), seed_(config.training.seed) {}

  StatusOr<DataSources> open(const RunConfig &config);
  SourceOr openWhole(const RunConfig &config);

private:
  Status loadTokenizer(const RunConfig &config);
  Status openText();
  Status openDummy();
  Status openFiles();
  StatusOr<std::string> tokensOfText(TokenFileOptions &options);
  SourceOr openFile(const std::string &path);
  SourceOr openMixture();
  /// A sample needs so many tokens; a document as a row may have any number.
  Status checkSize(const std::string &name, const TokenSource &source) const;
  Status makeRows();
  bool asRows() const { return data_.rows == "documents"; }

  const DataConfig &data_;
  const ModelConfig &model_;
  uint64_t seed_;
  DataSources sources_;
  std::optional<int64_t> separator_; ///< that the files name
};

Status DataOpener::checkSize(const std::string &name, const TokenSource &source) const {
  if (asRows() || source.size() > model_.contextLength)
    return Status::success();
  return Status(StatusCode::failedPrecondition,
                "'" + name + "' has " + std::to_string(source.size()) + " tokens, but at least " +
                    std::to_string(model_.contextLength + 1) +
                    " are needed (model.context_length + 1)")
      .withHelp("take a longer one, or a smaller model.context_length");
}

//===----------------------------------------------------------------------===//
// Texts and random tokens
//===----------------------------------------------------------------------===//

/// The file that has a text's tokens: itself where they are bytes.
StatusOr<std::string> DataOpener::tokensOfText(TokenFileOptions &options) {
  options = {.width = 1, .vocabSize = model_.vocabSize};
  if (!sources_.tokenizer)
    return data_.textPath;
  StatusOr<EncodedText> text = encodeText(data_.textPath, *sources_.tokenizer);
  if (!text)
    return text.status();
  options.width = text->width;
  if (!text->known)
    sources_.remarks.push_back("'" + data_.textPath + "' has " + std::to_string(text->tokens) +
                               " tokens, kept in '" + text->path + "'");
  return text->path;
}

Status DataOpener::openText() {
  TokenFileOptions options;
  StatusOr<std::string> path = tokensOfText(options);
  if (!path)
    return path.status();
  SourceOr whole = openTokens(*path, options);
  if (!whole)
    return whole.status();
  MINIGPTC_RETURN_IF_ERROR(checkSize(data_.textPath, **whole));
  int64_t size = (*whole)->size(), held = size / 10;
  if (held <= model_.contextLength) {
    sources_.remarks.push_back("'" + data_.textPath +
                               "' is too short to hold out a tenth of it for evaluation: " +
                               "trained on whole, no val loss");
    sources_.train = *std::move(whole);
    return Status::success();
  }
  for (auto [begin, end, target] : {std::tuple(int64_t(0), size - held, &sources_.train),
                                    std::tuple(size - held, size, &sources_.val)}) {
    options.begin = begin;
    options.end = end;
    SourceOr part = openTokens(*path, options);
    if (!part)
      return part.status();
    *target = *std::move(part);
  }
  return Status::success();
}

Status DataOpener::openDummy() {
  int64_t size = std::max<int64_t>(1'000'000, 64 * (model_.contextLength + 1));
  sources_.train = makeDummyTokens(size, model_.vocabSize, seed_, "dummy/train");
  sources_.val = makeDummyTokens(size, model_.vocabSize, seed_, "dummy/val");
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Token files
//===----------------------------------------------------------------------===//

SourceOr DataOpener::openFile(const std::string &path) {
  DataFolder folder(std::filesystem::path(path).parent_path().string());
  MINIGPTC_RETURN_IF_ERROR(folder.checkComplete());
  SourceOr source =
      openTokenFile(path, model_.vocabSize, sources_.tokenizer ? &*sources_.tokenizer : nullptr);
  if (!source)
    return source;
  StatusOr<std::optional<TokenFileInfo>> info = readTokenFileInfo(path);
  std::optional<int64_t> separator = info && *info ? (*info)->separator : std::nullopt;
  if (separator && separator_ && *separator != *separator_ && asRows() && !data_.separator)
    return Status(StatusCode::invalidArgument,
                  "the documents of '" + path + "' end with token " + std::to_string(*separator) +
                      ", those of another file with " + std::to_string(*separator_))
        .withHelp("files that are trained on together must have the same tokens");
  if (separator)
    separator_ = separator;
  return source;
}

SourceOr DataOpener::openMixture() {
  std::vector<WeightedTokens> files;
  size_t weighted = 0;
  for (const std::string &entry : data_.mixture) {
    auto [path, weight] = splitWeight(entry);
    if (weight && !(std::isfinite(*weight) && *weight > 0 && *weight < 1e15))
      return Status(StatusCode::invalidArgument,
                    "the weight of '" + path + "' must be a positive number")
          .at("data.mixture");
    weighted += weight.has_value();
    SourceOr source = openFile(path);
    if (!source)
      return source;
    MINIGPTC_RETURN_IF_ERROR(checkSize(path, **source));
    files.push_back({*std::move(source), weight.value_or(0)});
  }
  if (weighted != 0 && weighted != files.size())
    return Status(StatusCode::invalidArgument, "some of the files have weights, others none")
        .at("data.mixture")
        .withHelp("FILE=WEIGHT for each; without any, all tokens count the same");
  return joinTokens(std::move(files));
}

Status DataOpener::openFiles() {
  SourceOr train = data_.mixture.empty() ? openFile(data_.trainPath) : openMixture();
  if (!train)
    return train.status();
  sources_.train = *std::move(train);
  if (data_.mixture.empty())
    MINIGPTC_RETURN_IF_ERROR(checkSize(data_.trainPath, *sources_.train));
  if (data_.valPath.empty()) {
    sources_.remarks.push_back("no validation tokens (--val FILE): no val loss");
    return Status::success();
  }
  SourceOr val = openFile(data_.valPath);
  if (!val)
    return val.status();
  MINIGPTC_RETURN_IF_ERROR(checkSize(data_.valPath, **val));
  sources_.val = *std::move(val);
  return Status::success();
}

Status DataOpener::makeRows() {
  if (!data_.ignoreIndex)
    return Status(StatusCode::invalidArgument,
                  "documents as rows are filled up with targets that do not count")
        .at("data.ignore_index")
        .withHelp("--set data.ignore_index=-1");
  std::optional<int64_t> separator = data_.separator ? data_.separator : separator_;
  if (!separator && sources_.tokenizer)
    if (std::optional<SpecialToken> usual = usualSeparator(*sources_.tokenizer))
      separator = usual->id;
  if (!separator)
    return Status(StatusCode::invalidArgument, "nothing says what ends a document")
        .at("data.separator")
        .withHelp("--set data.separator=ID");
  if (*separator >= model_.vocabSize)
    return Status(StatusCode::invalidArgument, "the separator " + std::to_string(*separator) +
                                                   " is not in [0, model.vocab_size)")
        .at("data.separator");
  DocumentRows format{int32_t(*separator), int32_t(*data_.ignoreIndex)};
  for (std::unique_ptr<TokenSource> *source : {&sources_.train, &sources_.val}) {
    if (!*source)
      continue;
    SourceOr rows = rowsOfDocuments(std::move(*source), format, model_.contextLength);
    if (!rows)
      return rows.status();
    *source = *std::move(rows);
  }
  return Status::success();
}

Status DataOpener::loadTokenizer(const RunConfig &config) {
  if (data_.tokenizer.empty() || data_.dummy)
    return Status::success();
  StatusOr<Tokenizer> tokenizer = openTokenizer(config);
  if (!tokenizer)
    return tokenizer.status();
  sources_.tokenizer = *std::move(tokenizer);
  return Status::success();
}

SourceOr DataOpener::openWhole(const RunConfig &config) {
  MINIGPTC_RETURN_IF_ERROR(loadTokenizer(config));
  TokenFileOptions options;
  if (data_.textPath.empty()) {
    SourceOr file = openFile(data_.trainPath);
    if (!file)
      return file;
    sources_.train = *std::move(file);
  } else {
    StatusOr<std::string> path = tokensOfText(options);
    SourceOr text = path ? openTokens(*path, options) : SourceOr(path.status());
    if (!text)
      return text;
    sources_.train = *std::move(text);
  }
  if (asRows())
    MINIGPTC_RETURN_IF_ERROR(makeRows());
  return std::move(sources_.train);
}

StatusOr<DataSources> DataOpener::open(const RunConfig &config) {
  if (int(data_.dummy) + int(!data_.textPath.empty()) + int(!data_.trainPath.empty()) +
          int(!data_.mixture.empty()) >
      1)
    return Status(StatusCode::invalidArgument,
                  "more than one source of data: a text, a token file, a mixture of token files "
                  "and dummy data exclude each other");
  if (!data_.isNamed())
    return Status(StatusCode::invalidArgument, "no data to train on")
        .withHelp("give --text FILE, --data FILE or --dummy-data");
  MINIGPTC_RETURN_IF_ERROR(loadTokenizer(config));
  MINIGPTC_RETURN_IF_ERROR(data_.dummy               ? openDummy()
                           : !data_.textPath.empty() ? openText()
                                                     : openFiles());
  if (asRows())
    MINIGPTC_RETURN_IF_ERROR(makeRows());
  return std::move(sources_);
}

} // namespace

std::pair<std::string, std::optional<double>> splitWeight(const std::string &entry) {
  std::error_code ignored;
  size_t at = entry.rfind('=');
  if (at == entry.npos || std::filesystem::exists(entry, ignored))
    return {entry, std::nullopt};
  char *end = nullptr;
  double weight = std::strtod(entry.c_str() + at + 1, &end);
  if (*end || end == entry.c_str() + at + 1)
    return {entry, std::nullopt};
  return {entry.substr(0, at), weight};
}

StatusOr<DataSources> openData(const RunConfig &config) { return DataOpener(config).open(config); }

StatusOr<std::unique_ptr<TokenSource>> openWhole(const RunConfig &config) {
  return DataOpener(config).openWhole(config);
}

} // namespace minigptc::runtime
