#include "runtime/drivers/cuda/CudaCollective.h"

#include <algorithm>

namespace minigptc::runtime::cuda {
namespace {

constexpr uint64_t kAlignment = 256;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

NcclType typeOf(DType dtype) {
  switch (dtype) {
  case DType::f64: return NcclType::f64;
  case DType::f32: return NcclType::f32;
  case DType::bf16: return NcclType::bf16;
  case DType::f16: return NcclType::f16;
  case DType::i64: return NcclType::i64;
  case DType::i32: return NcclType::i32;
  case DType::i8:
  case DType::i1: return NcclType::i8; // A byte 0 or 1.
  case DType::u64: return NcclType::u64;
  case DType::u32: return NcclType::u32;
  }
  return NcclType::i8;
}

NcclReduce reduceOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum: return NcclReduce::sum;
  case ReduceKind::prod: return NcclReduce::prod;
  case ReduceKind::max:
  case ReduceKind::any: return NcclReduce::max;
  case ReduceKind::min:
  case ReduceKind::all: return NcclReduce::min;
  }
  return NcclReduce::sum;
}

/// Where one part lies in a tensor of all of them, in bytes.
struct PartRows {
  uint64_t offset, pitch, width, height;
};
PartRows majorRows(const CollectiveOperand &o, uint64_t members, uint64_t rank) {
  uint64_t width = uint64_t(o.inner * o.block * sizeOf(o.dtype));
  return {rank * width, members * width, width, uint64_t(o.outer)};
}
PartRows minorRows(const CollectiveOperand &o, uint64_t members, uint64_t rank) {
  uint64_t width = uint64_t(o.block * sizeOf(o.dtype));
  return {rank * width, members * width, width, uint64_t(o.outer * o.inner)};
}

/// What has to be copied together, or apart, as several rows.
struct Staging {
  bool packs = false, unpacks = false;
};
Staging stagingOf(const CollectiveProblem &problem, const CollectiveOperand &o) {
  bool majorRows = o.outer > 1, minorRows = o.outer * o.inner > 1;
  if (problem.group.size() == 1 || o.partElements() == 0)
    return {};
  switch (problem.kind) {
  case CollectiveKind::allGather: return {.unpacks = majorRows};
  case CollectiveKind::reduceScatter: return {.packs = majorRows};
  case CollectiveKind::allToAll:
    return o.fromMajor ? Staging{majorRows, minorRows} : Staging{minorRows, majorRows};
  case CollectiveKind::allReduce:
  case CollectiveKind::permute: return {};
  }
  return {};
}

/// One operand's way through staging memory.
class OperandCalls {
public:
  OperandCalls(const CollectiveMember &member, const CollectiveProblem &problem, size_t operand,
               void *input, void *output, std::byte *&staging)
      : member_(member), problem_(problem), o_(problem.operands[operand]),
        members_(uint64_t(problem.group.size())), staging_(stagingOf(problem, o_)),
        input_(static_cast<std::byte *>(input)), output_(static_cast<std::byte *>(output)),
        sent_(input_), received_(output_) {
    if (staging_.packs)
      sent_ = take(staging);
    if (staging_.unpacks)
      received_ = take(staging);
  }

  bool isEmpty() const { return o_.partElements() == 0; }
  Status pack() const;
  /// Inside of a group of calls.
  Status call() const;
  Status unpack() const;
  /// Of a group of one member.
  Status copyAlone() const;

private:
  std::byte *take(std::byte *&staging) const {
    std::byte *taken = staging;
    staging += aligned(members_ * part());
    return taken;
  }
  uint64_t part() const { return o_.partBytes(); }
  size_t count() const { return size_t(o_.partElements()); }
  uint64_t rank() const { return uint64_t(member_.rank); }
  const DriverApi &cu() const { return member_.context.driver(); }
  const NcclApi &nccl() const { return member_.context.api().nccl; }
  Status check(NcclResult result, const char *call) const {
    return checkNccl(nccl(), result, call, member_.comm);
  }
  Status copy(std::byte *target, const std::byte *source, uint64_t bytes) const;
  Status copyRows(std::byte *target, uint64_t targetPitch, const std::byte *source,
                  uint64_t sourcePitch, const PartRows &rows) const;
  Status exchange() const;
  Status permute() const;

