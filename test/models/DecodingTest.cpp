// Generation with a cache: `prefill` and `decode` against the whole window.
#include "minigptc/compiler/Compile.h"
#include "models/Registry.h"
#include "runtime/train/Generator.h"
#include "runtime/train/NextLogits.h"
#include "test/support/ProgramRunner.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace minigptc;
using namespace minigptc::test;
using runtime::NextLogits;

namespace {

runtime::RunConfig small(const std::string &type, int64_t context) {
  runtime::RunConfig config;
  config.model.type = type;
  config.model.dModel = 16, config.model.numHeads = 2, config.model.dFf = 32,
  config.model.numLayers = 2;
  config.model.vocabSize = 256, config.model.contextLength = context;
  config.training.batchSize = 1;
  return config;
}

/// Parameters that make the logits differ by a few units.
runtime::NamedArrays parametersOf(const runtime::RunConfig &config) {
  runtime::NamedArrays result;
  uint32_t state = 1;
  for (const auto &parameter : makeModel(config.model)->parameters()) {
    Array array(TensorType{f32, parameter.shape});
    for (float &value : array.span<float>())
      value = float(int32_t(state = state * 1664525 + 1013904223)) * 0x1p-31f * 0.8f;
    result.emplace_back(parameter.name, array);
  }
  return result;
}

runtime::Session compiled(const runtime::RunConfig &config, bool cache) {
  Program program = buildProgram(
      config, {.training = false, .evaluation = false, .logits = !cache, .decoding = cache});
  auto session = runtime::Session::load(compile(program, {}).artifact);
  REQUIRE(session.ok());
  return std::move(*session);
}

std::vector<int32_t> someTokens(size_t count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(i * 2654435761u >> 7) & 255);
  return tokens;
}

float largestDifference(const Array &a, const Array &b) {
  float largest = 0;
  for (size_t i = 0; i < a.span<float>().size(); ++i)
    largest = std::max(largest, std::abs(a.span<float>()[i] - b.span<float>()[i]));
  return largest;
}

} // namespace

TEST_CASE("with a cache, logits are those of the whole window") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    runtime::RunConfig config = small(type, 150); // More than a piece, less than two.
    runtime::NamedArrays parameters = parametersOf(config);
    runtime::Session wholeSession = compiled(config, false), session = compiled(config, true);
    runtime::SessionProgram wholeProgram(wholeSession), program(session);
    auto whole = NextLogits::create(wholeProgram, parameters);
    auto cached = NextLogits::create(program, parameters);
    REQUIRE((whole.ok() && cached.ok()));
    CHECK((*whole)->window() == 150);
    CHECK((*cached)->window() == 150);
    std::vector<int32_t> tokens = someTokens(200);
    auto compare = [&](NextLogits &logits, size_t begin, size_t count) {
      INFO(type << ", tokens " << begin << " to " << begin + count);
      auto window = std::span(tokens).subspan(begin, count);
      auto expected = (*whole)->after(window), given = logits.after(window);
      REQUIRE((expected.ok() && given.ok()));
      CHECK(largestDifference(*expected, *given) < 1e-5f);
    };
    for (size_t count : {1, 2, 127, 128, 129, 150}) {
      auto fresh = NextLogits::create(program, parameters);
      compare(**fresh, 0, count);
    }
    for (size_t count : {3, 4, 5, 9, 140, 141, 149, 150}) // One by one, and in pieces.
      compare(**cached, 0, count);
    compare(**cached, 1, 150); // A window that slides shares nothing.
    compare(**cached, 2, 150);
    compare(**cached, 2, 20);
    compare(**cached, 2, 20); // The same again.
    compare(**cached, 2, 21);
  }
}

