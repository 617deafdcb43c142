// print: the lines of a run, in loops, branches, transforms, on meshes, on the emulated GPU;
// errors.
#include "minigptc/minigptc.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace minigptc;

namespace {

using Lines = std::vector<std::string>;

Array vector(std::vector<float> values) {
  return Array::fromSpan<float>({int64_t(values.size())}, values);
}

/// Collects what is printed while it lives.
class Printed {
public:
  Printed() {
    setPrintSink([this](std::string_view line) { lines.emplace_back(line); });
  }
  ~Printed() { setPrintSink({}); }
  Lines take() { return std::exchange(lines, {}); }
  Lines takeSorted() {
    std::ranges::sort(lines);
    return take();
  }

private:
  Lines lines;
};

/// What a function of trees prints in each of so many runs.
std::vector<Lines> linesOn(const std::string &target, const std::function<Tree(Value)> &fn,
                           const Array &x, int runs) {
  Program program = trace({{"f", [&](Value v) { return fn(v); }, {TensorSpec(x.type())}}});
  auto session =
      runtime::Session::load(compile(program, {.target = target, .verifyEach = true}).artifact, {});
  REQUIRE(session.ok());
  Printed printed;
  std::vector<Lines> lines;
  for (int i = 0; i < runs; ++i) {
    auto out = session->run("f", std::vector<Array>{x});
    INFO((out ? "" : out.status().toString()));
    REQUIRE(out.ok());
    lines.push_back(printed.take());
  }
  return lines;
}

std::string errorOf(const std::function<Tree(Value)> &fn) {
  try {
    trace({{"f", [&](Value v) { return fn(v); }, {TensorSpec(f32, {2})}}});
    return "";
  } catch (const TraceError &error) {
    return error.what();
  }
}

} // namespace

TEST_CASE("a print prints the values of each run, in order, though nothing reads them") {
  Printed printed;
  auto f = jit([](Value x) {
    Value unread = x + 1;
    print("a {} of {}", unread, 3);
    print("b {y} {{}} {x.half}", Tree{{"y", sum(x)}, {"x", {{"half", x > 1}}}});
    print("a {} of {}", unread, 3); // the same again
    print("no value");
    print("{} {} {} {} {}", 0.1f, 0.1, ~uint64_t(0), -1, true);
    return x;
  });
  f(vector({1, 2}));
  CHECK(printed.take() == Lines{"a [2, 3] of 3", "b 3 {} [false, true]", "a [2, 3] of 3",
                                "no value", "0.1 0.1 18446744073709551615 -1 true"});
  f(vector({0.1f, 5}));
  CHECK(printed.take() == Lines{"a [1.1, 6] of 3", "b 5.1 {} [false, true]", "a [1.1, 6] of 3",
                                "no value", "0.1 0.1 18446744073709551615 -1 true"});
}

TEST_CASE("a print changes no bit of the results") {
  auto step = [](bool prints) {
    return [prints](Value x, Value w) {
      auto loss = [&](Value w) {
        Value h = tanh(matmul(x, w));
        if (prints)
          print("h {}", h);
        Value y = softmax(matmul(h, transpose(w)), -1);
        if (prints)
          print("y {}", y);
        return mean(square(y - x));
      };
      auto [value, grads] = valueAndGrad(loss)(w);
      return Tree{{"loss", value}, {"grads", grads}};
    };
  };
  std::vector<float> xs(32 * 48), ws(48 * 24);
  for (size_t i = 0; i < xs.size(); ++i)
    xs[i] = float(i % 37) / 37;
  for (size_t i = 0; i < ws.size(); ++i)
    ws[i] = float(i % 29) / 29 - 0.5f;
  Array x = Array::fromSpan<float>({32, 48}, xs), w = Array::fromSpan<float>({48, 24}, ws);
  Printed printed;
  ArrayTree with = jit(step(true))(x, w), without = jit(step(false))(x, w);
  CHECK(printed.take().size() == 2);
  for (const char *name : {"loss", "grads"}) {
    auto a = with[name].leaf().span<float>(), b = without[name].leaf().span<float>();
    CHECK(std::ranges::equal(a, b));
  }
}

