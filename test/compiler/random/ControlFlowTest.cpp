// Loops of the frontend against the same loops unrolled by C++: values and gradients, in the
// interpreter and compiled.
#include "dialects/graph/IR/Graph.h"
#include "minigptc/trace/ControlFlow.h"
#include "minigptc/trace/Ops.h"
#include "minigptc/trace/Program.h"
#include "runtime/base/Cancellation.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>
#include <random>
#include <thread>

using namespace minigptc;
using namespace minigptc::test;

namespace {

/// `scan`, or what it stands for.
struct Loop {
  bool unrolled;

  template <typename F>
  ScanResult operator()(F f, const Tree &init, const Tree &xs, ScanOptions options = {}) const {
    if (!unrolled)
      return scan(f, init, xs, options);
    auto body = minigptc::detail::eraseLoopBody(f);
    auto leaves = xs.flatten();
    int64_t count = leaves.empty() ? options.length : leaves[0].second.dim(0);
    Tree carry = init;
    std::vector<Tree> made(count);
    for (int64_t call = 0; call < count; ++call) {
      int64_t k = options.reverse ? count - 1 - call : call;
      std::tie(carry, made[k]) = body(carry, xs.map([&](const Value &x) { return x[k]; }));
    }
    size_t next = 0;
    Tree ys = made[0].map([&](const Value &) {
      std::vector<Operand> parts;
      for (const Tree &y : made)
        parts.push_back(y.flatten()[next].second);
      ++next;
      return stack(parts);
    });
    return {carry, ys};
  }
};

/// Of parameters w [D, D] and b [D], and x [T, D]: a tree of floats that are summed for the loss.
using Body = std::function<Tree(const Loop &loop, Tree params, Value x)>;

Value sumOf(const Tree &tree) {
  Value total = zeros({});
  int64_t weight = 1;
  for (const auto &[path, leaf] : tree.flatten())
    total += sum(leaf * leaf) * (1.0 / double(weight++));
  return total;
}

Program traceBoth(const Body &body, int64_t T, int64_t D) {
  auto run = [&](bool unrolled) {
    return [&body, unrolled](Tree params, Value x) {
      auto loss = [&](Tree p, Value x) {
        Tree value = body({unrolled}, p, x);
        return Tree{{"value", sumOf(value)}, {"aux", value}};
      };
      auto [value, grads] = valueAndGrad(loss, {.argnums = {0, 1}, .hasAux = true})(params, x);
      return Tree{{"value", value["aux"]}, {"params", grads["0"]}, {"x", grads["1"]}};
    };
  };
  std::vector<TreeOf<TensorSpec>> specs{{{"w", TensorSpec(f32, {D, D})}, {"b", TensorSpec(f32, {D})}},
                                        TensorSpec(f32, {T, D})};
  return trace({{"loop", run(false), {{"params", specs[0]}, {"x", specs[1]}}},
                {"unrolled", run(true), {{"params", specs[0]}, {"x", specs[1]}}}});
}

/// Compiled code computes in f32; gradients of gradients are far from exact in it.
constexpr double kCompiled = 3e-4;

void compare(const Tensors &actual, const Tensors &expected, double relative = 1e-5) {
  REQUIRE(actual.size() == expected.size());
  std::vector<Tensor> all;
  for (const auto &[name, tensor] : expected)
    all.push_back(tensor);
  double norm = normOf(all);
  for (const auto &[name, tensor] : expected) {
    CAPTURE(name);
    REQUIRE(actual.count(name));
    CHECK(gradientDifference(actual.at(name), tensor, norm, relative) == "");
  }
}

/// The results of the emulated GPU's first run, of the one that is recorded if it can be, and of a
/// replay.
std::vector<Tensors> runOnGpu(ProgramRunner &runner, const Program &program, const Tensors &inputs) {
  auto module = runner.parse(program.print());
  auto function = module->lookupSymbol<mlir::func::FuncOp>("loop");
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(
        inputs.at(function.getArgAttrOfType<mlir::StringAttr>(i, graph::attr::kName).str()));
  CompiledModule compiled(*module, "cuda:test");
  std::vector<Tensors> runs(3);
  for (Tensors &results : runs)
    for (auto [i, value] : llvm::enumerate(compiled.run("loop", arguments)))
      results[function.getResultAttrOfType<mlir::StringAttr>(i, graph::attr::kName).str()] = value;
  return runs;
}

/// D = 16: rows of 64 bytes; D = 3: rows that buffers cannot begin at.
void check(const Body &body, std::vector<int64_t> widths = {16, 3}, bool compiles = true) {
  for (int64_t D : widths) {
    const int64_t T = 5;
    CAPTURE(D);
    Program program = traceBoth(body, T, D);
    ProgramRunner runner;
    auto random = [&](const std::string &type, uint64_t seed) {
      Tensor x = runner.random(runner.type(type), seed);
      for (int64_t i = 0; i < x.getNumElements(); ++i)
        x.setFloat(i, x.getFloat(i) * 0.5);
      return x;
    };
    std::string d = std::to_string(D);
    Tensors inputs{{"params.w", random(d + "x" + d + "xf32", 1)},
                   {"params.b", random(d + "xf32", 2)},
                   {"x", random(std::to_string(T) + "x" + d + "xf32", 3)}};
    Tensors expected = runner.run(program, "unrolled", inputs, "graph-autodiff");
    {
      INFO("interpreted");
      compare(runner.run(program, "loop", inputs, "graph-autodiff"), expected);
    }
    {
      INFO("interpreted at stage schedule");
      compare(runner.run(program, "loop", inputs, "minigptc-to-schedule"), expected);
    }
    if (!compiles)
      continue;
    {
      INFO("compiled");
      compare(CompiledModule(program, runner.context()).run("loop", inputs), expected, kCompiled);
    }
    INFO("compiled for the emulated GPU");
    for (const Tensors &results : runOnGpu(runner, program, inputs))
      compare(results, expected, kCompiled);
  }
}

Value cell(const Tree &p, const Value &h, const Value &x) {
  return tanh(matmul(h, p["w"]) + x + p["b"]);
}

} // namespace

