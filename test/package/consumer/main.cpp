// Loads an artifact and runs two steps; the program is that of
// test/runtime/support/TestProgram.h.
#include <minigptc/runtime/Session.h>

#include <cstdio>

using namespace minigptc;

int main(int argc, char **argv) {
  runtime::StatusOr<runtime::Session> session =
      runtime::Session::open(argc > 1 ? argv[1] : "step.mgx");
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.status().toString().c_str());
    return 1;
  }
  std::vector<float> ones(64, 1.f);
  std::vector<int32_t> indices = {0, 1, 2, 3};
  ArrayTree state{{"w", Array::fromSpan<float>({8, 8}, ones)},
                  {"count", Array::scalar<int64_t>(0)}};
  for (double expected : {4.0, 32.0}) {
    runtime::StatusOr<ArrayTree> out = session->run(
        "step", {{"state", std::move(state)}, {"x", Array::fromSpan<int32_t>({4}, indices)}});
    if (!out) {
      std::fprintf(stderr, "error: %s\n", out.status().toString().c_str());
      return 1;
    }
    double loss = (*out)["loss"].leaf().scalar();
    std::printf("loss %g\n", loss);
    if (loss != expected)
      return 1;
    state = (*out)["state"];
  }
  return 0;
}
