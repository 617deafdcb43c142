#include "runtime/text/DefinitionBuilder.h"

#include "runtime/base/Log.h"
#include "runtime/text/ByteAlphabet.h"
#include "runtime/text/Pieces.h"

namespace minigptc::runtime::text {

/// Ids above are damage: a table of all ids has to fit into memory.
static constexpr int64_t kMaxId = (int64_t(1) << 24) - 1;

static Status wrong(std::string message) {
  return Status(StatusCode::dataLoss, std::move(message));
}

Status DefinitionBuilder::addToken(const std::string &written, int64_t id) {
  if (id < 0 || id > kMaxId)
    return wrong("the id " + std::to_string(id) + " of the token " + quote(written) +
                 " is not in [0, " + std::to_string(kMaxId) + "]");
  if (written.empty())
    return wrong("the token with the id " + std::to_string(id) + " is empty");
  if (size_t(id) >= written_.size())
    written_.resize(size_t(id) + 1);
  if (!written_[size_t(id)].empty())
    return wrong("the tokens " + quote(written_[size_t(id)]) + " and " + quote(written) +
                 " have the same id, " + std::to_string(id));
  if (!ids_.emplace(written, int32_t(id)).second)
    return wrong("the token " + quote(written) + " is there twice");
  written_[size_t(id)] = written;
  return Status::success();
}

Status DefinitionBuilder::placeAdded(const PlaceName &place) {
  for (auto &[token, where] : added_) {
    if (auto known = ids_.find(token.text); known != ids_.end()) {
      if (known->second != token.id)
        return wrong("the added token " + quote(token.text) + " has the id " +
                     std::to_string(token.id) + " here, and " + std::to_string(known->second) +
                     " in the vocabulary")
            .at(place(where));
    } else if (Status status = addToken(token.text, token.id); !status) {
      return std::move(status).at(place(where));
    }
    definition_.added.push_back(token);
  }
  return Status::success();
}

Status DefinitionBuilder::placeMerges(const PlaceName &place) {
  MergeTable seen(merges_.size());
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    const WrittenMerge &merge = merges_[rank];
    MergePair pair;
    for (auto [text, id] : {std::pair(merge.left, &pair.left), std::pair(merge.right, &pair.right),
                            std::pair(merge.left + merge.right, &pair.result)}) {
      auto known = ids_.find(text);
      if (known == ids_.end())
        return wrong("merge " + std::to_string(rank + 1) + ", of " + quote(merge.left) + " and " +
                     quote(merge.right) + ", needs the token " + quote(text) +
                     ", which the vocabulary does not have")
            .at(place(merge.place));
      *id = known->second;
    }
    if (!seen.insert(pair.left, pair.right, {}))
      return wrong("merge " + std::to_string(rank + 1) + ", of " + quote(merge.left) + " and " +
                   quote(merge.right) + ", is there twice")
          .at(place(merge.place));
    definition_.merges.push_back(pair);
  }
  return Status::success();
}

/// Whether GPT-2's pattern leaves it whole, as it does any token that merges make.
static bool isPiece(const std::string &bytes) {
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  int pieces = 0;
  forEachPiece(TextPattern::gpt2, begin, begin + bytes.size(),
               [&](const uint8_t *, const uint8_t *) { ++pieces; });
  return pieces == 1;
}

Status DefinitionBuilder::placeTokens(bool leftOverAreSpecial) {
  std::vector<bool> isAdded(written_.size()), isMade(written_.size());
  for (const AddedToken &token : definition_.added)
    isAdded[size_t(token.id)] = true;
  for (const MergePair &merge : definition_.merges)
    isMade[size_t(merge.result)] = true;
  for (size_t id = 0; id < written_.size(); ++id) {
    const std::string &written = written_[id];
    std::optional<std::string> bytes;
    if (!isAdded[id])
      bytes = readBytes(written);
    if (leftOverAreSpecial && !isAdded[id] && !written.empty() && !isMade[id] &&
        (!bytes || bytes->size() != 1)) {
      if (bytes && isPiece(*bytes))
        return wrong("no merge makes the token " + quote(written) + ", id " + std::to_string(id))
            .withHelp("merges.txt may be cut short; a special token that looks like a word can "
                      "only be read from a tokenizer.json");
      definition_.added.push_back({int32_t(id), written});
      isAdded[id] = true;
    }
    if (isAdded[id])
      bytes = written;
    if (!bytes)
      return wrong("the token " + quote(written) + ", id " + std::to_string(id) +
                   ", has characters that stand for no byte")
          .withHelp("only vocabularies of byte-level BPE are read, as GPT-2, Llama 3 and Qwen "
                    "have them");
    definition_.tokens.push_back(*std::move(bytes));
  }
  return Status::success();
}

StatusOr<Definition> DefinitionBuilder::finish(const PlaceName &mergePlace,
                                               const PlaceName &addedPlace,
                                               bool leftOverAreSpecial) {
  MINIGPTC_RETURN_IF_ERROR(placeAdded(addedPlace));
  MINIGPTC_RETURN_IF_ERROR(placeMerges(mergePlace));
  MINIGPTC_RETURN_IF_ERROR(placeTokens(leftOverAreSpecial));
  return std::move(definition_);
}

} // namespace minigptc::runtime::text
