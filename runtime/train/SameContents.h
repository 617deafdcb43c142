//===- SameContents.h - that processes read the same ------------*- C++ -*-===//
//
// Processes on several machines may find different files behind one name, and would train on
// them together without a word. They compare hashes of what each has read before anything is
// computed.
//
//   std::vector<Content> mine = {contentOf("the weight file 'w.st'", file.contentHash()),
//                                contentOf("the training data", data.train.get())};
//   MINIGPTC_RETURN_IF_ERROR(agreeOnContents(group, mine));
//   // the weight file 'w.st' is not the same everywhere: hash 12… in process 0 (…),
//   // hash 98… in process 1 (…)
//
// Weight files and checkpoints are hashed whole. Of tokens, files of more than a GiB are hashed
// in 1024 pieces spread over them, with their size and what their side files say: they are
// compared in the time of a few MiB, and another token here and there can go unnoticed.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_SAMECONTENTS_H
#define MINIGPTC_RUNTIME_TRAIN_SAMECONTENTS_H

#include "minigptc/runtime/ProcessGroup.h"
#include "runtime/train/TokenSource.h"

namespace minigptc::runtime {

/// Something that processes have read, and what tells it from others.
struct Content {
  std::string name;  ///< for the message; may differ between processes
  std::string value; ///< is compared
};

Content contentOf(std::string name, uint64_t hash);
/// Of tokens; null: there are none.
Content contentOf(std::string name, const TokenSource *tokens);

/// Called by all processes with contents of the same number and order. failedPrecondition, in
/// each of them, names the first that is not the same everywhere, and who has what.
Status agreeOnContents(ProcessGroup &processes, const std::vector<Content> &mine);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_SAMECONTENTS_H
