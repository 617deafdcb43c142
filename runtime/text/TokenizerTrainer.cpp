#include "minigptc/runtime/Tokenizer.h"

#include "runtime/base/Format.h"
#include "runtime/base/Log.h"
#include "runtime/text/MergeLearner.h"
#include "runtime/text/Parts.h"
#include "runtime/text/Pieces.h"
#include "runtime/text/Repair.h"
#include "runtime/text/TokenizerFiles.h"
#include "runtime/text/WordCounts.h"

namespace minigptc::runtime {

using namespace text;

namespace {

/// Text that a thread takes at a time.
constexpr size_t kPartBytes = size_t(1) << 16;
constexpr int64_t kMaxVocabulary = int64_t(1) << 24;

/// Bytes, then special tokens.
StatusOr<Definition> begin(const TokenizerTraining &options) {
  int64_t least = 256 + int64_t(options.specialTokens.size());
  if (options.vocabularySize < least || options.vocabularySize > kMaxVocabulary)
    return Status(StatusCode::invalidArgument,
                  "a vocabulary of " + std::to_string(options.vocabularySize) +
                      " tokens: it must have between " + std::to_string(least) +
                      " (256 bytes and " + counted(least - 256, "special token") + ") and " +
                      std::to_string(kMaxVocabulary));
  Definition definition;
  definition.pattern = options.pattern;
  for (int byte = 0; byte < 256; ++byte)
    definition.tokens.push_back(std::string(1, char(byte)));
  for (const std::string &special : options.specialTokens) {
    if (special.empty())
      return Status(StatusCode::invalidArgument, "a special token is empty");
    if (firstInvalid(special) != special.size())
      return Status(StatusCode::invalidArgument,
                    "the special token " + quote(special) + " is no valid UTF-8");
    definition.added.push_back({int32_t(definition.tokens.size()), special});
    definition.tokens.push_back(special);
  }
  // Says what is there twice, or written like another.
  if (StatusOr<std::vector<std::string>> written = writtenTokens(definition); !written)
    return written.status();
  return definition;
}

} // namespace

class TokenizerTrainer::State : public PartWorker {
public:
  State(TokenizerTraining options, Definition definition, Tokenizer cutter)
      : options_(std::move(options)), definition_(std::move(definition)),
        cutter_(std::move(cutter)),
        text_(Cuts(options_.pattern, cutter_.tables().matcher, /*normalize=*/false),
              options_.threads, kPartBytes, *this) {
    counts_.resize(size_t(text_.threads()));
  }

  PartedText &text() { return text_; }
  StatusOr<Tokenizer> train();

  void work(const Part &part) override;
  Status end(size_t) override { return Status::success(); }

private:
  TokenizerTraining options_;
  Definition definition_;
  Tokenizer cutter_;               ///< finds special tokens
  std::vector<WordCounts> counts_; ///< by worker
  PartedText text_;                ///< the last member: its threads use the others
};

void TokenizerTrainer::State::work(const Part &part) {
  WordCounts &counts = counts_[size_t(part.worker)];
  const uint8_t *p = part.bytes.data(), *end = p + part.bytes.size();
  while (p < end) {
    std::optional<SpecialMatch> special = cutter_.tables().matcher.find(p, end);
    forEachPiece(options_.pattern, p, special ? special->begin : end,
                 [&](const uint8_t *piece, const uint8_t *behind) {
                   counts.add(piece, size_t(behind - piece), end);
                 });
    p = special ? special->end : end;
  }
}

StatusOr<Tokenizer> TokenizerTrainer::State::train() {
  for (size_t worker = 1; worker < counts_.size(); ++worker) {
    counts_[0].addAll(counts_[worker]);
    counts_[worker] = WordCounts();
  }
  Definition definition = definition_;
  MergeLearner learner(definition);
  Status status;
  counts_[0].visit([&](std::string_view word, int64_t count) {
    if (status.ok())
      status = learner.addWord(word, count);
  });
  MINIGPTC_RETURN_IF_ERROR(status);
  if (!learner.learn(options_.vocabularySize)) {
    std::string most = std::to_string(definition.tokens.size());
    return Status(StatusCode::failedPrecondition,
                  "the texts have only " + counted(int64_t(definition.merges.size()), "pair") +
                      " to merge: a vocabulary of " + most + ", not of " +
                      std::to_string(options_.vocabularySize))
        .withHelp("ask for " + most + " tokens, or take more text");
  }
  if (StatusOr<std::vector<std::string>> written = writtenTokens(definition); !written)
    return written.status();
  return build(std::move(definition));
}

StatusOr<TokenizerTrainer> TokenizerTrainer::create(TokenizerTraining options) {
  StatusOr<Definition> definition = runtime::begin(options);
  if (!definition)
    return definition.status();
  StatusOr<Tokenizer> cutter = build(*definition);
  if (!cutter)
    return cutter.status();
  return TokenizerTrainer(
      std::make_unique<State>(std::move(options), *std::move(definition), *std::move(cutter)));
}

TokenizerTrainer::TokenizerTrainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
TokenizerTrainer::TokenizerTrainer(TokenizerTrainer &&) noexcept = default;
TokenizerTrainer::~TokenizerTrainer() = default;

Status TokenizerTrainer::add(std::string_view bytes) { return state_->text().add(bytes); }

Status TokenizerTrainer::endText() { return state_->text().finish(); }

StatusOr<Tokenizer> TokenizerTrainer::train() {
  MINIGPTC_RETURN_IF_ERROR(endText());
  return state_->train();
}

} // namespace minigptc::runtime
