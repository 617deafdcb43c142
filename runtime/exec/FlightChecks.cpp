// Collectives of a block that go on beside other instructions: these leave their memory alone.
#include "runtime/exec/ArtifactReader.h"

#include <map>
#include <tuple>

namespace minigptc::runtime {
namespace {

/// Bytes, and by how many they are in use. Pieces are disjoint.
class UsedBytes {
public:
  void add(const BufferRef &buffer) { change(buffer, 1); }
  void remove(const BufferRef &buffer) { change(buffer, -1); }

  bool touches(const BufferRef &buffer) const {
    if (buffer.size == 0)
      return false;
    auto next = pieces_.lower_bound(keyOf(buffer, buffer.offset + buffer.size));
    if (next == pieces_.begin())
      return false;
    auto [key, piece] = *std::prev(next);
    return std::get<0>(key) == buffer.kind && std::get<1>(key) == indexOf(buffer) &&
           piece.end > buffer.offset;
  }

private:
  using Key = std::tuple<fb::BufferKind, uint32_t, uint64_t>; ///< kind, index, begin
  struct Piece {
    uint64_t end;
    int64_t users;
  };
  /// There is one frame, whatever the file says.
  static uint32_t indexOf(const BufferRef &buffer) {
    return buffer.kind == fb::BufferKind::frame ? 0 : buffer.index;
  }
  static Key keyOf(const BufferRef &buffer, uint64_t at) {
    return {buffer.kind, indexOf(buffer), at};
  }

  /// No piece goes on from before `at` to behind it.
  void split(const BufferRef &buffer, uint64_t at) {
    auto next = pieces_.lower_bound(keyOf(buffer, at));
    if (next == pieces_.begin())
      return;
    auto before = std::prev(next);
    auto [kind, index, begin] = before->first;
    if (kind != buffer.kind || index != indexOf(buffer) || before->second.end <= at)
      return;
    pieces_.emplace(keyOf(buffer, at), before->second);
    before->second.end = at;
  }

  void change(const BufferRef &buffer, int64_t users) {
    uint64_t end = buffer.offset + buffer.size;
    split(buffer, buffer.offset);
    split(buffer, end);
    for (uint64_t at = buffer.offset; at < end;) {
      auto next = pieces_.lower_bound(keyOf(buffer, at));
      bool isIn = next != pieces_.end() && next->first < keyOf(buffer, end);
      if (isIn && std::get<2>(next->first) == at) {
        at = next->second.end;
        if ((next->second.users += users) == 0)
          pieces_.erase(next);
        continue;
      }
      uint64_t until = isIn ? std::get<2>(next->first) : end;
      pieces_.emplace(keyOf(buffer, at), Piece{until, users});
      at = until;
    }
  }

  std::map<Key, Piece> pieces_;
};

class FlightChecker {
public:
  FlightChecker(const Program &program, const Block &block)
      : program_(program), block_(block), flies_(block.instructions.size()) {}

  Status check() {
    for (number_ = 0; number_ < block_.instructions.size(); ++number_) {
      const Instruction &instruction = block_.instructions[number_];
      if (instruction.opcode == fb::Opcode::wait) {
        MINIGPTC_RETURN_IF_ERROR(land(instruction.target));
        continue;
      }
      if (count_ > 0)
        MINIGPTC_RETURN_IF_ERROR(checkApart(instruction));
      if (instruction.opcode == fb::Opcode::start)
        take(instruction, number_, true);
    }
    if (count_ > 0)
      return fail("a collective is started and not waited for");
    return {};
  }

private:
  Status fail(const std::string &what) const { return invalidBlock(block_, number_, what); }

  Status land(uint32_t start) {
    if (start >= number_ || !flies_[start])
      return fail("it waits for what is not started");
    take(block_.instructions[start], start, false);
    return {};
  }

  void take(const Instruction &start, size_t number, bool begins) {
    flies_[number] = begins;
    count_ += begins ? 1 : -1;
    for (uint32_t i = 0; i < start.numInputs + start.numOutputs; ++i) {
      UsedBytes &used = i < start.numInputs ? read_ : written_;
      const BufferRef &buffer = block_.operands[start.firstOperand + i];
      begins ? used.add(buffer) : used.remove(buffer);
    }
  }

  Status checkApart(const Instruction &instruction) const {
    for (uint32_t i = 0; i < instruction.numInputs + instruction.numOutputs; ++i)
      MINIGPTC_RETURN_IF_ERROR(checkAccess(block_.operands[instruction.firstOperand + i],
                                           /*isWrite=*/i >= instruction.numInputs));
    for (const BlockCall &call : program_.callsOf(instruction))
      MINIGPTC_RETURN_IF_ERROR(checkAccess(
          {fb::BufferKind::frame, 0, instruction.frame, program_.blocks[call.block].frameSize},
          /*isWrite=*/true));
    return {};
  }

  Status checkAccess(const BufferRef &buffer, bool isWrite) const {
    if (written_.touches(buffer))
      return fail("it touches what a collective is still writing");
    if (isWrite && read_.touches(buffer))
      return fail("it writes what a collective is still reading");
    return {};
  }

  const Program &program_;
  const Block &block_;
  std::vector<bool> flies_; ///< by instruction
  size_t count_ = 0, number_ = 0;
  UsedBytes read_, written_; ///< by collectives on their way
};

} // namespace

Status checkFlights(const Program &program, const Block &block) {
  return FlightChecker(program, block).check();
}

} // namespace minigptc::runtime
