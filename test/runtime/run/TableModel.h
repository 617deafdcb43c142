// An artifact that can be trained, made by hand: the entries of a language model with
// 256 tokens, batch 4, context 16, one kernel each (kernels.c).
#ifndef MINIGPTC_TEST_RUNTIME_RUN_TABLEMODEL_H
#define MINIGPTC_TEST_RUNTIME_RUN_TABLEMODEL_H

#include "runtime/train/TrainingProgram.h"

namespace minigptc::test {

/// What is in the artifact's metadata: 40 steps, every one logged.
runtime::RunConfig tableModelConfig();
/// The file's bytes.
std::vector<std::byte> tableModelArtifact();

} // namespace minigptc::test

#endif // MINIGPTC_TEST_RUNTIME_RUN_TABLEMODEL_H
