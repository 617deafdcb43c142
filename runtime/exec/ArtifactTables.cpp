// The form of an artifact's tables: what must hold before a field is read.
#include "runtime/exec/ArtifactReader.h"

namespace minigptc::runtime {
namespace {

/// FlatBuffers' verifier leaves out the alignment of vectors' elements.
class AlignmentCheck {
public:
  explicit AlignmentCheck(const fb::Artifact &table) {
    see(table.constants());
    each(table.kernels(), [&](const fb::Kernel &kernel) {
      types(kernel.inputs());
      types(kernel.outputs());
    });
    each(table.gemms(), [&](const fb::Gemm &gemm) {
      for (auto *vector :
           {gemm.batch(), gemm.lhs_strides(), gemm.rhs_strides(), gemm.out_strides(),
            gemm.lhs_batch_strides(), gemm.rhs_batch_strides(), gemm.out_batch_strides()})
        see(vector);
    });
    each(table.blocks(), [&](const fb::Block &block) {
      see(block.arguments());
      see(block.buffers());
      see(block.instructions());
    });
    each(table.groups(), [&](const fb::Group &group) {
      see(group.strides());
      see(group.sizes());
    });
    each(table.collectives(), [&](const fb::Collective &collective) { see(collective.sources()); });
    each(table.host_programs(),
         [&](const fb::HostProgram &program) { see(program.instructions()); });
    each(table.entries(), [&](const fb::Entry &entry) {
      for (auto *parameters : {entry.inputs(), entry.outputs()})
        each(parameters, [&](const fb::Parameter &parameter) {
          type(parameter.type());
          see(parameter.global_shape());
        });
    });
  }
  bool good() const { return good_; }

private:
  template <typename Vector> void see(const Vector *vector) {
    // An empty vector has no element to align, and writers do not align it.
    good_ &= !vector || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % 8 == 0;
  }
  template <typename Table, typename Function>
  void each(const flatbuffers::Vector<flatbuffers::Offset<Table>> *tables, Function function) {
    for (uint32_t i = 0; i < (tables ? tables->size() : 0); ++i)
      function(*tables->Get(i));
  }
  void type(const fb::TensorType *type) {
    if (type)
      see(type->shape());
  }
  void types(const flatbuffers::Vector<flatbuffers::Offset<fb::TensorType>> *list) {
    each(list, [&](const fb::TensorType &one) { type(&one); });
  }

  bool good_ = true;
};

/// FlatBuffers' own check. Tables may be shared, so that their number has no bound in
/// the file's size; but sensible files have less than one in four bytes.
bool wellFormed(std::span<const std::byte> metadata) {
  if (metadata.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return false;
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  options.max_tables = flatbuffers::uoffset_t(metadata.size() / 4 + 1000);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(metadata.data()),
                                 metadata.size(), options);
  return fb::VerifyArtifactBuffer(verifier);
}

} // namespace

const fb::Artifact *verifyTables(std::span<const std::byte> metadata) {
  if (!wellFormed(metadata))
    return nullptr;
  const fb::Artifact *table = fb::GetArtifact(metadata.data());
  return AlignmentCheck(*table).good() ? table : nullptr;
}

} // namespace minigptc::runtime
