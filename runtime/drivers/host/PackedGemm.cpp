#include "runtime/drivers/host/PackedGemm.h"

#include "runtime/base/Memory.h"
#include "runtime/base/Scalar.h"

#include <algorithm>
#include <string>

namespace minigptc::runtime {

namespace {

constexpr int64_t kDepth = 256; ///< of a block: a panel of B fills half the first cache

/// What a task packs into its thread's scratch, a part of the second cache.
constexpr int64_t kScratchRows = 252, kScratchColumns = 128;
constexpr int64_t kScratch = kDepth * (kScratchRows + kScratchColumns);

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

int64_t batchOffset(const std::vector<int64_t> &batch, const std::vector<int64_t> &strides,
                    int64_t member) {
  int64_t offset = 0;
  for (size_t d = batch.size(); d-- > 0; member /= batch[d])
    offset += member % batch[d] * strides[d];
  return offset;
}

/// The rows of A, or the columns of B.
struct PackedSide {
  const std::byte *data = nullptr;
  int64_t bytes = 0; ///< of an element
  int64_t lanes = 0, laneStride = 0, depthStride = 0;
  int64_t panel = 1; ///< lanes of a panel
  PackPanels pack = nullptr;

  int64_t first = 0; ///< the number of its first lane in what it was cut from
  /// Where the panels are, if packed ahead: depth block by depth block, each the panels of
  /// `aheadLanes` lanes, whole panels.
  const float *ahead = nullptr;
  int64_t aheadLanes = 0;

  int64_t panels() const { return divideUp(lanes, panel); }
  PackedSide slice(int64_t begin, int64_t size) const {
    PackedSide part = *this;
    part.data += begin * laneStride * bytes;
    part.lanes = std::min(size, lanes - begin);
    part.first += begin;
    return part;
  }
  /// What `panelsOf` will read.
  GemmPrefetch sourceOf(int64_t begin, int64_t depth) const {
    const std::byte *source = data + begin * depthStride * bytes;
    if (laneStride == 1)
      return {source, depth, depthStride * bytes, lanes * bytes};
    return {source, lanes, laneStride * bytes, depthStride == 1 ? depth * bytes : 0};
  }
  /// The panels of the block of `depth` that starts at `begin`: packed now, unless they
  /// are already.
  const float *panelsOf(int64_t begin, int64_t depth, float *scratch) const {
    if (ahead)
      return ahead + begin * aheadLanes + first * depth;
    pack(data + begin * depthStride * bytes, laneStride, depthStride, lanes, depth, scratch);
    return scratch;
  }
};

using Side = PackedSide;

namespace {

/// A side cut into blocks of whole panels: `large` ones for three quarters of it, then
/// `small` ones, so that no thread has much left when the others are done.
struct Blocks {
  int64_t panel, panels, large, small, largeCount;
  Blocks(const Side &side, int64_t largePanels, int64_t smallPanels)
      : panel(side.panel), panels(side.panels()), large(largePanels), small(smallPanels),
        largeCount(panels * 3 / 4 / large) {}
  explicit Blocks(const Side &side) : Blocks(side, std::max<int64_t>(1, side.panels()), 1) {
    largeCount = 1;
  }
  int64_t count() const {
    return largeCount + std::max<int64_t>(0, divideUp(panels - largeCount * large, small));
  }
  Side operator()(const Side &side, int64_t block) const {
    return block < largeCount
               ? side.slice(block * large * panel, large * panel)
               : side.slice((largeCount * large + (block - largeCount) * small) * panel,
                            small * panel);
  }
};

} // namespace

/// A product, or a block of one.
struct PackedProduct {
  Side lhs, rhs;
  int64_t depth = 0;
  float *out = nullptr; ///< C; or where its sums over the first depths are, if it is bf16
  int64_t rowStride = 0, columnStride = 0;
  float beta = 0;
  RoundedOutput rounded = {}; ///< C if it is bf16
  bool isLast = true;         ///< no more depths come after these

  /// Sums of more than one block of depth have to be kept in f32.
  bool needsSums() const { return rounded.data && depth > kDepth; }
  int64_t numSums() const { return lhs.lanes * rhs.lanes; }
  void setSums(float *sums) {
    out = sums;
    rowStride = rhs.lanes;
    columnStride = 1;
  }

