//===- TextTable.cpp ------------------------------------------------------===//
#include "tools/minigptc/TextTable.h"

#include <algorithm>

using namespace minigptc;

/// As wide as the terminal shows it: letters beyond ASCII are one column.
static size_t widthOf(const std::string &text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string TextTable::print(bool markdown) const {
  std::vector<size_t> widths(rows.front().size());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], widthOf(row[i]));
  std::string text;
  for (const auto &row : rows) {
    std::string line = markdown ? "|" : "";
    for (size_t i = 0; i < row.size(); ++i) {
      std::string blanks(widths[i] - widthOf(row[i]), ' ');
      if (markdown)
        line += " " + row[i] + " |";
      else
        line += "  " + (isNumber(i) ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (markdown && &row == &rows.front()) {
      text += "|";
      for (size_t i = 0; i < row.size(); ++i)
        text += isNumber(i) ? "---:|" : "---|";
      text += "\n";
    }
  }
  return text;
}
