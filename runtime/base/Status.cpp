#include "minigptc/runtime/Status.h"

namespace minigptc::runtime {

std::string Status::toString() const {
  std::string text = message_;
  if (!place_.empty())
    text += "\n  at " + place_;
  if (!help_.empty())
    text += "\n  help: " + help_;
  return text;
}

} // namespace minigptc::runtime
