//===- WeightFile.h - parameters in and out ---------------------*- C++ -*-===//
//
// A weight file is a safetensors file with one tensor a parameter: the Transformer
// LM's matrices lie as [out, in] (the PyTorch convention) and are transposed on the
// way, MiniGPT's as the program has them (see docs/reference/run_files.md). f32
// values are bit-exact through save and load; f64, bf16 and f16 files are converted
// when they are read.
//
//   StatusOr<NamedArrays> parameters = loadWeights("init.safetensors", metadata.parameters);
//   Status saved = saveWeights("final.safetensors", metadata.parameters, *parameters);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_WEIGHTFILE_H
#define MINIGPTC_RUNTIME_TRAIN_WEIGHTFILE_H

#include "runtime/train/Safetensors.h"
#include "runtime/train/TrainingProgram.h"

namespace minigptc::runtime {

/// Arrays by name, in a fixed order.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// The parameters in a program's state: what is at `state.params.<name>`, by <name>.
NamedArrays parametersOf(const NamedArrays &state);

/// The parameters as f32, in the order of `weights`. One error lists everything
/// that is missing, surplus, wrongly shaped, of a wrong type or not finite.
StatusOr<NamedArrays> loadWeights(const std::string &path, const std::vector<WeightInfo> &weights);

/// Writes `arrays` (parameters or gradients, named as in `weights`) to a file,
/// atomically.
Status saveWeights(const std::string &path, const std::vector<WeightInfo> &weights,
                   const NamedArrays &arrays, ProcessGroup *processes = nullptr);

/// The matrix [rows, columns] transposed, for any element type.
Array transposed(const Array &matrix);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_WEIGHTFILE_H