  const CollectiveMember &member_;
  const CollectiveProblem &problem_;
  const CollectiveOperand &o_;
  uint64_t members_;
  Staging staging_;
  std::byte *input_, *output_;
  std::byte *sent_, *received_; ///< what NCCL reads and writes
};

Status OperandCalls::copy(std::byte *target, const std::byte *source, uint64_t bytes) const {
  if (target == source || bytes == 0)
    return {};
  return member_.context.check(
      cu().memcpyDtoDAsync(devicePtr(target), devicePtr(source), bytes, member_.stream),
      "cuMemcpyDtoDAsync");
}

Status OperandCalls::copyRows(std::byte *target, uint64_t targetPitch, const std::byte *source,
                              uint64_t sourcePitch, const PartRows &rows) const {
  if (rows.height == 1)
    return copy(target, source, rows.width);
  if (targetPitch > kMaxPitch || sourcePitch > kMaxPitch) {
    for (uint64_t row = 0; row < rows.height; ++row)
      MINIGPTC_RETURN_IF_ERROR(
          copy(target + row * targetPitch, source + row * sourcePitch, rows.width));
    return {};
  }
  Copy2D copy;
  copy.source.device = devicePtr(source);
  copy.source.pitch = sourcePitch;
  copy.target.device = devicePtr(target);
  copy.target.pitch = targetPitch;
  copy.widthBytes = rows.width;
  copy.height = rows.height;
  return member_.context.check(cu().memcpy2DAsync(&copy, member_.stream), "cuMemcpy2DAsync");
}

Status OperandCalls::pack() const {
  bool isMajor = problem_.kind != CollectiveKind::allToAll || o_.fromMajor;
  for (uint64_t r = 0; staging_.packs && r < members_; ++r) {
    PartRows rows = isMajor ? majorRows(o_, members_, r) : minorRows(o_, members_, r);
    MINIGPTC_RETURN_IF_ERROR(
        copyRows(sent_ + r * part(), rows.width, input_ + rows.offset, rows.pitch, rows));
  }
  return {};
}

Status OperandCalls::unpack() const {
  bool exchanges = problem_.kind == CollectiveKind::allToAll;
  bool isMajor = !exchanges || !o_.fromMajor;
  // What a member keeps of its own was sent to nobody.
  const std::byte *own = sent_ + rank() * part();
  if (exchanges && !staging_.unpacks)
    return copy(output_ + rank() * part(), own, part());
  for (uint64_t r = 0; staging_.unpacks && r < members_; ++r) {
    PartRows rows = isMajor ? majorRows(o_, members_, r) : minorRows(o_, members_, r);
    const std::byte *source = exchanges && r == rank() ? own : received_ + r * part();
    MINIGPTC_RETURN_IF_ERROR(copyRows(output_ + rows.offset, rows.pitch, source, rows.width, rows));
  }
  return {};
}

Status OperandCalls::call() const {
  NcclType type = typeOf(o_.dtype);
  NcclReduce combine = reduceOf(problem_.combine);
  switch (problem_.kind) {
  case CollectiveKind::allGather:
    return check(nccl().allGather(sent_, received_, count(), type, member_.comm, member_.stream),
                 "ncclAllGather");
  case CollectiveKind::reduceScatter:
    return check(nccl().reduceScatter(sent_, received_, count(), type, combine, member_.comm,
                                      member_.stream),
                 "ncclReduceScatter");
  case CollectiveKind::allReduce:
    return check(
        nccl().allReduce(sent_, received_, count(), type, combine, member_.comm, member_.stream),
        "ncclAllReduce");
  case CollectiveKind::allToAll: return exchange();
  case CollectiveKind::permute: return permute();
  }
  return {};
}

Status OperandCalls::exchange() const {
  NcclType type = typeOf(o_.dtype);
  for (uint64_t r = 0; r < members_; ++r) {
    if (r == rank())
      continue;
    MINIGPTC_RETURN_IF_ERROR(
        check(nccl().send(sent_ + r * part(), count(), type, int(r), member_.comm, member_.stream),
              "ncclSend"));
    MINIGPTC_RETURN_IF_ERROR(check(
        nccl().recv(received_ + r * part(), count(), type, int(r), member_.comm, member_.stream),
        "ncclRecv"));
  }
  return {};
}

