// Ranks that the system gives too few descriptors, threads or too little memory, and exceptions that nobody catches.
#include <grp.h>
#include <sys/resource.h>
#include <zmq.h>
#include <filesystem>
#include <fstream>
#include <map>
#include "jobs.h"
#include "support/temp_folder.h"
#include "wire/zmq_socket.h"

namespace bora::transport::starved_test {
namespace {
void limit(int what, rlim_t n) {
  rlimit value{n, n};
  setrlimit(static_cast<__rlimit_resource>(what), &value);
}
bool to_nobody() {
  return setgroups(0, nullptr) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0;
}
/// The ends of processes that begin with ZeroMQ within n = first, first + step, ... of a resource: 0, or 2 with an
/// Error.
std::map<int, int> ends(int what, rlim_t first, rlim_t step, int times) {
  test::TempFolder temp;
  std::map<int, int> count;
  for (int k = 0; k < times; ++k) {
    auto r = test::run_apart(temp.path() + "/said", [&] {
      if (what == RLIMIT_NPROC && !to_nobody()) return 3;
      limit(what, first + step * static_cast<rlim_t>(k));
      try {
        ZmqContext context;
        Socket one(context, ZMQ_ROUTER), two(context, ZMQ_DEALER);
        return 0;
      } catch (const Error& e) {
        std::fprintf(stderr, "bora: %s\n", e.what());
        return 2;
      }
    });
    ++count[r.code];
    EXPECT_TRUE(r.code == 0 || (r.code == 2 && r.err.find("bora: cannot ") != r.err.npos))
        << first + step * static_cast<rlim_t>(k) << ": " << r.code << " " << r.err;
  }
  return count;
}

TEST(Starved, ZeroMQBeginsOrSaysWhyNot) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take all address space, and descriptors
  auto open = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}) - 1;
  auto files = ends(RLIMIT_NOFILE, static_cast<rlim_t>(open), 1, 16);
  EXPECT_GT(files[2], 3);
  EXPECT_GT(files[0], 3);
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  auto memory = ends(RLIMIT_AS, pages * 4096, 4 << 20, 24);
  EXPECT_GT(memory[0], 1);  // all of them where tests before this one have left memory and stacks for reuse
#endif
  if (getuid() != 0) return;
  auto threads = ends(RLIMIT_NPROC, 1, 1, 5);
  EXPECT_GT(threads[2], 1);
  EXPECT_GT(threads[0], 0);
}
/// What else calls abort() ends as ever.
TEST(Starved, AbortIsAbort) {
  test::TempFolder temp;
  EXPECT_EQ(test::run_apart(temp.path() + "/said",
                            [] {
                              ZmqContext context;
                              std::abort();
                              return 0;
                            })
                .code,
            -SIGABRT);
}
int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(Starved, AProgramEndsWithALine) {
  for (int files : {8, 12, 16, 24, 40}) {
    auto port = free_port();
    std::vector<std::unique_ptr<Process>> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.push_back(std::make_unique<Process>(
          r, 2, port, std::vector<std::string>{"meet"},
          std::vector<std::pair<std::string, std::string>>{{"TEST_UNCAUGHT", "1"}, {"BORA_JOIN_TIMEOUT", "5"}},
          [files] { close_range(3, ~0U, 0), limit(RLIMIT_NOFILE, static_cast<rlim_t>(files)); }));
    for (auto& rank : ranks) {
      EXPECT_EQ(rank->finish(), 2) << files << " " << rank->output();
      EXPECT_TRUE(rank->output().starts_with("bora: ") && lines(rank->output()) == 1) << files << rank->output();
    }
  }
}
TEST(Starved, ASmallStackIsALine) {
  Process rank(0, 2, free_port(), {"meet"}, {{"TEST_UNCAUGHT", "1"}}, [] { limit(RLIMIT_STACK, 64 << 10); });
  EXPECT_EQ(rank.finish(), 2);
  EXPECT_EQ(rank.output(),
            "bora: this process has a stack of 64 KB, and needs one of 256; allow it more: ulimit -s 8192\n");
}
TEST(Uncaught, AnExceptionOfOneRankDoesNotAbortTheOthers) {
  auto port = free_port();
  std::vector<std::unique_ptr<Process>> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.push_back(std::make_unique<Process>(
        r, 3, port, std::vector<std::string>{"throws"},
        std::vector<std::pair<std::string, std::string>>{{"TEST_UNCAUGHT", "1"}}));
  EXPECT_EQ(ranks[2]->finish(), -SIGABRT) << ranks[2]->output();
  EXPECT_NE(ranks[2]->output().find("the program's own"), std::string::npos) << ranks[2]->output();
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(ranks[r]->finish(), 86) << ranks[r]->output();
    auto& said = ranks[r]->output();
    // Rank 2 may be gone before this one is ready, or while they share memory, of which a warning is said.
    auto at = said.find("bora: rank 2 (host ");
    EXPECT_TRUE(at == 0 || (at != said.npos && said[at - 1] == '\n')) << said;
    EXPECT_EQ(said.find("bora: ", at + 1), said.npos) << said;
  }
}
}  // namespace
}  // namespace bora::transport::starved_test
