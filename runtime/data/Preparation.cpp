#include "runtime/data/Preparation.h"

#include "runtime/base/Cancellation.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/Hash.h"
#include "runtime/base/InputFile.h"
#include "runtime/base/Log.h"
#include "runtime/data/Progress.h"
#include "runtime/text/DataFolder.h"
#include "runtime/text/Repair.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace minigptc::runtime {
namespace {

/// So many texts are named that are not valid UTF-8; more are counted.
constexpr int64_t kNamed = 5;

class Preparation {
public:
  Preparation(const Tokenizer &tokenizer, const PreparationOptions &options)
      : tokenizer_(tokenizer), options_(options), folder_(options.folder) {}

  StatusOr<PreparationReport> run();

private:
  Status checkOptions();
  Status checkOutside() const;
  Status findSeparator();
  std::string job() const;
  StatusOr<bool> drops() const;
  Status openFolder();
  Status openWriters();
  Status readAll();
  Status take(const DocumentPiece &piece);
  Status save(const DocumentPlace &current);
  Status commit();
  void watch(const DocumentPiece &piece);
  void remark(const std::string &text) const {
    if (options_.remark)
      options_.remark(text);
  }
  Status interrupted(int64_t bytes) const;

  const Tokenizer &tokenizer_;
  const PreparationOptions &options_;
  DataFolder folder_;
  InputList inputs_;
  std::optional<SpecialToken> separator_;
  PreparationState state_;
  std::optional<SplitWriter> train_, val_;
  text::Utf8Watch watch_;
  int64_t invalid_ = 0; ///< texts that are not valid UTF-8
};

Status Preparation::checkOptions() {
  if (!(options_.valFraction >= 0 && options_.valFraction < 1))
    return Status(StatusCode::invalidArgument, "--val-fraction must lie in [0, 1), but is " +
                                                   format("%g", options_.valFraction));
  MINIGPTC_RETURN_IF_ERROR(checkOutside());
  return findSeparator();
}

/// The result must not become an input.
Status Preparation::checkOutside() const {
  auto whole = [](const std::string &path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored) / "";
  };
  std::error_code ignored;
  for (const std::string &path : options_.inputs)
    if (std::filesystem::is_directory(path, ignored) &&
        whole(options_.folder).string().starts_with(whole(path).string()))
      return Status(StatusCode::invalidArgument,
                    "the output folder '" + options_.folder + "' lies in the input '" + path + "'");
  return Status::success();
}

Status Preparation::findSeparator() {
  if (!options_.separator) {
    separator_ = usualSeparator(tokenizer_);
    return Status::success();
  }
  const std::string &text = *options_.separator;
  if (text.empty())
    return Status::success();
  std::optional<int32_t> id = tokenizer_.specialId(text);
  if (!id)
    return Status(StatusCode::invalidArgument,
                  "the tokenizer has no special token " + quote(text) + " to end documents with");
  separator_ = SpecialToken{*id, text};
  return Status::success();
}

/// All that decides on the files.
std::string Preparation::job() const {
  std::string text = tokenizerHashText(tokenizer_) + "\n" + options_.field + "\n" +
                     format("%.17g\n", options_.valFraction) +
                     (separator_ ? separator_->text : "") + "\n";
  for (const Input &input : inputs_.files)
    text += format("%s %d %lld %lld\n", input.path.c_str(), int(input.kind), (long long)input.bytes,
                   (long long)input.changed);
  return format("%016llx", (unsigned long long)hash64(std::as_bytes(std::span(text))));
}

/// Whether the unfinished preparation goes away, and this one begins anew. One of something else
/// that has no token yet may: a mistake in its arguments has ended it.
StatusOr<bool> Preparation::drops() const {
  if (options_.restart)
    return true;
  StatusOr<std::optional<PreparationState>> known = loadPreparation(folder_.progress());
  if (!known)
    return known.status();
  return (*known)->job != state_.job && (*known)->train.tokens + (*known)->val.tokens == 0;
}

