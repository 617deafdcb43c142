//===- ExplainText.cpp - a plan for people --------------------------------===//
#include "minigptc/compiler/Explain.h"
#include "runtime/base/Format.h"

#include <algorithm>

using namespace minigptc;
using runtime::format;

namespace {

std::string join(const std::vector<std::string> &parts, const char *separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string megabytes(double bytes) {
  return bytes >= 1e6   ? format("%.1f MB", bytes * 1e-6)
         : bytes >= 1e3 ? format("%.1f kB", bytes * 1e-3)
                        : format("%.0f B", bytes);
}

/// Text of several words, folded at 96 columns behind a name.
std::string folded(const std::string &name, const std::string &text) {
  const std::string indent(23, ' ');
  std::string result = format("%14s %-8s", "", name.c_str()), line;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > 96) {
      result += line + "\n" + indent;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + line + "\n";
}

/// The first places, and how many more there are.
std::string places(const std::vector<std::string> &at) {
  constexpr size_t kShown = 4;
  std::vector<std::string> shown(at.begin(), at.begin() + std::min(at.size(), kShown));
  std::string text = join(shown, ", ");
  return at.size() > kShown ? text + format(" and %zu more", at.size() - kShown) : text;
}

/// The first clauses of a list, and how many more there are.
std::string clauses(const std::string &list) {
  constexpr size_t kShown = 3;
  size_t at = 0, count = 0, end = list.size();
  while ((at = list.find("; ", at)) != std::string::npos) {
    if (++count == kShown)
      end = at;
    at += 2;
  }
  if (count < kShown)
    return list;
  return list.substr(0, end) + format(" and %zu more", count + 1 - kShown);
}

/// What goes on beside a collective, and which share of the step that is.
std::string besideText(const ExplainedCollective &one, double flops) {
  std::string text = one.beside.empty() ? "nothing, devices wait for it" : join(one.beside, ", ");
  if (one.besideFlops > 0)
    text += format(" (%.1f %% of the step's products)", 100 * one.besideFlops / flops);
  if (!one.behind.empty())
    text += "; starts behind " + one.behind;
  return text + "; " + (one.before.empty() ? "ends with its function" : "awaited by " + one.before);
}

std::string collectiveText(const ExplainedCollective &one, const Explanation &plan) {
  std::string text = format("%12s  %4lld x %-18s over %-12s %-9s %s\n",
                            megabytes(one.bytes).c_str(), (long long)one.count, one.kind.c_str(),
                            join(one.axes, ", ").c_str(), one.phase.c_str(), one.tensor.c_str());
  if (!one.why.empty())
    text += folded("why", clauses(one.why));
  if (one.stage >= 0)
    text += folded("on", format("stage %lld", (long long)one.stage));
  if (!one.at.empty())
    text += folded("at", places(one.at));
  if (plan.overlaps)
    text += folded("beside", besideText(one, plan.flops));
  if (!one.annotation.empty())
    text += folded("because", clauses(one.annotation));
  if (!one.instead.empty())
    text += folded("instead", clauses(one.instead));
  return text;
}

std::string memoryText(const ExplainedMemory &memory, const std::string &whose) {
  std::string text =
      format("memory of %s: %s\n", whose.c_str(), megabytes(double(memory.total())).c_str());
  const std::pair<const char *, int64_t> parts[] = {{"parameters", memory.parameters},
                                                    {"gradients", memory.gradients},
                                                    {"optimizer", memory.optimizer},
                                                    {"activations", memory.activations},
                                                    {"workspace", memory.workspace}};
  for (const auto &[name, bytes] : parts)
    text += format("%12s  %s\n", megabytes(double(bytes)).c_str(), name);
  return text;
}

/// Parameters of equal layout are one line: names differ in the layer's number only.
std::string parametersText(const Explanation &plan) {
  std::string text = "parameters\n";
  std::vector<std::pair<std::string, int>> lines;
  for (const ExplainedParameter &parameter : plan.parameters) {
    std::string name;
    for (size_t i = 0; i < parameter.name.size(); ++i) {
      bool digit = std::isdigit(static_cast<unsigned char>(parameter.name[i]));
      bool isNumber = digit && (i == 0 || parameter.name[i - 1] == '.' || name.back() == 'N');
      if (!isNumber)
        name += parameter.name[i];
      else if (name.empty() || name.back() != 'N')
        name += 'N';
    }
    std::string line =
        format("  %-34s %-18s %-26s %s", name.c_str(), parameter.type.toString().c_str(),
               parameter.spec.toString().c_str(),
               TensorType{parameter.type.dtype, parameter.localShape}.toString().c_str());
    std::string stages;
    for (int64_t stage : parameter.spec.stages)
      stages += (stages.empty() ? "  stage " : ", ") + std::to_string(stage);
    line += stages;
    auto same = std::find_if(lines.begin(), lines.end(),
                             [&](const auto &known) { return known.first == line; });
    if (same == lines.end())
      lines.emplace_back(line, 1);
    else
      ++same->second;
  }
  for (const auto &[line, count] : lines)
    text += line + (count > 1 ? format("  x %d", count) : "") + "\n";
  return text;
}

} // namespace

std::string minigptc::toText(const Explanation &plan) {
  std::string text = "mesh " + (plan.mesh.empty() ? "of one device" : plan.mesh.toString()) + "\n";
  bool hasStages = !plan.stageMemory.empty();
  std::string who = !hasStages ? "one device sends "
                               : format("of all stages, a device of stage %lld sends most: ",
                                        (long long)plan.busiestStage());
  text += who + format("%s in a step, by %lld %s%s\n", megabytes(plan.bytes()).c_str(),
                       (long long)plan.count(), hasStages ? "messages and collectives" : "collective",
                       hasStages || plan.count() == 1 ? "" : "s");
  if (plan.overlaps)
    text += format("of it %s beside compute, while devices wait for %s\n",
                   megabytes(plan.bytesBeside()).c_str(),
                   megabytes(plan.bytes() - plan.bytesBeside()).c_str());
  text += "\n";
  for (const ExplainedCollective &one : plan.collectives)
    text += collectiveText(one, plan);
  text += plan.collectives.empty() ? "" : "\n";
  for (size_t stage = 0; stage < plan.stageMemory.size(); ++stage)
    text += memoryText(plan.stageMemory[stage], format("a device of stage %zu", stage));
  text += (hasStages ? "" : memoryText(plan.memory, "a device")) + "\n";
  text += parametersText(plan);
  for (const ExplainedWarning &warning : plan.warnings)
    text +=
        "\nwarning: " + warning.text + (warning.at.empty() ? "" : "\n  at " + warning.at) + "\n";
  return text;
}
