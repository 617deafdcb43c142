// cuBLASLt's functions, emulated: what the library would refuse is refused, products are the
// host's.
#include "runtime/drivers/cuda/test/Products.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace minigptc::runtime::cuda::test {
namespace {

constexpr size_t kVersion = 130100;
/// What an algorithm asks for, where it may: it is overwritten, so that sharing it shows.
constexpr uint64_t kWorkspace = 64 * 1024;
constexpr uint64_t kWorkspaceAlignment = 16;

template <typename Body> BlasStatus enterBlas(Body body) {
  return enterOr(BlasStatus::notInitialized,
                 [&](Machine &machine, Lock &) -> BlasStatus { return body(machine); });
}

BlasStatus refuse(Machine &machine, BlasStatus code, const std::string &text,
                  HazardKind kind = HazardKind::refusedCall) {
  machine.refuse(Result::success, text, kind);
  return code;
}

BlasStatus noHandle(Machine &machine, const char *call) {
  return refuse(machine, BlasStatus::invalidValue,
                std::string(call) + ": no such object, or one that was destroyed",
                HazardKind::useAfterFree);
}

//===--- Handles and descriptions -----------------------------------------===//

BlasStatus create(BlasHandle *handle) {
  return enterBlas([&](Machine &machine) {
    EmulatedDevice *device = machine.currentDevice();
    if (!device)
      return refuse(machine, BlasStatus::notInitialized,
                    "cublasLtCreate: the thread has no current context");
    *handle = machine.blasHandles.add(std::make_shared<BlasState>(BlasState{device->number}));
    return BlasStatus::success;
  });
}

template <auto Table> BlasStatus destroy(Machine &machine, auto handle, const char *call) {
  if (!(machine.*Table).find(handle))
    return noHandle(machine, call);
  (machine.*Table).remove(handle);
  return BlasStatus::success;
}

template <typename T>
BlasStatus setValue(Machine &machine, const char *call, T &target, const void *value,
                    size_t bytes) {
  if (bytes != sizeof(T))
    return refuse(machine, BlasStatus::invalidValue,
                  std::string(call) + ": a value of " + std::to_string(bytes) + " bytes where " +
                      std::to_string(sizeof(T)) + " are wanted");
  std::memcpy(&target, value, sizeof(T));
  return BlasStatus::success;
}

BlasStatus unknownAttribute(Machine &machine, const char *call, int attribute) {
  return refuse(machine, BlasStatus::notSupported,
                std::string(call) + ": attribute " + std::to_string(attribute) +
                    " is not emulated");
}

BlasStatus matmulDescCreate(MatmulDesc *desc, ComputeType compute, DataType scale) {
  return enterBlas([&](Machine &machine) {
    auto state = std::make_shared<ProductDesc>();
    state->compute = compute;
    state->scale = scale;
    *desc = machine.productDescs.add(std::move(state));
    return BlasStatus::success;
  });
}

BlasStatus matmulDescSetAttribute(MatmulDesc desc, MatmulDescAttribute attribute, const void *value,
                                  size_t bytes) {
  const char *call = "cublasLtMatmulDescSetAttribute";
  return enterBlas([&](Machine &machine) {
    auto state = machine.productDescs.find(desc);
    if (!state)
      return noHandle(machine, call);
    switch (attribute) {
    case MatmulDescAttribute::transA: return setValue(machine, call, state->a, value, bytes);
    case MatmulDescAttribute::transB: return setValue(machine, call, state->b, value, bytes);
    case MatmulDescAttribute::epilogue:
      return setValue(machine, call, state->epilogue, value, bytes);
    case MatmulDescAttribute::biasPointer:
      return setValue(machine, call, state->bias, value, bytes);
    default: return unknownAttribute(machine, call, int(attribute));
    }
  });
}

BlasStatus matrixLayoutCreate(MatrixLayoutDesc *layout, DataType type, uint64_t rows,
                              uint64_t columns, int64_t leadingDimension) {
  return enterBlas([&](Machine &machine) {
    auto state = std::make_shared<ProductLayout>();
    state->type = type;
    state->rows = rows;
    state->columns = columns;
    state->leadingDimension = leadingDimension;
    *layout = machine.productLayouts.add(std::move(state));
    return BlasStatus::success;
  });
}

BlasStatus matrixLayoutSetAttribute(MatrixLayoutDesc layout, MatrixLayoutAttribute attribute,
                                    const void *value, size_t bytes) {
  const char *call = "cublasLtMatrixLayoutSetAttribute";
  return enterBlas([&](Machine &machine) {
    auto state = machine.productLayouts.find(layout);
    if (!state)
      return noHandle(machine, call);
    switch (attribute) {
    case MatrixLayoutAttribute::type: return setValue(machine, call, state->type, value, bytes);
    case MatrixLayoutAttribute::order: return setValue(machine, call, state->order, value, bytes);
    case MatrixLayoutAttribute::rows: return setValue(machine, call, state->rows, value, bytes);
    case MatrixLayoutAttribute::columns:
      return setValue(machine, call, state->columns, value, bytes);
    case MatrixLayoutAttribute::leadingDimension:
      return setValue(machine, call, state->leadingDimension, value, bytes);
    case MatrixLayoutAttribute::batchCount:
      return setValue(machine, call, state->batch, value, bytes);
    case MatrixLayoutAttribute::batchStride:
      return setValue(machine, call, state->batchStride, value, bytes);
    }
    return unknownAttribute(machine, call, int(attribute));
  });
}

BlasStatus preferenceCreate(Preference *preference) {
  return enterBlas([&](Machine &machine) {
    *preference = machine.productPreferences.add(std::make_shared<ProductPreference>());
    return BlasStatus::success;
  });
}

BlasStatus preferenceSetAttribute(Preference preference, PreferenceAttribute attribute,
                                  const void *value, size_t bytes) {
  const char *call = "cublasLtMatmulPreferenceSetAttribute";
  return enterBlas([&](Machine &machine) {
    auto state = machine.productPreferences.find(preference);
    if (!state)
      return noHandle(machine, call);
    int alignment = int(attribute) - int(PreferenceAttribute::minAlignmentA);
    uint32_t unused = 0; // The one algorithm there is satisfies any.
    if (attribute == PreferenceAttribute::searchMode ||
        attribute == PreferenceAttribute::reductionSchemeMask)
      return setValue(machine, call, unused, value, bytes);
    if (attribute == PreferenceAttribute::maxWorkspaceBytes)
      return setValue(machine, call, state->maxWorkspace, value, bytes);
    if (alignment >= 0 && alignment < 4)
      return setValue(machine, call, state->alignment[alignment], value, bytes);
    return unknownAttribute(machine, call, int(attribute));
  });
}

//===--- Algorithms -------------------------------------------------------===//

/// An algorithm of the emulation: its configuration, and for which problem it was chosen, the
/// alignments that it relies on, and its workspace. One that was made by its number has no
/// problem, and relies on nothing.
struct Algorithm {
  uint64_t mark = 0, problem = 0, workspace = 0;
  uint16_t alignment[4] = {};
  int32_t id = 1;
  uint32_t tile = 20, stages = 5;
  int32_t split = 1;
  uint32_t reduction = 0, swizzling = 0, option = 0;
  uint16_t inner = 0, cluster = 0;