Status Preparation::openFolder() {
  MINIGPTC_RETURN_IF_ERROR(createDirectories(folder_.path()));
  std::error_code ignored;
  state_.job = job();
  bool unfinished = std::filesystem::exists(folder_.progress(), ignored);
  StatusOr<bool> dropped = unfinished ? drops() : StatusOr<bool>(false);
  if (!dropped)
    return dropped.status();
  if (*dropped) {
    // Not while another process is writing it.
    if (Status free = PartialFile::open(folder_.train(), 0).status(); !free)
      return free;
    for (const std::string &name : {folder_.train(), folder_.val()}) {
      std::filesystem::remove(PartialFile::partialName(name), ignored);
      std::filesystem::remove(name, ignored); // named before the last one was
      std::filesystem::remove(name + ".json", ignored);
    }
    std::filesystem::remove_all(folder_.tokenizer(), ignored);
    std::filesystem::remove(folder_.progress(), ignored);
    unfinished = false;
  }
  if (!unfinished && !std::filesystem::is_empty(folder_.path(), ignored))
    return Status(StatusCode::failedPrecondition, "the folder '" + folder_.path() +
                                                      "' is not empty, and has no unfinished "
                                                      "preparation to go on with")
        .withHelp("take another one with -o");
  if (!unfinished)
    return savePreparation(folder_.progress(), state_);
  StatusOr<std::optional<PreparationState>> known = loadPreparation(folder_.progress());
  if (!known)
    return known.status();
  if ((*known)->job != state_.job)
    return Status(StatusCode::failedPrecondition,
                  "the preparation that '" + folder_.path() +
                      "' has the beginning of is of other inputs, another tokenizer or other "
                      "options")
        .withHelp("--restart begins anew");
  state_ = **known;
  if (state_.train.tokens + state_.val.tokens > 0)
    remark("goes on after " + std::to_string(state_.train.tokens + state_.val.tokens) + " tokens");
  return Status::success();
}

Status Preparation::openWriters() {
  SplitFormat format{tokenizer_, separator_, options_.threads};
  auto open = [&](const std::string &path, const SplitState &from,
                  std::optional<SplitWriter> &writer) {
    // A run that ended between the two names left this one complete.
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored))
      std::filesystem::rename(path, PartialFile::partialName(path), ignored);
    StatusOr<SplitWriter> opened = SplitWriter::open(path, format, from);
    if (!opened)
      return opened.status();
    writer.emplace(*std::move(opened));
    return Status::success();
  };
  MINIGPTC_RETURN_IF_ERROR(open(folder_.train(), state_.train, train_));
  if (options_.valFraction > 0)
    MINIGPTC_RETURN_IF_ERROR(open(folder_.val(), state_.val, val_));
  return Status::success();
}

/// Texts are bytes, and these are taken as they are; but it may be a mistake.
void Preparation::watch(const DocumentPiece &piece) {
  if (piece.kind != InputKind::text)
    return;
  if (piece.first)
    watch_ = text::Utf8Watch();
  watch_.add(piece.bytes);
  if (!piece.last)
    return;
  std::optional<uint64_t> at = watch_.firstInvalid();
  if (at && ++invalid_ <= kNamed)
    remark("'" + inputs_.files[size_t(piece.place.file)].path + "' is not valid UTF-8 at byte " +
           std::to_string(*at + uint64_t(piece.place.offset)) +
           "; such bytes are taken as they are");
}

Status Preparation::take(const DocumentPiece &piece) {
  watch(piece);
  std::optional<SplitWriter> &writer = piece.heldOut ? val_ : train_;
  if (piece.place < (piece.heldOut ? state_.val : state_.train).place)
    return Status::success(); // An earlier run has it.
  if (piece.first)
    MINIGPTC_RETURN_IF_ERROR(writer->begin(piece.place));
  MINIGPTC_RETURN_IF_ERROR(
      atInput(writer->add(piece.bytes), inputs_.files[size_t(piece.place.file)].path));
  return piece.last ? writer->end() : Status::success();
}

Status Preparation::save(const DocumentPlace &current) {
  PreparationState now{.job = state_.job};
  for (auto [writer, state, before] :
       {std::tuple(&train_, &now.train, &state_.train), std::tuple(&val_, &now.val, &state_.val)}) {
    *state = *before;
    // What an earlier run has done is not read again yet.
    if (!*writer || current < before->place)
      continue;
    StatusOr<SplitState> written = (*writer)->state(current);
    if (!written)
      return written.status();
    *state = *written;
  }
  return savePreparation(folder_.progress(), now);
}

