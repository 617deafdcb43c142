//===- DefinitionBuilder.h - a tokenizer from what files say ----*- C++ -*-===//
//
// Takes tokens as files write them, and checks that they fit together. Merges and added
// tokens may come before the vocabulary that they name.
//
//   DefinitionBuilder builder;
//   MINIGPTC_RETURN_IF_ERROR(builder.addToken("Ġthe", 262));
//   builder.addMerge("Ġ", "the", /*place=*/17);
//   builder.addAdded({50256, "<|endoftext|>"}, place);
//   StatusOr<Definition> definition = builder.finish(placeName);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_DEFINITIONBUILDER_H
#define MINIGPTC_RUNTIME_TEXT_DEFINITIONBUILDER_H

#include "runtime/text/TokenizerTables.h"

namespace minigptc::runtime::text {

class DefinitionBuilder {
public:
  /// The place of a merge or added token, as the caller gave it, for a message.
  using PlaceName = std::function<std::string(size_t place)>;

  Status addToken(const std::string &written, int64_t id);
  void addMerge(std::string left, std::string right, size_t place) {
    merges_.push_back({std::move(left), std::move(right), place});
  }
  void addAdded(AddedToken token, size_t place) { added_.emplace_back(std::move(token), place); }

  /// `mergePlace`, `addedPlace` name places. `leftOverAreSpecial`: tokens that are no byte
  /// and come from no merge are special tokens (an error if one looks like a merge that is
  /// missing), else they are just never made.
  StatusOr<Definition> finish(const PlaceName &mergePlace, const PlaceName &addedPlace,
                              bool leftOverAreSpecial);

private:
  struct WrittenMerge {
    std::string left, right;
    size_t place;
  };
  Status placeAdded(const PlaceName &place);
  Status placeMerges(const PlaceName &place);
  Status placeTokens(bool leftOverAreSpecial);

  BytesMap<int32_t> ids_;            ///< by written form
  std::vector<std::string> written_; ///< by id; empty: free
  std::vector<WrittenMerge> merges_;
  std::vector<std::pair<AddedToken, size_t>> added_;
  Definition definition_;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_DEFINITIONBUILDER_H
