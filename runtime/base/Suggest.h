//===- Suggest.h - the nearest of some names --------------------*- C++ -*-===//
//
//   nearestName("model.d_modle", {"model.d_model", "model.d_ff"}) == "model.d_model"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_SUGGEST_H
#define MINIGPTC_RUNTIME_BASE_SUGGEST_H

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// Levenshtein distance: insertions, deletions, substitutions.
inline size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

/// The candidate nearest to `name`, or an empty string where none is near (more
/// than half of its letters would have to change).
inline std::string nearestName(std::string_view name, const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(name.size(), 2) / 2 + 1;
  for (const std::string &candidate : candidates)
    if (size_t distance = editDistance(name, candidate); distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  return best;
}

/// "did you mean 'x'?" or, where nothing is near, "one of: a, b, c".
inline std::string suggestion(std::string_view name, const std::vector<std::string> &candidates) {
  if (std::string best = nearestName(name, candidates); !best.empty())
    return "did you mean '" + best + "'?";
  std::string all = "one of:";
  for (const std::string &candidate : candidates)
    all += (all.back() == ':' ? " " : ", ") + candidate;
  return all;
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_SUGGEST_H
