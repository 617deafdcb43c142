#include "tools/common/GenerateText.h"

#include "runtime/base/Format.h"
#include "runtime/base/Log.h"
#include "tools/common/Launched.h"

#include <cstdio>

using namespace minigptc;
using namespace minigptc::runtime;

/// They draw the same tokens, each by itself.
static Status agreeOnText(ProcessGroup *processes, const std::string &prompt,
                          const GenerateOptions &options) {
  const SamplingOptions &sampling = options.sampling;
  MINIGPTC_RETURN_IF_ERROR(agree(processes, "the prompt", quote(prompt)));
  return agree(processes, "the way to continue it",
               format("%lld tokens, temperature %.17g, top-k %lld, top-p %.17g, seed %llu, stop %s",
                      (long long)options.maxTokens, sampling.temperature, (long long)sampling.topK,
                      sampling.topP, (unsigned long long)sampling.seed,
                      quote(options.stop).c_str()));
}

Status minigptc::printContinuation(Session &session, const NamedArrays &parameters,
                                   const TextCodec &codec, const std::string &prompt,
                                   const GenerateOptions &options) {
  MINIGPTC_RETURN_IF_ERROR(Sampler::check(options.sampling));
  MINIGPTC_RETURN_IF_ERROR(agreeOnText(session.processes(), prompt, options));
  SessionProgram program(session);
  bool prints = isFirst(session.processes()), written = true;
  auto write = [&](std::string_view bytes) {
    written =
        written && (!prints || (fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
                                fflush(stdout) == 0));
    return written;
  };
  auto cannotWrite = [] {
    return Status(StatusCode::resourceExhausted, "can't write to standard output");
  };
  if (!write(prompt))
    return cannotWrite();
  Status status = generate(program, parameters, codec, prompt, options, write);
  write("\n"); // An error, too, begins a line.
  // One process has written enough; others would wait for the next token.
  return status && !written && session.processes() ? cannotWrite() : status;
}
