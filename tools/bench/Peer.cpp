#include "tools/bench/Peer.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace minigptc::bench {

using namespace runtime;

StatusOr<std::string> pythonOf(const std::string &environment, const char *packages) {
  std::string python = environment + "/bin/python";
  if (!std::filesystem::exists(python))
    return Status(StatusCode::invalidArgument, "'" + environment + "' is no Python environment")
        .withHelp(std::string("python3 -m venv DIR, then DIR/bin/pip install ") + packages);
  return python;
}

Peer::Peer(const std::string &python, const std::vector<std::string> &arguments) {
  std::signal(SIGPIPE, SIG_IGN); // it may be gone when it is asked
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return;
  std::string script = std::string(MINIGPTC_BENCH_PEERS) + "/" + arguments.at(0);
  std::vector<char *> words{const_cast<char *>(python.c_str()), script.data()};
  for (size_t i = 1; i < arguments.size(); ++i)
    words.push_back(const_cast<char *>(arguments[i].c_str()));
  words.push_back(nullptr);
  child_ = fork();
  if (child_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    execv(python.c_str(), words.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  requests_ = fdopen(in[1], "w");
  answers_ = fdopen(out[0], "r");
}

Peer::~Peer() {
  if (requests_)
    std::fclose(requests_);
  if (answers_)
    std::fclose(answers_);
  if (child_ > 0)
    waitpid(child_, nullptr, 0);
}

double Peer::step() {
  double ms = 0;
  if (!requests_ || std::fputs("step\n", requests_) < 0 || std::fflush(requests_) != 0 ||
      std::fscanf(answers_, "%lf", &ms) != 1)
    return 0;
  return ms;
}

} // namespace minigptc::bench
