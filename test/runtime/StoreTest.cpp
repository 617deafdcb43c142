// What processes tell each other when they start: the launcher's variables, and the store.
#include "runtime/collectives/Processes.h"
#include "runtime/collectives/TcpStore.h"

#include <catch2/catch.hpp>
#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace minigptc::runtime;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

StatusOr<std::optional<Processes>> processes(std::map<std::string, std::string> variables) {
  return processesOf([&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::unique_ptr<TcpStore> require(StatusOr<std::unique_ptr<TcpStore>> store) {
  INFO((store ? "" : store.status().toString()));
  REQUIRE(store);
  return std::move(*store);
}

std::unique_ptr<TcpStore> join(int port, std::chrono::milliseconds timeout = 10s) {
  return require(TcpStore::open({.address = "localhost", .port = port, .timeout = timeout}));
}

/// Runs `body` in a process of its own; what it returns is its exit status.
pid_t spawn(const std::function<int()> &body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  return child;
}
int statusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("processes: what launchers say") {
  CHECK_FALSE(*processes({}));
  CHECK_FALSE(*processes({{"WORLD_SIZE", "1"}, {"RANK", "0"}}));
  CHECK_FALSE(*processes({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "1"}})); // No MASTER_ADDR.
  Processes all = **processes({{"WORLD_SIZE", "8"},
                               {"RANK", "5"},
                               {"LOCAL_RANK", "1"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "1234"}});
  CHECK(all.count == 8);
  CHECK(all.rank == 5);
  CHECK(all.localRank == 1);
  CHECK(all.address == "node0");
  CHECK(all.port == 1234);
  Processes slurm = **processes({{"SLURM_NTASKS", "4"},
                                 {"SLURM_PROCID", "3"},
                                 {"SLURM_LOCALID", "2"},
                                 {"MASTER_ADDR", "::1"}});
  CHECK((slurm.rank == 3 && slurm.localRank == 2 && slurm.count == 4));
  CHECK(slurm.port == 29500);
}

TEST_CASE("processes: variables that make no sense are named") {
  std::map<std::string, std::string> good = {
      {"WORLD_SIZE", "2"}, {"RANK", "1"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "a"}};
  for (auto [name, value, message] : std::initializer_list<std::array<std::string, 3>>{
           {"WORLD_SIZE", "two", "WORLD_SIZE is 'two' in the environment; it must be a number "},
           {"WORLD_SIZE", "", "WORLD_SIZE is missing in the environment"},
           {"RANK", "2", "RANK is '2' in the environment; it must be a number from 0 to 1"},
           {"RANK", "-1", "RANK is '-1' in the environment"},
           {"RANK", "1x", "RANK is '1x' in the environment"},
           {"RANK", "", "RANK is missing in the environment"},
           {"LOCAL_RANK", "7", "LOCAL_RANK is '7' in the environment"},
           {"MASTER_ADDR", "", "MASTER_ADDR is missing in the environment"},
           {"MASTER_PORT", "70000", "MASTER_PORT is '70000' in the environment"}}) {
    auto variables = good;
    variables[name] = value;
    Status status = processes(variables).status();
    CHECK(status.code() == StatusCode::invalidArgument);
    CHECK_THAT(status.message(), StartsWith(message));
    CHECK_THAT(status.help(), Contains("unset WORLD_SIZE"));
  }
}

TEST_CASE("store: threads and processes see each other's keys") {
  auto store = require(TcpStore::open({.address = "localhost", .port = 0, .serves = true}));
  int port = store->port();
  std::vector<pid_t> children;
  for (int rank = 1; rank < 4; ++rank)
    children.push_back(spawn([=] {
      auto own = TcpStore::open({.address = "localhost", .port = port, .timeout = 20s});
      if (!own || !(*own)->set("from " + std::to_string(rank), std::string(50'000, char(rank))))
        return 1;
      StatusOr<std::string> id = (*own)->get("id"); // Comes later.
      return id && *id == std::string("\0id", 3) ? 0 : 2;
    }));
  for (int rank = 1; rank < 4; ++rank)
    CHECK(*store->get("from " + std::to_string(rank)) == std::string(50'000, char(rank)));
  CHECK(store->set("id", std::string("\0id", 3)));
  for (pid_t child : children)
    CHECK(statusOf(child) == 0);
  CHECK_FALSE(*store->find("nobody's"));
  CHECK(**store->find("id") == std::string("\0id", 3));
  // Set again: the last one counts.
  CHECK(join(port)->set("id", ""));
  CHECK(**store->find("id") == "");
}

TEST_CASE("store: what never comes, and who is not there, is told") {
  auto store = require(TcpStore::open({.address = "here", .port = 0, .serves = true}));
  auto hasty = join(store->port(), 50ms);
  Status never = hasty->get("key").status();
  CHECK(never.message() == "nobody has set 'key' in 0 s");
  CHECK(hasty->set("key", "value")); // It is of use still.
  CHECK(hasty->set(std::string(2000, 'k'), "").code() == StatusCode::invalidArgument);
  Status taken =
      TcpStore::open({.address = "here", .port = store->port(), .serves = true}).status();
  CHECK_THAT(taken.message(), StartsWith("process 0 cannot listen on port "));
  int port = store->port();
  store.reset();
  CHECK_THAT(hasty->get("key").status().message(), Contains("is gone"));
  CHECK_THAT(hasty->get("key").status().message(), Contains("is gone"));
  Status absent = TcpStore::open({.address = "localhost", .port = port, .timeout = 100ms}).status();
  CHECK_THAT(absent.message(), StartsWith("process 0 is not reached at localhost:"));
  CHECK_THAT(TcpStore::open({.address = "no.such.host.invalid", .port = 1, .timeout = 1ms})
                 .status()
                 .message(),
             StartsWith("process 0 is not reached at no.such.host.invalid:1: "));
}

TEST_CASE("store: strangers are sent away, and do no harm") {
  auto store = require(TcpStore::open({.address = "localhost", .port = 0, .serves = true}));
  for (std::string text : {std::string("GET / HTTP/1.1\r\n\r\n"),
                           "MGPTSTR1" + std::string(16, '\xff'), std::string("MGPT")}) {
    Descriptor stranger(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(uint16_t(store->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(stranger.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0);
    REQUIRE(send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL) == ssize_t(text.size()));
    char heard[64];
    if (text.size() > 8) // It is hung up on.
      while (recv(stranger.get(), heard, sizeof(heard), 0) > 0)
        ;
    CHECK(store->set("key", "value"));
  }
  CHECK(**store->find("key") == "value");
}
