#include "runtime/drivers/cuda/CudaGemm.h"

#include "runtime/base/Format.h"
#include "runtime/drivers/cuda/GemmAlgorithm.h"
#include "runtime/drivers/cuda/GemmLayout.h"
#include "runtime/drivers/cuda/GemmParts.h"

namespace minigptc::runtime::cuda {
namespace {

std::string describeProblem(const GemmProblem &p) {
  return "the product " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
         std::to_string(p.k) + " of " + std::string(nameOf(p.typeOf(p.lhs)));
}

DataType dataType(const GemmProblem &p, const MatrixLayout &layout) {
  return layout.bf16 ? DataType::bf16 : p.dtype == DType::f64 ? DataType::f64 : DataType::f32;
}

/// Between the algorithms of GemmParts.
constexpr std::string_view kThen = ", then ";

ComputeType computeType(const GemmProblem &p) {
  return p.dtype == DType::f64 ? ComputeType::f64
         : p.tf32              ? ComputeType::f32FastTf32
                               : ComputeType::f32;
}
DataType scaleType(const GemmProblem &p) {
  return p.dtype == DType::f64 ? DataType::f64 : DataType::f32;
}

} // namespace

struct CudaGemm::Plan {
  explicit Plan(const BlasApi &blas) : blas(blas) {}
  ~Plan() {
    for (MatrixLayoutDesc layout : {a, b, c})
      if (layout)
        blas.matrixLayoutDestroy(layout);
    if (desc)
      blas.matmulDescDestroy(desc);
  }
  const BlasApi &blas;
  GemmLayout layout;
  MatmulDesc desc = nullptr;
  MatrixLayoutDesc a = nullptr, b = nullptr, c = nullptr; ///< a: the library's first operand
  MatmulAlgo algo = {};
  /// No algorithm has the epilogue: it is a product of its own, with this left operand.
  std::unique_ptr<Buffer> ones;
};

StatusOr<std::unique_ptr<CudaGemm>> CudaGemm::create(ContextRef context, Stream stream) {
  MINIGPTC_RETURN_IF_ERROR(context->api().blasStatus);
  MINIGPTC_RETURN_IF_ERROR(context->enter());
  std::unique_ptr<CudaGemm> gemm(new CudaGemm(context, stream));
  if (Status made = gemm->check(context->api().blas.create(&gemm->handle_), "cublasLtCreate");
      !made)
    return std::move(made).withHelp(
        "cuBLASLt may be too new for the driver: install the version of its CUDA");
  StatusOr<std::unique_ptr<Buffer>> workspace = allocateOnDevice(context, kWorkspace);
  if (!workspace)
    return workspace.status();
  gemm->workspace_ = std::move(*workspace);
  return gemm;
}

CudaGemm::CudaGemm(ContextRef context, Stream stream)
    : context_(std::move(context)), stream_(stream) {}

CudaGemm::~CudaGemm() {
  if (!context_->enter())
    return;
  plans_.clear();
  if (handle_)
    context_->api().blas.destroy(handle_);
}

Status CudaGemm::check(BlasStatus status, const char *call) const {
  if (status == BlasStatus::success)
    return {};
  const char *text = context_->api().blas.getStatusString(status);
  return Status(
      status == BlasStatus::allocFailed ? StatusCode::resourceExhausted : StatusCode::internal,
      std::string(call) + " failed: " + (text ? text : "status " + std::to_string(int(status))));
}

Status CudaGemm::set(MatmulDesc desc, MatmulDescAttribute attribute, const void *value,
                     size_t bytes) const {
  return check(context_->api().blas.matmulDescSetAttribute(desc, attribute, value, bytes),
               "cublasLtMatmulDescSetAttribute");
}

Status CudaGemm::setVector(const Plan &plan, void *vector) const {
  return set(plan.desc, MatmulDescAttribute::biasPointer, &vector, sizeof(vector));
}

/// The library's D is the transposed C, its A the right operand (`layoutForBlas`): a bias is for
/// D's rows, sums are of A's. The heuristic looks at the pointer for its alignment.
Status CudaGemm::describeEpilogue(const GemmProblem &p, Plan &plan) const {
  if (p.epilogue == GemmEpilogue::none)
    return {};
  Epilogue epilogue = p.epilogue == GemmEpilogue::bias ? Epilogue::bias : Epilogue::bgradA;
  MINIGPTC_RETURN_IF_ERROR(
      set(plan.desc, MatmulDescAttribute::epilogue, &epilogue, sizeof(epilogue)));
  return setVector(plan, workspace_->data());
}

Status CudaGemm::describe(const GemmProblem &p, Plan &plan) const {
  const BlasApi &blas = context_->api().blas;
  MINIGPTC_RETURN_IF_ERROR(check(blas.matmulDescCreate(&plan.desc, computeType(p), scaleType(p)),
                                 "cublasLtMatmulDescCreate"));
  const GemmLayout &layout = plan.layout;
  for (auto [attribute, operand] : {std::pair(MatmulDescAttribute::transA, &layout.a),
                                    std::pair(MatmulDescAttribute::transB, &layout.b)}) {
    Operation operation = operand->transposed ? Operation::transpose : Operation::none;
    MINIGPTC_RETURN_IF_ERROR(set(plan.desc, attribute, &operation, sizeof(operation)));
  }
  MINIGPTC_RETURN_IF_ERROR(describeEpilogue(p, plan));
  const MatrixLayout &first = layout.swapped ? p.rhs : p.lhs,
                     &second = layout.swapped ? p.lhs : p.rhs;
  struct {
    MatrixLayoutDesc &desc;
    const ColumnMajor &matrix;
    DataType type;
  } matrices[] = {{plan.a, layout.a, dataType(p, first)},
                  {plan.b, layout.b, dataType(p, second)},
                  {plan.c, layout.c, dataType(p, p.out)}};
  for (auto &[desc, matrix, type] : matrices) {
    MINIGPTC_RETURN_IF_ERROR(
        check(blas.matrixLayoutCreate(&desc, type, uint64_t(matrix.rows), uint64_t(matrix.columns),
                                      matrix.leadingDimension),
              "cublasLtMatrixLayoutCreate"));
    if (layout.batch == 1)
      continue;
    int32_t count = int32_t(layout.batch);
    MINIGPTC_RETURN_IF_ERROR(
        check(blas.matrixLayoutSetAttribute(desc, MatrixLayoutAttribute::batchCount, &count,
                                            sizeof(count)),
              "cublasLtMatrixLayoutSetAttribute"));
    MINIGPTC_RETURN_IF_ERROR(
        check(blas.matrixLayoutSetAttribute(desc, MatrixLayoutAttribute::batchStride,
                                            &matrix.batchStride, sizeof(matrix.batchStride)),
              "cublasLtMatrixLayoutSetAttribute"));
  }
  return {};
}

Status CudaGemm::choose(const GemmProblem &p, Plan &plan) const {
  const BlasApi &blas = context_->api().blas;
  Preference preference = nullptr;
  MINIGPTC_RETURN_IF_ERROR(
      check(blas.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  struct Destroyer {
    const BlasApi &blas;
    Preference preference;
    ~Destroyer() { blas.preferenceDestroy(preference); }
  } destroyer{blas, preference};
  uint64_t workspace = kWorkspace;
  // Frames align buffers to 64 bytes; members of a batch may lie at any element.
  uint32_t reductions = kReduceInComputeType;
  MINIGPTC_RETURN_IF_ERROR(
      check(blas.preferenceSetAttribute(preference, PreferenceAttribute::maxWorkspaceBytes,
                                        &workspace, sizeof(workspace)),
            "cublasLtMatmulPreferenceSetAttribute"));
  MINIGPTC_RETURN_IF_ERROR(
      check(blas.preferenceSetAttribute(preference, PreferenceAttribute::reductionSchemeMask,
                                        &reductions, sizeof(reductions)),
            "cublasLtMatmulPreferenceSetAttribute"));
  for (auto [attribute, alignment] :
       {std::pair(PreferenceAttribute::minAlignmentA, plan.layout.a.alignment),
        std::pair(PreferenceAttribute::minAlignmentB, plan.layout.b.alignment),
        std::pair(PreferenceAttribute::minAlignmentC, plan.layout.c.alignment),
        std::pair(PreferenceAttribute::minAlignmentD, plan.layout.c.alignment)})
    MINIGPTC_RETURN_IF_ERROR(
        check(blas.preferenceSetAttribute(preference, attribute, &alignment, sizeof(alignment)),
              "cublasLtMatmulPreferenceSetAttribute"));
  HeuristicResult best = {};
  int found = 0;
  BlasStatus status = blas.algoGetHeuristic(handle_, plan.desc, plan.a, plan.b, plan.c, plan.c,
                                            preference, 1, &best, &found);
  if (status == BlasStatus::success && (found < 1 || best.state != BlasStatus::success))
    status = BlasStatus::notSupported;
  if (status == BlasStatus::notSupported)
    return Status(StatusCode::failedPrecondition, "cuBLASLt has no algorithm for " +
                                                      describeProblem(p) + " on " +
                                                      context_->name());
  plan.algo = best.algo;
  return check(status, "cublasLtMatmulAlgoGetHeuristic");
}

StatusOr<const CudaGemm::Plan *> CudaGemm::planOf(const GemmProblem &problem) {
  std::unique_ptr<Plan> &known = plans_[problem.identity()];
  if (known)
    return known.get();
  auto plan = std::make_unique<Plan>(context_->api().blas);
  StatusOr<GemmLayout> layout = layoutForBlas(problem);
  if (!layout)
    return Status(layout.status().code(),
                  describeProblem(problem) + ": " + layout.status().message());
  plan->layout = std::move(*layout);
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  MINIGPTC_RETURN_IF_ERROR(describe(problem, *plan));
  Status chosen = choose(problem, *plan);
  if (chosen.code() == StatusCode::failedPrecondition && problem.epilogue != GemmEpilogue::none)
    chosen = planParts(problem, *plan);
  MINIGPTC_RETURN_IF_ERROR(chosen);
  known = std::move(plan); // `known` outlives other entries that have come since.
  return known.get();
}

Status CudaGemm::planParts(const GemmProblem &problem, Plan &plan) {
  GemmParts parts = partsOf(problem);
  for (const GemmProblem &part : {parts.first, parts.second})
    MINIGPTC_RETURN_IF_ERROR(prepare(part));
  std::vector<std::byte> ones = parts.ones();
  StatusOr<std::unique_ptr<Buffer>> memory = allocateOnDevice(context_, ones.size());
  if (!memory)
    return memory.status();
  StatusOr<std::unique_ptr<Transfer>> transfer = Transfer::create(context_);
  if (!transfer)
    return transfer.status();
  MINIGPTC_RETURN_IF_ERROR((*transfer)->upload((*memory)->data(), ones));
  plan.ones = std::move(*memory);
  return {};
}

Status CudaGemm::runParts(const GemmProblem &problem, const Plan &plan, const void *lhs,
                          const void *rhs, void *out, void *vector) {
  GemmParts parts = partsOf(problem);
  bool bias = problem.epilogue == GemmEpilogue::bias;
  MINIGPTC_RETURN_IF_ERROR(
      run(parts.first, plan.ones->data(), bias ? vector : rhs, bias ? out : vector));
  return run(parts.second, lhs, rhs, out);
}

Status CudaGemm::prepare(const GemmProblem &problem) {
  if (isEmpty(problem))
    return {};
  StatusOr<const Plan *> plan = planOf(problem);
  return plan ? Status() : plan.status();
}

Status CudaGemm::run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
                     void *vector) {
  if (isEmpty(problem))
    return {};
  StatusOr<const Plan *> found = planOf(problem);
  if (!found)
    return found.status();
  const Plan &plan = **found;
  if (plan.ones)
    return runParts(problem, plan, lhs, rhs, out, vector);
  const BlasApi &blas = context_->api().blas;
  float one = 1, beta = float(problem.beta);
  double one64 = 1, beta64 = problem.beta;
  bool f64 = problem.dtype == DType::f64;
  auto *first = static_cast<const std::byte *>(plan.layout.swapped ? rhs : lhs),
       *second = static_cast<const std::byte *>(plan.layout.swapped ? lhs : rhs);
  if (problem.epilogue != GemmEpilogue::none)
    MINIGPTC_RETURN_IF_ERROR(setVector(plan, vector));
  for (const GemmOffsets &at : plan.layout.calls) {
    auto *c = static_cast<std::byte *>(out) + at.c;
    MINIGPTC_RETURN_IF_ERROR(
        check(blas.matmul(handle_, plan.desc, f64 ? static_cast<const void *>(&one64) : &one,
                          first + at.a, plan.a, second + at.b, plan.b,
                          f64 ? static_cast<const void *>(&beta64) : &beta, c, plan.c, c, plan.c,
                          &plan.algo, workspace_->data(), kWorkspace, stream_),
              "cublasLtMatmul"));
  }
  return {};
}

std::string CudaGemm::algorithm(const GemmProblem &problem) const {
  auto found = plans_.find(problem.identity());
  if (found == plans_.end() || !found->second)
    return "";
  if (found->second->ones) {
    GemmParts parts = partsOf(problem);
    return algorithm(parts.first) + std::string(kThen) + algorithm(parts.second);
  }
  return AlgorithmConfig::of(context_->api().blas, found->second->algo).toString();
}

Status CudaGemm::usePartsAlgorithms(const GemmParts &parts, const std::string &text) {
  size_t then = text.find(kThen);
  if (then == std::string::npos)
    return Status(StatusCode::invalidArgument,
                  "'" + text + "' is one algorithm: the product has an epilogue that takes another");
  std::string before = algorithm(parts.first);
  MINIGPTC_RETURN_IF_ERROR(useAlgorithm(parts.first, text.substr(0, then)));
  Status second = useAlgorithm(parts.second, text.substr(then + kThen.size()));
  if (!second)
    MINIGPTC_RETURN_IF_ERROR(useAlgorithm(parts.first, before));
  return second;
}

Status CudaGemm::useAlgorithm(const GemmProblem &problem, const std::string &text) {
  if (isEmpty(problem) || algorithm(problem) == text)
    return {};
  StatusOr<const Plan *> found = planOf(problem);
  if (!found)
    return found.status();
  if ((*found)->ones)
    return usePartsAlgorithms(partsOf(problem), text);
  StatusOr<AlgorithmConfig> config = AlgorithmConfig::parse(text);
  if (!config)
    return config.status();
  if (!config->isDeterministic())
    return Status(StatusCode::invalidArgument,
                  "'" + text + "' adds in an order that may change from run to run");
  MINIGPTC_RETURN_IF_ERROR(context_->enter());
  Plan &plan = *plans_[problem.identity()];
  const BlasApi &blas = context_->api().blas;
  DataType a = dataType(problem, plan.layout.swapped ? problem.rhs : problem.lhs),
           b = dataType(problem, plan.layout.swapped ? problem.lhs : problem.rhs),
           c = dataType(problem, problem.out);
  MatmulAlgo algo = {};
  HeuristicResult checked = {};
  BlasStatus status = blas.algoInit(handle_, computeType(problem), scaleType(problem), a, b, c, c,
                                    config->id(), &algo);
  if (status == BlasStatus::success)
    status = config->configure(blas, algo);
  if (status == BlasStatus::success)
    status = blas.algoCheck(handle_, plan.desc, plan.a, plan.b, plan.c, plan.c, &algo, &checked);
  if (status == BlasStatus::success)
    status = checked.state;
  if (status != BlasStatus::success || checked.workspaceBytes > kWorkspace)
    return Status(StatusCode::failedPrecondition, describeProblem(problem) +
                                                      " cannot be computed by algorithm '" + text +
                                                      "' on " + context_->name());
  plan.algo = algo;
  return {};
}

std::string CudaGemm::libraryOf(const CudaContext &context) {
  if (!context.api().blasStatus)
    return "";
  size_t version = context.api().blas.getVersion();
  return format("cuBLASLt %zu.%zu.%zu on ", version / 10000, version / 100 % 100, version % 100) +
         context.name();
}

} // namespace minigptc::runtime::cuda
