#include "test/runtime/support/InProcesses.h"

#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace minigptc::runtime::test {

int freePort() {
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t bytes = sizeof address;
  bool found = bind(listener, reinterpret_cast<sockaddr *>(&address), bytes) == 0 &&
               getsockname(listener, reinterpret_cast<sockaddr *>(&address), &bytes) == 0;
  close(listener);
  return found ? ntohs(address.sin_port) : 0;
}

Processes placeOf(int64_t rank, int64_t count, int port) {
  return {.rank = rank, .count = count, .localRank = rank, .address = "localhost", .port = port};
}

std::vector<Status> inProcesses(int64_t count, const std::function<Status(Group &)> &body,
                                ProcessOptions options) {
  std::vector<Status> statuses(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  int port = freePort();
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      StatusOr<Group> group = ProcessGroup::join(placeOf(rank, count, port), options);
      Status &status = statuses[size_t(rank)];
      status = group ? body(*group) : group.status();
      if (group && *group)
        (*group)->end(status);
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

void checkAllWell(const std::vector<Status> &statuses) {
  for (const Status &status : statuses) {
    INFO(status.toString());
    CHECK(status);
  }
}

} // namespace minigptc::runtime::test
