#include "runtime/drivers/cuda/emulator/MatrixOperations.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace minigptc::runtime::emulator {
namespace {

enum class Element { bf16, f16, tf32 };

struct Shape {
  Element element;
  uint32_t depth; ///< k
  uint32_t aWords() const { return element == Element::tf32 ? depth / 2 : depth / 4; }
  uint32_t bWords() const { return aWords() / 2; }
};

Shape shapeOf(WarpOp op) {
  switch (op) {
  case WarpOp::mmaM16N8K16Bf16: return {Element::bf16, 16};
  case WarpOp::mmaM16N8K16F16: return {Element::f16, 16};
  case WarpOp::mmaM16N8K8Bf16: return {Element::bf16, 8};
  case WarpOp::mmaM16N8K8F16: return {Element::f16, 8};
  case WarpOp::mmaM16N8K4Tf32: return {Element::tf32, 4};
  default: return {Element::tf32, 8};
  }
}

float fromHalf(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0)
    return std::copysign(std::ldexp(float(mantissa), -24), std::bit_cast<float>(sign));
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

/// Element `half` of a word; a word of tf32 has one, of which the unit sees 19 bits.
float element(Element type, uint32_t word, uint32_t half) {
  switch (type) {
  case Element::bf16: return std::bit_cast<float>(half ? word & 0xffff0000u : word << 16);
  case Element::f16: return fromHalf(uint16_t(half ? word >> 16 : word));
  case Element::tf32: return std::bit_cast<float>(word & ~0x1fffu);
  }
  return 0;
}

struct Fragments {
  float a[16][16], b[16][8], c[16][8];
};

void gather(Shape shape, const WarpLanes &lanes, Fragments &matrices) {
  uint32_t halves = shape.element == Element::tf32 ? 1 : 2;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    uint32_t group = lane / 4, inGroup = lane % 4;
    const uint32_t *a = lanes.in[lane], *b = a + shape.aWords(), *c = b + shape.bWords();
    for (uint32_t half = 0; half < halves; ++half) {
      for (uint32_t i = 0; i < shape.aWords(); ++i)
        matrices.a[group + i % 2 * 8][(inGroup + i / 2 * 4) * halves + half] =
            element(shape.element, a[i], half);
      for (uint32_t i = 0; i < shape.bWords(); ++i)
        matrices.b[(inGroup + i * 4) * halves + half][group] = element(shape.element, b[i], half);
    }
    for (uint32_t i = 0; i < 4; ++i)
      matrices.c[group + i / 2 * 8][inGroup * 2 + i % 2] = std::bit_cast<float>(c[i]);
  }
}

} // namespace

void multiplyMatrices(WarpOp op, const WarpLanes &lanes) {
  Shape shape = shapeOf(op);
  Fragments matrices;
  gather(shape, lanes, matrices);
  for (uint32_t m = 0; m < 16; ++m)
    for (uint32_t n = 0; n < 8; ++n)
      for (uint32_t k = 0; k < shape.depth; ++k)
        matrices.c[m][n] += matrices.a[m][k] * matrices.b[k][n];
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      lanes.out[lane][i] =
          std::bit_cast<uint32_t>(matrices.c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2]);
}

void loadMatrices(WarpOp op, const WarpLanes &lanes) {
  bool transposed = op >= WarpOp::loadMatrixTransposed1;
  for (uint32_t matrix = 0; matrix < matrixRows(op) / 8; ++matrix) {
    uint16_t elements[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      uint64_t address;
      std::memcpy(&address, lanes.in[matrix * 8 + row], sizeof(address));
      std::memcpy(elements[row], reinterpret_cast<const void *>(address), sizeof(elements[row]));
    }
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t row = lane / 4, column = lane % 4 * 2;
      uint32_t low = transposed ? elements[column][row] : elements[row][column];
      uint32_t high = transposed ? elements[column + 1][row] : elements[row][column + 1];
      lanes.out[lane][matrix] = low | high << 16;
    }
  }
}

} // namespace minigptc::runtime::emulator
