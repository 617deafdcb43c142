//===- Documents.h - document after document of many files ------*- C++ -*-===//
//
//   DocumentReader reader(inputs, {.field = "text", .valFraction = 0.05}, {});
//   DocumentPiece piece;
//   for (;;) {
//     StatusOr<bool> more = reader.next(piece);
//     if (!more || !*more)
//       break;
//     ... piece.bytes of the document that begins at piece.place
//   }
//
// Which document is held out depends on the inputs and the fraction only:
//  - of JSON Lines, each with the fraction's probability, by its number;
//  - of texts, each in the same way if there are 100 or more, else the last part of each, from a
//    separator or the start of a line on.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DATA_DOCUMENTS_H
#define MINIGPTC_RUNTIME_DATA_DOCUMENTS_H

#include "runtime/base/InputFile.h"
#include "runtime/data/Inputs.h"

#include <optional>
#include <string_view>

namespace minigptc::runtime {

struct DocumentOptions {
  std::string field = "text"; ///< of JSON Lines
  double valFraction = 0;     ///< held out, in [0, 1)
  std::string separator = {}; ///< the text of the token that ends documents, if there is one
  int64_t longestLine = int64_t(1) << 30; ///< of JSON Lines, in bytes: it is kept in memory
};

/// Where a document begins; enough to go on from there.
struct DocumentPlace {
  int64_t file = 0, offset = 0; ///< bytes
  int64_t line = 1;             ///< of JSON Lines
  int64_t number = 0;           ///< documents before it

  friend auto operator<=>(const DocumentPlace &, const DocumentPlace &) = default;
};

/// A document that is a text comes in many pieces, one of JSON Lines in one.
struct DocumentPiece {
  std::string_view bytes = {}; ///< until the next one is read
  bool first = false, last = false;
  bool heldOut = false;
  InputKind kind = InputKind::text;
  DocumentPlace place = {}; ///< of the document
};

/// Holds one file open. Does not own the inputs. Documents without a byte are passed over.
class DocumentReader {
public:
  DocumentReader(const InputList &inputs, DocumentOptions options, const DocumentPlace &from);

  /// False: there are no more.
  StatusOr<bool> next(DocumentPiece &piece);
  /// Where to go on behind a document whose last piece was read.
  DocumentPlace place() const;
  /// Of the inputs, in bytes.
  int64_t bytesRead() const { return before_ + offset_; }
  int64_t emptyDocuments() const { return empty_; }

private:
  Status open();
  Status openText();
  StatusOr<int64_t> findCut();
  StatusOr<bool> nextOfText(DocumentPiece &piece);
  StatusOr<bool> nextLine(std::string_view &line);
  StatusOr<bool> nextOfLines(DocumentPiece &piece);
  Status parseLine(std::string_view line);
  bool drawn(int64_t number) const;
  const Input &input() const { return inputs_.files[size_t(place_.file)]; }
  void endFile();

  const InputList &inputs_;
  DocumentOptions options_;
  bool drawTexts_;
  DocumentPlace place_; ///< of the next document, or of the text at hand
  std::optional<InputFile> file_;
  int64_t before_ = 0; ///< bytes of the files before this one
  int64_t offset_ = 0; ///< of what is read next
  int64_t empty_ = 0;
  int64_t end_ = 0;              ///< of the text's document
  bool heldOut_ = false;         ///< the text's document
  std::vector<char> buffer_;     ///< of a text
  std::string lines_, document_; ///< of JSON Lines: what is read of the file, what of the line
  size_t lineBegin_ = 0;         ///< in `lines_`
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_DOCUMENTS_H
