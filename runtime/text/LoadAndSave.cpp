// Tokenizers in folders and files.
#include "runtime/base/File.h"
#include "runtime/base/Log.h"
#include "runtime/text/TokenizerFiles.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace minigptc::runtime {

using namespace text;

namespace {

Status atFile(Status status, const std::string &path) {
  return status.place().empty() ? std::move(status).at(path) : status;
}

/// `vocab.json` and `merges.txt` do not say which pattern they are for; a
/// `tokenizer_config.json` beside them may say that it is another than GPT-2's.
Status checkClass(const std::filesystem::path &folder) {
  std::string path = (folder / "tokenizer_config.json").string();
  StatusOr<std::string> contents = readTextFile(path);
  if (!contents)
    return Status::success();
  auto json = nlohmann::json::parse(*contents, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("tokenizer_class") ||
      !json["tokenizer_class"].is_string())
    return Status::success();
  std::string name = json["tokenizer_class"].get<std::string>();
  if (name.starts_with("GPT2Tokenizer"))
    return Status::success();
  return Status(StatusCode::dataLoss, "vocab.json and merges.txt are of the class " + quote(name) +
                                          ", and don't say how it cuts texts")
      .at(path)
      .withHelp("take the model's tokenizer.json, which does");
}

StatusOr<Tokenizer> loadJson(const std::string &path) {
  StatusOr<std::string> contents = readTextFile(path);
  if (!contents)
    return contents.status();
  StatusOr<Definition> definition = readTokenizerJson(*contents, path);
  if (!definition)
    return atFile(definition.status(), path);
  StatusOr<Tokenizer> tokenizer = build(*std::move(definition));
  return tokenizer ? tokenizer : atFile(tokenizer.status(), path);
}

StatusOr<Tokenizer> loadVocabulary(const std::filesystem::path &folder) {
  std::string vocabularyPath = (folder / "vocab.json").string();
  std::string mergesPath = (folder / "merges.txt").string();
  StatusOr<std::string> vocabulary = readTextFile(vocabularyPath);
  if (!vocabulary)
    return vocabulary.status();
  StatusOr<std::string> merges = readTextFile(mergesPath);
  if (!merges)
    return Status(merges.status()).withHelp("a vocab.json needs the merges.txt that it came with");
  MINIGPTC_RETURN_IF_ERROR(checkClass(folder));
  StatusOr<Definition> definition =
      readVocabulary(*vocabulary, vocabularyPath, *merges, mergesPath);
  if (!definition)
    return atFile(definition.status(), vocabularyPath);
  StatusOr<Tokenizer> tokenizer = build(*std::move(definition));
  return tokenizer ? tokenizer : atFile(tokenizer.status(), vocabularyPath);
}

} // namespace

StatusOr<Tokenizer> Tokenizer::load(const std::string &path) {
  std::error_code error, ignored;
  std::filesystem::path folder(path);
  if (!std::filesystem::is_directory(folder, ignored))
    return folder.filename() == "vocab.json" || folder.filename() == "merges.txt"
               ? Status(StatusCode::invalidArgument, "'" + path + "' is one of a tokenizer's files")
                     .withHelp("give the folder, which has vocab.json and merges.txt")
               : loadJson(path);
  // Also where it is a link to nothing: without it, the others may mean another pattern.
  auto whole = std::filesystem::symlink_status(folder / "tokenizer.json", error);
  if (whole.type() == std::filesystem::file_type::none)
    return fileError(error.value(), "read the folder", path);
  if (std::filesystem::exists(whole))
    return loadJson((folder / "tokenizer.json").string());
  if (std::filesystem::exists(folder / "vocab.json", ignored))
    return loadVocabulary(folder);
  return Status(StatusCode::notFound, "no tokenizer in '" + path + "'")
      .withHelp("a folder has a tokenizer.json, or vocab.json and merges.txt; `minigptc tokenizer "
                "train` makes one");
}

Status Tokenizer::save(const std::string &folder) const {
  const Definition &definition = tables_->definition;
  StatusOr<std::vector<std::string>> written = writtenTokens(definition);
  if (!written)
    return written.status();
  MINIGPTC_RETURN_IF_ERROR(createDirectories(folder));
  std::filesystem::path base(folder);
  // All are on disk before the first has its name. The one that says everything comes first.
  std::vector<AtomicFile> files;
  for (const auto &[name, text] : {std::pair("tokenizer.json", tokenizerJson(definition, *written)),
                                   std::pair("vocab.json", vocabularyJson(*written)),
                                   std::pair("merges.txt", mergesText(definition, *written))}) {
    StatusOr<AtomicFile> file = AtomicFile::create((base / name).string());
    if (!file)
      return file.status();
    MINIGPTC_RETURN_IF_ERROR(file->write(std::string_view(text)));
    files.push_back(*std::move(file));
  }
  for (AtomicFile &file : files)
    MINIGPTC_RETURN_IF_ERROR(file.commit());
  return Status::success();
}

} // namespace minigptc::runtime
