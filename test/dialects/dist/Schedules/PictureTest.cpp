#include "dialects/dist/Schedules/Picture.h"

#include <catch2/catch.hpp>

using namespace minigptc::dist;

namespace {

Simulation run(ScheduleKind kind, Pipeline pipeline, int64_t forward, int64_t backward) {
  return simulate(makeSchedule(kind, pipeline), StageCosts::equal(pipeline, forward, backward));
}

size_t count(const std::string &text, const std::string &what) {
  size_t number = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++number;
  return number;
}

} // namespace

TEST_CASE("a schedule as text") {
  CHECK(drawText(run(ScheduleKind::oneForwardOneBackward, {4, 2}, 1, 1)) ==
        "tick     1  2  3  4  5  6  7  8  9  10\n"
        "stage 0  F0 F1 .  B0 F2 B1 F3 B2 .  B3\n"
        "stage 1  .  F0 B0 F1 B1 F2 B2 F3 B3 .\n");
  CHECK(drawText(run(ScheduleKind::gpipe, {2, 2}, 5, 10)) ==
        "tick     1  2  3  4  5  6  7  8  9\n"
        "stage 0  F0 F1 .  .  .  B0 -  B1 -\n"
        "stage 1  .  F0 F1 B0 -  B1 -  .  .\n");
}

TEST_CASE("chunks have letters; long schedules are drawn with longer ticks") {
  std::string text = drawText(run(ScheduleKind::interleaved, {2, 2, 2}, 1, 1));
  CHECK(text.find("F0a F1a F0b") != std::string::npos);
  std::string squeezed = drawText(run(ScheduleKind::gpipe, {100, 2}, 7, 13), 40);
  CHECK(squeezed.substr(0, squeezed.find('\n')).ends_with(" 2015")); // The middle of the 40th cell.
  CHECK(squeezed.ends_with("only some of the 2020 ticks are shown; an SVG has room for more\n"));
}

TEST_CASE("a schedule as SVG") {
  std::string svg = drawSvg(run(ScheduleKind::gpipe, {3, 2}, 1, 2), "gpipe, 3 < 4");
  CHECK(svg.starts_with("<svg xmlns="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("<title>gpipe, 3 &lt; 4</title>") != std::string::npos);
  CHECK(count(svg, "class=\"forward\"") == 6);
  CHECK(count(svg, "class=\"backward\"") == 6);
  CHECK(count(svg, "class=\"idle\"") == 3); // In the middle of stage 0, at both ends of stage 1.
  CHECK(svg.find("25.0 %") != std::string::npos);
}

TEST_CASE("a tick's number stands above the middle of its tick, and texts fit into the picture") {
  std::string svg = drawSvg(run(ScheduleKind::gpipe, {1, 2}, 1, 1), std::string(100, 'x'));
  CHECK(svg.find("<text x=\"95.0\" y=\"48\" text-anchor=\"middle\" fill=\"#666\">1</text>") !=
        std::string::npos);
  CHECK(svg.find("viewBox=\"0 0 880 168\"") != std::string::npos); // 4 ticks alone take 220.
}
