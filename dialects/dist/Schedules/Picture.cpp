#include "dialects/dist/Schedules/Picture.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace minigptc::dist {
namespace {

int64_t tickOf(const Simulation &run, int64_t maxTicks) {
  int64_t tick = 0;
  for (const std::vector<TimedTask> &stage : run.stages)
    for (const TimedTask &task : stage)
      tick = std::gcd(tick, std::gcd(task.begin, task.end));
  tick = std::max<int64_t>(tick, 1);
  return std::max(tick, (run.total + maxTicks - 1) / std::max<int64_t>(maxTicks, 1));
}

/// "F3", "B0b".
std::string labelOf(const StageTask &task, const Pipeline &pipeline) {
  std::string label = (task.backward ? "B" : "F") + std::to_string(task.microBatch);
  if (pipeline.chunks > 1)
    label +=
        task.chunk < 26 ? std::string(1, char('a' + task.chunk)) : "." + std::to_string(task.chunk);
  return label;
}

/// The row's cells, one per tick.
std::vector<std::string> cellsOf(const Simulation &run, const std::vector<TimedTask> &stage,
                                 int64_t tick, int64_t ticks) {
  std::vector<std::string> cells;
  auto task = stage.begin();
  auto shown = stage.end();
  for (int64_t i = 0; i < ticks; ++i) {
    int64_t middle = i * tick + tick / 2;
    while (task != stage.end() && task->end <= middle)
      ++task;
    bool idle = task == stage.end() || task->begin > middle;
    cells.push_back(idle ? "." : task == shown ? "-" : labelOf(task->task, run.pipeline));
    if (!idle)
      shown = task;
  }
  return cells;
}

void appendRow(std::string &text, const std::string &head, const std::vector<std::string> &cells,
               size_t headWidth, size_t width) {
  std::string row = head + std::string(headWidth - head.size() + 2, ' ');
  for (const std::string &cell : cells)
    row += cell + std::string(width - cell.size() + 1, ' ');
  row.erase(row.find_last_not_of(' ') + 1);
  text += row + "\n";
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

/// Sizes of the SVG, in its units.
constexpr int64_t kLeft = 80, kTop = 56, kRow = 34, kCell = 30;
/// A width that long schedules are squeezed into.
constexpr int64_t kMaxWidth = 2400;
/// Of a picture to scale; and what is left for notes behind the rows.
constexpr int64_t kTimesWidth = 1200, kNotes = 160;
/// What a character takes at most on average, in the title's size and in that of all else.
constexpr int64_t kTitleCharacter = 8, kCharacter = 7;

template <typename... Values> std::string format(const char *form, Values... values) {
  char buffer[512];
  int size = std::snprintf(buffer, sizeof buffer, form, values...);
  return std::string(buffer, size_t(std::clamp<int>(size, 0, int(sizeof buffer) - 1)));
}

class SvgPicture {
public:
  SvgPicture(const Simulation &run, int64_t maxTicks)
      : run_(run), tick_(tickOf(run, maxTicks)), ticks_((run.total + tick_ - 1) / tick_),
        width_(std::min(ticks_ * kCell, kMaxWidth)), span_(ticks_ * tick_) {}

  std::string draw(std::string_view title) {
    return drawAll(title, [&] { drawTicks(); }, [](int64_t) { return std::string(); });
  }
  std::string drawTimes(std::string_view title) {
    span_ = std::max<int64_t>(run_.total, 1);
    width_ = kTimesWidth;
    right_ = kNotes;
    return drawAll(
        title, [&] { drawMilliseconds(); },
        [&](int64_t stage) {
          int64_t idle = run_.idleOf(stage);
          return format("idle %.3f ms, %.1f %%", double(idle) * 1e-6,
                        100 * double(idle) / double(span_));
        });
  }

private:
  template <typename Header, typename Note>
  std::string drawAll(std::string_view title, Header header, Note note) {
    int64_t rows = run_.pipeline.stages;
    long long height = kTop + rows * kRow + 44;
    std::string legend = legendText();
    int64_t texts = std::max(kTitleCharacter * int64_t(title.size()),
                             kCharacter * int64_t(legend.size())); // Where there are few ticks.
    text_ = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %lld %lld\" "
                   "font-family=\"sans-serif\" font-size=\"11\">\n",
                   (long long)(kLeft + std::max(width_ + right_, texts)), height);
    text_ += "<title>" + escaped(title) + "</title>\n";
    text_ += format("<text x=\"%lld\" y=\"20\" font-size=\"14\">", (long long)kLeft) +
             escaped(title) + "</text>\n";
    header();
    for (int64_t stage = 0; stage < rows; ++stage) {
      drawStage(stage);
      if (std::string text = note(stage); !text.empty())
        text_ += format("<text x=\"%lld\" y=\"%lld\">", (long long)(kLeft + width_ + 8),
                        (long long)(kTop + stage * kRow + 18)) +
                 text + "</text>\n";
    }
    text_ += format("<text x=\"%lld\" y=\"%lld\">", (long long)kLeft,
                    (long long)(kTop + rows * kRow + 24)) +
             legend + "</text>\n";
    return text_ + "</svg>\n";
  }

  double x(int64_t time) const {
    return double(kLeft) + double(width_) * double(time) / double(span_);
  }
  void drawTicks() {
    int64_t step = std::max<int64_t>(1, (ticks_ * kCell + kMaxWidth - 1) / kMaxWidth);
    for (int64_t i = 0; i < ticks_; i += step)
      text_ += format(
          "<text x=\"%.1f\" y=\"%lld\" text-anchor=\"middle\" fill=\"#666\">%lld</text>\n",
          (x(i * tick_) + x((i + 1) * tick_)) / 2, (long long)(kTop - 8), (long long)(i + 1));
  }
  void drawMilliseconds() {
    constexpr int64_t kMarks = 10;
    for (int64_t i = 0; i <= kMarks; ++i) {
      int64_t time = span_ / kMarks * i;
      text_ += format("<text x=\"%.1f\" y=\"%lld\" text-anchor=\"middle\" "
                      "fill=\"#666\">%.3g ms</text>\n",
                      x(time), (long long)(kTop - 8), double(time) * 1e-6);
    }
  }
  void drawRect(double from, double to, double y, const char *what, const char *color) {
    text_ += format("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%lld\" "
                    "fill=\"%s\" stroke=\"#fff\"/>\n",
                    what, from, y, to - from, (long long)(kRow - 6), color);
  }
  /// Chunks in shades.
  const char *colorOf(const StageTask &task) const {
    static const char *const forward[] = {"#7fb2e5", "#a9cdf0"};
    static const char *const backward[] = {"#f0a860", "#f6cb9c"};
    return (task.backward ? backward : forward)[task.chunk % 2];
  }
  void drawStage(int64_t stage) {
    double y = double(kTop + stage * kRow);
    text_ += format("<text x=\"8\" y=\"%.1f\">stage %lld</text>\n", y + 18, (long long)stage);
    int64_t last = 0;
    for (const TimedTask &task : run_.stages[size_t(stage)]) {
      if (task.begin > last)
        drawRect(x(last), x(task.begin), y, "idle", "#e6e6e6");
      last = task.end;
      drawRect(x(task.begin), x(task.end), y, task.task.backward ? "backward" : "forward",
               colorOf(task.task));
      text_ += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                      (x(task.begin) + x(task.end)) / 2, y + 18,
                      labelOf(task.task, run_.pipeline).c_str());
    }
    if (last < run_.total)
      drawRect(x(last), x(run_.total), y, "idle", "#e6e6e6");
  }
  std::string legendText() const {
    return format("F forward, B backward, grey idle: %.1f %% of the stages' time",
                  100 * run_.bubble());
  }