TEST_CASE("a recurrent network") {
  check([](const Loop &loop, Tree p, Value x) {
    auto [h, ys] = loop(
        [&](Value h, Value x) {
          Value next = cell(p, h, x);
          return std::pair(next, next);
        },
        zerosLike(p["b"]), x);
    return Tree{{"h", h}, {"ys", ys}};
  });
}

TEST_CASE("a reversed loop") {
  check([](const Loop &loop, Tree p, Value x) {
    auto [h, ys] = loop(
        [&](Value h, Value x) {
          Value next = cell(p, h, x);
          return std::pair(next, sum(next * x));
        },
        p["b"], x, {.reverse = true});
    return Tree{{"h", h}, {"ys", ys}};
  });
}

TEST_CASE("nothing carried, nothing made, nothing to go over") {
  check([](const Loop &loop, Tree p, Value x) {
    Tree made = loop([&](Tree, Value x) { return std::pair(Tree{}, Tree(cell(p, x, x))); }, Tree{}, x).ys;
    Tree carried =
        loop([&](Value h, Value x) { return std::pair(cell(p, h, x), Tree{}); }, p["b"], x).carry;
    Tree counted = loop([&](Value h, Tree) { return std::pair(cell(p, h, h), h); }, p["b"], Tree{},
                        {.length = 4})
                       .ys;
    return Tree{{"made", made}, {"carried", carried}, {"counted", counted}};
  });
}

TEST_CASE("a loop in a loop") {
  check([](const Loop &loop, Tree p, Value x) {
    Value outside = tanh(p["w"]);
    auto [h, ys] = loop(
        [&](Value h, Value x) {
          auto [inner, zs] = loop(
              [&](Value s, Value row) {
                Value next = s * 0.5 + row * x;
                return std::pair(next, sum(next * h));
              },
              h, outside);
          return std::pair(Tree(inner), Tree{{"a", zs}, {"b", sum(inner)}});
        },
        p["b"], x);
    return Tree{{"h", h}, {"ys", ys}};
  });
}

TEST_CASE("checkpoints in a loop, and a loop in a checkpoint") {
  check([](const Loop &loop, Tree p, Value x) {
    auto step = [&](Value h, Value x) { return checkpoint([&](Value h) { return cell(p, h, x); })(h); };
    Tree inside = loop(
        [&](Value h, Value x) {
          Tree next = step(h, x);
          return std::pair(next, Tree{});
        },
        p["b"], x).carry;
    Tree outside = checkpoint([&](Value h, Tree p) {
      return loop(
                 [&](Value h, Value x) {
                   Value next = cell(p, h, x);
                   return std::pair(next, next * x);
                 },
                 h, x)
          .ys;
    })(p["b"], p);
    return Tree{{"inside", inside}, {"outside", outside}};
  });
}

