#include "runtime/data/SplitWriter.h"

#include "runtime/base/File.h"

#include <algorithm>

namespace minigptc::runtime {
namespace {

/// Whether some special token could begin in a document and end in the separator behind it, or go
/// on behind the separator: then the texts of documents can't be joined.
bool joins(const Tokenizer &tokenizer, const std::string &separator) {
  return std::ranges::none_of(tokenizer.specialTokens(), [&](const SpecialToken &special) {
    const std::string &text = special.text;
    if (text != separator && text.starts_with(separator))
      return true;
    for (size_t before = 1; before < text.size(); ++before) {
      std::string_view rest = std::string_view(text).substr(before);
      if (separator.starts_with(rest) || rest.starts_with(separator))
        return true;
    }
    return false;
  });
}

} // namespace

/// The texts of documents are encoded as one, with the separator's text between them, so that
/// threads have long pieces to work on. A position is a number of bytes of that one.
class SplitWriter::Impl {
public:
  Impl(PartialFile file, const std::string &path, const SplitFormat &format, const SplitState &from)
      : file_(std::move(file)), path_(path), format_(format),
        joined_(format.separator && joins(format.tokenizer, format.separator->text)),
        encoder_(format.tokenizer, [this](std::span<const int32_t> ids) { return write(ids); },
                 {.threads = format.threads}),
        now_(from), skip_(from.skip) {
    position_ = -skip_; // the first document begins before what is encoded
    marks_.push_back({position_, from});
  }

  Status begin(const DocumentPlace &place) {
    now_.place = place;
    forgetEncoded();
    marks_.push_back({position_, now_});
    tail_.clear();
    inDocument_ = true;
    return Status::success();
  }

  Status add(std::string_view bytes) {
    now_.textBytes += int64_t(bytes.size());
    MINIGPTC_RETURN_IF_ERROR(feed(bytes));
    if (!format_.separator)
      return Status::success();
    size_t kept = format_.separator->text.size();
    tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kept));
    if (tail_.size() > kept)
      tail_.erase(0, tail_.size() - kept);
    return Status::success();
  }

  Status end() {
    ++now_.documents;
    inDocument_ = false;
    bool needed = format_.separator && tail_ != format_.separator->text;
    if (joined_)
      return needed ? feed(format_.separator->text) : Status::success();
    MINIGPTC_RETURN_IF_ERROR(encoder_.finish());
    if (!needed)
      return Status::success();
    int64_t length = int64_t(format_.separator->text.size());
    position_ += length;
    if (std::exchange(skip_, 0) > 0)
      return Status::success(); // It was written before.
    written_ += length;
    return write({&format_.separator->id, 1});
  }

  StatusOr<SplitState> state(const DocumentPlace &current) {
    if (!inDocument_)
      MINIGPTC_RETURN_IF_ERROR(encoder_.finish());
    MINIGPTC_RETURN_IF_ERROR(flush());
    MINIGPTC_RETURN_IF_ERROR(file_.sync());
    if (!inDocument_) {
      // A document that an earlier run was in may not have been read again.
      if (current >= now_.place && skip_ == 0) {
        now_.place = current;
        now_.skip = 0;
        marks_.assign(1, {position_, now_});
      }
      return now_;
    }
    int64_t done = forgetEncoded();
    SplitState state = marks_.front().state;
    state.skip = done - marks_.front().position;
    state.tokens = now_.tokens;
    return state;
  }

  Status finish() {
    MINIGPTC_RETURN_IF_ERROR(encoder_.finish());
    return flush();
  }

  Status commit() {
    TokenFileInfo info{.width = width(format_.tokenizer),
                       .tokens = now_.tokens,
                       .vocabulary = format_.tokenizer.vocabularySize(),
                       .textBytes = now_.textBytes,
                       .tokenizer = tokenizerHashText(format_.tokenizer)};
    if (format_.separator)
      info.separator = format_.separator->id;
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(path_ + ".json", info.toJson()));
    return file_.commit();
  }

  static int width(const Tokenizer &tokenizer) {
    return tokenizer.vocabularySize() > 65536 ? 4 : 2;
  }
  const SplitState &now() const { return now_; }

private:
  /// Up to where all is encoded; drops the marks of documents before that.
  int64_t forgetEncoded() {
    int64_t done = encoder_.encodedBytes() + written_;
    while (marks_.size() > 1 && marks_[1].position <= done)
      marks_.pop_front();
    return done;
  }

  /// What an earlier run has encoded is passed over.
  Status feed(std::string_view bytes) {
    position_ += int64_t(bytes.size());
    size_t known = size_t(std::min<int64_t>(skip_, int64_t(bytes.size())));
    skip_ -= int64_t(known);
    return encoder_.add(bytes.substr(known));
  }

  Status write(std::span<const int32_t> ids) {
    now_.tokens += int64_t(ids.size());
    if (width(format_.tokenizer) == 4)
      buffer_.insert(buffer_.end(), std::as_bytes(ids).begin(), std::as_bytes(ids).end());
    else
      for (int32_t id : ids) {
        buffer_.push_back(std::byte(id & 255));
        buffer_.push_back(std::byte(id >> 8));
      }
    return buffer_.size() < (size_t(1) << 20) ? Status::success() : flush();
  }

  Status flush() {
    Status status = file_.write(buffer_);
    buffer_.clear();
    return status;
  }

  struct Mark {
    int64_t position;
    SplitState state;
  };
  PartialFile file_;
  std::string path_;
  SplitFormat format_;
  bool joined_;
  TextEncoder encoder_;
  SplitState now_;         ///< what was begun last
  int64_t skip_;           ///< bytes still to be passed over
  int64_t position_ = 0;   ///< behind what was added
  int64_t written_ = 0;    ///< bytes of separators that were not encoded, but written as ids
  std::deque<Mark> marks_; ///< where documents begin that are not encoded yet, and the one before
  std::string tail_;       ///< the document's last bytes
  bool inDocument_ = false;
  std::vector<std::byte> buffer_;
};

StatusOr<SplitWriter> SplitWriter::open(const std::string &path, const SplitFormat &format,
                                        const SplitState &from) {
  StatusOr<PartialFile> file = PartialFile::open(path, from.tokens * Impl::width(format.tokenizer));
  if (!file)
    return file.status();
  return SplitWriter(std::make_unique<Impl>(*std::move(file), path, format, from));
}

SplitWriter::SplitWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SplitWriter::SplitWriter(SplitWriter &&) noexcept = default;
SplitWriter::~SplitWriter() = default;

Status SplitWriter::begin(const DocumentPlace &place) { return impl_->begin(place); }
Status SplitWriter::add(std::string_view bytes) { return impl_->add(bytes); }
Status SplitWriter::end() { return impl_->end(); }
StatusOr<SplitState> SplitWriter::state(const DocumentPlace &current) {
  return impl_->state(current);
}
Status SplitWriter::finish() { return impl_->finish(); }
Status SplitWriter::commit() { return impl_->commit(); }
int64_t SplitWriter::tokens() const { return impl_->now().tokens; }
int64_t SplitWriter::documents() const { return impl_->now().documents; }
int64_t SplitWriter::textBytes() const { return impl_->now().textBytes; }

} // namespace minigptc::runtime
