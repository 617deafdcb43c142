//===- Strided.cpp - views of tensors -------------------------------------===//
#include "compiler/interpreter/Strided.h"
#include "compiler/interpreter/Element.h"

using namespace mlir;
using namespace minigptc::interpreter;

SmallVector<int64_t> minigptc::interpreter::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

template <typename T>
static void copyBox(ArrayRef<int64_t> shape, const T *from, ArrayRef<int64_t> fromStrides, T *to,
                    ArrayRef<int64_t> toStrides) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i) {
    const T *source = from + i * fromStrides[0];
    T *destination = to + i * toStrides[0];
    if (shape.size() == 1)
      *destination = *source;
    else
      copyBox(shape.drop_front(), source, fromStrides.drop_front(), destination,
              toStrides.drop_front());
  }
}

void minigptc::interpreter::copyStrided(ArrayRef<int64_t> shape, const Tensor &source,
                                        const Placement &from, Tensor &destination,
                                        const Placement &to) {
  if (llvm::is_contained(shape, 0))
    return;
  dispatch(source.getType().getElementType(), [&]<typename T>() {
    copyBox(shape, elements<T>(source).data() + from.offset, from.strides,
            mutableElements<T>(destination).data() + to.offset, to.strides);
  });
}

Tensor minigptc::interpreter::transpose(const Tensor &tensor, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> strides = rowMajorStrides(tensor.getShape());
  SmallVector<int64_t> shape;
  Placement from;
  for (int64_t dim : permutation) {
    shape.push_back(tensor.getShape()[dim]);
    from.strides.push_back(strides[dim]);
  }
  Tensor result(RankedTensorType::get(shape, tensor.getType().getElementType()));
  copyStrided(shape, tensor, from, result, {0, rowMajorStrides(shape)});
  return result;
}

SmallVector<int64_t> minigptc::interpreter::otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}
