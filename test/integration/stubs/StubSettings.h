//===- StubSettings.h - what a stub library is told to do -------*- C++ -*-===//
//
// Libraries that stand in for NVIDIA's in tests of the command line, found by the loader as
// the real ones are (LD_LIBRARY_PATH). They compute nothing: kernels and products leave
// memory as it is. The environment says what the machine has, and which call goes wrong:
//
//   STUB_CUDA="gpus=2,driver=12040"               # else: one GPU, CUDA 13.0
//   STUB_CUDA="cubins=200"                        # machine code is refused with this error
//   STUB_CUDA="fail=cuMemAlloc_v2:3:2"            # the third call of it returns error 2
//   STUB_CUDA="later=cuLaunchKernel:40:700"       # what the 40th launch did, is an error 700 of
//                                                 # every call from then on, as a GPU's fault is
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_INTEGRATION_STUBS_STUBSETTINGS_H
#define MINIGPTC_TEST_INTEGRATION_STUBS_STUBSETTINGS_H

#include <atomic>
#include <cstdlib>
#include <string>

namespace minigptc::stubs {

/// The text behind `key=`, or "".
inline std::string setting(const std::string &key) {
  const char *text = std::getenv("STUB_CUDA");
  std::string all = "," + std::string(text ? text : "") + ",";
  size_t at = all.find("," + key + "=");
  if (at == std::string::npos)
    return "";
  size_t begin = at + key.size() + 2;
  return all.substr(begin, all.find(',', begin) - begin);
}

inline int number(const std::string &key, int otherwise) {
  std::string text = setting(key);
  return text.empty() ? otherwise : std::atoi(text.c_str());
}

/// SYMBOL:N:CODE. Counts the calls of SYMBOL.
class Fault {
public:
  explicit Fault(const std::string &key) {
    std::string text = setting(key);
    size_t first = text.find(':'), second = text.rfind(':');
    if (first == second)
      return;
    symbol_ = text.substr(0, first);
    call_ = std::atoi(text.substr(first + 1, second - first - 1).c_str());
    code_ = std::atoi(text.substr(second + 1).c_str());
  }
  /// The code if this is the call, else 0.
  int at(const std::string &symbol) {
    return !symbol_.empty() && symbol == symbol_ && ++calls_ == call_ ? code_ : 0;
  }

private:
  std::string symbol_;
  int call_ = 0, code_ = 0;
  std::atomic<int> calls_ = 0;
};

/// What a call of this function returns.
inline int answer(const char *symbol) {
  static Fault fail("fail"), later("later");
  static std::atomic<int> sticky = 0;
  if (sticky != 0 && std::string(symbol) != "cuCtxSetCurrent")
    return sticky;
  if (int code = later.at(symbol))
    sticky = code;
  return fail.at(symbol);
}

} // namespace minigptc::stubs

#endif // MINIGPTC_TEST_INTEGRATION_STUBS_STUBSETTINGS_H
