// Lines that programs print: their text, their instruction, damaged ones.
#include "minigptc/runtime/Print.h"
#include "minigptc/runtime/Session.h"
#include "runtime/base/PrintLine.h"
#include "runtime/base/Scalar.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
using Catch::Matchers::Contains;

namespace {

using Lines = std::vector<std::string>;

template <typename T> std::string textOf(DType dtype, const Shape &shape, std::vector<T> values) {
  return toText({dtype, shape, reinterpret_cast<const std::byte *>(values.data())});
}

/// Collects lines while it lives.
struct Printed {
  Printed() {
    setPrintSink([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~Printed() { setPrintSink({}); }
  Lines lines;
};

/// The test program, whose step prints its loss and indices last.
TestProgram makePrintingProgram() {
  TestProgram program = makeTestProgram();
  fb::ArtifactT &table = program.table;
  table.groups.push_back(std::make_unique<fb::GroupT>());
  auto print = std::make_unique<fb::PrintT>();
  print->texts = {"loss ", " of ", ""};
  for (auto [element, shape] : {std::pair(fb::ElementType::f32, std::vector<int64_t>{}),
                                std::pair(fb::ElementType::i32, std::vector<int64_t>{4})}) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->element = element;
    type->shape = shape;
    print->types.push_back(std::move(type));
  }
  table.prints.push_back(std::move(print));
  fb::BlockT &step = *table.blocks[1];
  step.instructions.emplace_back(fb::Opcode::print, 0, uint32_t(step.operands.size()), 2, 0,
                                 kNoLocation, 0);
  step.operands.insert(step.operands.end(), {5, 2});
  return program;
}

std::string refusal(const std::function<void(fb::ArtifactT &)> &change) {
  TestProgram program = makePrintingProgram();
  change(program.table);
  StatusOr<Program> result = readArtifact(program.finish());
  return result ? "" : result.status().message();
}

} // namespace

TEST_CASE("tensors as text") {
  CHECK(textOf<float>(f32, {}, {0.1f}) == "0.1");
  CHECK(textOf<double>(f64, {}, {0.1 + 0.2}) == "0.30000000000000004");
  CHECK(textOf<float>(f32, {4}, {1, -0.0f, INFINITY, 1e-30f}) == "[1, -0, inf, 1e-30]");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  CHECK(textOf<float>(f32, {2}, {kNan, -kNan}) == "[nan, nan]");
  CHECK(textOf<uint16_t>(bf16, {2}, {floatToBf16(1.5f), floatToBf16(0.1f)}) ==
        "[1.5, 0.100097656]");
  CHECK(textOf<uint16_t>(f16, {}, {floatToF16(0.5f)}) == "0.5");
  CHECK(textOf<int64_t>(i64, {}, {std::numeric_limits<int64_t>::min()}) == "-9223372036854775808");
  CHECK(textOf<uint64_t>(u64, {}, {~uint64_t(0)}) == "18446744073709551615");
  CHECK(textOf<uint8_t>(i1, {2}, {0, 1}) == "[false, true]");
  CHECK(textOf<int8_t>(i8, {2, 2}, {-1, 2, 3, 4}) == "[[-1, 2], [3, 4]]");
  CHECK(textOf<float>(f32, {2, 0}, {}) == "[[], []]");
  std::vector<int32_t> many(1001);
  std::iota(many.begin(), many.end(), 0);
  CHECK(textOf<int32_t>(i32, {1001}, many) == "[0, 1, 2, ..., 998, 999, 1000]");
  CHECK(textOf<int32_t>(i32, {143, 7}, many).starts_with("[[0, 1, 2, ..., 4, 5, 6], [7, "));
  many.pop_back();
  CHECK_THAT(textOf<int32_t>(i32, {1000}, many), Contains("3, 4, 5") && !Contains("..."));
  many.resize(1002);
  // Dimensions of six stay whole.
  CHECK_THAT(textOf<int32_t>(i32, {167, 6}, many), Contains("[6, 7, 8, 9, 10, 11]"));
}

TEST_CASE("a line for each example") {
  Printed printed;
  float values[] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2};
  auto *data = reinterpret_cast<const std::byte *>(values);
  std::vector<std::string_view> texts = {"x ", ""};
  PrintedTensor x{f32, shape, data};
  for (size_t dims : {0, 1, 2})
    printLines(texts, {&x, 1}, dims);
  CHECK(printed.lines ==
        Lines{"x [[1, 2], [3, 4]]", "x [1, 2]", "x [3, 4]", "x 1", "x 2", "x 3", "x 4"});
}

TEST_CASE("a sink sets another one, or throws") {
  Printed first;
  Lines second;
  setPrintSink([&](std::string_view line) {
    first.lines.emplace_back(line);
    setPrintSink([&second](std::string_view later) { second.emplace_back(later); });
  });
  std::vector<std::string_view> one = {"one"}, two = {"two"};
  printLines(one, {}, 0);
  printLines(two, {}, 0);
  CHECK(first.lines == Lines{"one"});
  CHECK(second == Lines{"two"});
  setPrintSink([](std::string_view) { throw 5; });
  CHECK_THROWS_AS(printLines(one, {}, 0), std::runtime_error);
}

TEST_CASE("a program prints what it has come to") {
  Printed printed;
  StatusOr<Session> session = Session::load(makePrintingProgram().finish(), {.threads = 2});
  INFO((session ? "" : session.status().toString()));
  REQUIRE(session.ok());
  for (float weight : {1.0f, 0.25f}) {
    Array w = Array::fromSpan<float>({8, 8}, std::vector<float>(64, weight));
    Array x = Array::fromSpan<int32_t>({4}, std::vector<int32_t>{0, 1, 2, 63});
    REQUIRE(session->run("step", std::vector<Array>{w, Array::scalar<int64_t>(0), x}).ok());
  }
  CHECK(printed.lines == Lines{"loss 4 of [0, 1, 2, 63]", "loss 1 of [0, 1, 2, 63]"});
}

TEST_CASE("damaged prints are refused") {
  using T = fb::ArtifactT;
  CHECK(refusal([](T &) {}) == "");
  CHECK_THAT(refusal([](T &t) { t.prints.clear(); }), Contains("a print that is not there"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->texts.pop_back(); }),
             Contains("a print of 2 tensors with 2 texts around them"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->texts.clear(); }), Contains("with 0 texts"));
  CHECK_THAT(refusal([](T &t) {
               t.prints[0]->types.pop_back();
               t.prints[0]->texts.pop_back();
             }),
             Contains("a print of another number of tensors"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->types[1]->shape = {5}; }),
             Contains("16 bytes where 20 are needed"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->types[1]->element = fb::ElementType(77); }),
             Contains("unknown element type"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->examples = 1; }), Contains("other examples"));
  CHECK_THAT(refusal([](T &t) {
               t.prints[0]->types[0]->shape = {4};
               t.prints[0]->examples = ~0u;
             }),
             Contains("other examples"));
  CHECK_THAT(refusal([](T &t) {
               for (auto &type : t.prints[0]->types)
                 type->shape = {int64_t(1) << 40, 0};
               t.prints[0]->examples = 1;
             }),
             Contains("too many lines"));
  CHECK_THAT(refusal([](T &t) { t.prints[0]->group = 1; }), Contains("group that is not there"));
  for (auto [inputs, outputs] : {std::pair(1, 0), std::pair(1, 1), std::pair(2, 1)})
    CHECK_THAT(refusal([&](T &t) {
                 fb::BlockT &step = *t.blocks[1];
                 fb::Instruction &print = step.instructions.back();
                 step.operands.push_back(7); // The frame: it may be written.
                 print = fb::Instruction(fb::Opcode::print, 0, print.first_operand(),
                                         uint32_t(inputs), uint32_t(outputs), kNoLocation, 0);
               }),
               Contains("a print of another number of tensors"));
}
