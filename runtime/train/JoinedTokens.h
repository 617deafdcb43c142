//===- JoinedTokens.h - several sources as one; documents as rows -*- C++ -*-===//
//
//   std::vector<WeightedTokens> files;                       // {source, weight}
//   StatusOr<std::unique_ptr<TokenSource>> all = joinTokens(std::move(files));
//   StatusOr<std::unique_ptr<TokenSource>> rows =
//       rowsOfDocuments(*std::move(all), {.separator = 50256, .ignoreIndex = -1}, 1024);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_JOINEDTOKENS_H
#define MINIGPTC_RUNTIME_TRAIN_JOINEDTOKENS_H

#include "runtime/train/TokenSource.h"

namespace minigptc::runtime {

struct WeightedTokens {
  std::unique_ptr<TokenSource> tokens;
  double weight = 0; ///< of random samples; 0 for all: by size
};

/// One after the other, each a part of its own.
std::unique_ptr<TokenSource> joinTokens(std::vector<WeightedTokens> sources);

/// A part of a source, which must outlive it.
std::unique_ptr<TokenSource> viewPart(const TokenSource &source, const TokenPart &part);

/// The same tokens, of which each document is a row of up to `contextLength` targets, a longer
/// one several rows: every token but the first of its document is a target once. A document is
/// what lies between separators, with the one that ends it. Reads all tokens once, and
/// keeps 8 bytes for a row. failedPrecondition if there is no row.
StatusOr<std::unique_ptr<TokenSource>> rowsOfDocuments(std::unique_ptr<TokenSource> source,
                                                       const DocumentRows &format,
                                                       int64_t contextLength);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_JOINEDTOKENS_H
