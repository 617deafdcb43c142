//===- Status.h - success, or what went wrong -------------------*- C++ -*-===//
//
// The runtime's functions return these and throw nothing.
//
//   StatusOr<Session> s = Session::open("step.mgx");
//   if (!s)
//     return s.status();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_STATUS_H
#define MINIGPTC_RUNTIME_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace minigptc::runtime {

/// What kind of failure: decides the exit status of the tools.
enum class StatusCode {
  ok,
  invalidArgument,    ///< the caller's mistake, found before anything was touched
  notFound,           ///< a file or name that is not there
  dataLoss,           ///< damaged, cut short, or of another version
  resourceExhausted,  ///< memory or disk
  failedPrecondition, ///< not possible in this state or on this machine
  nonFinite,          ///< a loss or gradient that is not finite
  cancelled,          ///< interrupted by the user
  internal,           ///< a bug of ours
};

/// Success, or a code with a message ("what"), and optionally where ("at") and
/// what to do ("help"); printed as a line each.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status success() { return {}; }
  bool ok() const { return code_ == StatusCode::ok; }
  explicit operator bool() const { return ok(); }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }
  const std::string &place() const { return place_; }
  const std::string &help() const { return help_; }

  Status &&at(std::string place) && {
    place_ = std::move(place);
    return std::move(*this);
  }
  Status &&withHelp(std::string help) && {
    help_ = std::move(help);
    return std::move(*this);
  }
  /// "message\n  at place\n  help: help", without trailing newline.
  std::string toString() const;

private:
  StatusCode code_ = StatusCode::ok;
  std::string message_, place_, help_;
};

/// A value, or the status that says why there is none.
template <typename T> class [[nodiscard]] StatusOr {
public:
  StatusOr(Status status) : status_(std::move(status)) { assert(!status_.ok()); }
  StatusOr(T value) : value_(std::move(value)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return status_; }
  T &operator*() & {
    assert(ok());
    return *value_;
  }
  const T &operator*() const & {
    assert(ok());
    return *value_;
  }
  T &&operator*() && {
    assert(ok());
    return std::move(*value_);
  }
  T *operator->() {
    assert(ok());
    return &*value_;
  }
  const T *operator->() const {
    assert(ok());
    return &*value_;
  }

private:
  Status status_;
  std::optional<T> value_;
};

/// Returns from the enclosing function if `expr` is a failed Status.
#define MINIGPTC_RETURN_IF_ERROR(expr)                                                             \
  do {                                                                                             \
    if (::minigptc::runtime::Status status_ = (expr); !status_.ok())                               \
      return status_;                                                                              \
  } while (false)

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_STATUS_H
