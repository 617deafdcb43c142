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

/// A model of context 5 without parameters, whose next token depends on all tokens that
/// it sees and on where they stand. Its cache holds the tokens; `prefill` takes three.
class SumProgram : public TrainingProgram {
public:
  explicit SumProgram(bool cached) {
    ParameterInfo cache{"cache.layer.tokens", {i32, {1, 5}}, 0}, logits{"logits", {f32, {256}}};
    ParameterInfo position{"position", {i32, {}}}, last{"last", {i32, {}}};
    if (!cached)
      entries_ = {{"logits", {{"tokens", {i32, {1, 5}}}, position}, {logits}}};
    else
      entries_ = {{"prefill", {cache, {"tokens", {i32, {1, 3}}}, position, last}, {cache, logits}},
                  {"decode", {{"tokens", {i32, {1, 1}}}, cache, position}, {cache, logits}}};
  }
  const std::string &metadata() const override { return metadata_; }
  const EntryInfo *entry(std::string_view name) const override {
    for (const EntryInfo &entry : entries_)
      if (entry.name == name)
        return &entry;
    return nullptr;
  }
  StatusOr<NonFiniteReport> findNonFinite(std::string_view, std::vector<Array>) override {
    return Status(StatusCode::internal, "not asked for");
  }

  StatusOr<std::vector<Array>> run(std::string_view name, std::vector<Array> inputs) override {
    runs += name[0];
    if (name == "logits")
      return std::vector<Array>{logitsOf(inputs[0], inputs[1].span<int32_t>()[0])};
    size_t number = name == "decode" ? 1 : 0;
    Array cache = std::move(inputs[number]);
    CHECK(cache.useCount() == 1); // Given away: a session works in its memory.
    const Array &tokens = inputs[1 - number];
    int32_t position = inputs[2].span<int32_t>()[0];
    int32_t last = number ? 0 : inputs[3].span<int32_t>()[0];
    REQUIRE((position >= 0 && position + tokens.shape()[1] <= 5 && last < tokens.shape()[1]));
    for (size_t i = 0; i < tokens.span<int32_t>().size(); ++i)
      cache.span<int32_t>()[size_t(position) + i] = tokens.span<int32_t>()[i];
    Array logits = logitsOf(cache, position + last);
    return std::vector<Array>{cache, logits};
  }

  std::string runs; ///< first letters of the entries

private:
  static Array logitsOf(const Array &tokens, int32_t last) {
    Array logits(TensorType{f32, {256}});
    int32_t sum = last;
    for (int32_t i = 0; i <= last; ++i)
      sum += (2 * i + 1) * tokens.span<int32_t>()[size_t(i)];
    logits.span<float>()[size_t(sum % 256)] = 50;
    return logits;
  }
  std::string metadata_;
  std::vector<EntryInfo> entries_;
};

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

TEST_CASE("generate: a cache changes no token and saves work") {
  auto text = [](SumProgram &program, const std::string &prompt, int64_t count) {
    std::string result;
    GenerateOptions options;
    options.maxTokens = count;
    Status status =
        generate(program, {}, ByteCodec(), prompt, options, [&](std::string_view bytes) {
          result += bytes;
          return true;
        });
    CHECK(status.ok());
    return result;
  };
  for (const char *prompt : {"a", "ab", "abc", "abcd", "abcde", "abcdefghi", "aaaaaaa"}) {
    SumProgram whole(false), cached(true);
    CHECK(text(cached, prompt, 9) == text(whole, prompt, 9));
  }
  SumProgram program(true);
  text(program, "ab", 4);
  CHECK(program.runs == "pddd");
  text(program, "abcd", 1); // Three and one.
  CHECK(program.runs == "pdddpd");
  text(program, "abcde", 1); // The second piece starts early enough to fit.
  CHECK(program.runs == "pdddpdpp");
  text(program, "abcd", 3); // The third token's window has slid.
  CHECK(program.runs == "pdddpdpppddpp");
}

TEST_CASE("generate: programs that cannot decode are refused") {
  struct Odd : SumProgram {
    Odd() : SumProgram(true) {}
    const EntryInfo *entry(std::string_view name) const override {
      return name == "decode" ? &odd : SumProgram::entry(name);
    }
    EntryInfo odd;
  } program;
  auto message = [&](auto change) {
    program.odd = *program.SumProgram::entry("decode");
    change(program.odd);
    Status status =
        generate(program, {}, ByteCodec(), "a", {}, [](std::string_view) { return true; });
    return status.message();
  };
  using Catch::Contains;
  CHECK_THAT(message([](EntryInfo &e) { e.inputs[0].type.shape = {1, 2}; }), Contains("'decode'"));
  CHECK_THAT(message([](EntryInfo &e) {
               e.inputs[1].type.shape = {1, 4};
             }),
             Contains("'cache.layer.tokens'"));
  CHECK_THAT(message([](EntryInfo &e) { e.outputs.pop_back(); }), Contains("logits"));
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
    std::vector<int64_t> done;
    StatusOr<LossReport> report = evaluator->wholeLoss(*source, [&](int64_t now, int64_t all) {
      CHECK(all == size - 1);
      done.push_back(now);
    });
    REQUIRE(report.ok());
    CHECK(std::ranges::is_sorted(done));
    CHECK(done.back() == size - 1);
    CHECK(report->tokens == size - 1);
    CHECK(report->loss == Approx(expected / double(size - 1)).epsilon(1e-6));
    CHECK(report->perplexity() == Approx(std::exp(report->loss)));
    CHECK(report->bitsPerByte(2) == Approx(report->loss / std::log(2) / 2));
  }
  CHECK_FALSE(evaluator->wholeLoss(*makeDummyTokens(1, 256, 3, "x")).ok());
}
