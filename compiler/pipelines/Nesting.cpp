//===- Nesting.cpp - IR text that is nested too deep to be parsed ---------===//
#include "compiler/pipelines/Nesting.h"

using namespace minigptc;

/// The end of the string or comment that begins at `i`, or `i` if none does.
static size_t skipToken(std::string_view text, size_t i) {
  if (text[i] == '/' && text.substr(i, 2) == "//") {
    size_t end = text.find('\n', i);
    return end == text.npos ? text.size() - 1 : end - 1;
  }
  if (text[i] != '"')
    return i;
  for (size_t end = i + 1; end < text.size() && text[end] != '\n'; ++end) {
    if (text[end] == '"')
      return end;
    end += text[end] == '\\';
  }
  return i; // Strings end on their line.
}

size_t minigptc::lineOfDeepNesting(std::string_view text) {
  // Angle brackets by themselves: they are comparisons as well.
  size_t depth = 0, angles = 0, line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    i = skipToken(text, i);
    switch (text[i]) {
    case '\n': ++line; break;
    case '(':
    case '[':
    case '{': ++depth; break;
    case ')':
    case ']':
    case '}': depth -= depth > 0; break;
    case '<': ++angles; break;
    case '>': angles -= angles > 0 && (i == 0 || text[i - 1] != '-'); break;
    default: break;
    }
    if (depth > kMaxNesting || angles > kMaxNesting)
      return line;
  }
  return 0;
}
