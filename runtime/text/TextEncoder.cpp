#include "minigptc/runtime/Tokenizer.h"

#include "runtime/text/Parts.h"
#include "runtime/text/PieceEncoder.h"

namespace minigptc::runtime {

using namespace text;

namespace {

/// The ids of a part. Memory that nobody has written to takes no place.
struct IdBuffer {
  std::unique_ptr<int32_t[]> ids;
  size_t capacity = 0, count = 0;
  void reserve(size_t wanted) {
    if (wanted <= capacity)
      return;
    ids.reset(); // first, so that never both are there
    ids = std::make_unique_for_overwrite<int32_t[]>(wanted);
    capacity = wanted;
  }
};

} // namespace

class TextEncoder::State : public PartWorker {
public:
  State(Tokenizer tokenizer, TokenSink sink, TextEncoderOptions options)
      : tokenizer_(std::move(tokenizer)), sink_(std::move(sink)),
        text_(Cuts(tokenizer_.pattern(), tokenizer_.tables().matcher,
                   tokenizer_.tables().definition.normalize),
              options.threads, options.partBytes, *this) {
    for (int i = 0; i < text_.threads(); ++i)
      encoders_.emplace_back(tokenizer_.tables());
    buffers_.resize(text_.slots());
  }

  PartedText &text() { return text_; }

  void work(const Part &part) override {
    IdBuffer &buffer = buffers_[part.slot];
    buffer.reserve(PieceEncoder::room(tokenizer_.tables(), part.bytes.size()));
    const uint8_t *begin = part.bytes.data();
    PieceEncoder &encoder = encoders_[size_t(part.worker)];
    int32_t *end = encoder.encodeText(begin, begin + part.bytes.size(), buffer.ids.get());
    buffer.count = size_t(end - buffer.ids.get());
  }
  Status end(size_t slot) override {
    return sink_({buffers_[slot].ids.get(), buffers_[slot].count});
  }

private:
  Tokenizer tokenizer_;
  TokenSink sink_;
  std::vector<PieceEncoder> encoders_; ///< by worker
  std::vector<IdBuffer> buffers_;      ///< by slot
  PartedText text_;                    ///< the last member: its threads use the others
};

TextEncoder::TextEncoder(Tokenizer tokenizer, TokenSink sink, TextEncoderOptions options)
    : state_(std::make_unique<State>(std::move(tokenizer), std::move(sink), options)) {}
TextEncoder::TextEncoder(TextEncoder &&) noexcept = default;
TextEncoder::~TextEncoder() = default;

Status TextEncoder::add(std::string_view bytes) { return state_->text().add(bytes); }

Status TextEncoder::finish() { return state_->text().finish(); }

int64_t TextEncoder::encodedBytes() const { return state_->text().processed(); }

} // namespace minigptc::runtime