TEST_CASE("prints in loops and branches, which nothing reads") {
  Printed printed;
  auto f = jit([](Value xs) {
    scan(
        [](Value sum, Value x) {
          print("sum {} x {}", sum, x);
          return std::pair(sum + x, Tree{});
        },
        zeros({}), xs);
    whileLoop([](Value x) { return x < 8; },
              [](Value x) {
                print("x {}", x);
                return 2 * x;
              },
              sum(xs));
    auto say = [](const char *what) {
      return [what](Value x) {
        print("{}, it is {}", x, std::string_view(what) == "large");
        return x;
      };
    };
    cond(xs[0] > 1, say("large"), say("small"), xs[1]);
    return xs;
  });
  f(vector({1, 2}));
  CHECK(printed.take() == Lines{"sum 0 x 1", "sum 1 x 2", "x 3", "x 6", "2, it is false"});
  f(vector({4, 2}));
  CHECK(printed.take() == Lines{"sum 0 x 4", "sum 4 x 2", "x 6", "2, it is true"});
}

TEST_CASE("under vmap there is a line for each example") {
  Printed printed;
  auto f = jit([](Value xs) {
    Value scale = full({}, 2);
    auto one = [&](Value x) {
      print("x {} twice {}", x, scale);
      print("the same {}", scale);
      return x * scale;
    };
    Value each = vmap(one)(xs);
    auto nested = [](Value row) {
      return vmap([](Value x) {
        print("n {}", x);
        return x;
      })(row);
    };
    vmap(nested)(reshape(xs, {2, 1}));
    return each;
  });
  f(vector({3, 4}));
  CHECK(printed.take() == Lines{"x 3 twice 2", "x 4 twice 2", "the same 2", "n 3", "n 4"});
}

TEST_CASE("a differentiated function prints once, in its forward pass") {
  Printed printed;
  auto loss = [](Value x) {
    Value y = x * x;
    print("y {}", y);
    return sum(y * y);
  };
  auto nothingSaved = [&](Value x) { return checkpoint(loss, Remat::nothing)(x).leaf(); };
  auto looped = [](Value x) {
    return scan(
               [](Value c, Value x) {
                 Value next = c * x;
                 print("c {}", next);
                 return std::pair(next, Tree{});
               },
               onesLike(x[0]), x)
        .carry.leaf();
  };
  auto branched = [](Value x) {
    auto power = [](Value x) {
      print("p {}", x);
      return x * x * x;
    };
    return cond(x[0] > 0, power, [](Value x) { return x; }, x[0]).leaf();
  };
  auto run = [&](auto f) {
    jit([&](Value x) { return f(x); })(vector({1, 2}));
    return printed.take();
  };
  CHECK(run(grad(loss)) == Lines{"y [1, 4]"});
  CHECK(run(grad(nothingSaved)) == Lines{"y [1, 4]"});
  auto loopedAgain = [&](Value x) {
    return checkpoint([&](Value x) { return square(looped(x)); }, Remat::nothing)(x).leaf();
  };
  CHECK(run(grad(loopedAgain)) == Lines{"c 1", "c 2"});
  CHECK(run(grad(looped)) == Lines{"c 1", "c 2"});
  CHECK(run(grad(branched)) == Lines{"p 1"});
  auto slope = [&](Value x) { return sum(grad(loss)(x).leaf()); };
  CHECK(run(grad(slope)) == Lines{"y [1, 4]"});
  auto pulledTwice = [&](Value x) {
    auto [value, pullback] = vjp(nothingSaved)(x);
    return pullback(value.leaf())["0"].leaf() + pullback(value.leaf() + 1)["0"].leaf();
  };
  CHECK(run(pulledTwice) == Lines{"y [1, 4]"});
  CHECK(run(vmap([&](Value x) { return pulledTwice(reshape(x, {1})); })) ==
        Lines{"y [1]", "y [4]"});
  CHECK(run([&](Value x) { return jvp(loss, {x}, {onesLike(x)}).tangent; }) == Lines{"y [1, 4]"});
  auto each = [](Value x) {
    Value y = x * x;
    print("y {}", y);
    return y;
  };
  CHECK(run(vmap(grad(each))) == Lines{"y 1", "y 4"});
}