  const Simulation &run_;
  int64_t tick_, ticks_, width_, right_ = 20;
  int64_t span_; ///< how long what is as wide as the picture takes
  std::string text_;
};

} // namespace

std::string drawText(const Simulation &run, int64_t maxTicks) {
  int64_t tick = tickOf(run, maxTicks), ticks = (run.total + tick - 1) / tick;
  int64_t unit = tickOf(run, std::max<int64_t>(run.total, 1));
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> &numbers = rows.emplace_back();
  for (int64_t i = 0; i < ticks; ++i) // A cell shows what is done in the middle of it.
    numbers.push_back(std::to_string((i * tick + tick / 2) / unit + 1));
  for (const std::vector<TimedTask> &stage : run.stages)
    rows.push_back(cellsOf(run, stage, tick, ticks));
  size_t width = 1;
  for (const std::vector<std::string> &row : rows)
    for (const std::string &cell : row)
      width = std::max(width, cell.size());
  std::string last = "stage " + std::to_string(run.pipeline.stages - 1), text;
  appendRow(text, "tick", rows.front(), last.size(), width);
  for (size_t stage = 0; stage + 1 < rows.size(); ++stage)
    appendRow(text, "stage " + std::to_string(stage), rows[stage + 1], last.size(), width);
  if (tick > unit)
    text += format("only some of the %lld ticks are shown; an SVG has room for more\n",
                   (long long)((run.total + unit - 1) / unit));
  return text;
}

std::string drawSvg(const Simulation &run, std::string_view title, int64_t maxTicks) {
  return SvgPicture(run, maxTicks).draw(title);
}

std::string drawTimes(const Simulation &run, std::string_view title) {
  return SvgPicture(run, /*maxTicks=*/1).drawTimes(title);
}

} // namespace minigptc::dist
