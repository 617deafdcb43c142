//===- TextTable.h - columns for a terminal or a page -----------*- C++ -*-===//
//
//   TextTable table({"kernel", "MB", "does"}, /*firstNumber=*/1, /*numbers=*/1);
//   table.add({"add_1", "2.5", "add"});
//   table.print(/*markdown=*/false); // "add_1   2.5  add\n" under a header
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_TEXTTABLE_H
#define MINIGPTC_TOOLS_MINIGPTC_TEXTTABLE_H

#include <string>
#include <vector>

namespace minigptc {

class TextTable {
public:
  /// Columns from `firstNumber` on, so many of them, are numbers: aligned to the right.
  TextTable(std::vector<std::string> header, size_t firstNumber, size_t numbers)
      : rows{std::move(header)}, firstNumber(firstNumber), numbers(numbers) {}

  /// As many cells as the header has.
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  std::string print(bool markdown) const;

private:
  bool isNumber(size_t column) const { return column - firstNumber < numbers; }

  std::vector<std::vector<std::string>> rows;
  size_t firstNumber, numbers;
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_TEXTTABLE_H
