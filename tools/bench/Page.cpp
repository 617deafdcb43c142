// docs/reference/performance.md, from the numbers of a run.
#include "runtime/base/Format.h"
#include "tools/bench/Cases.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace minigptc::bench {
namespace {

using runtime::format;
using Json = nlohmann::json;

/// What a kernel is for, by words of its name and by the lines that it comes from; the
/// first entry that fits.
struct Explanation {
  std::string_view name, line, text;
};
constexpr Explanation kExplanations[] = {
    {"cross_entropy", "", "the loss: log-sum-exp of each row of logits, and its gradient"},
    {"attention", "",
     "attention of a block of queries over the keys before them: scores, softmax and "
     "weighted values, recomputed in the backward pass"},
    {"exponential", "Attention.cpp", "softmax of the attention scores"},
    {"reduce", "Attention.cpp",
     "a row's maximum or sum for the softmax of attention, or its gradient"},
    {"cosine", "Attention.cpp", "angles of the rotary embedding"},
    {"sine", "Attention.cpp", "angles of the rotary embedding"},
    {"slice", "Attention.cpp", "rotary embedding of queries and keys, or its gradient"},
    {"transpose", "Attention.cpp",
     "softmax of attention and its gradient, heads moved to the front"},
    {"", "Attention.cpp", "a part of attention between its products"},
    {"logistic", "", "SwiGLU: silu(a) · b, or its gradient; limited by memory"},
    {"exponential", "", "log-sum-exp of the logits: the softmax of the loss or its gradient"},
    {"log", "", "log-sum-exp of the logits: the softmax of the loss or its gradient"},
    {"rsqrt", "", "RMS norm or its gradient, fused with the residual additions around it"},
    {"scatter", "", "gradient of the embedding: rows added up, token by token"},
    {"gather", "", "embedding: a row for each token"},
    {"divide", "Optimizer.cpp", "AdamW with the clipping factor; limited by memory"},
    {"sqrt", "Optimizer.cpp", "AdamW with the clipping factor; limited by memory"},
    {"reduce", "Optimizer.cpp", "sum of the squares of a gradient, for the global norm"},
    {"", "Optimizer.cpp", "a part of the update of a parameter"},
    {"transpose", "", "a copy in another order, which the next product needs"},
    {"reduce", "", "sums or maxima of rows or columns"}};

std::string explain(const Json &kernel) {
  std::string name = kernel.at("name"), kind = kernel.at("kind");
  if (kind == "copy")
    return "a copy: the result lies elsewhere than its consumer wants it";
  if (kind == "gemm") {
    bool many = name.find(" of ") != std::string::npos;
    std::string shapes = kernel.at("shapes");
    std::string what =
        many ? "batched products, one for each sequence and head" : "product of a linear layer";
    if (shapes.find("lhs transposed") != std::string::npos)
      return what + (many ? ": gradient of keys or values" : ": gradient of the weights");
    if (shapes.find("rhs transposed") != std::string::npos)
      return what + (many ? ": scores" : ": gradient of the input");
    return what;
  }
  for (const Explanation &entry : kExplanations) {
    bool line = entry.line.empty();
    for (const Json &place : kernel.at("lines"))
      line |= place.get<std::string>().find(entry.line) != std::string::npos;
    if (line && name.find(entry.name) != std::string::npos)
      return std::string(entry.text);
  }
  return "elementwise; limited by memory";
}

double number(const Json &object, const char *key) { return object.at(key).get<double>(); }

std::string judged(const Json &result) {
  double limit = number(result, "limit"), ratio = number(result, "ratio");
  if (limit <= 0)
    return "";
  double value = ratio > 0 ? ratio : number(result, "median");
  bool most = result.at("limit_is_most");
  return format("%s %g: %s", most ? "at most" : "at least", limit,
                (most ? value <= limit : value >= limit) ? "kept" : "missed");
}

std::string resultTable(const Json &run) {
  std::string text = "| case | what | median | half of the runs | ratio | limit |\n"
                     "|---|---|---|---|---|---|\n";
  for (const Json &result : run.at("results")) {
    double ratio = number(result, "ratio");
    std::string unit = result.at("unit"), of = result.at("of");
    text += format(
        "| %s | %s | %.4g %s | %.4g–%.4g | %s | %s |\n",
        result.at("case").get<std::string>().c_str(), result.at("name").get<std::string>().c_str(),
        number(result, "median"), unit.c_str(), number(result, "low"), number(result, "high"),
        ratio > 0 ? format("%.2f of %s", ratio, of.c_str()).c_str() : "", judged(result).c_str());
  }
  return text;
}

/// Kernels of at least 3 %, and how much they are together.
std::string kernelTable(const Json &kernels) {
  constexpr double kLeast = 0.03;
  std::string text = "| share | ms | calls | GFLOP/s | GB/s | what | why |\n"
                     "|---|---|---|---|---|---|---|\n";
  double named = 0, products = 0;
  for (const Json &kernel : kernels) {
    double share = number(kernel, "share");
    bool product = kernel.at("kind") == "gemm";
    products += product ? share : 0;
    if (share < kLeast)
      continue;
    named += share;
    std::string what = kernel.at(product ? "shapes" : "name");
    std::string at = kernel.at("at");
    double gflops = number(kernel, "gflops"), gbs = number(kernel, "gbs");
    text += format("| %.1f %% | %.2f | %.0f | %s | %s | `%s`, %s | %s |\n", 100 * share,
                   number(kernel, "ms"), number(kernel, "calls"),
                   gflops > 0 ? format("%.0f", gflops).c_str() : "",
                   gbs > 0 ? format("%.0f", gbs).c_str() : "", what.c_str(), at.c_str(),
                   explain(kernel).c_str());
  }
  return text + format("\nThese are %.0f %% of the step; matrix products, small ones included, are "
                       "%.0f %% of it.\n",
                       100 * named, 100 * products);
}

//===----------------------------------------------------------------------===//
// A page of before, with other numbers of some cases
//===----------------------------------------------------------------------===//

/// What is before the first heading, then a section for each; with blank lines between them, they
/// are the page.
std::vector<std::string> sectionsOf(const std::string &page) {
  std::vector<std::string> sections;
  for (size_t begin = 0, end; begin < page.size(); begin = end + 1) {
    end = std::min(page.find("\n## ", begin), page.size());
    sections.push_back(page.substr(begin, end - begin));
  }
  return sections;
}

std::string headingOf(const std::string &section) { return section.substr(0, section.find('\n')); }

/// The first cell of a row of results; nothing for other lines, the table's head among them.
std::string caseOf(const std::string &line) {
  std::string cell = line.starts_with("| ") ? line.substr(2, line.find(" |", 2) - 2) : "";
  return cell == "case" ? "" : cell;
}

/// Rows of the cases that are in `now` stand where the first of the case stood, or at the end.
std::string mergeResults(const std::string &before, const std::string &now) {
  std::map<std::string, std::string> measured;
  std::istringstream fresh(now), lines(before);
  for (std::string line; std::getline(fresh, line);)
    if (std::string name = caseOf(line); !name.empty())
      measured[name] += line + "\n";
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (auto rows = measured.find(caseOf(line)); rows != measured.end())
      text += std::exchange(rows->second, "");
    else
      text += line + "\n";
  for (const auto &[name, rows] : measured)
    text += rows;
  return text;
}

/// The machine and the compiler, by which numbers of two runs can be compared.
std::string buildOf(const std::string &head) {
  size_t begin = head.find("Measured by");
  return begin == head.npos ? "" : head.substr(begin, head.find(". In the same", begin) - begin);
}

} // namespace

