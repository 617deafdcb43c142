// Random matrix products, on each target against the interpreter: any shapes, layouts and
// types that a program can ask for, whatever the target's library makes of them.
#include "test/compiler/random/RandomInputs.h"
#include "test/support/CompiledModule.h"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>

using namespace minigptc::test;

namespace {

enum class Role { batch, contract, free };

struct Dim {
  Role role;
  int64_t size;
  size_t number; ///< of the batching or contracting pair
};

class ProductGenerator {
public:
  explicit ProductGenerator(uint64_t seed) : random_(seed) {}

  /// A module with @f, whose result is a product, or a sum of some.
  std::string module() {
    element_ = oneOf<const char *>({"f32", "f32", "f64", "bf16", "bf16", "i32", "i64"});
    std::string result = element_;
    bool isFloat = element_[0] != 'i';
    if (element_ == "bf16" && chance(0.4))
      result = "f32"; // the sum before it is rounded
    draw();
    std::string out = "tensor<" + shapeOf(out_) + result + ">";
    std::ostringstream arguments, body;
    int64_t products = chance(0.4) ? 2 : 1;
    for (int64_t i = 0; i < products; ++i) {
      arguments << (i ? ", " : "") << "%a" << i << ": " << type(lhs_) << ", %b" << i << ": "
                << type(rhs_);
      body << "  %p" << i << " = graph.dot_general %a" << i << ", %b" << i
           << ", batching_dims = " << dims(lhs_, Role::batch) << " x " << dims(rhs_, Role::batch)
           << ", contracting_dims = " << dims(lhs_, Role::contract) << " x "
           << dims(rhs_, Role::contract) << " : (" << type(lhs_) << ", " << type(rhs_) << ") -> "
           << out << "\n";
    }
    std::string last = "%p0";
    bool biased = isFloat && products == 1 && chance(0.5);
    if (biased) { // perhaps the product's own last act
      std::string columns = shapeOf(rhsFree_), dimensions;
      for (size_t i = out_.size() - rhsFree_.size(); i < out_.size(); ++i)
        dimensions += (dimensions.empty() ? "" : ", ") + std::to_string(i);
      std::string bias = "tensor<" + columns + result + ">";
      bool converted = chance(0.3);
      arguments << ", %c: tensor<" << columns << (converted ? "f64" : result) << ">";
      if (converted)
        body << "  %d = graph.convert %c : (tensor<" << columns << "f64>) -> " << bias << "\n";
      body << "  %e = graph.broadcast_in_dim " << (converted ? "%d" : "%c") << ", dims = ["
           << dimensions << "] : (" << bias << ") -> " << out << "\n  %s = graph.add "
           << (chance(0.5) ? "%p0, %e" : "%e, %p0") << " : " << out << "\n";
      last = "%s";
    }
    if (products == 2) {
      body << "  %s = graph.add %p0, %p1 : " << out << "\n";
      last = "%s";
    }
    if (isFloat && !biased && chance(0.3)) {
      body << "  %t = graph.negate " << last << " : " << out << "\n";
      last = "%t";
    }
    std::string sums;
    if (isFloat && chance(0.4)) { // perhaps what the product makes beside
      std::vector<int64_t> others;
      for (const Dim &dim : rhs_)
        if (dim.role != Role::contract)
          others.push_back(dim.size);
      std::string wide = "tensor<";
      for (const Dim &dim : rhs_)
        wide += std::to_string(dim.size) + "x";
      wide += result + ">";
      sums = "tensor<" + shapeOf(others) + result + ">";
      body << "  %w = graph.convert %b0 : (" << type(rhs_) << ") -> " << wide
           << "\n  %u = graph.reduce sum, %w, dims = " << dims(rhs_, Role::contract) << " : ("
           << wide << ") -> " << sums << "\n";
    }
    std::string types = sums.empty() ? out : out + ", " + sums;
    return "func.func @f(" + arguments.str() + ") -> (" + types + ") {\n" + body.str() +
           "  return " + last + (sums.empty() ? "" : ", %u") + " : " + types + "\n}\n";
  }

private:
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  template <typename T> T oneOf(std::vector<T> list) {
    return list[size_t(number(0, int64_t(list.size()) - 1))];
  }
  int64_t size() {
    if (chance(0.03))
      return 0;
    return chance(0.1) ? number(7, 35) : number(1, 5);
  }

