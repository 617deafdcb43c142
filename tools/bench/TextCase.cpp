// Encoding with GPT-2's vocabulary and learning of 5000 tokens, beside tiktoken and tokenizers.
#include "minigptc/runtime/Tokenizer.h"
#include "runtime/base/File.h"
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"
#include "tools/bench/Peer.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>

namespace minigptc::bench {
namespace {

using namespace runtime;
namespace fs = std::filesystem;

/// What peers read: the text and GPT-2's files in a folder of their own, removed at the end.
class TextFolder {
public:
  static StatusOr<std::unique_ptr<TextFolder>> make() {
    std::string path = (fs::temp_directory_path() / "minigptc-bench-XXXXXX").string();
    if (!mkdtemp(path.data()))
      return fileError(errno, "make", path);
    return std::unique_ptr<TextFolder>(new TextFolder(path));
  }
  ~TextFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char *name) const { return path_ + "/" + name; }
  const std::string &path() const { return path_; }

private:
  explicit TextFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::string repeated(const std::string &text, size_t least) {
  std::string all;
  while (all.size() < least)
    all += text;
  return all;
}

template <typename Body> double millisecondsOf(Body &&body) {
  auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

/// One of those that take turns.
struct Contender {
  std::string name;
  std::function<double()> step; ///< milliseconds; not positive: it can't
  Samples ms = {};
};

void takeTurns(std::vector<Contender> &contenders, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Contender &contender : contenders)
      contender.ms.values.push_back(contender.step());
  for (Contender &contender : contenders)
    std::sort(contender.ms.values.begin(), contender.ms.values.end());
}

class TextBench {
public:
  TextBench(Bench &bench, const TextFolder &folder, Tokenizer tokenizer, std::string text)
      : bench_(bench), folder_(folder), tokenizer_(std::move(tokenizer)), text_(std::move(text)) {}

  Status run() {
    MINIGPTC_RETURN_IF_ERROR(encoding());
    MINIGPTC_RETURN_IF_ERROR(scaling());
    return learning();
  }

private:
  /// Nothing of the text is known to the encoder beforehand.
  double encode(std::string_view text, int threads) {
    int64_t tokens = 0;
    TextEncoder encoder(tokenizer_,
                        [&](std::span<const int32_t> ids) {
                          tokens += int64_t(ids.size());
                          return Status::success();
                        },
                        {.threads = threads});
    return millisecondsOf([&] {
      keep(encoder.add(text));
      keep(encoder.finish());
    });
  }
  double learn(const std::string &text) {
    return millisecondsOf([&] {
      StatusOr<TokenizerTrainer> trainer = TokenizerTrainer::create(
          {.vocabularySize = vocabulary(), .specialTokens = {"<|endoftext|>"}});
      keep(trainer.status());
      if (!trainer)
        return;
      keep(trainer->add(text));
      keep(trainer->train().status());
    });
  }
  void keep(const Status &status) {
    if (!status)
      status_ = status;
  }
  int64_t vocabulary() const { return bench_.quick() ? 300 : 5000; }

  /// The peer as a contender, if it runs.
  Status addPeer(std::vector<Contender> &contenders, const std::string &package,
                 const std::string &work) {
    if (bench_.peers().empty())
      return Status::success();
    StatusOr<std::string> python = pythonOf(bench_.peers(), "tiktoken tokenizers");
    if (!python)
      return python.status();
    auto peer = std::make_shared<Peer>(
        *python, std::vector<std::string>{"text.py", package, work, folder_.path(),
                                          std::to_string(vocabulary())});
    if (peer->step() > 0)
      contenders.push_back({package, [peer] { return peer->step(); }});
    else
      bench_.note(package + ": left out, it does not run there");
    return Status::success();
  }

