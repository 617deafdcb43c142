//===- TokenizerCommand.cpp - minigptc tokenizer --------------------------===//
#include "tools/minigptc/Commands.h"

#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "runtime/base/InputFile.h"
#include "runtime/base/Log.h"
#include "runtime/text/Repair.h"
#include "runtime/text/TokenFile.h"
#include "tools/common/CommandLine.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

using namespace minigptc;
using runtime::counted;
using runtime::InputFile;
using runtime::Status;
using runtime::StatusCode;
using runtime::StatusOr;
using runtime::Tokenizer;

namespace {

constexpr size_t kBufferBytes = size_t(1) << 18;

struct TrainFlags {
  std::vector<std::string> texts, specials;
  int64_t vocabularySize = 0;
  std::string pattern = "gpt2", output;
  int threads = 0;
};

struct EncodeFlags {
  std::string tokenizer, input = "-", output;
  int threads = 0;
};

struct DecodeFlags {
  std::string tokenizer, input = "-";
};

/// Reads a file to its end. `take(bytes)` gets the pieces.
template <typename Take> Status readPieces(InputFile &input, Take &&take) {
  std::vector<char> buffer(kBufferBytes);
  for (;;) {
    StatusOr<size_t> count = input.read(buffer);
    if (!count)
      return count.status();
    if (*count == 0)
      return Status::success();
    MINIGPTC_RETURN_IF_ERROR(take(std::string_view(buffer.data(), *count)));
  }
}

/// Texts are bytes, and these are taken as they are; but it may be a mistake.
void remarkInvalid(runtime::text::Utf8Watch &watch, const std::string &name) {
  if (std::optional<uint64_t> at = watch.firstInvalid())
    printRemark("'" + name + "' is not valid UTF-8 at byte " + std::to_string(*at) +
                "; such bytes are taken as they are");
}

/// Buffered, with errors reported.
class StandardOutput {
public:
  Status write(std::string_view bytes) {
    buffer_ += bytes;
    return buffer_.size() < kBufferBytes ? Status::success() : flush();
  }
  Status flush() {
    bool written = fwrite(buffer_.data(), 1, buffer_.size(), stdout) == buffer_.size();
    buffer_.clear();
    if (written && fflush(stdout) == 0)
      return Status::success();
    return runtime::fileError(errno, "write", "standard output");
  }

private:
  std::string buffer_;
};

//===----------------------------------------------------------------------===//
// train
//===----------------------------------------------------------------------===//

Status addText(runtime::TokenizerTrainer &trainer, const std::string &path, int64_t &bytes) {
  StatusOr<InputFile> input = InputFile::open(path);
  if (!input)
    return input.status();
  runtime::text::Utf8Watch watch;
  int64_t read = 0;
  MINIGPTC_RETURN_IF_ERROR(readPieces(*input, [&](std::string_view piece) {
    size_t zero = read == 0 ? piece.substr(0, 8000).find('\0') : piece.npos;
    if (zero != piece.npos)
      return Status(StatusCode::failedPrecondition, "'" + input->name() +
                                                        "' is no text: it has a zero at byte " +
                                                        std::to_string(zero))
          .withHelp("a text in UTF-16 has to be converted to UTF-8");
    read += int64_t(piece.size());
    watch.add(piece);
    return runtime::atInput(trainer.add(piece), input->name());
  }));
  if (read == 0)
    return Status(StatusCode::failedPrecondition, "'" + input->name() + "' is empty");
  remarkInvalid(watch, input->name());
  bytes += read;
  return trainer.endText();
}

StatusOr<runtime::TextPattern> patternOf(const std::string &name) {
  if (name == "gpt2")
    return runtime::TextPattern::gpt2;
  if (name == "llama3")
    return runtime::TextPattern::llama3;
  if (name == "qwen2")
    return runtime::TextPattern::qwen2;
  return Status(StatusCode::invalidArgument,
                "--pattern must be gpt2, llama3 or qwen2, not '" + name + "'");
}

Status train(const TrainFlags &flags) {
  StatusOr<runtime::TextPattern> pattern = patternOf(flags.pattern);
  if (!pattern)
    return pattern.status();
  StatusOr<runtime::TokenizerTrainer> trainer =
      runtime::TokenizerTrainer::create({.vocabularySize = flags.vocabularySize,
                                         .specialTokens = flags.specials,
                                         .pattern = *pattern,
                                         .threads = flags.threads});
  if (!trainer)
    return trainer.status();
  MINIGPTC_RETURN_IF_ERROR(runtime::checkFolderWritable(flags.output));
  int64_t bytes = 0;
  for (const std::string &path : flags.texts)
    MINIGPTC_RETURN_IF_ERROR(addText(*trainer, path, bytes));
  StatusOr<Tokenizer> tokenizer = trainer->train();
  if (!tokenizer)
    return tokenizer.status();
  MINIGPTC_RETURN_IF_ERROR(tokenizer->save(flags.output));
  int64_t specials = int64_t(flags.specials.size());
  printf("%lld tokens (256 bytes, %lld special, %lld merged) from %s of text, in '%s'\n",
         (long long)tokenizer->vocabularySize(), (long long)specials,
         (long long)(tokenizer->vocabularySize() - 256 - specials), counted(bytes, "byte").c_str(),
         flags.output.c_str());
  return Status::success();
}

//===----------------------------------------------------------------------===//
// encode
//===----------------------------------------------------------------------===//

/// Encodes a whole input; its length in bytes.
StatusOr<int64_t> encodeInto(const Tokenizer &tokenizer, InputFile &input, int threads,
                             runtime::TokenSink sink) {
  runtime::TextEncoder encoder(tokenizer, std::move(sink), {.threads = threads});
  runtime::text::Utf8Watch watch;
  int64_t bytes = 0;
  MINIGPTC_RETURN_IF_ERROR(readPieces(input, [&](std::string_view piece) {
    bytes += int64_t(piece.size());
    watch.add(piece);
    return runtime::atInput(encoder.add(piece), input.name());
  }));
  MINIGPTC_RETURN_IF_ERROR(encoder.finish());
  remarkInvalid(watch, input.name());
  return bytes;
}

Status encodeToFile(const Tokenizer &tokenizer, InputFile &input, const EncodeFlags &flags) {
  StatusOr<runtime::TokenFileWriter> file =
      runtime::TokenFileWriter::create(flags.output, tokenizer);
  if (!file)
    return file.status();
  StatusOr<int64_t> bytes =
      encodeInto(tokenizer, input, flags.threads,
                 [&](std::span<const int32_t> ids) { return file->write(ids); });
  if (!bytes)
    return bytes.status();
  MINIGPTC_RETURN_IF_ERROR(file->commit(*bytes));
  printf("%s from %s of text, in '%s'\n", counted(file->tokens(), "token").c_str(),
         counted(*bytes, "byte").c_str(), flags.output.c_str());
  return Status::success();
}

Status encodeToOutput(const Tokenizer &tokenizer, InputFile &input, const EncodeFlags &flags) {
  StandardOutput output;
  bool first = true;
  std::string text;
  auto write = [&](std::span<const int32_t> ids) {
    text.clear();
    for (int32_t id : ids) {
      char digits[16];
      if (!first)
        text += ' ';
      first = false;
      text.append(digits, std::to_chars(digits, digits + sizeof(digits), id).ptr);
    }
    return output.write(text);
  };
  if (StatusOr<int64_t> bytes = encodeInto(tokenizer, input, flags.threads, write); !bytes)
    return bytes.status();
  MINIGPTC_RETURN_IF_ERROR(output.write("\n"));
  return output.flush();
}

Status encode(const EncodeFlags &flags) {
  StatusOr<Tokenizer> tokenizer = Tokenizer::load(flags.tokenizer);
  if (!tokenizer)
    return tokenizer.status();
  StatusOr<InputFile> input = InputFile::open(flags.input);
  if (!input)
    return input.status();
  return flags.output.empty() ? encodeToOutput(*tokenizer, *input, flags)
                              : encodeToFile(*tokenizer, *input, flags);
}

//===----------------------------------------------------------------------===//
// decode
//===----------------------------------------------------------------------===//

/// Writes the bytes of ids, one after the other.
class Decoder {
public:
  explicit Decoder(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}
  Status add(int64_t id) {
    std::optional<std::string_view> bytes;
    if (id >= 0 && id < tokenizer_.vocabularySize())
      bytes = tokenizer_.token(int32_t(id));
    if (!bytes)
      return Status(StatusCode::dataLoss, "no token has the id " + std::to_string(id) +
                                              ", number " + std::to_string(count_) +
                                              " of the input")
          .withHelp("the ids of this tokenizer lie in [0, " +
                    std::to_string(tokenizer_.vocabularySize()) +
                    "): is it the one that the text was encoded with?");
    ++count_;
    return output_.write(*bytes);
  }
  Status finish() { return output_.flush(); }

private:
  const Tokenizer &tokenizer_;
  StandardOutput output_;
  int64_t count_ = 0;
};

/// Ids in decimal, separated by blanks or newlines.
class DecimalReader {
public:
  explicit DecimalReader(Decoder &decoder) : decoder_(decoder) {}
  Status add(std::string_view text) {
    for (char c : text) {
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
        word_ += c;
      else if (!word_.empty())
        MINIGPTC_RETURN_IF_ERROR(endWord());
      line_ += c == '\n';
      if (word_.size() > 20)
        return endWord();
    }
    return Status::success();
  }
  Status finish() { return word_.empty() ? Status::success() : endWord(); }

private:
  Status endWord() {
    int64_t id = 0;
    auto [behind, error] = std::from_chars(word_.data(), word_.data() + word_.size(), id);
    if (error != std::errc() || behind != word_.data() + word_.size())
      return Status(StatusCode::dataLoss, runtime::quote(word_) + " is no token id")
          .at("standard input:" + std::to_string(line_))
          .withHelp("ids are decimal numbers, separated by blanks; a token file is given by its "
                    "name");
    word_.clear();
    return decoder_.add(id);
  }
  Decoder &decoder_;
  std::string word_;
  int64_t line_ = 1;
};

/// How the ids lie in a token file; an error if the file is not of this tokenizer.
StatusOr<runtime::TokenFileInfo> formOf(const std::string &path, const Tokenizer &tokenizer) {
  StatusOr<std::optional<runtime::TokenFileInfo>> info = runtime::readTokenFileInfo(path);
  if (!info)
    return info.status();
  if (!*info)
    return runtime::TokenFileInfo{.width = tokenizer.vocabularySize() > 65536 ? 4 : 2};
  std::string ours = runtime::tokenizerHashText(tokenizer);
  if (!(*info)->tokenizer.empty() && (*info)->tokenizer != ours)
    return Status(StatusCode::dataLoss, "'" + path + "' is of another tokenizer: its hash is " +
                                            (*info)->tokenizer + ", that of this one " + ours)
        .at(path + ".json");
  return **info;
}

Status decodeFile(const DecodeFlags &flags, const Tokenizer &tokenizer, InputFile &input,
                  Decoder &decoder) {
  StatusOr<runtime::TokenFileInfo> form = formOf(flags.input, tokenizer);
  if (!form)
    return form.status();
  if (form->headerBytes)
    MINIGPTC_RETURN_IF_ERROR(input.seek(form->headerBytes));
  size_t width = size_t(form->width);
  return readPieces(input, [&](std::string_view bytes) {
    // Pieces are whole ids: only the last one may be shorter than the buffer.
    if (bytes.size() % width != 0)
      return Status(StatusCode::dataLoss, "'" + flags.input +
                                              "' is no token file, or cut short: "
                                              "its size is no multiple of " +
                                              std::to_string(width));
    for (size_t at = 0; at < bytes.size(); at += width) {
      uint32_t id = 0;
      std::memcpy(&id, bytes.data() + at, width);
      MINIGPTC_RETURN_IF_ERROR(decoder.add(id));
    }
    return Status::success();
  });
}

Status decode(const DecodeFlags &flags) {
  StatusOr<Tokenizer> tokenizer = Tokenizer::load(flags.tokenizer);
  if (!tokenizer)
    return tokenizer.status();
  StatusOr<InputFile> input = InputFile::open(flags.input);
  if (!input)
    return input.status();
  Decoder decoder(*tokenizer);
  if (flags.input != "-") {
    MINIGPTC_RETURN_IF_ERROR(decodeFile(flags, *tokenizer, *input, decoder));
    return decoder.finish();
  }
  DecimalReader reader(decoder);
  MINIGPTC_RETURN_IF_ERROR(
      readPieces(*input, [&](std::string_view piece) { return reader.add(piece); }));
  MINIGPTC_RETURN_IF_ERROR(reader.finish());
  return decoder.finish();
}

/// An option with several values, each taken as it is: "[a]" is no list.
CLI::Option *takeSeveral(CLI::Option *option) {
  return option->expected(1, 1 << 20)->allow_extra_args(false);
}

void addThreads(CLI::App &command, int &threads) {
  command.add_option("--threads", threads, "0: one for each core; the result is the same")
      ->type_name("N")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
}

void addTokenizer(CLI::App &command, std::string &tokenizer) {
  command
      .add_option("--tokenizer", tokenizer,
                  "Folder with tokenizer.json, or vocab.json and merges.txt; or a tokenizer.json")
      ->required()
      ->type_name("DIR");
}

void addTrain(CLI::App &parent, int &exitStatus) {
  CLI::App *command = parent.add_subcommand("train", "Learns a tokenizer from texts");
  command->footer("Example:\n  minigptc tokenizer train --text book.txt --vocab-size 5000 "
                  "--special '<|endoftext|>' -o tokenizer");
  auto flags = std::make_shared<TrainFlags>();
  takeSeveral(
      command->add_option("--text", flags->texts, "Texts to learn from; each is a text of its own"))
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--vocab-size", flags->vocabularySize,
                   "Tokens in all: 256 bytes, the special tokens, and merged ones")
      ->required()
      ->type_name("N");
  takeSeveral(command->add_option("--special", flags->specials,
                                  "Tokens that stand for themselves, and separate texts"))
      ->type_name("TOKEN");
  command
      ->add_option("--pattern", flags->pattern, "How texts are cut into words: gpt2, llama3, qwen2")
      ->type_name("NAME")
      ->capture_default_str();
  addThreads(*command, flags->threads);
  command->add_option("-o,--output", flags->output, "Folder to write")
      ->required()
      ->type_name("DIR");
  command->callback([=, &exitStatus] { exitStatus = reportStatus(train(*flags)); });
}

