// rank.cpp -- one rank as a process, for fault tests: bora_transport_rank COMMAND. Prints "ready" once all ranks have
// met; exit codes 0, 2 (settings, a rank missing), 86 (a rank lost; the line names it).
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include "bora/transport/transport.h"
#include "everything.h"

using namespace bora::transport;
using bora::CollectiveKind;
namespace {
int run(int argc, char** argv) {
  std::string command = argc > 1 ? argv[1] : "loop";
  auto config = config_from_environment();
  if (const char* build = std::getenv("TEST_BUILD")) config.build = build;
  if (const char* fast = std::getenv("TEST_HEARTBEAT"))
    config.heartbeat_s = std::atof(fast), config.suspect_s = 4 * config.heartbeat_s,
    config.dead_s = 10 * config.heartbeat_s;
  auto c = join(config);
  Group all{.ranks = std::vector<int>(static_cast<std::size_t>(c->size())), .name = "axis data"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  if (command == "busy" && c->rank() != c->size() - 1)
    c->on_lost([](const RankLost& e) { std::printf("callback: %s\n", e.what()); }, 0.3);
  c->barrier(all);
  std::printf("ready\n");
  if (command == "large") {  // pieces above the window: credits flow
    std::vector<float> x(4 << 20, 1.0f), y(x.size());
    for (int k = 0; k < 3; ++k)
      c->run(all, {.kind = CollectiveKind::all_reduce,
                   .in = x.data(),
                   .out = y.data(),
                   .send_counts = {static_cast<std::int64_t>(x.size())}});
    bool right = y.front() == static_cast<float>(c->size()) && y.back() == y.front();
    c->leave();
    return right ? 0 : 1;
  }
  if (command == "everything") {
    int code = everything(*c, all);
    c->leave();
    return code;
  }
  if (command == "meet") return 0;
  if (command == "throws" && c->rank() == c->size() - 1) throw std::runtime_error("the program's own");
  if (command == "vanish" && c->rank() == c->size() - 1) std::_Exit(0);
  // A long kernel: the process is ended by its progress thread.
  if (command == "busy" && c->rank() != c->size() - 1)
    for (auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
         std::chrono::steady_clock::now() < end;) {}
  if (command == "late" && c->rank() == c->size() - 1) std::this_thread::sleep_for(std::chrono::seconds(30));
  if (command == "fork") {  // the child's calls fail, at once; it can end as it likes, and the job goes on
    auto child = ::fork();
    if (child == 0) {
      int refused = 0;
      for (auto call : {+[](Context& k, const Group& g) { k.barrier(g); },
                        +[](Context& k, const Group&) { k.exchange("x", "texts"); },
                        +[](Context& k, const Group&) { k.traffic(); }, +[](Context& k, const Group&) { k.leave(); }})
        try {
          call(*c, all);
        } catch (const bora::TransportError& e) {
          ++refused;
          std::printf("child: %s\n", e.what());
        }
      c.reset();
      std::fflush(stdout);
      ::_exit(refused);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("child's code: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    std::vector<float> x(300000, 1.0f), y(x.size());
    c->run(all, {.kind = CollectiveKind::all_reduce, .in = x.data(), .out = y.data(), .send_counts = {300000}});
    return y[0] == static_cast<float>(c->size()) ? 0 : 1;
  }
  if (const char* sums = std::getenv("TEST_SUMS")) {
    std::vector<float> x(100000, 1.0f), y(x.size());
    for (int k = std::atoi(sums); k > 0; --k) {
      // Whatever strangers do, the program can open a file.
      if (std::getenv("TEST_OPENS") && !std::ifstream("/dev/null")) return std::printf("no file can be opened\n"), 1;
      c->run(all, {.kind = CollectiveKind::all_reduce, .in = x.data(), .out = y.data(), .send_counts = {100000}});
    }
    std::printf("sums done\n");
  }
  if (command == "lingers") {  // the last rank, or TEST_LATE, leaves late
    c->on_lost({}, 0.1);
    const char* late = std::getenv("TEST_LATE");
    bool waits = c->rank() == (late ? std::atoi(late) : c->size() - 1);
    if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(argc > 2 ? std::atoi(argv[2]) : 30000));
    if (argc > 3 && waits) c->barrier(all);  // the others do not come
    c->leave();
    return 0;
  }
  std::int64_t n = command == "big" ? 16 << 20 : 50000;
  std::vector<float> in(static_cast<std::size_t>(n), 1.0f), out(in.size());
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(command == "loop_5s" ? 5 : 30);
  const char* pause = std::getenv("TEST_PAUSE_MS");  // between sums, where a test waits for long
  for (bool more = true; more;) {
    if (pause) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(pause)));
    c->run(all, {.kind = CollectiveKind::all_reduce, .in = in.data(), .out = out.data(), .send_counts = {n}});
    if (out[0] != static_cast<float>(c->size())) return std::printf("wrong sum\n"), 1;
    std::int32_t again = std::chrono::steady_clock::now() < end;  // rank 0 decides
    c->run(all,
           {.kind = CollectiveKind::broadcast, .dtype = bora::i32, .in = &again, .out = &again, .send_counts = {1}});
    more = again != 0;
  }
  c->leave();
  return 0;
}
}  // namespace
int main(int argc, char** argv) {
  if (const char* files = std::getenv("TEST_FILES")) {
    rlimit limit{static_cast<rlim_t>(std::atoi(files)), static_cast<rlim_t>(std::atoi(files))};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  dump_on_sigusr2();
  if (std::getenv("TEST_UNCAUGHT")) return run(argc, argv);
  try {
    return run(argc, argv);
  } catch (const RankLost& e) {
    std::printf("bora: %s\n", e.what());
    return 86;
  } catch (const bora::Error& e) {
    std::printf("bora: %s\n", e.what());
    return 2;
  }
}
