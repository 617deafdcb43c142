#include "runtime/text/Parts.h"

#include <algorithm>

namespace minigptc::runtime::text {

/// Places within a piece have 32 bits (PieceEncoder), and a sign to spare.
static constexpr size_t kLongest = size_t(1) << 31;

PartedText::PartedText(Cuts cuts, ThreadPool &pool, size_t partBytes, PartWorker &worker)
    : cuts_(cuts), pool_(pool), partBytes_(std::clamp<size_t>(partBytes, 1, size_t(1) << 24)),
      worker_(worker), wanted_(batchBytes()) {}

/// Many parts for each thread, so that few wait at its end; but not too much memory.
size_t PartedText::batchBytes() const {
  size_t threads = size_t(pool_.threads());
  return partBytes_ * std::max(4 * threads, std::min<size_t>(64 * threads, 256));
}

Status PartedText::add(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t taken = std::min(bytes.size(), wanted_ - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + ptrdiff_t(taken));
    bytes.remove_prefix(taken);
    if (buffer_.size() == wanted_)
      MINIGPTC_RETURN_IF_ERROR(processUpToCut());
  }
  return Status::success();
}

Status PartedText::finish() {
  Status status = process(buffer_.size());
  buffer_.clear();
  wanted_ = batchBytes();
  return status;
}

Status PartedText::processUpToCut() {
  const uint8_t *cut = cuts_.last(buffer_);
  if (!cut) {
    if (buffer_.size() >= kLongest)
      return Status(StatusCode::resourceExhausted, "the text has " +
                                                       std::to_string(buffer_.size() >> 20) +
                                                       " MiB without a place where it can be cut")
          .withHelp("is it a text?");
    wanted_ = std::min(2 * wanted_, kLongest);
    return Status::success();
  }
  size_t length = size_t(cut - buffer_.data());
  MINIGPTC_RETURN_IF_ERROR(process(length));
  buffer_.erase(buffer_.begin(), buffer_.begin() + ptrdiff_t(length));
  wanted_ = std::max(batchBytes(), std::min(2 * buffer_.size(), kLongest));
  return Status::success();
}

Status PartedText::process(size_t length) {
  if (length == 0)
    return Status::success();
  setEnds(length);
  worker_.begin(ends_.size());
  pool_.run(int64_t(ends_.size()), [&](int64_t index, int worker) {
    size_t begin = index ? ends_[size_t(index - 1)] : 0;
    std::span<const uint8_t> bytes(buffer_.data() + begin, ends_[size_t(index)] - begin);
    worker_.work(Part{bytes, size_t(index), worker});
  });
  MINIGPTC_RETURN_IF_ERROR(worker_.end(ends_.size()));
  processed_ += int64_t(length);
  return Status::success();
}

void PartedText::setEnds(size_t length) {
  ends_.clear();
  std::span<const uint8_t> text(buffer_.data(), length);
  for (size_t from = partBytes_; from < length; from = ends_.back() + partBytes_) {
    const uint8_t *cut = cuts_.first(text.data() + from, text);
    if (!cut)
      break;
    ends_.push_back(size_t(cut - text.data()));
  }
  ends_.push_back(length);
}

} // namespace minigptc::runtime::text
