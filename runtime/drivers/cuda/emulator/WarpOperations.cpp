#include "runtime/drivers/cuda/emulator/WarpOperations.h"

#include "runtime/drivers/cuda/emulator/MatrixOperations.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace minigptc::runtime::emulator {
namespace {

template <typename Visit> void forLanes(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1)
    visit(uint32_t(std::countr_zero(mask)));
}

/// The lane that `lane` reads from; itself if that is out of range.
uint32_t sourceLane(WarpOp op, uint32_t lane, uint32_t operand, uint32_t control, bool &valid) {
  uint32_t clamp = control & 31, segment = control >> 8 & 31;
  uint32_t last = (lane & segment) | (clamp & ~segment);
  uint32_t source = lane;
  switch (op) {
  case WarpOp::shuffleUp:
    operand &= 31;
    valid = int(lane) - int(operand) >= int(last);
    source = lane - operand;
    break;
  case WarpOp::shuffleDown:
    source = lane + (operand & 31);
    valid = source <= last;
    break;
  case WarpOp::shuffleXor:
    source = lane ^ (operand & 31);
    valid = source <= last;
    break;
  default: source = (lane & segment) | (operand & 31 & ~segment); valid = source <= last;
  }
  return valid ? source : lane;
}

WarpResult shuffle(WarpOp op, const WarpLanes &lanes) {
  WarpResult result;
  forLanes(lanes.mask, [&](uint32_t lane) {
    const uint32_t *in = lanes.in[lane];
    bool valid;
    uint32_t source = sourceLane(op, lane, in[1], in[2], valid);
    if (!lanes.has(source))
      result.meaningless |= 1u << lane;
    lanes.out[lane][0] = lanes.has(source) ? lanes.in[source][0] : 0xffffffffu;
    lanes.out[lane][1] = valid;
  });
  return result;
}

uint32_t vote(WarpOp op, const WarpLanes &lanes) {
  uint32_t yes = 0;
  forLanes(lanes.mask, [&](uint32_t lane) { yes |= uint32_t(lanes.in[lane][0] != 0) << lane; });
  switch (op) {
  case WarpOp::voteAll: return yes == lanes.mask;
  case WarpOp::voteAny: return yes != 0;
  case WarpOp::voteUniform: return yes == 0 || yes == lanes.mask;
  default: return yes;
  }
}

void match(WarpOp op, const WarpLanes &lanes) {
  forLanes(lanes.mask, [&](uint32_t lane) {
    uint32_t equal = 0;
    forLanes(lanes.mask, [&](uint32_t other) {
      equal |= uint32_t(std::memcmp(lanes.in[lane], lanes.in[other], 8) == 0) << other;
    });
    bool all = equal == lanes.mask;
    lanes.out[lane][0] = op == WarpOp::matchAny || all ? equal : 0;
    lanes.out[lane][1] = all;
  });
}

uint32_t combine(WarpOp op, uint32_t x, uint32_t y) {
  switch (op) {
  case WarpOp::reduceAdd: return x + y;
  case WarpOp::reduceMin: return uint32_t(std::min(int32_t(x), int32_t(y)));
  case WarpOp::reduceMax: return uint32_t(std::max(int32_t(x), int32_t(y)));
  case WarpOp::reduceUnsignedMin: return std::min(x, y);
  case WarpOp::reduceUnsignedMax: return std::max(x, y);
  case WarpOp::reduceAnd: return x & y;
  case WarpOp::reduceOr: return x | y;
  default: return x ^ y;
  }
}

uint32_t reduce(WarpOp op, const WarpLanes &lanes) {
  uint32_t first = uint32_t(std::countr_zero(lanes.mask)), result = lanes.in[first][0];
  forLanes(lanes.mask & (lanes.mask - 1),
           [&](uint32_t lane) { result = combine(op, result, lanes.in[lane][0]); });
  return result;
}

void giveAll(const WarpLanes &lanes, uint32_t word) {
  forLanes(lanes.mask, [&](uint32_t lane) { lanes.out[lane][0] = word; });
}

} // namespace

WarpResult runWarpOperation(WarpOp op, const WarpLanes &lanes) {
  if (op == WarpOp::sync)
    return {};
  if (op <= WarpOp::shuffleIndex)
    return shuffle(op, lanes);
  if (op <= WarpOp::ballot)
    giveAll(lanes, vote(op, lanes));
  else if (op <= WarpOp::matchAll)
    match(op, lanes);
  else if (op <= WarpOp::reduceXor)
    giveAll(lanes, reduce(op, lanes));
  else if (matrixRows(op))
    loadMatrices(op, lanes);
  else
    multiplyMatrices(op, lanes);
  return {};
}

bool needsWholeWarp(WarpOp op) { return op >= WarpOp::mmaM16N8K16Bf16; }

uint32_t matrixRows(WarpOp op) {
  switch (op) {
  case WarpOp::loadMatrix1:
  case WarpOp::loadMatrixTransposed1: return 8;
  case WarpOp::loadMatrix2:
  case WarpOp::loadMatrixTransposed2: return 16;
  case WarpOp::loadMatrix4:
  case WarpOp::loadMatrixTransposed4: return 32;
  default: return 0;
  }
}

} // namespace minigptc::runtime::emulator
