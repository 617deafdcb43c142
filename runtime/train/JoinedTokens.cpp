#include "runtime/train/JoinedTokens.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <bit>

namespace minigptc::runtime {
namespace {

class JoinedTokens : public TokenSource {
public:
  explicit JoinedTokens(std::vector<WeightedTokens> sources) : sources_(std::move(sources)) {
    for (const WeightedTokens &source : sources_) {
      int64_t begin = size();
      parts_.push_back({begin, begin + source.tokens->size(), source.weight});
    }
  }

  int64_t size() const override { return parts_.empty() ? 0 : parts_.back().end; }
  std::vector<TokenPart> parts() const override { return parts_; }
  uint64_t contentHash() const override {
    Hasher64 hasher;
    for (const WeightedTokens &source : sources_) {
      const uint64_t part[] = {source.tokens->contentHash(),
                               std::bit_cast<uint64_t>(source.weight)};
      hasher.update(std::as_bytes(std::span(part)));
    }
    return hasher.finish();
  }
  Status read(int64_t begin, std::span<int32_t> out) const override {
    auto part = std::ranges::upper_bound(parts_, begin, {}, &TokenPart::end);
    while (!out.empty()) {
      if (begin < 0 || part == parts_.end())
        return Status(StatusCode::internal, "tokens are read past the end of the data");
      size_t count = size_t(std::min<int64_t>(int64_t(out.size()), part->end - begin));
      const TokenSource &source = *sources_[size_t(part - parts_.begin())].tokens;
      MINIGPTC_RETURN_IF_ERROR(source.read(begin - part->begin, out.first(count)));
      begin += int64_t(count);
      out = out.subspan(count);
      ++part;
    }
    return Status::success();
  }

private:
  std::vector<WeightedTokens> sources_;
  std::vector<TokenPart> parts_;
};

class PartTokens : public TokenSource {
public:
  PartTokens(const TokenSource &source, const TokenPart &part)
      : source_(source), begin_(part.begin), size_(part.end - part.begin) {}
  int64_t size() const override { return size_; }
  uint64_t contentHash() const override {
    const int64_t part[] = {begin_, size_};
    return hash64(std::as_bytes(std::span(part)), source_.contentHash());
  }
  Status read(int64_t begin, std::span<int32_t> out) const override {
    return source_.read(begin_ + begin, out);
  }

private:
  const TokenSource &source_;
  int64_t begin_, size_;
};

class RowTokens : public TokenSource {
public:
  RowTokens(std::unique_ptr<TokenSource> source, const DocumentRows &format)
      : source_(std::move(source)), format_(format), parts_(source_->parts()),
        rows_(parts_.size()) {}

  int64_t size() const override { return source_->size(); }
  Status read(int64_t begin, std::span<int32_t> out) const override {
    return source_->read(begin, out);
  }
  std::vector<TokenPart> parts() const override { return parts_; }
  uint64_t contentHash() const override {
    const int64_t form[] = {format_.separator, format_.ignoreIndex};
    return hash64(std::as_bytes(std::span(form)), source_->contentHash());
  }
  std::optional<DocumentRows> documents() const override { return format_; }

  Status findRows(int64_t context) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      MINIGPTC_RETURN_IF_ERROR(findRows(parts_[i], context, rows_[i]));
      parts_[i].rows = rows_[i];
    }
    return Status::success();
  }

private:
  Status findRows(const TokenPart &part, int64_t context, std::vector<int64_t> &rows) const {
    std::vector<int32_t> ids;
    int64_t document = part.begin;
    auto endDocument = [&](int64_t end) {
      for (int64_t row = document; row + 1 < end; row += context)
        rows.push_back(row);
      document = end;
    };
    for (int64_t at = part.begin; at < part.end; at += int64_t(ids.size())) {
      ids.resize(size_t(std::min<int64_t>(1 << 16, part.end - at)));
      MINIGPTC_RETURN_IF_ERROR(source_->read(at, ids));
      for (auto it = ids.begin(); (it = std::find(it, ids.end(), format_.separator)) != ids.end();)
        endDocument(at + (++it - ids.begin()));
    }
    endDocument(part.end);
    return Status::success();
  }

  std::unique_ptr<TokenSource> source_;
  DocumentRows format_;
  std::vector<TokenPart> parts_;
  std::vector<std::vector<int64_t>> rows_;
};

} // namespace

std::unique_ptr<TokenSource> joinTokens(std::vector<WeightedTokens> sources) {
  return std::make_unique<JoinedTokens>(std::move(sources));
}

std::unique_ptr<TokenSource> viewPart(const TokenSource &source, const TokenPart &part) {
  return std::make_unique<PartTokens>(source, part);
}

StatusOr<std::unique_ptr<TokenSource>> rowsOfDocuments(std::unique_ptr<TokenSource> source,
                                                       const DocumentRows &format,
                                                       int64_t contextLength) {
  auto rows = std::make_unique<RowTokens>(std::move(source), format);
  MINIGPTC_RETURN_IF_ERROR(rows->findRows(contextLength));
  for (const TokenPart &part : rows->parts())
    if (part.rows.empty())
      return Status(StatusCode::failedPrecondition,
                    "the data has no document of two tokens or more")
          .withHelp("data.separator is the id of the token that ends a document; it is " +
                    std::to_string(format.separator));
  return std::unique_ptr<TokenSource>(std::move(rows));
}

} // namespace minigptc::runtime
