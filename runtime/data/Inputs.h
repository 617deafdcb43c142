//===- Inputs.h - the files that data are prepared from ---------*- C++ -*-===//
//
//   StatusOr<InputList> inputs = listInputs({"books", "web.jsonl"});
//   for (const Input &input : inputs->files)
//     ... input.path, input.kind, input.bytes
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DATA_INPUTS_H
#define MINIGPTC_RUNTIME_DATA_INPUTS_H

#include "minigptc/runtime/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace minigptc::runtime {

enum class InputKind {
  text,      ///< the whole file is one document
  jsonLines, ///< a document a line, in a field of the line's object
};

struct Input {
  std::string path;
  InputKind kind = InputKind::text;
  int64_t bytes = 0;
  int64_t changed = 0; ///< when, in nanoseconds of the file system's clock
};

struct InputList {
  std::vector<Input> files; ///< none is empty
  std::vector<std::string> remarks;

  int64_t bytes() const;
};

/// The given files, and of folders, in the order of their names, all files below them that are
/// called .txt, .text, .md, .jsonl, .ndjson or .json. The last three are JSON Lines; any other file
/// that is given by its name is a text. A file that begins like no text is an error, and so is
/// a list without any text.
StatusOr<InputList> listInputs(const std::vector<std::string> &paths);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DATA_INPUTS_H