  void draw() {
    lhs_.clear(), rhs_.clear(), out_.clear(), rhsFree_.clear();
    for (size_t i = 0, count = size_t(number(0, 5) / 2); i < count; ++i) {
      Dim dim{Role::batch, size(), i};
      lhs_.push_back(dim), rhs_.push_back(dim), out_.push_back(dim.size);
    }
    for (size_t i = 0, count = size_t(number(0, 5) / 2); i < count; ++i) {
      Dim dim{Role::contract, size(), i};
      lhs_.push_back(dim), rhs_.push_back(dim);
    }
    for (std::vector<Dim> *operand : {&lhs_, &rhs_}) {
      for (int64_t i = number(0, 5) / 2; i > 0; --i)
        operand->push_back({Role::free, size(), 0});
      std::shuffle(operand->begin(), operand->end(), random_);
      for (const Dim &dim : *operand)
        if (dim.role == Role::free)
          out_.push_back(dim.size);
    }
    for (const Dim &dim : rhs_)
      if (dim.role == Role::free)
        rhsFree_.push_back(dim.size);
  }

  static std::string shapeOf(const std::vector<int64_t> &shape) {
    std::string text;
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text;
  }
  std::string type(const std::vector<Dim> &operand) const {
    std::vector<int64_t> shape;
    for (const Dim &dim : operand)
      shape.push_back(dim.size);
    return "tensor<" + shapeOf(shape) + element_ + ">";
  }
  static std::string dims(const std::vector<Dim> &operand, Role role) {
    std::vector<size_t> places(operand.size());
    size_t count = 0;
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i].role == role)
        places[operand[i].number] = i, ++count;
    std::string text = "[";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", " : "") + std::to_string(places[i]);
    return text + "]";
  }

  std::mt19937_64 random_;
  std::string element_;
  std::vector<Dim> lhs_, rhs_;
  std::vector<int64_t> out_, rhsFree_; ///< shapes
};

double toleranceOf(const std::vector<Tensor> &inputs) {
  mlir::Type element = inputs.front().getType().getElementType();
  return element.isBF16() ? 0.03 : element.isF64() ? 1e-9 : 1e-4;
}

struct Product {
  uint64_t seed;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> inputs, expected;
};

std::string wrongAlone(const Product &product, const char *target) {
  try {
    mlir::ModuleOp module = *product.module;
    CompiledModule compiled(module, target);
    return compareAll(compiled.run("f", product.inputs), product.expected,
                      toleranceOf(product.inputs));
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

void checkTarget(ModuleRunner &runner, const std::vector<Product> &products, const char *target) {
  mlir::OwningOpRef<mlir::ModuleOp> all =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&runner.context()));
  auto nameOf = [](const Product &product) { return "_" + std::to_string(product.seed); };
  for (const Product &product : products) {
    mlir::ModuleOp module = *product.module;
    moveFunctions(*mlir::OwningOpRef<mlir::ModuleOp>(module.clone()), *all, nameOf(product));
  }
  std::string wrong;
  try {
    CompiledModule compiled(*all, target);
    for (const Product &product : products) {
      INFO("seed " << product.seed << ", target " << target);
      CHECK(compareAll(compiled.run("f" + nameOf(product), product.inputs), product.expected,
                       toleranceOf(product.inputs)) == "");
    }
  } catch (const std::runtime_error &error) {
    wrong = error.what();
  }
  for (size_t i = 0; !wrong.empty() && i < products.size(); ++i)
    if (std::string alone = wrongAlone(products[i], target); !alone.empty())
      FAIL("seed " << products[i].seed << ", target " << target << ": " << alone);
  CHECK(wrong == "");
}

Product makeProduct(ModuleRunner &runner, uint64_t seed, const std::string &text) {
  Product product{seed, runner.parse(text), {}, {}};
  product.inputs = randomInputs(runner, *product.module, seed);
  product.expected = runner.run(*product.module, "f", product.inputs);
  return product;
}

} // namespace

TEST_CASE("Random products are the interpreter's on each target") {
  ModuleRunner runner;
  std::vector<Product> products;
  constexpr uint64_t kTogether = 50; // an artifact has a limit of entries
  for (uint64_t seed = 0; seed < 150; ++seed) {
    products.push_back(makeProduct(runner, seed, ProductGenerator(seed).module()));
    if (products.size() < kTogether)
      continue;
    checkTarget(runner, products, "cpu");
    checkTarget(runner, products, "cuda:test");
    products.clear();
  }
}

