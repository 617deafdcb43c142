//===- TokenSource.h - where tokens come from -------------------*- C++ -*-===//
//
// A sequence of token ids that samples are cut from. Positions are 64-bit.
//
//   StatusOr<DataSources> data = openData(config);
//   std::vector<int32_t> ids(129);
//   MINIGPTC_RETURN_IF_ERROR(data->train->read(position, ids));
//
// Token files are described in runtime/text/TokenFile.h. Of them is read what samples need, when
// they need it; the system keeps it in memory as long as there is room.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_TOKENSOURCE_H
#define MINIGPTC_RUNTIME_TRAIN_TOKENSOURCE_H

#include "minigptc/runtime/Status.h"
#include "minigptc/runtime/Tokenizer.h"
#include "runtime/train/RunConfig.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace minigptc::runtime {

/// Tokens [begin, end) of a source that samples do not leave: one file of several.
struct TokenPart {
  int64_t begin = 0, end = 0;
  /// How often random samples are of this part, by comparison. 0 in all parts: each place
  /// where a sample can begin is as likely as any other.
  double weight = 0;
  /// Where rows begin, if documents are rows; else empty.
  std::span<const int64_t> rows = {};
};

/// A sample is (a piece of) one document, filled up to its length.
struct DocumentRows {
  int32_t separator = 0;   ///< ends a document; fills up inputs
  int32_t ignoreIndex = 0; ///< fills up targets
};

/// Immutable; reading is thread-safe.
class TokenSource {
public:
  virtual ~TokenSource() = default;
  /// Number of tokens.
  virtual int64_t size() const = 0;
  /// Tokens [begin, begin + out.size()), which must lie in [0, size()). An id
  /// outside the vocabulary is an error that names file and offset, and so is a file that has
  /// become shorter.
  virtual Status read(int64_t begin, std::span<int32_t> out) const = 0;
  /// One after the other, without gaps. What they refer to lives as long as the source.
  virtual std::vector<TokenPart> parts() const { return {{0, size()}}; }
  /// Nothing: samples are cut from a stream in which documents follow each other.
  virtual std::optional<DocumentRows> documents() const { return std::nullopt; }
  /// Tells it from others, by its size, its tokens (of files larger than a GiB, 1024 pieces
  /// spread over them) and its parts; where it lies does not matter.
  virtual uint64_t contentHash() const = 0;
};

/// Tokens [begin, end) of a file of elements of `width` bytes (1: a text, 2, 4).
struct TokenFileOptions {
  int width = 2;
  int64_t vocabSize = 65536;
  /// Part of the file, in tokens; end -1: all of it.
  int64_t begin = 0, end = -1;
  int64_t headerBytes = 0; ///< before the first token
  uint64_t infoHash = 0;   ///< of what is said of the file; tells large ones apart
};
StatusOr<std::unique_ptr<TokenSource>> openTokens(const std::string &path,
                                                  const TokenFileOptions &options);
/// A token file as its side file or its header says, which must fit the model's vocabulary and,
/// if one is given, the tokenizer.
StatusOr<std::unique_ptr<TokenSource>> openTokenFile(const std::string &path, int64_t vocabSize,
                                                     const Tokenizer *tokenizer = nullptr);

/// An entry of `data.mixture`: "FILE=WEIGHT", or "FILE" without one. A name that exists is a file.
std::pair<std::string, std::optional<double>> splitWeight(const std::string &entry);

/// Uniformly random tokens: a function of (seed, stream, position).
std::unique_ptr<TokenSource> makeDummyTokens(int64_t size, int64_t vocabSize, uint64_t seed,
                                             std::string_view stream);

/// What a run reads.
struct DataSources {
  std::unique_ptr<TokenSource> train;
  std::unique_ptr<TokenSource> val;   ///< null if there is none
  std::optional<Tokenizer> tokenizer; ///< of `config.data`; none: a token of a text is a byte
  std::vector<std::string> remarks;
};

/// Opens what `config.data` names and checks that it fits `config.model`: each
/// file holds at least context_length + 1 tokens. Of a text the last tenth is val.
StatusOr<DataSources> openData(const RunConfig &config);
/// The text or token file that `config.data` names to train on, whole, however short it is.
StatusOr<std::unique_ptr<TokenSource>> openWhole(const RunConfig &config);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TOKENSOURCE_H
