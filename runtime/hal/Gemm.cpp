#include "runtime/hal/Gemm.h"

#include "runtime/base/Format.h"

namespace minigptc::runtime {

std::string GemmProblem::identity() const {
  std::string text = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  for (size_t d = 0; d < batch.size(); ++d)
    text += (d ? "x" : " batch ") + std::to_string(batch[d]);
  struct {
    const char *name;
    const MatrixLayout &layout;
  } operands[] = {{"lhs", lhs}, {"rhs", rhs}, {"out", out}};
  for (auto &[name, layout] : operands) {
    text += std::string(" ") + name + " " + std::string(nameOf(typeOf(layout))) + " " +
            std::to_string(layout.rowStride) + "," + std::to_string(layout.columnStride);
    for (int64_t stride : layout.batchStrides)
      text += "," + std::to_string(stride);
  }
  if (beta != 0)
    text += format(" beta %.17g", beta);
  if (tf32)
    text += " tf32";
  constexpr const char *kEpilogues[] = {"", " bias", " sums"};
  text += kEpilogues[size_t(epilogue)];
  return reference ? text + " reference" : text;
}

} // namespace minigptc::runtime