/// A part may go to several members, to none, or stay.
Status OperandCalls::permute() const {
  NcclType type = typeOf(o_.dtype);
  int64_t own = member_.rank, source = problem_.sources[size_t(own)];
  for (size_t r = 0; r < problem_.sources.size(); ++r)
    if (problem_.sources[r] == own && int64_t(r) != own)
      MINIGPTC_RETURN_IF_ERROR(check(
          nccl().send(input_, count(), type, int(r), member_.comm, member_.stream), "ncclSend"));
  if (source < 0 || source == own)
    return {}; // Before the group of calls: copyAlone.
  return check(nccl().recv(output_, count(), type, int(source), member_.comm, member_.stream),
               "ncclRecv");
}

Status OperandCalls::copyAlone() const {
  bool permutes = problem_.kind == CollectiveKind::permute;
  if (members_ > 1 && !permutes)
    return {};
  int64_t source = permutes ? problem_.sources[size_t(member_.rank)] : 0;
  if (source == member_.rank)
    return copy(output_, input_, part());
  if (source >= 0)
    return {};
  return member_.context.check(cu().memsetD8Async(devicePtr(output_), 0, part(), member_.stream),
                               "cuMemsetD8Async");
}

} // namespace

uint64_t stagingBytes(const CollectiveProblem &problem) {
  uint64_t bytes = 0;
  for (const CollectiveOperand &o : problem.operands) {
    Staging staging = stagingOf(problem, o);
    bytes += (uint64_t(staging.packs) + uint64_t(staging.unpacks)) *
             aligned(uint64_t(problem.group.size()) * o.partBytes());
  }
  return bytes;
}

uint64_t stagingBytes(std::span<const CollectiveProblem> problems) {
  uint64_t largest = 0;
  for (const CollectiveProblem &problem : problems)
    largest = std::max(largest, stagingBytes(problem));
  return largest;
}

Status submitCollective(const CollectiveMember &member, const CollectiveProblem &problem,
                        std::span<void *const> inputs, std::span<void *const> outputs) {
  std::vector<OperandCalls> operands;
  std::byte *staging = member.staging;
  for (size_t i = 0; i < problem.operands.size(); ++i) {
    OperandCalls calls(member, problem, i, inputs[i], outputs[i], staging);
    if (!calls.isEmpty())
      operands.push_back(calls);
  }
  for (const OperandCalls &calls : operands) {
    MINIGPTC_RETURN_IF_ERROR(calls.copyAlone());
    MINIGPTC_RETURN_IF_ERROR(calls.pack());
  }
  if (problem.group.size() == 1 || operands.empty())
    return {};
  const NcclApi &nccl = member.context.api().nccl;
  MINIGPTC_RETURN_IF_ERROR(checkNccl(nccl, nccl.groupStart(), "ncclGroupStart", member.comm));
  Status status;
  for (const OperandCalls &calls : operands)
    if (status)
      status = calls.call();
  Status ended = checkNccl(nccl, nccl.groupEnd(), "ncclGroupEnd", member.comm);
  MINIGPTC_RETURN_IF_ERROR(status);
  MINIGPTC_RETURN_IF_ERROR(ended);
  if (member.settle)
    MINIGPTC_RETURN_IF_ERROR(member.settle());
  for (const OperandCalls &calls : operands)
    MINIGPTC_RETURN_IF_ERROR(calls.unpack());
  return {};
}

Status checkNccl(const NcclApi &nccl, NcclResult result, const char *call, NcclComm comm) {
  if (result == NcclResult::success || result == NcclResult::inProgress)
    return {};
  const char *text = nccl.getErrorString(result), *last = nccl.getLastError(comm);
  std::string detail = last && *last ? " (" + std::string(last) + ")" : "";
  return Status(StatusCode::internal,
                std::string(call) + " failed: " + (text ? text : "unknown error") + detail);
}

} // namespace minigptc::runtime::cuda