TEST_CASE("several carried values that change places, and some that do not change") {
  check([](const Loop &loop, Tree p, Value x) {
    auto [c, ys] = loop(
        [&](Tree c, Value x) {
          Value a = c["a"], b = c["b"], n = c["n"];
          return std::pair(Tree{{"a", b},
                                {"b", a * x},
                                {"same", c["same"]},
                                {"n", n + 1},
                                {"never", a}},
                           Tree{{"scaled", a * convert(n, f32)}, {"w", p["w"]}, {"x", x}});
        },
        Tree{{"a", p["b"]},
             {"b", p["b"]},
             {"same", p["b"]},
             {"n", zeros({}, i32)},
             {"never", zerosLike(p["b"])}},
        x);
    return Tree{{"a", c["a"]}, {"same", c["same"]}, {"scaled", ys["scaled"]}, {"w", ys["w"]}};
  });
}

TEST_CASE("gradients in a loop, and gradients of gradients") {
  check([](const Loop &loop, Tree p, Value x) {
    Tree inner = loop(
        [&](Value h, Value x) {
          Tree g = grad([&](Value h) { return sum(cell(p, h, x)); })(h);
          return std::pair(g, g);
        },
        tanh(p["b"]), x).ys;
    Value w = p["w"];
    auto total = [&](Value b) {
      Tree q{{"w", w}, {"b", b}};
      Tree carry =
          loop([&](Value h, Value x) { return std::pair(cell(q, h, x), Tree{}); }, b, x).carry;
      return sum(carry * carry);
    };
    Tree second = grad(total)(p["b"]);
    return Tree{{"inner", inner}, {"second", second}};
  });
}

TEST_CASE("a tree of different elements to go over") {
  check([](const Loop &loop, Tree p, Value x) {
    int64_t T = x.dim(0);
    auto [h, ys] = loop(
        [&](Value h, Tree x) {
          Value next = h * x["scale"] + x["row"];
          return std::pair(next, next[0] * convert(x["k"], f32));
        },
        p["b"], Tree{{"row", x}, {"scale", sum(x, {1})}, {"k", arange(T)}});
    return Tree{{"h", h}, {"ys", ys}};
  });
}

//===----------------------------------------------------------------------===//
// Branches: against a choice of both sides.
//===----------------------------------------------------------------------===//

namespace {

/// `cond`, or both functions and a select.
template <typename Then, typename Else, typename... A>
Tree choose(const Loop &how, const Value &predicate, Then onTrue, Else onFalse, const A &...arguments) {
  if (!how.unrolled)
    return cond(predicate, onTrue, onFalse, arguments...);
  Tree a = minigptc::detail::toTree(onTrue(arguments...)), b = minigptc::detail::toTree(onFalse(arguments...));
  size_t next = 0;
  return a.map([&](const Value &x) { return select(predicate, x, b.flatten()[next++].second); });
}

} // namespace

TEST_CASE("a branch in each round of a loop, taken sometimes") {
  check([](const Loop &loop, Tree p, Value x) {
    auto [h, ys] = loop(
        [&](Value h, Value x) {
          Tree made = choose(
              loop, sum(x) > 0,
              [&](Value h, Value x) {
                Value next = cell(p, h, x);
                return Tree{{"h", next}, {"y", exp(next) * p["b"]}};
              },
              [&](Value h, Value x) {
                return Tree{{"h", h * x}, {"y", tanh(h) + matmul(x, p["w"])}};
              },
              h, x);
          return std::pair(made["h"], made["y"]);
        },
        p["b"], x);
    return Tree{{"h", h}, {"ys", ys}};
  });
}

