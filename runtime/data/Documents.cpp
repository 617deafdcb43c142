#include "runtime/data/Documents.h"

#include "runtime/base/Log.h"
#include "runtime/base/Philox.h"
#include "runtime/text/JsonReader.h"

#include <algorithm>

namespace minigptc::runtime {

/// From so many texts on, whole ones are held out.
static constexpr int64_t kManyTexts = 100;
static constexpr size_t kPieceBytes = size_t(1) << 18;
static constexpr const char *kLinesHelp = "each line must be a JSON object of its own";
/// How far behind the wanted place a text is searched for a better one to cut it.
static constexpr int64_t kCutBytes = int64_t(1) << 20;

DocumentReader::DocumentReader(const InputList &inputs, DocumentOptions options,
                               const DocumentPlace &from)
    : inputs_(inputs), options_(std::move(options)),
      drawTexts_(std::ranges::count(inputs.files, InputKind::text, &Input::kind) >= kManyTexts),
      place_(from) {
  for (int64_t i = 0; i < place_.file; ++i)
    before_ += inputs_.files[size_t(i)].bytes;
}

bool DocumentReader::drawn(int64_t number) const {
  RandomKey key = foldIn(seedKey(0), streamNumber("data/held out"));
  return double(randomBits64(key, uint64_t(number)) >> 11) * 0x1p-53 < options_.valFraction;
}

void DocumentReader::endFile() {
  before_ += input().bytes;
  offset_ = 0;
  file_.reset();
  place_ = {place_.file + 1, 0, 1, place_.number};
}

DocumentPlace DocumentReader::place() const {
  DocumentPlace next = place_;
  if (!file_)
    return next;
  next.offset = offset_;
  if (input().kind == InputKind::jsonLines)
    return next;
  ++next.number;
  return offset_ < input().bytes ? next : DocumentPlace{place_.file + 1, 0, 1, next.number};
}

Status DocumentReader::open() {
  StatusOr<InputFile> file = InputFile::open(input().path);
  if (!file)
    return file.status();
  file_ = *std::move(file);
  lines_.clear();
  lineBegin_ = 0;
  offset_ = place_.offset;
  if (input().kind == InputKind::text)
    return openText();
  return file_->seek(offset_);
}

StatusOr<bool> DocumentReader::next(DocumentPiece &piece) {
  while (place_.file < int64_t(inputs_.files.size())) {
    if (!file_)
      MINIGPTC_RETURN_IF_ERROR(open());
    StatusOr<bool> found = input().kind == InputKind::text ? nextOfText(piece) : nextOfLines(piece);
    if (!found || *found)
      return found;
    endFile();
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// The document that begins at `place_.offset`.
Status DocumentReader::openText() {
  StatusOr<int64_t> cut = findCut();
  if (!cut)
    return cut.status();
  bool isRest = place_.offset >= *cut;
  end_ = isRest ? input().bytes : *cut;
  heldOut_ = drawTexts_ ? drawn(place_.number) : isRest && options_.valFraction > 0;
  return file_->seek(offset_);
}

/// Where the part of a text begins that is held out; the text's end if none is.
StatusOr<int64_t> DocumentReader::findCut() {
  int64_t bytes = input().bytes, wanted = int64_t(double(bytes) * (1 - options_.valFraction));
  if (drawTexts_ || options_.valFraction == 0 || wanted >= bytes)
    return bytes;
  std::vector<char> window(size_t(std::min(kCutBytes, bytes - wanted)));
  MINIGPTC_RETURN_IF_ERROR(file_->seek(wanted));
  StatusOr<size_t> count = file_->read(window);
  if (!count)
    return count.status();
  std::string_view text(window.data(), *count);
  size_t at = options_.separator.empty() ? text.npos : text.find(options_.separator);
  if (at != text.npos && wanted + int64_t(at + options_.separator.size()) < bytes)
    return wanted + int64_t(at + options_.separator.size());
  at = text.find('\n');
  if (at != text.npos && wanted + int64_t(at) + 1 < bytes)
    return wanted + int64_t(at) + 1;
  at = 0;
  while (at < text.size() && (uint8_t(text[at]) & 0xc0) == 0x80) // not within a character
    ++at;
  return wanted + int64_t(at);
}

StatusOr<bool> DocumentReader::nextOfText(DocumentPiece &piece) {
  if (offset_ == end_) {
    ++place_.number;
    if (end_ == input().bytes)
      return false;
    place_.offset = end_;
    MINIGPTC_RETURN_IF_ERROR(openText());
  }
  buffer_.resize(size_t(std::min<int64_t>(kPieceBytes, end_ - offset_)));
  StatusOr<size_t> count = file_->read(buffer_);
  if (!count)
    return count.status();
  if (*count < buffer_.size())
    return Status(StatusCode::dataLoss, "'" + input().path + "' became shorter while it was read");
  piece = {.bytes = {buffer_.data(), *count},
           .first = offset_ == place_.offset,
           .last = offset_ + int64_t(*count) == end_,
           .heldOut = heldOut_,
           .kind = InputKind::text,
           .place = place_};
  offset_ += int64_t(*count);
  return true;
}

//===----------------------------------------------------------------------===//
// JSON Lines
//===----------------------------------------------------------------------===//

/// The next line of the file; it may be empty. False: the file ends.
StatusOr<bool> DocumentReader::nextLine(std::string_view &line) {
  size_t searched = lineBegin_;
  for (;;) {
    size_t end = lines_.find('\n', searched);
    bool ends = offset_ + int64_t(lines_.size() - lineBegin_) == input().bytes;
    if (end != lines_.npos || (ends && lineBegin_ < lines_.size())) {
      size_t stop = end == lines_.npos ? lines_.size() : end;
      line = std::string_view(lines_).substr(lineBegin_, stop - lineBegin_);
      size_t behind = end == lines_.npos ? stop : stop + 1;
      offset_ += int64_t(behind - lineBegin_);
      lineBegin_ = behind;
      return true;
    }
    if (ends)
      return false;
    lines_.erase(0, lineBegin_);
    lineBegin_ = 0;
    searched = lines_.size();
    if (int64_t(searched) > options_.longestLine)
      return Status(StatusCode::dataLoss,
                    "a line of more than " + std::to_string(options_.longestLine) + " bytes")
          .at(input().path + ":" + std::to_string(place_.line))
          .withHelp(kLinesHelp);
    lines_.resize(searched + std::max(kPieceBytes, searched));
    StatusOr<size_t> count = file_->read(std::span(lines_).subspan(searched));
    if (!count)
      return count.status();
    if (*count == 0)
      return Status(StatusCode::dataLoss,
                    "'" + input().path + "' became shorter while it was read");
    // What is added meanwhile does not belong to it.
    int64_t left = input().bytes - offset_ - int64_t(searched);
    lines_.resize(searched + size_t(std::min<int64_t>(int64_t(*count), left)));
  }
}

Status DocumentReader::parseLine(std::string_view line) {
  bool found = false;
  text::JsonReader reader(line, input().path, place_.line);
  Status status = reader.object([&](const std::string &key) {
    std::string_view ignored;
    if (key != options_.field)
      return reader.raw(ignored);
    found = reader.peek() != '"';
    if (found)
      return reader.error("the field " + quote(key) + " is no string", reader.offset());
    MINIGPTC_RETURN_IF_ERROR(reader.string(document_));
    found = true;
    return Status::success();
  });
  if (status)
    status = reader.end();
  if (!status)
    return found ? status : std::move(status).withHelp(kLinesHelp);
  if (found)
    return Status::success();
  return Status(StatusCode::dataLoss, "the line's object has no field " + quote(options_.field))
      .at(input().path + ":" + std::to_string(place_.line))
      .withHelp("--field NAME names the field that has the text");
}

StatusOr<bool> DocumentReader::nextOfLines(DocumentPiece &piece) {
  std::string_view line;
  for (;;) {
    place_.offset = offset_;
    StatusOr<bool> more = nextLine(line);
    if (!more || !*more)
      return more;
    DocumentPlace place = place_;
    if (line.find_first_not_of(" \t\r") == line.npos) {
      ++place_.line;
      continue;
    }
    MINIGPTC_RETURN_IF_ERROR(parseLine(line));
    ++place_.line;
    ++place_.number;
    if (document_.empty()) {
      ++empty_;
      continue;
    }
    piece = {.bytes = document_,
             .first = true,
             .last = true,
             .heldOut = drawn(place.number),
             .kind = InputKind::jsonLines,
             .place = place};
    return true;
  }
}

} // namespace minigptc::runtime
