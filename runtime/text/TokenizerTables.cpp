#include "runtime/text/TokenizerTables.h"

#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"

#include <algorithm>

namespace minigptc::runtime::text {
namespace {

/// Numbers and strings, each with what is needed to tell them from others.
class CanonicalHash {
public:
  void number(uint64_t value) { hasher_.update(std::as_bytes(std::span(&value, 1))); }
  void bytes(std::string_view text) {
    number(text.size());
    hasher_.update(std::as_bytes(std::span(text)));
  }
  uint64_t finish() const { return hasher_.finish(); }

private:
  Hasher64 hasher_;
};

uint64_t hashOf(const Definition &definition, const std::vector<SpecialToken> &specials) {
  CanonicalHash hash;
  hash.number(uint64_t(definition.pattern));
  hash.number(uint64_t(definition.normalize) << 1 | uint64_t(definition.wholePieces));
  hash.number(definition.tokens.size());
  for (const std::string &token : definition.tokens)
    hash.bytes(token);
  hash.number(definition.merges.size());
  for (const MergePair &merge : definition.merges) {
    hash.number(uint64_t(merge.left) << 32 | uint64_t(merge.right));
    hash.number(uint64_t(merge.result));
  }
  for (const SpecialToken &special : specials) {
    hash.number(uint64_t(special.id));
    hash.bytes(special.text);
  }
  return hash.finish();
}

/// Whether a text can have a place where both match, so that it matters which is looked
/// for first: one contains the other, or ends with what the other begins with.
bool overlap(std::string_view a, std::string_view b) {
  auto ends = [](std::string_view a, std::string_view b) {
    for (size_t n = 1; n <= std::min(a.size(), b.size()); ++n)
      if (a.substr(a.size() - n) == b.substr(0, n))
        return true;
    return false;
  };
  return a.find(b) != a.npos || b.find(a) != b.npos || ends(a, b) || ends(b, a);
}

/// Tokens with and without the flag `normalized` are looked for one kind after the other;
/// here all at once.
Status checkOrder(const std::vector<AddedToken> &added, bool normalize) {
  for (const AddedToken &first : added)
    if (first.normalized && normalize)
      return Status(
          StatusCode::invalidArgument,
          "the added token " + quote(first.text) +
              " has \"normalized\", and the file a normalizer: such tokens are not found");
  for (const AddedToken &first : added)
    if (first.normalized)
      for (const AddedToken &second : added)
        if (!second.normalized && overlap(first.text, second.text))
          return Status(StatusCode::invalidArgument,
                        "the added tokens " + quote(first.text) + " and " + quote(second.text) +
                            " overlap, and differ in \"normalized\": such tokens can't be told "
                            "apart");
  return Status::success();
}

Status setBytes(TokenizerTables &tables) {
  std::vector<bool> isAdded(tables.definition.tokens.size());
  for (const AddedToken &token : tables.definition.added)
    isAdded[size_t(token.id)] = true;
  tables.byteIds.fill(-1);
  for (size_t id = 0; id < tables.definition.tokens.size(); ++id) {
    const std::string &token = tables.definition.tokens[id];
    if (token.size() == 1 && !isAdded[id])
      tables.byteIds[uint8_t(token[0])] = int32_t(id);
    if (tables.definition.wholePieces && !token.empty() && !isAdded[id])
      tables.wholePieces.emplace(token, int32_t(id));
  }
  for (int byte = 0; byte < 256; ++byte)
    if (tables.byteIds[size_t(byte)] < 0)
      return Status(StatusCode::dataLoss, format("no token stands for the byte 0x%02x", byte))
          .withHelp("a byte-level vocabulary has a token for each of the 256 bytes");
  return Status::success();
}

} // namespace

StatusOr<Tokenizer> build(Definition definition) {
  auto tables = std::make_shared<TokenizerTables>();
  tables->definition = std::move(definition);
  std::vector<AddedToken> &added = tables->definition.added;
  std::sort(added.begin(), added.end(),
            [](const AddedToken &a, const AddedToken &b) { return a.id < b.id; });
  BytesMap<int32_t> seen;
  for (const AddedToken &token : added) {
    if (token.text.empty())
      return Status(StatusCode::dataLoss, "a special token is empty");
    if (!seen.emplace(token.text, token.id).second)
      return Status(StatusCode::dataLoss,
                    "the special token " + quote(token.text) + " is there twice");
    tables->specials.push_back({token.id, token.text});
  }
  MINIGPTC_RETURN_IF_ERROR(checkOrder(added, tables->definition.normalize));
  MINIGPTC_RETURN_IF_ERROR(setBytes(*tables));
  tables->merges = MergeTable(tables->definition.merges.size());
  uint32_t rank = 0;
  for (const MergePair &merge : tables->definition.merges)
    if (!tables->merges.insert(merge.left, merge.right, {rank++, merge.result}))
      return Status(StatusCode::dataLoss,
                    "merge " + std::to_string(rank) +
                        " is there twice: " + quote(tables->definition.tokens[size_t(merge.left)]) +
                        " and " + quote(tables->definition.tokens[size_t(merge.right)]));
  tables->matcher = SpecialMatcher(tables->specials);
  tables->hash = hashOf(tables->definition, tables->specials);
  return Tokenizer(std::move(tables));
}

} // namespace minigptc::runtime::text
