//===- Safetensors.h - reading and writing .safetensors ---------*- C++ -*-===//
//
// The format: 8 bytes little-endian length, that many bytes of JSON
// ({"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}), then
// the tensors' bytes without holes. A file is untrusted input: nothing is used
// before lengths, types, shapes and offsets are checked.
//
//   StatusOr<SafetensorsFile> file = SafetensorsFile::open("weights.safetensors");
//   const StoredTensor *w = file->find("lm_head.weight");
//   std::span<const std::byte> bytes = file->bytes(*w);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_SAFETENSORS_H
#define MINIGPTC_RUNTIME_TRAIN_SAFETENSORS_H

#include "minigptc/runtime/Array.h"
#include "minigptc/runtime/Status.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// A tensor of a file: where its bytes lie, row-major, little-endian.
struct StoredTensor {
  std::string name;
  std::string dtype; ///< as the file spells it: F32, BF16, I64, BOOL, F8_E4M3, …
  Shape shape;
  uint64_t begin = 0, end = 0; ///< bytes, from the start of the data
};

/// A file whose header has been checked; holds its bytes. Movable.
class SafetensorsFile {
public:
  static StatusOr<SafetensorsFile> open(const std::string &path);
  /// `path` names the bytes in errors.
  static StatusOr<SafetensorsFile> parse(std::vector<std::byte> bytes, const std::string &path);

  const std::string &path() const { return path_; }
  /// Of all its bytes.
  uint64_t contentHash() const;
  /// In the order of the data.
  const std::vector<StoredTensor> &tensors() const { return tensors_; }
  const StoredTensor *find(std::string_view name) const;
  /// The entry "__metadata__".
  const std::map<std::string, std::string> &metadata() const { return metadata_; }
  std::span<const std::byte> bytes(const StoredTensor &tensor) const {
    return std::span(contents_).subspan(dataStart_ + tensor.begin, tensor.end - tensor.begin);
  }
  /// A copy, for types that this system has.
  StatusOr<Array> load(const StoredTensor &tensor) const;

private:
  std::string path_;
  std::vector<std::byte> contents_;
  uint64_t dataStart_ = 0;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

/// The format's name of a type, and back (empty: the system has no such type).
std::string_view safetensorsName(DType dtype);
std::optional<DType> dtypeOfSafetensors(std::string_view name);

/// Writes tensors in the given order, atomically; the same input gives the same
/// bytes. The data starts at a multiple of 64 bytes.
Status writeSafetensors(const std::string &path,
                        const std::vector<std::pair<std::string, Array>> &tensors,
                        const std::map<std::string, std::string> &metadata = {});

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_SAFETENSORS_H