  /// The setting of an attribute, and its bytes; null: there is none.
  std::pair<void *, size_t> setting(AlgoConfigAttribute attribute) {
    switch (attribute) {
    case AlgoConfigAttribute::id: return {&id, sizeof id};
    case AlgoConfigAttribute::tileId: return {&tile, sizeof tile};
    case AlgoConfigAttribute::stagesId: return {&stages, sizeof stages};
    case AlgoConfigAttribute::splitK: return {&split, sizeof split};
    case AlgoConfigAttribute::reductionScheme: return {&reduction, sizeof reduction};
    case AlgoConfigAttribute::swizzling: return {&swizzling, sizeof swizzling};
    case AlgoConfigAttribute::customOption: return {&option, sizeof option};
    case AlgoConfigAttribute::innerShapeId: return {&inner, sizeof inner};
    case AlgoConfigAttribute::clusterShapeId: return {&cluster, sizeof cluster};
    }
    return {nullptr, 0};
  }
  /// There are tiles 1 to 60, sums in up to 32 parts, which need a way to add them.
  bool isKnown() const {
    return id == 1 && tile >= 1 && tile <= 60 && split >= 1 && split <= 32 &&
           (split == 1 ? reduction == 0 : reduction == kReduceInComputeType);
  }
};
static_assert(sizeof(Algorithm) == sizeof(MatmulAlgo));
constexpr uint64_t kMark = 0x656d756c61746564; // "emulated"

StatusOr<Product> findProduct(Machine &machine, MatmulDesc desc, MatrixLayoutDesc a,
                              MatrixLayoutDesc b, MatrixLayoutDesc c, MatrixLayoutDesc d) {
  auto state = machine.productDescs.find(desc);
  Product product;
  MatrixLayoutDesc handles[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    auto layout = machine.productLayouts.find(handles[i]);
    if (!layout || !state)
      return Status(StatusCode::notFound, "no such description, or one that was destroyed");
    product.layouts[i] = *layout;
  }
  product.desc = *state;
  MINIGPTC_RETURN_IF_ERROR(product.check());
  return product;
}

BlasStatus codeOf(const Status &status) {
  return status.code() == StatusCode::failedPrecondition ? BlasStatus::notSupported
                                                         : BlasStatus::invalidValue;
}

BlasStatus algoGetHeuristic(BlasHandle handle, MatmulDesc desc, MatrixLayoutDesc a,
                            MatrixLayoutDesc b, MatrixLayoutDesc c, MatrixLayoutDesc d,
                            Preference preference, int wanted, HeuristicResult *results,
                            int *count) {
  const char *call = "cublasLtMatmulAlgoGetHeuristic";
  return enterBlas([&](Machine &machine) {
    auto prefers = machine.productPreferences.find(preference);
    *count = 0;
    if (!machine.blasHandles.find(handle) || !prefers || wanted < 1)
      return noHandle(machine, call);
    StatusOr<Product> product = findProduct(machine, desc, a, b, c, d);
    if (!product)
      return refuse(machine, codeOf(product.status()),
                    std::string(call) + ": " + product.status().message());
    if (machine.options.plainProducts && product->desc.epilogue != epilogueDefault)
      return BlasStatus::notSupported;
    Algorithm algorithm;
    algorithm.mark = kMark;
    algorithm.problem = product->fingerprint();
    algorithm.workspace = std::min(prefers->maxWorkspace, kWorkspace);
    if (uint64_t taste = machine.options.taste) {
      uint64_t drawn = mixBits(algorithm.problem ^ taste);
      algorithm.tile = 1 + uint32_t(drawn % 60);
      algorithm.split = 2 + int32_t(drawn / 60 % 3);
      algorithm.reduction = kReduceInComputeType;
    }
    for (int i = 0; i < 4; ++i)
      algorithm.alignment[i] = uint16_t(prefers->alignment[i]);
    std::memset(results, 0, sizeof(*results));
    std::memcpy(&results->algo, &algorithm, sizeof(algorithm));
    results->workspaceBytes = algorithm.workspace;
    results->state = BlasStatus::success;
    results->waves = 1;
    *count = 1;
    return BlasStatus::success;
  });
}

BlasStatus algoInit(BlasHandle handle, ComputeType, DataType, DataType, DataType, DataType,
                    DataType, int id, MatmulAlgo *algo) {
  return enterBlas([&](Machine &machine) {
    if (!machine.blasHandles.find(handle))
      return noHandle(machine, "cublasLtMatmulAlgoInit");
    Algorithm algorithm;
    algorithm.mark = kMark;
    algorithm.workspace = kWorkspace;
    algorithm.id = id;
    *algo = std::bit_cast<MatmulAlgo>(algorithm);
    return id == 1 ? BlasStatus::success : BlasStatus::notSupported;
  });
}

BlasStatus algoConfigGetAttribute(const MatmulAlgo *algo, AlgoConfigAttribute attribute,
                                  void *value, size_t bytes, size_t *written) {
  Algorithm algorithm = std::bit_cast<Algorithm>(*algo);
  auto [setting, size] = algorithm.setting(attribute);
  if (written)
    *written = size;
  if (!setting || bytes < size || algorithm.mark != kMark)
    return BlasStatus::invalidValue;
  std::memcpy(value, setting, size);
  return BlasStatus::success;
}

BlasStatus algoConfigSetAttribute(MatmulAlgo *algo, AlgoConfigAttribute attribute,
                                  const void *value, size_t bytes) {
  Algorithm algorithm = std::bit_cast<Algorithm>(*algo);
  auto [setting, size] = algorithm.setting(attribute);
  if (!setting || bytes != size || algorithm.mark != kMark || attribute == AlgoConfigAttribute::id)
    return BlasStatus::invalidValue;
  std::memcpy(setting, value, size);
  *algo = std::bit_cast<MatmulAlgo>(algorithm);
  return BlasStatus::success;
}

BlasStatus algoCheck(BlasHandle handle, MatmulDesc desc, MatrixLayoutDesc a, MatrixLayoutDesc b,
                     MatrixLayoutDesc c, MatrixLayoutDesc d, const MatmulAlgo *algo,
                     HeuristicResult *result) {
  const char *call = "cublasLtMatmulAlgoCheck";
  return enterBlas([&](Machine &machine) {
    if (!machine.blasHandles.find(handle))
      return noHandle(machine, call);
    StatusOr<Product> product = findProduct(machine, desc, a, b, c, d);
    if (!product)
      return refuse(machine, codeOf(product.status()),
                    std::string(call) + ": " + product.status().message());
    Algorithm algorithm = std::bit_cast<Algorithm>(*algo);
    if (algorithm.mark != kMark || !algorithm.isKnown())
      return BlasStatus::notSupported;
    *result = {};
    result->algo = *algo;
    result->workspaceBytes = algorithm.workspace;
    result->state = BlasStatus::success;
    result->waves = 1;
    return BlasStatus::success;
  });
}

//===--- Products ---------------------------------------------------------===//

/// Whether the algorithm is one for this product and these pointers.
BlasStatus checkAlgorithm(Machine &machine, const Product &product, const Algorithm &algorithm,
                          const void *workspace, size_t workspaceBytes, int device) {
  std::string name = product.describe();
  if (algorithm.mark != kMark || (algorithm.problem && algorithm.problem != product.fingerprint()))
    return refuse(machine, BlasStatus::invalidValue,
                  name + ": the algorithm was chosen for another product");
  if (!algorithm.isKnown())
    return refuse(machine, BlasStatus::notSupported, name + ": there is no such algorithm");
  for (int i = 0; i < 4; ++i)
    if (algorithm.alignment[i] && product.pointers[i] % algorithm.alignment[i])
      return refuse(machine, BlasStatus::invalidValue,
                    name + ": operand " + "ABCD"[i] + " is not aligned to the " +
                        std::to_string(algorithm.alignment[i]) +
                        " bytes that the algorithm was chosen for",
                    HazardKind::misaligned);
  uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
  HazardKind kind = HazardKind::refusedCall;
  std::string why;
  if (workspaceBytes < algorithm.workspace)
    why = std::to_string(workspaceBytes) + " bytes where the algorithm wants " +
          std::to_string(algorithm.workspace);
  else if (algorithm.workspace)
    why = machine.whyNoMemory(address, workspaceBytes, device, kind);
  if (why.empty() && algorithm.workspace && address % kWorkspaceAlignment)
    why = "it is not aligned to 16 bytes", kind = HazardKind::misaligned;
  return why.empty()
             ? BlasStatus::success
             : refuse(machine, BlasStatus::invalidValue, name + ": workspace: " + why, kind);
}

BlasStatus checkOperands(Machine &machine, const Product &product, int device) {
  for (int i = 0; i < 4; ++i) {
    if (!product.uses(i))
      continue;
    HazardKind kind;
    std::string why =
        machine.whyNoMemory(product.pointers[i], product.layouts[i].bytes(), device, kind);
    if (why.empty() && product.pointers[i] % product.layouts[i].elementBytes())
      why = "it is not aligned to its elements", kind = HazardKind::misaligned;
    if (!why.empty())
      return refuse(machine, BlasStatus::invalidValue,
                    product.describe() + ": operand " + "ABCD"[i] + ": " + why, kind);
  }
  std::string overlap = product.overlap();
  return overlap.empty()
             ? BlasStatus::success
             : refuse(machine, BlasStatus::invalidValue, product.describe() + ": " + overlap);
}

double scaleValue(DataType type, const void *value) {
  return type == DataType::f64 ? *static_cast<const double *>(value)
                               : double(*static_cast<const float *>(value));
}

BlasStatus matmul(BlasHandle handle, MatmulDesc desc, const void *alpha, const void *aData,
                  MatrixLayoutDesc a, const void *bData, MatrixLayoutDesc b, const void *beta,
                  const void *cData, MatrixLayoutDesc c, void *dData, MatrixLayoutDesc d,
                  const MatmulAlgo *algo, void *workspace, size_t workspaceBytes,
                  Stream streamHandle) {
  const char *call = "cublasLtMatmul";
  return enterBlas([&](Machine &machine) {
    auto blas = machine.blasHandles.find(handle);
    std::shared_ptr<StreamState> owner;
    StreamState *stream = machine.findStream(streamHandle, call, owner);
    if (!blas || !stream)
      return noHandle(machine, call);
    StatusOr<Product> product = findProduct(machine, desc, a, b, c, d);
    if (!product)
      return refuse(machine, codeOf(product.status()),
                    std::string(call) + ": " + product.status().message());
    const void *data[] = {aData, bData, cData, dData};
    for (int i = 0; i < 4; ++i)
      product->pointers[i] = reinterpret_cast<uintptr_t>(data[i]);
    product->alpha = scaleValue(product->desc.scale, alpha);
    product->beta = scaleValue(product->desc.scale, beta);
    if (blas->device != stream->device)
      return refuse(machine, BlasStatus::invalidValue,
                    product->describe() + ": a handle of device " + std::to_string(blas->device) +
                        " in " + stream->lane->name);
    if (BlasStatus bad = checkOperands(machine, *product, stream->device);
        bad != BlasStatus::success)
      return bad;
    Algorithm algorithm;
    if (algo) {
      algorithm = std::bit_cast<Algorithm>(*algo);
      if (BlasStatus bad = checkAlgorithm(machine, *product, algorithm, workspace, workspaceBytes,
                                          stream->device);
          bad != BlasStatus::success)
        return bad;
      product->split = algorithm.split;
    }
    Work work{.label = product->describe()};
    work.run = [&machine, product = *product, bytes = algorithm.workspace,
                space = reinterpret_cast<uintptr_t>(workspace)](Operation &operation) {
      if (machine.touch(operation, space, bytes, /*write=*/true))
        std::memset(reinterpret_cast<void *>(space), 0xff, bytes);
      product.run(machine, operation);
    };
    return machine.enqueue(*stream, std::move(work)) == Result::success
               ? BlasStatus::success
               : BlasStatus::executionFailed;
  });
}

const char *getStatusString(BlasStatus status) {
  switch (status) {
  case BlasStatus::success: return "CUBLAS_STATUS_SUCCESS";
  case BlasStatus::notInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED (emulated)";
  case BlasStatus::allocFailed: return "CUBLAS_STATUS_ALLOC_FAILED (emulated)";
  case BlasStatus::invalidValue: return "CUBLAS_STATUS_INVALID_VALUE (emulated)";
  case BlasStatus::archMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH (emulated)";
  case BlasStatus::executionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED (emulated)";
  case BlasStatus::internalError: return "CUBLAS_STATUS_INTERNAL_ERROR (emulated)";
  case BlasStatus::notSupported: return "CUBLAS_STATUS_NOT_SUPPORTED (emulated)";
  }
  return "emulated cuBLASLt: unknown status";
}

} // namespace