std::string performancePage(const Json &run) {
  const Json &machine = run.at("machine");
  std::string text =
      "<!-- Written by minigptc-bench --write-page; measure again instead of editing. -->\n"
      "# Performance\n\n" +
      format(
          "Measured by `minigptc-bench` on %s, %.0f cores, %.0f threads; built with %s. In the "
          "same process the\nreference library of matrix products reached %.0f GFLOP/s on 1024³, "
          "and the triad `a = b + s·c` %.1f GB/s.\nRatios compare with these, or with what the "
          "same run found where a case was measured again later; absolute numbers are of one "
          "machine.\n\n",
          machine.at("cpu").get<std::string>().c_str(), number(machine, "cores"),
          number(machine, "threads"), machine.at("compiler").get<std::string>().c_str(),
          number(machine, "gemm_peak_gflops"), number(machine, "triad_gbs")) +
      "How to find what is slow in a model of your own: [guides/performance.md]"
      "(../guides/performance.md).\n\n## Results\n\n" +
      resultTable(run);
  const Json &details = run.at("details");
  if (details.contains("kernels"))
    for (const auto &[model, kernels] : details.at("kernels").items())
      if (model == "bench model" || run.at("quick"))
        text += "\n## Where a step of the " + model +
                " goes\n\nEvery kernel and product above 3 %, profiled instruction by "
                "instruction.\n\n" +
                kernelTable(kernels);
  return text;
}

runtime::StatusOr<std::string> updatedPage(const std::string &page, const Json &run) {
  std::vector<std::string> all = sectionsOf(page), now = sectionsOf(performancePage(run));
  if (buildOf(all[0]) != buildOf(now[0]))
    return runtime::Status(runtime::StatusCode::failedPrecondition,
                           "the page has numbers of another machine or build: \"" +
                               buildOf(all[0]) + "\", now \"" + buildOf(now[0]) + "\"")
        .withHelp("without --case, all of it is measured and written");
  for (size_t i = 1; i < now.size(); ++i) {
    std::string heading = headingOf(now[i]);
    auto same = std::find_if(all.begin(), all.end(), [&](const std::string &section) {
      return headingOf(section) == heading;
    });
    if (same == all.end())
      all.push_back(now[i]);
    else
      *same = heading == "## Results" ? mergeResults(*same, now[i]) : now[i];
  }
  std::string text;
  for (const std::string &section : all)
    text += (text.empty() ? "" : "\n") + section;
  return text;
}

} // namespace minigptc::bench
