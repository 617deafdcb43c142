// Trains a compiled language model: opens the artifact, draws the first state, runs
// steps on one batch; the loss must fall.
#include <minigptc/runtime/Session.h>

#include <cstdio>

using namespace minigptc;

/// The next-token targets of tokens that count up from row to row.
static ArrayTree makeBatch(const runtime::EntryInfo &step) {
  for (const runtime::ParameterInfo &input : step.inputs)
    if (input.name == "batch.x") {
      std::vector<int32_t> x(input.type.numElements()), y(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<int32_t>(i % 7);
        y[i] = static_cast<int32_t>((i + 1) % 7);
      }
      return {{"x", Array::fromSpan<int32_t>(input.type.shape, x)},
              {"y", Array::fromSpan<int32_t>(input.type.shape, y)}};
    }
  return {};
}

static int run(const char *path, int steps) {
  auto fail = [](const runtime::Status &status) {
    std::fprintf(stderr, "error: %s\n", status.toString().c_str());
    return 1;
  };
  runtime::StatusOr<runtime::Session> session = runtime::Session::open(path);
  if (!session)
    return fail(session.status());
  const runtime::EntryInfo *step = session->entry("train_step");
  if (!step) {
    std::fprintf(stderr, "error: %s has no entry train_step\n", path);
    return 1;
  }
  std::vector<uint32_t> key = {42, 0};
  runtime::StatusOr<ArrayTree> out =
      session->run("init", ArrayTree{{"key", Array::fromSpan<uint32_t>({2}, key)}});
  if (!out)
    return fail(out.status());
  ArrayTree state = (*out)["state"];
  double first = 0, last = 0;
  for (int i = 0; i < steps; ++i) {
    out = session->run("train_step", {{"state", std::move(state)}, {"batch", makeBatch(*step)}});
    if (!out)
      return fail(out.status());
    state = (*out)["state"];
    last = (*out)["loss"].leaf().scalar();
    if (i == 0)
      first = last;
  }
  std::printf("loss %g, after %d steps %g\n", first, steps, last);
  return last < 0.7 * first ? 0 : 1;
}

int main(int argc, char **argv) { return argc == 2 ? run(argv[1], 30) : 2; }