TEST_CASE("branches outside of loops, nested, with constants and with arguments as results") {
  check([](const Loop &loop, Tree p, Value x) {
    Value w = p["w"], b = p["b"];
    auto inner = [&](Value x) {
      return choose(
          loop, sum(x) > sum(b), [&](Value x) { return tanh(x) * b; }, [&](Value x) { return exp(-x); }, x);
    };
    Tree one = choose(
        loop, sum(w) > 0, [&](Value x) { return Tree{{"a", inner(x)}, {"b", b}}; },
        [&](Value x) { return Tree{{"a", x}, {"b", zerosLike(b)}}; }, x);
    Tree other = choose(
        loop, sum(w) <= 0, [&](Value x) { return Tree{{"a", inner(x)}, {"b", b}}; },
        [&](Value x) { return Tree{{"a", x}, {"b", zerosLike(b)}}; }, x);
    return Tree{{"one", one}, {"other", other}};
  });
}

TEST_CASE("a branch known while tracing, and checkpoints of branches and in them") {
  check([](const Loop &loop, Tree p, Value x) {
    Tree known = cond(
        loop.unrolled || true, [&](Value x) { return x * p["b"]; }, [&](Value x) { return sum(x); }, x);
    auto both = [&](Value x) {
      return choose(
          loop, sum(x) > 0, [&](Value x) { return exp(tanh(x) * p["b"]); },
          [&](Value x) {
            return checkpoint([&](Value x) { return tanh(exp(x) + matmul(x, p["w"])); })(x);
          },
          x);
    };
    return Tree{{"known", known}, {"one", both(x)}, {"other", checkpoint([&](Value x) { return both(-x); })(x)}};
  });
}

//===----------------------------------------------------------------------===//
// Random programs of loops and branches in one another
//===----------------------------------------------------------------------===//

namespace {

/// A function of a seed, traced once in a loop, and as often as it runs if that is unrolled.
class RandomBody {
public:
  RandomBody(const Loop &loop, const Tree &p, const Value &rows) : loop(loop), p(p), rows(rows) {}

  /// Of vectors [D], a vector whose elements are small.
  Value make(uint64_t seed, std::vector<Value> pool, int depth) const {
    std::mt19937_64 random(seed);
    for (int step = 0; step < 3; ++step) {
      auto any = [&] { return pool[random() % pool.size()]; };
      Value a = any(), b = any();
      uint64_t next = random();
      switch (random() % (depth > 0 ? 6 : 3)) {
      case 0: pool.push_back(a * p["b"] + b); break;
      case 1: pool.push_back(exp(-square(a)) * b); break;
      case 2: pool.push_back(matmul(tanh(a), p["w"]) - b); break;
      case 3: pool.push_back(makeLoop(next, pool, a, depth)); break;
      case 4: pool.push_back(makeBranch(next, pool, a, b, depth)); break;
      default:
        pool.push_back(checkpoint([&](Value a) {
          std::vector<Value> inner = pool;
          inner.push_back(a);
          return make(next, inner, depth - 1);
        })(a));
      }
    }
    return tanh(pool.back() + pool[random() % pool.size()]);
  }

private:
  Value makeLoop(uint64_t seed, const std::vector<Value> &pool, const Value &start, int depth) const {
    auto [carry, ys] = loop(
        [&](Value c, Value x) {
          std::vector<Value> inner = pool;
          inner.insert(inner.end(), {c, x});
          Value made = make(seed, inner, depth - 1);
          return std::pair(made, seed % 3 ? made * x : x + c);
        },
        start, rows, {.reverse = seed % 2 == 0});
    Value last = carry, all = ys;
    return seed % 5 == 0 ? last : sum(all, {0}) + last;
  }

  Value makeBranch(uint64_t seed, const std::vector<Value> &pool, const Value &a, const Value &b,
                   int depth) const {
    auto side = [&](uint64_t offset) {
      return [this, seed, offset, &pool, depth](Value a) {
        std::vector<Value> inner = pool;
        inner.push_back(a);
        return make(seed + offset, inner, depth - 1);
      };
    };
    return choose(loop, sum(b) > 0, side(1), side(2), a);
  }

  const Loop &loop;
  const Tree &p;
  const Value &rows;
};

} // namespace

TEST_CASE("random programs of loops, branches and checkpoints in one another") {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    CAPTURE(seed);
    check([&](const Loop &loop, Tree p, Value x) {
      return RandomBody(loop, p, x).make(seed, {p["b"], tanh(p["b"])}, 2);
    }, {seed % 2 ? 16 : 3}, seed <= 4);
  }
}

