#include "runtime/train/Generator.h"
#include "runtime/train/Evaluation.h"
#include "test/runtime/train/FakeProgram.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::test;

namespace {

std::vector<int> counts(const SamplingOptions &options, const std::vector<float> &logits,
                        int draws) {
  Sampler sampler(options);
  std::vector<int> seen(logits.size());
  for (int i = 0; i < draws; ++i)
    ++seen[size_t(*sampler.next(logits))];
  return seen;
}

RunConfig smallConfig() {
  RunConfig config;
  config.model.vocabSize = 256;
  config.model.contextLength = 4;
  config.training.batchSize = 3;
  return config;
}

/// Parameters with which token t is followed by t + 1, almost surely.
NamedArrays countingWeights() {
  Array w(TensorType{f32, {256, 256}});
  for (size_t t = 0; t < 256; ++t)
    w.span<float>()[t * 256 + (t + 1) % 256] = 50;
  return {{"w", w}};
}

std::string generated(const std::string &prompt, const GenerateOptions &options) {
  FakeProgram program(smallConfig());
  std::string text;
  Status status = generate(program, countingWeights(), ByteCodec(), prompt, options,
                           [&](std::string_view bytes) {
                             text += bytes;
                             return true;
                           });
  CHECK(status.ok());
  return text;
}

} // namespace

TEST_CASE("sampler: greedy takes the largest, ties the lowest id") {
  CHECK(counts({.temperature = 0}, {1, 3, 3, 2}, 5) == std::vector<int>{0, 5, 0, 0});
}

TEST_CASE("sampler: frequencies follow the softmax at a temperature") {
  std::vector<float> logits = {0, 1, 2, -std::numeric_limits<float>::infinity()};
  const int draws = 20000;
  for (double temperature : {0.5, 1.0, 2.0}) {
    std::vector<int> seen = counts({.temperature = temperature, .seed = 9}, logits, draws);
    double sum = 1 + std::exp(1 / temperature) + std::exp(2 / temperature);
    for (int i = 0; i < 3; ++i)
      CHECK(double(seen[size_t(i)]) / draws ==
            Approx(std::exp(i / temperature) / sum).margin(0.012));
    CHECK(seen[3] == 0);
  }
}

TEST_CASE("sampler: top-k and top-p cut the tail") {
  std::vector<float> logits = {std::log(0.1f), std::log(0.5f), std::log(0.15f), std::log(0.25f)};
  std::vector<int> top2 = counts({.topK = 2}, logits, 3000);
  CHECK((top2[0] == 0 && top2[2] == 0 && top2[1] > 1800 && top2[3] > 800));
  std::vector<int> half = counts({.topP = 0.6}, logits, 3000); // 0.5 is not enough.
  CHECK((half[0] == 0 && half[2] == 0 && half[3] > 800));
  std::vector<int> one = counts({.topP = 1e-9}, logits, 100);
  CHECK(one[1] == 100);
}

TEST_CASE("sampler: same seed, same tokens; bad numbers are refused") {
  std::vector<float> logits(50, 0);
  auto draw = [&](uint64_t seed) {
    Sampler sampler({.seed = seed});
    std::vector<int32_t> tokens;
    for (int i = 0; i < 40; ++i)
      tokens.push_back(*sampler.next(logits));
    return tokens;
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
  logits[7] = NAN;
  CHECK(Sampler({}).next(logits).status().code() == StatusCode::nonFinite);
  CHECK_FALSE(Sampler::check({.temperature = -1}).ok());
  CHECK_FALSE(Sampler::check({.temperature = NAN}).ok());
  CHECK_FALSE(Sampler::check({.topP = 0}).ok());
  CHECK_FALSE(Sampler::check({.topK = -2}).ok());
  CHECK(Sampler::check({}).ok());
}

TEST_CASE("generate: continues past the context, up to the stop text") {
  CHECK(generated("ab", {.maxTokens = 10}) == "cdefghijkl");
  CHECK(generated("ab", {.maxTokens = 10, .stop = "ghi"}) == "cdef");
  CHECK(generated("ab", {.maxTokens = 5, .stop = "ghx"}) == "cdefg");
  CHECK(generated("", {.maxTokens = 1}) == "\x0b"); // An empty prompt is a newline.
  CHECK(generated("abcdefgh", {.maxTokens = 2}) == "ij");
  CHECK(generated("\xfe", {.maxTokens = 1}) == "\xff"); // Bytes as they are.
}

TEST_CASE("generate: text streams, only what may be a stop text is held back") {
  std::vector<std::string> pieces;
  StopFilter filter("abc", [&](std::string_view bytes) {
    pieces.emplace_back(bytes);
    return true;
  });
  for (const char *piece : {"x", "a", "b", "a", "b", "y", "ab"})
    CHECK(filter.add(piece));
  filter.finish();
  CHECK(pieces == std::vector<std::string>{"x", "ab", "aby", "ab"});
}

TEST_CASE("evaluate: every token is a target once, whatever the batch") {
  FakeProgram program(smallConfig());
  Array w(TensorType{f32, {256, 256}});
  for (size_t i = 0; i < w.span<float>().size(); ++i)
    w.span<float>()[i] = float(i * 2654435761u % 1000) / 300;
  StatusOr<Evaluator> evaluator = Evaluator::create(program, {{"w", w}});
  REQUIRE(evaluator.ok());
  for (int64_t size : {2, 5, 6, 13, 24, 27, 40}) {
    auto source = makeDummyTokens(size, 256, 3, "x");
    std::vector<int32_t> tokens(static_cast<size_t>(size));
    REQUIRE(source->read(0, tokens).ok());
    double expected = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      double sum = 0;
      for (size_t j = 0; j < 256; ++j)
        sum += std::exp(double(w.span<float>()[size_t(tokens[i]) * 256 + j]));
      expected += std::log(sum) - w.span<float>()[size_t(tokens[i]) * 256 + size_t(tokens[i + 1])];
    }
    StatusOr<LossReport> report = evaluator->wholeLoss(*source);
    REQUIRE(report.ok());
    CHECK(report->tokens == size - 1);
    CHECK(report->loss == Approx(expected / double(size - 1)).epsilon(1e-6));
    CHECK(report->perplexity() == Approx(std::exp(report->loss)));
    CHECK(report->bitsPerByte(2) == Approx(report->loss / std::log(2) / 2));
  }
  CHECK_FALSE(evaluator->wholeLoss(*makeDummyTokens(1, 256, 3, "x")).ok());
}