  PackedProduct block(const Side &rows, const Side &columns) const {
    PackedProduct part = *this;
    if (out)
      part.out += (rows.first - lhs.first) * rowStride + (columns.first - rhs.first) * columnStride;
    if (rounded.data)
      part.rounded.data += (rows.first - lhs.first) * rounded.rowStride +
                           (columns.first - rhs.first) * rounded.columnStride;
    part.lhs = rows;
    part.rhs = columns;
    return part;
  }
  PackedProduct depthSlice(int64_t begin, int64_t size) const {
    PackedProduct part = *this;
    part.lhs.data += begin * lhs.depthStride * lhs.bytes;
    part.rhs.data += begin * rhs.depthStride * rhs.bytes;
    part.depth = std::min(size, depth - begin);
    part.isLast = begin + part.depth == depth;
    if (begin > 0)
      part.beta = 1;
    return part;
  }
};

namespace {

/// One member of the batch.
PackedProduct productOf(const GemmProblem &p, const GemmKernels &kernels, const void *lhs,
                        const void *rhs, void *out, int64_t member) {
  auto place = [&](const void *data, const MatrixLayout &layout) {
    return static_cast<const std::byte *>(data) +
           batchOffset(p.batch, layout.batchStrides, member) * sizeOf(p.typeOf(layout));
  };
  PackedProduct product;
  product.lhs = {place(lhs, p.lhs), sizeOf(p.typeOf(p.lhs)), p.m, p.lhs.rowStride,
                 p.lhs.columnStride};
  product.rhs = {place(rhs, p.rhs), sizeOf(p.typeOf(p.rhs)), p.n, p.rhs.columnStride,
                 p.rhs.rowStride};
  product.depth = p.k;
  auto *first = const_cast<std::byte *>(place(out, p.out));
  product.out = reinterpret_cast<float *>(first);
  product.rowStride = p.out.rowStride;
  product.columnStride = p.out.columnStride;
  product.beta = float(p.beta);
  if (p.out.bf16)
    product.rounded = {reinterpret_cast<uint16_t *>(first), p.out.rowStride, p.out.columnStride};
  // Kernels write rows: where C's columns are together, we make the transposed product, of
  // the same bits. So also for a single column.
  if (p.n == 1 || (p.out.columnStride != 1 && p.out.rowStride == 1)) {
    std::swap(product.lhs, product.rhs);
    std::swap(product.rowStride, product.columnStride);
    std::swap(product.rounded.rowStride, product.rounded.columnStride);
  }
  if (p.out.bf16)
    product.out = nullptr;
  auto packer = [](const Packers &packers, const Side &side) {
    return side.bytes == 2 ? packers.bf16 : packers.f32;
  };
  product.lhs.panel = kernels.rows;
  product.lhs.pack = packer(kernels.packRows, product.lhs);
  product.rhs.panel = kernels.columns;
  product.rhs.pack = packer(kernels.packColumns, product.rhs);
  return product;
}

/// Nanoseconds, roughly, on one thread.
double cost(const PackedProduct &p) {
  double lanes = double(p.lhs.lanes + p.rhs.lanes), depth = double(p.depth);
  return double(p.lhs.lanes) * double(p.rhs.lanes) * depth / 100 + lanes * depth / 10;
}

} // namespace

float *PackedGemm::scratch(int worker) const { return scratch_.data + worker * kScratch; }

Status PackedGemm::Elements::reserve(int64_t wanted) {
  if (wanted <= count)
    return {};
  *this = {}; // Before the larger one is there.
  uint64_t bytes = uint64_t(wanted) * sizeof(float);
  if (!(memory = allocateAligned(bytes)))
    return Status(StatusCode::resourceExhausted,
                  "no memory for " + std::to_string(bytes) + " bytes of a matrix product's panels");
  data = reinterpret_cast<float *>(memory.get());
  count = wanted;
  return {};
}

static int64_t numMembers(const GemmProblem &problem) {
  int64_t members = 1;
  for (int64_t size : problem.batch)
    members *= size;
  return members;
}

/// Not worth packing ahead, or in a batch.
static bool isSmall(const PackedProduct &product, int64_t members) {
  constexpr double worthWaking = 10e3, worthPackingAhead = 1e6;
  return cost(product) < (members == 1 ? worthWaking : worthPackingAhead);
}

static Blocks smallBlocks(const PackedProduct &product) {
  int64_t rows = kScratchRows / product.lhs.panel;
  return Blocks(product.lhs, rows, rows);
}

/// One row of A, and elements of B and C of neighbouring columns side by side.
static bool isRow(const PackedProduct &p) {
  return p.lhs.lanes == 1 && p.columnStride == 1 && (p.rhs.laneStride == 1 || p.rhs.lanes == 1);
}

void PackedGemm::runRow(const GemmProblem &problem, const void *lhs, const void *rhs, void *out,
                        int64_t members) {
  // A task's part of B takes some 10 µs to read, its rows a few lines each.
  constexpr int64_t elements = 64 << 10, fewest = 128;
  int64_t lanes = std::max(problem.m, problem.n);
  int64_t size = std::max(fewest, elements / std::max<int64_t>(1, problem.k) / fewest * fewest);
  int64_t tasks = divideUp(lanes, size);
  pool_.run(members * tasks, [&](int64_t task) {
    PackedProduct p = productOf(problem, kernels_, lhs, rhs, out, task / tasks);
    multiplyRowPart(p, p.rhs.slice(task % tasks * size, size));
  });
}

/// Some columns. Sums of a bf16 result, and a bf16 row of A, pass through the stack.
void PackedGemm::multiplyRowPart(const PackedProduct &p, const Side &columns) const {
  constexpr int64_t most = 1024;
  MultiplyRow multiply = columns.bytes == 2 ? kernels_.multiplyRow.bf16 : kernels_.multiplyRow.f32;
  int64_t atOnce = p.rounded.data ? most : std::max<int64_t>(1, columns.lanes);
  alignas(64) float sums[most], wide[kDepth];
  for (int64_t column = 0; column < columns.lanes; column += atOnce) {
    Side part = columns.slice(column, atOnce);
    float *c = p.rounded.data ? sums : p.out + part.first;
    for (int64_t begin = 0; begin < std::max<int64_t>(1, p.depth); begin += kDepth) {
      int64_t depth = std::min(kDepth, p.depth - begin);
      const std::byte *row = p.lhs.data + begin * p.lhs.depthStride * p.lhs.bytes;
      const float *a = reinterpret_cast<const float *>(row);
      bool isWide = p.lhs.bytes == sizeof(float);
      for (int64_t k = 0; !isWide && k < depth; ++k)
        wide[k] = bf16ToFloat(reinterpret_cast<const uint16_t *>(row)[k * p.lhs.depthStride]);
      multiply(part.lanes, depth, isWide ? a : wide, isWide ? p.lhs.depthStride : 1,
               part.data + begin * part.depthStride * part.bytes, part.depthStride,
               begin > 0 ? 1.f : p.beta, c);
    }
    for (int64_t l = 0; p.rounded.data && l < part.lanes; ++l)
      p.rounded.data[part.first + l] = floatToBf16(sums[l]);
  }
}

Status PackedGemm::run(const GemmProblem &problem, const void *lhs, const void *rhs, void *out) {
  int64_t members = numMembers(problem);
  if (members == 0 || problem.m == 0 || problem.n == 0)
    return {};
  if (isRow(productOf(problem, kernels_, lhs, rhs, out, 0))) {
    runRow(problem, lhs, rhs, out, members);
    return {};
  }
  MINIGPTC_RETURN_IF_ERROR(scratch_.reserve(pool_.threads() * kScratch));
  PackedProduct product = productOf(problem, kernels_, lhs, rhs, out, 0);
  if (isSmall(product, members)) {
    Blocks blocks = smallBlocks(product);
    int64_t sums = blocks(product.lhs, 0).lanes * product.rhs.lanes;
    if (product.needsSums())
      MINIGPTC_RETURN_IF_ERROR(sums_.reserve(sums * pool_.threads()));
    pool_.run(members * blocks.count(), [&](int64_t task, int worker) {
      PackedProduct whole = productOf(problem, kernels_, lhs, rhs, out, task / blocks.count());
      PackedProduct block = whole.block(blocks(whole.lhs, task % blocks.count()), whole.rhs);
      if (block.needsSums())
        block.setSums(sums_.data + worker * sums);
      multiplyBlock(block, worker);
    });
    return {};
  }
  for (int64_t member = 0; member < members; ++member)
    MINIGPTC_RETURN_IF_ERROR(runAhead(productOf(problem, kernels_, lhs, rhs, out, member)));
  return {};
}

/// Few lanes and much depth, as in gradients of weights: both operands are packed ahead.
static bool packsBoth(const PackedProduct &p) { return p.lhs.panels() < 32 && p.rhs.panels() < 16; }

namespace {

/// Which operands of a chunk are packed ahead.
struct ChunkPlan {
  bool alongRows, both;
  ChunkPlan(const PackedProduct &p, int64_t ahead) : alongRows(p.lhs.lanes >= p.rhs.lanes) {
    int64_t longer = std::max(p.lhs.panels() * p.lhs.panel, p.rhs.panels() * p.rhs.panel);
    both = packsBoth(p) && longer * p.depth <= ahead;
  }
  bool packsLhs() const { return !alongRows || both; }
  bool packsRhs() const { return alongRows || both; }
};

int64_t panelElements(const Side &side, int64_t depth) {
  return side.panels() * side.panel * depth;
}

/// Calls `part(lanes)` and then `chunk(lanes, begin, depth)` for what is packed at once.
template <typename PartFn, typename ChunkFn>
Status forEachChunk(const PackedProduct &product, int64_t ahead, PartFn &&part, ChunkFn &&chunk) {
  // Both operands packed should stay in the second cache; a longer one must fit in the memory.
  constexpr int64_t secondCache = 256 << 10;
  bool both = packsBoth(product), alongRows = product.lhs.lanes >= product.rhs.lanes;
  const Side &packed = alongRows ? product.rhs : product.lhs;
  int64_t most = ahead / kDepth / packed.panel * packed.panel;
  for (int64_t lane = 0; lane < packed.lanes; lane += most) {
    Side side = packed.slice(lane, most);
    PackedProduct lanes =
        alongRows ? product.block(product.lhs, side) : product.block(side, product.rhs);
    MINIGPTC_RETURN_IF_ERROR(part(lanes));
    int64_t room = both ? std::min(ahead, secondCache) : ahead;
    int64_t atOnce = both ? product.lhs.lanes + product.rhs.lanes : side.panels() * side.panel;
    int64_t depth = std::max<int64_t>(1, room / atOnce / kDepth) * kDepth;
    for (int64_t begin = 0; begin < std::max<int64_t>(1, product.depth); begin += depth)
      MINIGPTC_RETURN_IF_ERROR(chunk(lanes.depthSlice(begin, depth)));
  }
  return {};
}

/// Of a task that packs both operands, or the one that is not packed ahead.
int64_t scratchElements(const PackedProduct &p) {
  auto touched = [](const Side &side, int64_t most) {
    return side.ahead ? 0 : std::min(most, side.panels() * side.panel);
  };
  return std::min(kDepth, p.depth) *
         (touched(p.lhs, kScratchRows) + touched(p.rhs, kScratchColumns));
}

} // namespace

Status PackedGemm::runAhead(const PackedProduct &product) {
  float *sums = nullptr;
  auto part = [&](const PackedProduct &lanes) -> Status {
    if (!lanes.needsSums())
      return {};
    MINIGPTC_RETURN_IF_ERROR(sums_.reserve(lanes.numSums()));
    sums = sums_.data;
    return {};
  };
  return forEachChunk(product, ahead_, part, [&](PackedProduct chunk) {
    if (sums)
      chunk.setSums(sums);
    return runChunk(chunk);
  });
}

Status PackedGemm::runChunk(const PackedProduct &product) {
  PackedProduct p = product;
  ChunkPlan plan(p, ahead_);
  auto placeAhead = [&](Side &side, Elements &memory) -> Status {
    MINIGPTC_RETURN_IF_ERROR(memory.reserve(panelElements(side, p.depth)));
    side.ahead = memory.data;
    side.aheadLanes = side.panels() * side.panel;
    side.first = 0;
    return {};
  };
  if (plan.packsLhs())
    MINIGPTC_RETURN_IF_ERROR(placeAhead(p.lhs, lhs_));
  if (plan.packsRhs())
    MINIGPTC_RETURN_IF_ERROR(placeAhead(p.rhs, rhs_));
  packAhead(p);
  auto [alongRows, both] = plan;
  Blocks rows = both ? Blocks(p.lhs, 3, 3) : alongRows ? Blocks(p.lhs, 6, 2) : Blocks(p.lhs);
  Blocks columns = both ? Blocks(p.rhs, 2, 2) : alongRows ? Blocks(p.rhs) : Blocks(p.rhs, 4, 1);
  pool_.run(rows.count() * columns.count(), [&](int64_t task, int worker) {
    multiplyBlock(p.block(rows(p.lhs, task % rows.count()), columns(p.rhs, task / rows.count())),
                  worker);
  });
  return {};
}

void GemmMemory::include(const GemmMemory &other) {
  lhs = std::max(lhs, other.lhs);
  rhs = std::max(rhs, other.rhs);
  sums = std::max(sums, other.sums);
  scratch = std::max(scratch, other.scratch);
}

GemmMemory PackedGemm::memoryFor(const GemmProblem &problem, const GemmKernels &kernels,
                                 int threads, int64_t ahead) {
  GemmMemory memory;
  int64_t members = numMembers(problem);
  if (members == 0 || problem.m == 0 || problem.n == 0)
    return memory;
  float nowhere = 0; // Only strides and sizes matter.
  PackedProduct product = productOf(problem, kernels, &nowhere, &nowhere, &nowhere, 0);
  if (isRow(product))
    return memory;
  if (isSmall(product, members)) {
    if (product.needsSums())
      memory.sums = threads * smallBlocks(product)(product.lhs, 0).lanes * product.rhs.lanes;
    memory.scratch = threads * scratchElements(product);
    return memory;
  }
  auto part = [&](const PackedProduct &lanes) -> Status {
    memory.include({.sums = lanes.needsSums() ? lanes.numSums() : 0});
    return {};
  };
  Status done = forEachChunk(product, ahead, part, [&](PackedProduct chunk) -> Status {
    ChunkPlan plan(chunk, ahead);
    if (plan.packsLhs()) {
      memory.include({.lhs = panelElements(chunk.lhs, chunk.depth)});
      chunk.lhs.ahead = &nowhere;
    }
    if (plan.packsRhs()) {
      memory.include({.rhs = panelElements(chunk.rhs, chunk.depth)});
      chunk.rhs.ahead = &nowhere;
    }
    memory.include({.scratch = threads * scratchElements(chunk)});
    return {};
  });
  return done.ok() ? memory : GemmMemory{};
}

void PackedGemm::packAhead(const PackedProduct &product) {
  constexpr int64_t atOnce = 32 << 10;
  auto packSide = [&](const Side &side) {
    if (!side.ahead)
      return;
    int64_t panels = divideUp(atOnce, side.panel * kDepth);
    Blocks groups(side, panels, panels);
    pool_.run(groups.count() * divideUp(product.depth, kDepth), [&](int64_t task) {
      Side group = groups(side, task % groups.count());
      int64_t begin = task / groups.count() * kDepth;
      int64_t depth = std::min(kDepth, product.depth - begin);
      float *target =
          const_cast<float *>(side.ahead) + begin * side.aheadLanes + group.first * depth;
      side.pack(group.data + begin * side.depthStride * side.bytes, side.laneStride,
                side.depthStride, group.lanes, depth, target);
    });
  };
  packSide(product.lhs);
  packSide(product.rhs);
}

void PackedGemm::multiplyBlock(const PackedProduct &p, int worker) const {
  float *rowPanels = scratch(worker), *columnPanels = rowPanels + kDepth * kScratchRows;
  int64_t columnsAtOnce = p.rhs.ahead ? p.rhs.lanes : kScratchColumns;
  auto depthFrom = [&](int64_t begin) { return std::min(kDepth, p.depth - begin); };
  // A product of no depth is beta · C.
  for (int64_t begin = 0; begin < std::max<int64_t>(1, p.depth); begin += kDepth) {
    int64_t depth = depthFrom(begin), end = begin + depth;
    const float *a = p.lhs.panelsOf(begin, depth, rowPanels);
    for (int64_t column = 0; column < p.rhs.lanes; column += columnsAtOnce) {
      Side columns = p.rhs.slice(column, columnsAtOnce);
      const float *b = columns.panelsOf(begin, depth, columnPanels);
      // What is packed next: more columns, or one of the operands of the next depth.
      GemmPrefetch next;
      if (int64_t other = column + columnsAtOnce; other < p.rhs.lanes)
        next = p.rhs.slice(other, columnsAtOnce).sourceOf(begin, depth);
      else if (end < p.depth && !p.rhs.ahead)
        next = p.rhs.slice(0, columnsAtOnce).sourceOf(end, depthFrom(end));
      else if (end < p.depth && !p.lhs.ahead)
        next = p.lhs.sourceOf(end, depthFrom(end));
      float beta = begin == 0 ? p.beta : 1.f;
      if (p.rounded.data && p.isLast && end == p.depth) {
        RoundedOutput out = p.rounded;
        out.data += column * out.columnStride;
        kernels_.multiplyRounded(p.lhs.lanes, columns.lanes, depth, a, b, beta,
                                 p.out ? p.out + column : nullptr, p.rowStride, out, next);
      } else {
        kernels_.multiply(p.lhs.lanes, columns.lanes, depth, a, b, beta,
                          p.out + column * p.columnStride, p.rowStride, p.columnStride, next);
      }
    }
  }
}

} // namespace minigptc::runtime