TEST_CASE("A program of one product, without kernels, runs on each target") {
  ModuleRunner runner;
  std::vector<Product> products;
  products.push_back(makeProduct(runner, 0, R"(
func.func @f(%a: tensor<5x7xf32>, %b: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return %p : tensor<5x4xf32>
})"));
  checkTarget(runner, products, "cpu");
  checkTarget(runner, products, "cuda:test");
}

TEST_CASE("Products make the sums of their right operand") {
  ModuleRunner runner;
  std::vector<Product> products;
  // Two kernels of sums over a weight's gradient of three dimensions; sums that are wider than
  // the operand; one column; sums of what the left operand is, too.
  for (
      const char *text :
      {R"(func.func @f(%a: tensor<3x7x5xf32>, %b: tensor<3x7x2x9xf32>) -> (tensor<5x2x9xf32>, tensor<2x9xf32>) {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [0, 1] x [0, 1] : (tensor<3x7x5xf32>, tensor<3x7x2x9xf32>) -> tensor<5x2x9xf32>
  %s = graph.reduce sum, %b, dims = [1] : (tensor<3x7x2x9xf32>) -> tensor<3x2x9xf32>
  %t = graph.reduce sum, %s, dims = [0] : (tensor<3x2x9xf32>) -> tensor<2x9xf32>
  return %p, %t : tensor<5x2x9xf32>, tensor<2x9xf32>
})",
       R"(func.func @f(%a: tensor<33x5xbf16>, %b: tensor<33x9xbf16>) -> (tensor<5x9xf32>, tensor<9xf32>) {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<33x5xbf16>, tensor<33x9xbf16>) -> tensor<5x9xf32>
  %w = graph.convert %b : (tensor<33x9xbf16>) -> tensor<33x9xf32>
  %t = graph.reduce sum, %w, dims = [0] : (tensor<33x9xf32>) -> tensor<9xf32>
  return %p, %t : tensor<5x9xf32>, tensor<9xf32>
})",
       R"(func.func @f(%a: tensor<33x1xbf16>, %b: tensor<33x1xbf16>) -> (tensor<1x1xbf16>, tensor<1xbf16>) {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<33x1xbf16>, tensor<33x1xbf16>) -> tensor<1x1xbf16>
  %t = graph.reduce sum, %b, dims = [0] : (tensor<33x1xbf16>) -> tensor<1xbf16>
  return %p, %t : tensor<1x1xbf16>, tensor<1xbf16>
})",
       R"(func.func @f(%a: tensor<6x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %p = graph.dot_general %a, %a, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %t = graph.reduce sum, %a, dims = [0] : (tensor<6x4xf32>) -> tensor<4xf32>
  return %p, %t : tensor<4x4xf32>, tensor<4xf32>
})"})
    products.push_back(makeProduct(runner, products.size(), text));
  checkTarget(runner, products, "cpu");
  checkTarget(runner, products, "cuda:test");
}

TEST_CASE("Products that no library takes as they lie") {
  ModuleRunner runner;
  std::vector<Product> products;
  // A batch within the rows; free dimensions around the depth; a batch of 70 · 80 turned round.
  for (const char *text :
       {R"(func.func @f(%a: tensor<5x7x3xf32>, %b: tensor<7x3x4xf32>) -> tensor<3x5x4xf32> {
  %p = graph.dot_general %a, %b, batching_dims = [2] x [1], contracting_dims = [1] x [0] : (tensor<5x7x3xf32>, tensor<7x3x4xf32>) -> tensor<3x5x4xf32>
  return %p : tensor<3x5x4xf32>
})",
        R"(func.func @f(%a: tensor<9x7x2xbf16>, %b: tensor<11x7x3xbf16>) -> tensor<9x2x11x3xbf16> {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<9x7x2xbf16>, tensor<11x7x3xbf16>) -> tensor<9x2x11x3xbf16>
  return %p : tensor<9x2x11x3xbf16>
})",
        R"(func.func @f(%a: tensor<70x80x2x3xf32>, %b: tensor<80x70x3xf32>) -> tensor<70x80x2xf32> {
  %p = graph.dot_general %a, %b, batching_dims = [0, 1] x [1, 0], contracting_dims = [3] x [2] : (tensor<70x80x2x3xf32>, tensor<80x70x3xf32>) -> tensor<70x80x2xf32>
  return %p : tensor<70x80x2xf32>
})",
        R"(func.func @f(%a: tensor<5x0xf32>, %b: tensor<0x4xf32>) -> tensor<5x4xf32> {
  %p = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<5x0xf32>, tensor<0x4xf32>) -> tensor<5x4xf32>
  return %p : tensor<5x4xf32>
})"})
    products.push_back(makeProduct(runner, products.size(), text));
  checkTarget(runner, products, "cpu");
  checkTarget(runner, products, "cuda:test");
}