//===----------------------------------------------------------------------===//
// Loops that the program ends
//===----------------------------------------------------------------------===//

TEST_CASE("foriLoop is a loop of C++, with its derivatives") {
  check([](const Loop &loop, Tree p, Value x) {
    auto step = [&](Value i, Tree h) { return h * tanh(p["b"]) + convert(i, f32); };
    Tree h = p["b"];
    if (!loop.unrolled)
      return Tree{{"h", foriLoop(2, 5, step, h)}, {"none", foriLoop(5, 5, step, h)}};
    for (int64_t i = 2; i < 5; ++i)
      h = step(full({}, i, i32), h);
    return Tree{{"h", h}, {"none", p["b"]}};
  });
}

TEST_CASE("whileLoop, and foriLoop with bounds that the program computes") {
  check([](const Loop &loop, Tree p, Value x) {
    // 4 by what x has: not known while tracing.
    Value four = convert(sum(stopGradient(x).leaf() * 0.0) + 4.2, i32);
    auto step = [&](Value i, Value h) { return tanh(h + stopGradient(p["b"]).leaf()) * convert(i + 1, f32); };
    Value start = stopGradient(p["b"]);
    Value counted = start, halved = start * 64;
    if (loop.unrolled) {
      for (int64_t i = 0; i < 4; ++i)
        counted = step(full({}, i, i32), counted);
      for (int i = 0; i < 20; ++i)
        halved = select(any(abs(halved) > 1), halved / 2, halved);
    } else {
      counted = foriLoop(0, four, step, counted);
      halved = whileLoop([](Value h) { return any(abs(h) > 1); }, [](Value h) { return h / 2; }, halved);
    }
    return Tree{{"counted", counted}, {"halved", halved}, {"x", x * sum(p["w"]) + p["b"]}};
  });
}

TEST_CASE("a while loop in a loop, in a branch, and one that never runs") {
  check([](const Loop &loop, Tree p, Value x) {
    auto shrink = [&](Value h, double limit) -> Value {
      if (!loop.unrolled)
        return whileLoop([&](Value h) { return sum(square(h)) > limit; }, [&](Value h) { return h / 2; }, h);
      for (int i = 0; i < 20; ++i)
        h = select(sum(square(h)) > limit, h / 2, h);
      return h;
    };
    Tree ys = loop([&](Value h, Value x) { return std::pair(h, shrink(stopGradient(x) * 8, 0.5) * h); },
                   p["b"], x).ys;
    Value chosen = choose(
        loop, sum(x) > 0, [&](Value x) { return shrink(x, 1); }, [&](Value x) { return shrink(-x, 2); },
        stopGradient(x).leaf());
    return Tree{{"ys", ys}, {"chosen", chosen * p["b"]}, {"never", shrink(stopGradient(x), 1e9)},
                {"x", x * sum(p["w"])}};
  });
}

TEST_CASE("a gradient that needs a while loop names it") {
  auto loss = [](Value x) {
    Value y = whileLoop([](Value x) { return sum(x) > 1; }, [](Value x) { return x / 2; }, x);
    return sum(y);
  };
  int line = __LINE__ - 3;
  Program program =
      trace({{"f", [&](Value x) { return grad(loss)(x); }, {{"x", TensorSpec(f32, {4})}}}});
  ProgramRunner runner;
  CHECK_THROWS_WITH(runner.run(program, "f", {}, "graph-autodiff"),
                    Catch::Contains("a while loop has no derivative") &&
                        Catch::Contains("ControlFlowTest.cpp\":" + std::to_string(line)));
}

TEST_CASE("a loop without end can be interrupted") {
  auto forever = [](Value x) {
    return whileLoop([](Value x) { return sum(x) > 0; }, [](Value x) { return x * 1.0; }, x);
  };
  ProgramRunner runner;
  Program program = trace({{"f", forever, {{"x", TensorSpec(f32, {4})}}}});
  auto module = runner.parse(program.print());
  for (const char *target : {"cpu", "cuda:test"}) {
    INFO(target);
    CompiledModule compiled(*module, target);
    std::thread user([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      runtime::requestCancellation();
    });
    CHECK_THROWS_WITH(compiled.run("f", std::vector{runner.tensor("4xf32", {1})}),
                      Catch::Contains("interrupted"));
    user.join();
    runtime::clearCancellation();
  }
}
