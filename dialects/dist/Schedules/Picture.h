//===- Picture.h - a pipeline's schedule as text and as SVG -----*- C++ -*-===//
//
// Ticks x stages. As text, `drawText(run)` of two stages and four micro-batches with 1f1b:
//
//   tick     1  2  3  4  5  6  7  8  9  10
//   stage 0  F0 F1 .  B0 F2 B1 F3 B2 .  B3
//   stage 1  .  F0 B0 F1 B1 F2 B2 F3 B3 .
//
// F is forward, B backward, with the micro-batch's number, and where a stage has several chunks
// the chunk's letter ("F3b"); "." is idle, "-" a task that goes on.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_SCHEDULES_PICTURE_H
#define MINIGPTC_DIALECTS_DIST_SCHEDULES_PICTURE_H

#include "dialects/dist/Schedules/Simulation.h"

namespace minigptc::dist {

/// A tick is what all times are multiples of, or more, so that there are at most `maxTicks`; a
/// cell then shows what the stage does in the middle of the tick, the header which tick that is,
/// and a last line says that there are more.
std::string drawText(const Simulation &run, int64_t maxTicks = 200);

/// A whole SVG document. `title` is plain text.
std::string drawSvg(const Simulation &run, std::string_view title, int64_t maxTicks = 200);

/// The same of a run whose times are nanoseconds, to scale, with how long each stage is idle.
std::string drawTimes(const Simulation &run, std::string_view title);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_SCHEDULES_PICTURE_H
