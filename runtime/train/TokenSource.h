//===- TokenSource.h - where tokens come from -------------------*- C++ -*-===//
//
// A sequence of token ids that batches are cut from. Positions are 64-bit.
//
//   StatusOr<DataSources> data = openData(config);
//   std::vector<int32_t> ids(129);
//   MINIGPTC_RETURN_IF_ERROR(data->train->read(position, ids));
//
// A token file is raw little-endian uint16, or uint32 for vocabularies above
// 65536; a side file `FILE.json` ({"dtype": "uint16"} or "uint32") decides where
// it exists. It is memory-mapped and must not be cut short meanwhile.
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

/// Immutable; reading is thread-safe.
class TokenSource {
public:
  virtual ~TokenSource() = default;
  /// Number of tokens.
  virtual int64_t size() const = 0;
  /// Tokens [begin, begin + out.size()), which must lie in [0, size()). An id
  /// outside the vocabulary is an error that names file and offset.
  virtual Status read(int64_t begin, std::span<int32_t> out) const = 0;
};

/// Tokens [begin, end) of a file of elements of `width` bytes (1: a text, 2, 4).
struct TokenFileOptions {
  int width = 2;
  int64_t vocabSize = 65536;
  /// Part of the file, in tokens; end -1: all of it.
  int64_t begin = 0, end = -1;
};
StatusOr<std::unique_ptr<TokenSource>> openTokens(const std::string &path,
                                                  const TokenFileOptions &options);
/// Bytes a token of a token file, from its side file or the vocabulary.
StatusOr<int> tokenFileWidth(const std::string &path, int64_t vocabSize);

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
/// part holds at least context_length + 1 tokens. Of a text the last tenth is val.
StatusOr<DataSources> openData(const RunConfig &config);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_TOKENSOURCE_H