TEST_CASE("on a mesh a tensor is printed whole, once") {
  Printed printed;
  auto f = jit(
      [](Value x) {
        Value y = withShardingConstraint(2 * x, P("data"));
        print("y {} sum {}", y, sum(y));
        print("fixed {}", full({2}, 1));
        scan(
            [](Value c, Value x) {
              print("c {}", c);
              return std::pair(c + x, Tree{});
            },
            zeros({4}), reshape(y, {1, 4}));
        return y;
      },
      {.mesh = {{"data", 2}, {"tensor", 2}}, .inSpecs = {{"x", P("data")}}, .arguments = {"x"}});
  f(vector({1, 2, 3, 4}));
  CHECK(printed.take() == Lines{"y [2, 4, 6, 8] sum 20", "fixed [1, 1]", "c [0, 0, 0, 0]"});
}

TEST_CASE("in a shardMap each device prints what it has, if others have something else") {
  Printed printed;
  Mesh mesh{{"data", 2}, {"tensor", 2}};
  auto f = jit(
      [&](Value x) {
        return shardMap(
            [](Value part) {
              print("part {}", part);
              print("sum {}", psum(sum(part), "data"));
              return part;
            },
            mesh, {P("data")}, P("data"))(x);
      },
      {.mesh = mesh, .arguments = {"x"}});
  f(vector({1, 2, 3, 4}));
  CHECK(printed.takeSorted() == Lines{"part [1, 2]", "part [3, 4]", "sum 10"});
}

TEST_CASE("the emulated GPU prints in each run") {
  auto fn = [](Value x) {
    Value y = tanh(x) * 0;
    print("first {}", y + x);
    auto [last, all] = scan(
        [](Value c, Value x) {
          print("c {}", c);
          return std::pair(c + x, Tree{});
        },
        zeros({}), x);
    print("last {}", last.leaf());
    return Tree(y);
  };
  Lines expected{"first [1, 2]", "c 0", "c 1", "last 3"};
  for (const char *target : {"cpu", "cuda:test"}) {
    INFO(target);
    for (const Lines &lines : linesOn(target, fn, vector({1, 2}), 4))
      CHECK(lines == expected);
  }
}

TEST_CASE("long tensors are cut to their edges") {
  auto fn = [](Value x) {
    print("{}", arange(1001));
    print("{}", reshape(arange(2002), {2, 1001}));
    return Tree(x);
  };
  CHECK(linesOn("cpu", fn, vector({1}), 1)[0] ==
        Lines{"[0, 1, 2, ..., 998, 999, 1000]",
              "[[0, 1, 2, ..., 998, 999, 1000], [1001, 1002, 1003, ..., 1999, 2000, 2001]]"});
}

TEST_CASE("a text and its values fit together") {
  using Catch::Contains;
  auto check = [](const std::string &error, const std::string &what) {
    CHECK_THAT(error, Contains(what));
    CHECK_THAT(error, Contains("PrintTest.cpp:"));
  };
  auto with = [](auto... rest) {
    return errorOf([&](Value x) {
      print(rest..., x);
      return Tree(x);
    });
  };
  check(with("{} and {}"), "print: a place '{}' without a value: there is 1");
  check(with("none"), "print: value 1 of 1 has no place, in \"none\"");
  check(with("{x}"), "print: there is no value 'x'");
  check(with("{:.3f}"), "print: '{:.3f}' asks for a format; places have none");
  check(with("{} {"), "print: a brace without its other one");
  check(with("} {}"), "print: a brace without its other one");
  auto named = [](const char *text) {
    return errorOf([&](Value x) {
      print(text, Tree{{"loss", x}, {"norm", x}});
      return Tree(x);
    });
  };
  check(named("{los} {norm}"), "did you mean 'loss'?");
  check(named("{loss}"), "print: value 'norm' has no place");
  CHECK(named("{loss} {norm} {loss}") == "");
}