Status Preparation::interrupted(int64_t bytes) const {
  return Status(StatusCode::cancelled,
                format("interrupted after %lld of %lld MB; what is done is kept",
                       (long long)(bytes / 1000000), (long long)(inputs_.bytes() / 1000000)))
      .withHelp("the same command goes on");
}

Status Preparation::readAll() {
  DocumentPlace from = state_.train.place;
  if (val_)
    from = std::min(from, state_.val.place);
  DocumentReader reader(inputs_,
                        {.field = options_.field,
                         .valFraction = options_.valFraction,
                         .separator = separator_ ? separator_->text : ""},
                        from);
  DocumentPiece piece;
  int64_t saved = 0;
  for (;;) {
    StatusOr<bool> more = reader.next(piece);
    if (!more)
      return more.status();
    if (!*more)
      break;
    MINIGPTC_RETURN_IF_ERROR(take(piece));
    int64_t read = reader.bytesRead();
    if (options_.progress)
      options_.progress(read, inputs_.bytes(), train_->tokens() + (val_ ? val_->tokens() : 0));
    bool stop = cancellationRequested();
    if (stop || read - saved >= options_.saveEveryBytes) {
      // Behind a document, the next one is what has not been read.
      MINIGPTC_RETURN_IF_ERROR(save(piece.last ? reader.place() : piece.place));
      saved = read;
    }
    if (stop)
      return interrupted(read);
  }
  if (reader.emptyDocuments() > 0)
    remark(counted(reader.emptyDocuments(), "document") + " without a byte, passed over");
  if (invalid_ > kNamed)
    remark(std::to_string(invalid_ - kNamed) + " more not valid as UTF-8");
  return Status::success();
}

Status Preparation::commit() {
  std::error_code ignored;
  for (std::optional<SplitWriter> *writer : {&train_, &val_})
    if (*writer)
      MINIGPTC_RETURN_IF_ERROR((*writer)->finish());
  if (train_->tokens() == 0)
    return Status(StatusCode::failedPrecondition,
                  "there is no token to train on: " + std::string(val_ && val_->tokens()
                                                                      ? "all is held out"
                                                                      : "all texts are empty"));
  MINIGPTC_RETURN_IF_ERROR(tokenizer_.save(folder_.tokenizer()));
  if (val_ && val_->tokens() == 0) {
    remark("the held-out part has no token: there is no val.bin");
    std::filesystem::remove(PartialFile::partialName(folder_.val()), ignored);
    val_.reset();
  }
  if (val_)
    MINIGPTC_RETURN_IF_ERROR(val_->commit());
  MINIGPTC_RETURN_IF_ERROR(train_->commit());
  std::filesystem::remove(folder_.progress(), ignored);
  return Status::success();
}

StatusOr<PreparationReport> Preparation::run() {
  MINIGPTC_RETURN_IF_ERROR(checkOptions());
  StatusOr<InputList> inputs = listInputs(options_.inputs);
  if (!inputs)
    return inputs.status();
  inputs_ = *std::move(inputs);
  for (const std::string &text : inputs_.remarks)
    remark(text);
  MINIGPTC_RETURN_IF_ERROR(openFolder());
  MINIGPTC_RETURN_IF_ERROR(openWriters());
  MINIGPTC_RETURN_IF_ERROR(readAll());
  MINIGPTC_RETURN_IF_ERROR(commit());
  PreparationReport report;
  report.train = {train_->documents(), train_->tokens(), train_->textBytes()};
  if (val_)
    report.val = {val_->documents(), val_->tokens(), val_->textBytes()};
  if (!separator_ && !options_.separator && report.train.documents + report.val.documents > 1)
    remark("nothing separates the documents: the tokenizer has no <|endoftext|>, and --separator "
           "names no other token");
  return report;
}

} // namespace

StatusOr<PreparationReport> prepareData(const Tokenizer &tokenizer,
                                        const PreparationOptions &options) {
  return Preparation(tokenizer, options).run();
}

} // namespace minigptc::runtime
