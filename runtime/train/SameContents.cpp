#include "runtime/train/SameContents.h"

#include "runtime/base/Format.h"

#include <algorithm>

namespace minigptc::runtime {
namespace {

std::string hashText(uint64_t hash) { return format("hash %016llx", (unsigned long long)hash); }

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

/// "hash 1 in process 0 (…), process 2 (…), hash 2 in process 1 (…)", by first rank.
std::string whoHasWhat(const ProcessGroup &processes, const std::vector<std::string> &values) {
  constexpr int kNamed = 4;
  std::vector<std::string> told;
  std::string text;
  for (const std::string &value : values) {
    if (std::ranges::find(told, value) != told.end())
      continue;
    told.push_back(value);
    text += (text.empty() ? "" : "; ") + value + " in ";
    int count = 0;
    for (size_t rank = 0; rank < values.size(); ++rank)
      if (values[rank] == value && ++count <= kNamed)
        text += (count > 1 ? ", " : "") + processes.nameOf(int64_t(rank));
    if (count > kNamed)
      text += " and " + std::to_string(count - kNamed) + " more";
  }
  return text;
}

} // namespace

Content contentOf(std::string name, uint64_t hash) { return {std::move(name), hashText(hash)}; }

Content contentOf(std::string name, const TokenSource *tokens) {
  if (!tokens)
    return {std::move(name), "none"};
  return {std::move(name),
          std::to_string(tokens->size()) + " tokens of " + hashText(tokens->contentHash())};
}

Status agreeOnContents(ProcessGroup &processes, const std::vector<Content> &mine) {
  std::string text;
  for (const Content &content : mine)
    text += content.value + "\n";
  auto all = processes.allGather("the comparison of what is read", text);
  if (!all)
    return all.status();
  for (size_t i = 0; i < mine.size(); ++i) {
    std::vector<std::string> values;
    for (const std::string &theirs : *all) {
      std::vector<std::string> lines = linesOf(theirs);
      values.push_back(i < lines.size() ? lines[i] : "nothing");
    }
    if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end())
      return Status(StatusCode::failedPrecondition,
                    mine[i].name + " is not the same everywhere: " + whoHasWhat(processes, values))
          .withHelp("give all processes the same files, or put them in a folder that all see");
  }
  return {};
}

} // namespace minigptc::runtime