TEST_CASE("in bf16, a cache of bf16 gives the logits of the whole window") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    INFO(type);
    runtime::RunConfig config = small(type, 40);
    config.training.precision = "bf16";
    runtime::NamedArrays parameters = parametersOf(config); // f32: rounded for the program
    runtime::Session wholeSession = compiled(config, false), session = compiled(config, true);
    const runtime::EntryInfo *decode = session.entry("decode");
    REQUIRE(decode);
    for (const runtime::ParameterInfo &input : decode->inputs)
      if (input.name.starts_with("cache.") ||
          (input.name.starts_with("params.") && input.type.shape.size() > 1))
        CHECK(input.type.dtype == bf16);
    runtime::SessionProgram wholeProgram(wholeSession), program(session);
    auto whole = NextLogits::create(wholeProgram, parameters);
    auto cached = NextLogits::create(program, parameters);
    REQUIRE((whole.ok() && cached.ok()));
    std::vector<int32_t> tokens = someTokens(40);
    for (size_t count : {1, 2, 3, 20, 21, 40}) {
      auto window = std::span(tokens).first(count);
      auto expected = (*whole)->after(window), given = (*cached)->after(window);
      REQUIRE((expected.ok() && given.ok()));
      float largest = 0;
      for (float logit : expected->span<float>())
        largest = std::max(largest, std::abs(logit));
      CHECK(largestDifference(*expected, *given) < 0.03f * largest);
    }
  }
}

TEST_CASE("with a cache, the same text is generated, past the context too") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    runtime::RunConfig config = small(type, 12);
    runtime::NamedArrays parameters = parametersOf(config);
    runtime::Session whole = compiled(config, false), cached = compiled(config, true);
    auto text = [&](runtime::Session &session, const std::string &prompt, double temperature) {
      runtime::SessionProgram program(session);
      std::string result;
      runtime::GenerateOptions options;
      options.sampling = {.temperature = temperature, .seed = 7};
      options.maxTokens = 30;
      auto status = runtime::generate(program, parameters, runtime::ByteCodec(), prompt, options,
                                      [&](std::string_view bytes) {
                                        result += bytes;
                                        return true;
                                      });
      CHECK(status.ok());
      return result;
    };
    for (const char *prompt : {"a", "a few words", "more words than the context has"})
      for (double temperature : {0.0, 1.0})
        CHECK(text(cached, prompt, temperature) == text(whole, prompt, temperature));
    CHECK(text(cached, "a", 1) != text(cached, "b", 1));
  }
}

TEST_CASE("prefill and decode in the interpreter") {
  for (const char *type : {"transformer_lm", "minigpt"}) {
    runtime::RunConfig config = small(type, 4);
    config.model.vocabSize = 11;
    Program program = buildProgram(
        config, {.training = false, .evaluation = false, .logits = true, .decoding = true});
    ProgramRunner runner;
    Tensors parameters;
    for (const auto &[name, array] : parametersOf(config)) {
      std::string shape;
      for (int64_t size : array.shape())
        shape += std::to_string(size) + "x";
      auto values = array.span<float>();
      parameters["params." + name] =
          runner.tensor(shape + "f32", std::vector<double>(values.begin(), values.end()));
    }
    auto run = [&](const std::string &entry, Tensors inputs, const Tensors &cache = {}) {
      inputs.insert(parameters.begin(), parameters.end());
      for (const auto &[name, value] : cache)
        if (name != "logits")
          inputs[name] = value;
      return runner.run(program, entry, inputs);
    };
    auto scalar = [&](double value) { return runner.tensor("i32", {value}); };
    Tensor whole =
        run("logits", {{"tokens", runner.tensor("1x4xi32", {3, 1, 4, 9})}, {"position", scalar(2)}})
            .at("logits");
    Tensors filled = run("prefill", {{"tokens", runner.tensor("1x4xi32", {3, 1, 5, 5})},
                                     {"position", scalar(0)},
                                     {"last", scalar(1)}});
    CHECK(filled.size() == 1 + 2 * 2); // Keys and values of two layers.
    Tensors next =
        run("decode", {{"tokens", runner.tensor("1x1xi32", {4})}, {"position", scalar(2)}}, filled);
    for (int64_t i = 0; i < 11; ++i)
      CHECK(next.at("logits").getFloat(i) == Approx(whole.getFloat(i)).margin(1e-5));
  }
}