  void add(const std::string &what, const Contender &contender, size_t bytes, double ratio,
           const std::string &of, double limit) {
    Samples rate;
    for (double ms : contender.ms.values)
      rate.values.push_back(double(bytes) * 1e-3 / ms);
    std::reverse(rate.values.begin(), rate.values.end());
    bench_.add({.group = "text",
                .name = what + ", " + contender.name,
                .unit = "MB/s",
                .samples = rate,
                .ratio = ratio,
                .of = of,
                .limit = limit});
  }
  /// Ours first; the others say how many times its time they take.
  void addAll(const std::string &what, const std::vector<Contender> &contenders, size_t bytes,
              const std::string &limited) {
    add(what, contenders[0], bytes, 0, "", 0);
    for (size_t i = 1; i < contenders.size(); ++i) {
      const Contender &peer = contenders[i];
      double ratio = peer.ms.median() / contenders[0].ms.median();
      add(what, peer, bytes, ratio, "minigptc's time", peer.name == limited ? 2 : 0);
    }
  }

  Status encoding() {
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(folder_.file("text"), std::string_view(text_)));
    std::vector<Contender> contenders{{"minigptc", [&] { return encode(text_, 1); }}};
    MINIGPTC_RETURN_IF_ERROR(addPeer(contenders, "tiktoken", "encode"));
    MINIGPTC_RETURN_IF_ERROR(addPeer(contenders, "tokenizers", "encode"));
    takeTurns(contenders, bench_.quick() ? 2 : 11);
    addAll("encoding, 1 thread", contenders, text_.size(), "tiktoken");
    return status_;
  }

  /// Best runs are compared: another program on one of the cores is no fault of ours.
  Status scaling() {
    if (bench_.threads() == 1)
      return Status::success();
    std::string text = repeated(text_, bench_.quick() ? 1 : size_t(64) << 20);
    std::vector<Contender> contenders{
        {"1 thread", [&] { return encode(text, 1); }},
        {format("%d threads", bench_.threads()), [&] { return encode(text, bench_.threads()); }}};
    takeTurns(contenders, bench_.quick() ? 2 : 15);
    double ratio = contenders[0].ms.best() / contenders[1].ms.best() / bench_.threads();
    add("encoding more", contenders[0], text.size(), 0, "", 0);
    add("encoding more", contenders[1], text.size(), ratio,
        format("%d times 1 thread, best runs", bench_.threads()), 0.9);
    return status_;
  }

  Status learning() {
    std::string text = repeated(text_, bench_.quick() ? 1 : 4'400'000);
    MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(folder_.file("text"), std::string_view(text)));
    std::vector<Contender> contenders{{"minigptc", [&] { return learn(text); }}};
    MINIGPTC_RETURN_IF_ERROR(addPeer(contenders, "tokenizers", "learn"));
    takeTurns(contenders, bench_.quick() ? 1 : 5);
    addAll(format("learning %lld tokens, 1 thread", (long long)vocabulary()), contenders,
           text.size(), "tokenizers");
    return status_;
  }

  Bench &bench_;
  const TextFolder &folder_;
  Tokenizer tokenizer_;
  std::string text_;
  Status status_;
};

} // namespace

Status runText(Bench &bench) {
  const std::string texts = MINIGPTC_BENCH_TEXTS;
  StatusOr<std::string> text =
      readTextFile(bench.text().empty() ? texts + "/corpus.en" : bench.text());
  if (!text)
    return text.status();
  if (text->empty())
    return Status(StatusCode::invalidArgument, "'" + bench.text() + "' is empty");
  StatusOr<std::unique_ptr<TextFolder>> folder = TextFolder::make();
  if (!folder)
    return folder.status();
  std::error_code error;
  fs::copy_file(texts + "/gpt2_vocab.json", (*folder)->file("vocab.json"), error);
  if (!error)
    fs::copy_file(texts + "/gpt2_merges.txt", (*folder)->file("merges.txt"), error);
  if (error)
    return Status(StatusCode::notFound,
                  "cannot copy the vocabulary in '" + texts + "': " + error.message());
  StatusOr<Tokenizer> tokenizer = Tokenizer::load((*folder)->path());
  if (!tokenizer)
    return tokenizer.status();
  return TextBench(bench, **folder, *std::move(tokenizer), *std::move(text)).run();
}

} // namespace minigptc::bench