void addEncode(CLI::App &parent, int &exitStatus) {
  CLI::App *command =
      parent.add_subcommand("encode", "Writes the ids of a text, separated by blanks");
  command->footer("Examples:\n"
                  "  echo 'Once upon a time' | minigptc tokenizer encode --tokenizer tokenizer\n"
                  "  minigptc tokenizer encode --tokenizer tokenizer book.txt -o book.bin");
  auto flags = std::make_shared<EncodeFlags>();
  addTokenizer(*command, flags->tokenizer);
  command->add_option("input", flags->input, "Text; -: standard input")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "Token file to write instead")
      ->type_name("FILE");
  addThreads(*command, flags->threads);
  command->callback([=, &exitStatus] { exitStatus = reportStatus(encode(*flags)); });
}

void addDecode(CLI::App &parent, int &exitStatus) {
  CLI::App *command = parent.add_subcommand("decode", "Writes the bytes that ids stand for");
  command->footer("Examples:\n"
                  "  echo 7454 2402 257 640 | minigptc tokenizer decode --tokenizer gpt2\n"
                  "  minigptc tokenizer decode --tokenizer tokenizer book.bin");
  auto flags = std::make_shared<DecodeFlags>();
  addTokenizer(*command, flags->tokenizer);
  command->add_option("input", flags->input, "Token file; -: ids in decimal from standard input")
      ->type_name("FILE")
      ->capture_default_str();
  command->callback([=, &exitStatus] { exitStatus = reportStatus(decode(*flags)); });
}

} // namespace

void minigptc::addTokenizerCommand(CLI::App &app, int &exitStatus) {
  CLI::App *command =
      app.add_subcommand("tokenizer", "Learns tokenizers, and turns text into tokens and back");
  command->footer("Example:\n  minigptc tokenizer train --text book.txt --vocab-size 5000 "
                  "--special '<|endoftext|>' -o tokenizer");
  command->require_subcommand(1);
  addTrain(*command, exitStatus);
  addEncode(*command, exitStatus);
  addDecode(*command, exitStatus);
}