void fillBlasCalls(BlasApi &api) {
  api.getVersion = [] { return kVersion; };
  api.getStatusString = getStatusString;
  api.create = create;
  api.destroy = [](BlasHandle handle) {
    return enterBlas([&](Machine &machine) {
      return destroy<&Machine::blasHandles>(machine, handle, "cublasLtDestroy");
    });
  };
  api.matmulDescCreate = matmulDescCreate;
  api.matmulDescDestroy = [](MatmulDesc desc) {
    return enterBlas([&](Machine &machine) {
      return destroy<&Machine::productDescs>(machine, desc, "cublasLtMatmulDescDestroy");
    });
  };
  api.matmulDescSetAttribute = matmulDescSetAttribute;
  api.matrixLayoutCreate = matrixLayoutCreate;
  api.matrixLayoutDestroy = [](MatrixLayoutDesc layout) {
    return enterBlas([&](Machine &machine) {
      return destroy<&Machine::productLayouts>(machine, layout, "cublasLtMatrixLayoutDestroy");
    });
  };
  api.matrixLayoutSetAttribute = matrixLayoutSetAttribute;
  api.preferenceCreate = preferenceCreate;
  api.preferenceDestroy = [](Preference preference) {
    return enterBlas([&](Machine &machine) {
      return destroy<&Machine::productPreferences>(machine, preference,
                                                   "cublasLtMatmulPreferenceDestroy");
    });
  };
  api.preferenceSetAttribute = preferenceSetAttribute;
  api.algoGetHeuristic = algoGetHeuristic;
  api.algoInit = algoInit;
  api.algoConfigGetAttribute = algoConfigGetAttribute;
  api.algoConfigSetAttribute = algoConfigSetAttribute;
  api.algoCheck = algoCheck;
  api.matmul = matmul;
}

} // namespace minigptc::runtime::cuda::test
