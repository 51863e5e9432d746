// Every failure soon ends all ranks and names the rank that caused it: disagreements, departures, deaths, missing and
// strange ranks.
#include <sys/syscall.h>
#include <atomic>
#include <random>
#include "jobs.h"
#include "support/text.h"
#include "wire/descriptor.h"

namespace bora::transport::fault_test {
namespace {
using test::has;
class Faults : public testing::TestWithParam<Carrier> {
 protected:
  std::vector<std::string> job(int n, const std::function<void(Context&)>& body) {
    auto start = std::chrono::steady_clock::now();
    auto errors = run_ranks(GetParam(), n, body);
    EXPECT_LT(seconds_since(start), 6);
    return errors;
  }
};
INSTANTIATE_TEST_SUITE_P(Carriers, Faults, testing::Values(Carrier::local, Carrier::tcp, Carrier::zmq, Carrier::shm),
                         [](auto& info) { return carrier_name(info.param); });
void sum(Context& c, const Group& g, std::int64_t n, std::string note = {}) {
  std::vector<float> x(static_cast<std::size_t>(n), 1.0f), y(x.size());
  c.run(g,
        {.kind = CollectiveKind::all_reduce, .in = x.data(), .out = y.data(), .send_counts = {n}, .describe = [note] {
           return note;
         }});
}
void gather(Context& c, const Group& g, std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n), 1.0f), y(x.size() * g.ranks.size());
  c.run(g, {.kind = CollectiveKind::all_gather,
            .in = x.data(),
            .out = y.data(),
            .recv_counts = std::vector<std::int64_t>(g.ranks.size(), n)});
}

TEST_P(Faults, AnotherCollectiveIsAnErrorThatQuotesBoth) {
  for (int odd : {0, 1, 2}) {
    auto errors = job(3, [&](Context& c) {
      sum(c, everybody(3), 10);
      if (c.rank() == odd) gather(c, everybody(3), 300);
      else sum(c, everybody(3), 1024, "train.cc:88");
    });
    for (auto& e : errors) {
      EXPECT_HAS(e, "the ranks disagree");
      EXPECT_HAS(e, "rank " + std::to_string(odd) + ": all_gather f32[900] seq 1 axis data");
      EXPECT_HAS(e, ": all_reduce sum f32[1024] seq 1 axis data (train.cc:88)");
    }
  }
}
TEST_P(Faults, AnotherCountDtypeOrFingerprintIsAnError) {
  for (int what : {0, 1, 2}) {
    auto errors = job(2, [&](Context& c) {
      std::vector<double> x(3000), y(3000);
      bool other = c.rank() == 1;
      c.run(everybody(2), {.kind = CollectiveKind::all_reduce,
                           .dtype = what == 1 && other ? f64 : f32,
                           .in = x.data(),
                           .out = y.data(),
                           .send_counts = {what == 0 && other ? 3000 : 2999},
                           .fingerprint = what == 2 && other ? 7u : 5u});
    });
    for (auto& e : errors)
      EXPECT_HAS(e, "the ranks disagree: rank 0: all_reduce sum f32[2999] seq 0 axis data; rank 1: all_reduce sum");
  }
}
TEST_P(Faults, EveryReductionIsNamedOrRefused) {
  for (auto r : {Reduction::sum, Reduction::max, Reduction::min, Reduction::prod, Reduction::all, Reduction::any,
                 Reduction::mean}) {
    auto errors = job(2, [&](Context& c) {
      std::vector<float> x(30), y(30);
      c.run(everybody(2), {.kind = CollectiveKind::all_reduce,
                           .reduce = r,
                           .in = x.data(),
                           .out = y.data(),
                           .send_counts = {c.rank() == 0 ? 29 : 30}});
    });
    bool known = r == Reduction::sum || r == Reduction::max || r == Reduction::min || r == Reduction::mean;
    for (auto& e : errors)
      EXPECT_HAS(e, known ? "all_reduce " + std::string(word(r)) + " f32[30] seq 0 axis data"
                          : "all_reduce: ranks combine by sum, mean, max or min");
  }
}
TEST_P(Faults, AllToAllWithCountsThatDoNotFit) {
  auto errors = job(2, [&](Context& c) {
    std::vector<float> x(100), y(100);
    std::vector<std::int64_t> send{10, 10}, receive{10, 10};
    if (c.rank() == 0) receive[1] = 20;
    c.run(everybody(2), {.kind = CollectiveKind::all_to_all,
                         .in = x.data(),
                         .out = y.data(),
                         .send_counts = send,
                         .recv_counts = receive});
  });
  EXPECT_HAS(errors[0], "the ranks disagree");
}
TEST_P(Faults, RanksThatWaitInDifferentGroups) {
  // 0 waits for 1 in {0, 1}, 1 for 2 in {1, 2}, 2 for 0 in {0, 2}.
  auto errors = job(3, [&](Context& c) {
    Group pairs[] = {{{0, 1}, "axis a"}, {{1, 2}, "axis b"}, {{0, 2}, "axis c"}};
    sum(c, pairs[c.rank()], 64);
  });
  for (auto& e : errors) {
    EXPECT_HAS(e, "the ranks wait for each other");
    EXPECT_HAS(e, "rank 0: all_reduce sum f32[64] seq 0 axis a");
    EXPECT_HAS(e, "rank 2: all_reduce sum f32[64] seq 0 axis c");
  }
}
TEST_P(Faults, ARankInAnExchangeAndOneInACollective) {
  auto errors = job(2, [&](Context& c) {
    if (c.rank() == 0) c.exchange("x", "digests");
    else sum(c, everybody(2), 8);
  });
  for (auto& e : errors) {
    EXPECT_HAS(e, "rank 0: exchange of digests");
    EXPECT_HAS(e, "rank 1: all_reduce");
  }
  errors = job(2, [&](Context& c) { c.exchange("x", c.rank() == 0 ? "digests" : "names"); });
  for (auto& e : errors) EXPECT_HAS(e, "exchange of ");
}
TEST_P(Faults, ASenderThatWentOnIsNotMissed) {
  // Rank 1 runs a permutation without peers, where rank 0 waits for its broadcast.
  auto errors = job(2, [&](Context& c) {
    float x = 1, y = 0;
    if (c.rank() == 0)
      c.run(everybody(2), {.kind = CollectiveKind::broadcast, .in = &x, .out = &y, .send_counts = {1}, .root = 1});
    else c.run(everybody(2), {.kind = CollectiveKind::permute, .in = &x, .out = &y, .send_counts = {1}});
    sum(c, everybody(2), 5);
  });
  for (auto& e : errors) {
    EXPECT_HAS(e, "broadcast f32[1] seq 0");
    EXPECT_HAS(e, "permute f32[1] seq 0");
  }
}
TEST_P(Faults, ARankThatLeavesEarlyIsNamed) {
  auto errors = job(3, [&](Context& c) {
    sum(c, everybody(3), 5);
    if (c.rank() == 1) return;
    sum(c, everybody(3), 77);
  });
  for (int r : {0, 2}) {
    EXPECT_HAS(errors[static_cast<std::size_t>(r)], "rank 1 (");
    EXPECT_HAS(errors[static_cast<std::size_t>(r)], "left the job while rank ");
    EXPECT_HAS(errors[static_cast<std::size_t>(r)], "all_reduce sum f32[77] seq 1 axis data");
  }
}
TEST_P(Faults, AbortAndExceptionsReachEverybody) {
  std::atomic<int> callbacks{0}, named{0};
  auto errors = job(3, [&](Context& c) {
    c.on_lost([&](const RankLost& e) { ++callbacks, named += e.rank; }, 0);
    sum(c, everybody(3), 5);
    if (c.rank() == 2) {
      c.abort("loss is not finite");
      sum(c, everybody(3), 5);
    }
    for (;;) sum(c, everybody(3), 50000);
  });
  for (auto& e : errors) {
    EXPECT_HAS(e, "ended the job: loss is not finite");
    EXPECT_HAS(e, "rank 2 (");
  }
  EXPECT_EQ(callbacks, 3);
  EXPECT_EQ(named, 6);
}
TEST_P(Faults, AContextDestroyedByAnExceptionEndsTheJob) {
  auto contexts = GetParam() == Carrier::local ? local(2) : std::vector<ContextPtr>(2);
  int port = free_port();
  std::string other;
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      try {
        auto c = GetParam() == Carrier::local ? std::move(contexts[static_cast<std::size_t>(r)])
                                              : join(config_for(r, 2, port, GetParam()));
        c->barrier(everybody(2));
        if (r == 1) throw std::runtime_error("mine");
        sum(*c, everybody(2), 5);
      } catch (const std::exception& e) {
        if (r == 0) other = e.what();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_HAS(other, "rank 1 (");
  EXPECT_HAS(other, "ended the job: an exception ended it");
}
TEST(Deadlines, ARankThatDoesNotTakePart) {
  int port = free_port();
  testing::internal::CaptureStderr();
  std::string errors[2];
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      try {
        auto config = config_for(r, 2, port);
        config.stuck_warn_s = 0.3, config.stuck_abort_s = 1.2;
        auto c = join(config);
        c->barrier(everybody(2));
        if (r == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
        sum(*c, everybody(2), 5);
      } catch (const std::exception& e) { errors[r] = e.what(); }
    });
  for (auto& t : threads) t.join();
  auto said = testing::internal::GetCapturedStderr();
  EXPECT_HAS(said, "warning: rank 0 has waited 0 s: all_reduce seq 1 axis data: waiting for rank 1 (host ");
  for (auto& e : errors) {
    EXPECT_HAS(e, "did not take part in all_reduce seq 1 axis data");
    EXPECT_HAS(e, "rank 1 (");
    EXPECT_HAS(e, "; last finished barrier seq 0 axis data at ");
    EXPECT_HAS(e, "; in no collective); rank 0 has 0 of ");
  }
}

// ---- joining ----
std::string join_error(const Config& c) {
  try {
    join(c)->leave();
    return {};
  } catch (const JoinTimeout& e) { return std::string("timeout: ") + e.what(); } catch (const ConfigError& e) {
    return std::string("config: ") + e.what();
  }
}
std::vector<std::string> join_errors(std::vector<Config> configs) {
  std::vector<std::string> errors(configs.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < configs.size(); ++i) threads.emplace_back([&, i] { errors[i] = join_error(configs[i]); });
  for (auto& t : threads) t.join();
  return errors;
}
TEST(Joining, MissingRanksAreNamedOnAllThatArrived) {
  int port = free_port();
  auto a = config_for(0, 4, port), b = config_for(2, 4, port);
  a.join_timeout_s = b.join_timeout_s = 0.7;
  for (auto& e : join_errors({a, b}))
    EXPECT_HAS(e, "timeout: ranks 1, 3 of 4 did not arrive at 127.0.0.1:" + std::to_string(port) + " within 0.7 s");
  b.join_timeout_s = 0.3;
  EXPECT_HAS(join_error(b), "timeout: rank 0 did not answer at 127.0.0.1");
}
TEST(Joining, OneVerdictListsEveryDifference) {
  int port = free_port();
  auto a = config_for(0, 3, port), b = config_for(1, 3, port), c = config_for(2, 4, port);
  b.build = "other";
  b.carrier = "zmq";
  for (auto& e : join_errors({a, b, c})) {
    EXPECT_HAS(e, "config: the ranks do not fit together");
    EXPECT_HAS(e, "build: rank 0 has '', rank 1 'other'");
    EXPECT_HAS(e, "carrier of data: rank 0 has 'tcp', rank 1 'zmq'");
    EXPECT_HAS(e, "size: rank 0 has '3', rank 2 '4'");
  }
}
TEST(Joining, AnotherJobIsRefusedAndTheJobGoesOn) {
  int port = free_port();
  auto a = config_for(0, 2, port), b = config_for(1, 2, port), stranger = config_for(1, 2, port);
  a.job = b.job = "mine";
  stranger.job = "theirs";
  std::vector<std::string> errors(3);
  std::thread first([&] { errors[0] = join_error(a); });
  errors[2] = join_error(stranger);
  errors[1] = join_error(b);
  first.join();
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[1], "");
  EXPECT_HAS(errors[2], "config: refused by the job at 127.0.0.1");
  EXPECT_HAS(errors[2], "it belongs to job 'theirs'");
}
TEST(Joining, ARankStartedTwiceIsRefused) {
  int port = free_port();
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  auto start = [&](std::size_t i, int rank) {
    threads.emplace_back([&, i, rank] { errors[i] = join_error(config_for(rank, 3, port)); });
  };
  start(0, 0), start(1, 1), start(2, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  start(3, 2);
  for (auto& t : threads) t.join();
  EXPECT_EQ(errors[0], "");
  EXPECT_EQ(errors[3], "");
  auto refused = errors[1] + errors[2];
  EXPECT_HAS(refused, "rank 1 was started twice: rank 1 (host ");
  EXPECT_TRUE(errors[1].empty() != errors[2].empty());
}
TEST(Joining, APortInUseAndBadAddresses) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), port = free_port();
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_HAS(join_error(config_for(0, 2, port)),
             "config: cannot listen on 127.0.0.1:" + std::to_string(port) + ": the port is in use");
  close(fd);
  auto c = config_for(0, 2, port);
  for (auto root : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:12x"}) {
    c.root = root;
    EXPECT_HAS(join_error(c), "config: root: ");
  }
  c.root = "8.8.8.8:29650";
  EXPECT_HAS(join_error(c), "config: ");
  c = config_for(0, 2, port);
  c.interface = "nosuch0";
  EXPECT_HAS(join_error(c), "no network interface 'nosuch0'");
  EXPECT_HAS(join_error(config_for(2, 2, port)), "rank 2 of 2");
}
TEST(Joining, GarbageOnThePortsDoesNotDisturbTheJob) {
  int port = free_port();
  std::atomic<bool> stop{false};
  std::thread noise([&] {
    std::mt19937 random(7);
    while (!stop) {
      int fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in a{};
      a.sin_family = AF_INET;
      a.sin_port = htons(static_cast<std::uint16_t>(port));
      a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) {
        // Noise, sometimes behind the signature of ZMTP and a revision.
        std::string junk =
            random() % 2 ? std::string("\xff\0\0\0\0\0\0\0\1\x7f", 10) + static_cast<char>(random() % 5) : "";
        for (int i = 0; i < 200; ++i) junk += static_cast<char>(random() % 4 ? random() : 0);
        [[maybe_unused]] auto n = send(fd, junk.data(), junk.size(), MSG_NOSIGNAL);
      }
      close(fd);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  });
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      try {
        auto c = join(config_for(r, 2, port));
        for (int i = 0; i < 150; ++i) {
          sum(*c, everybody(2), 5000);
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
      } catch (const std::exception& e) { errors[static_cast<std::size_t>(r)] = e.what(); }
    });
  for (auto& t : threads) t.join();
  stop = true;
  noise.join();
  expect_no_errors(errors);
}
TEST(Environment, IsReadAndChecked) {
  auto with = [](std::vector<std::pair<const char*, const char*>> vars) {
    for (auto name : {"BORA_RANK", "BORA_SIZE", "BORA_ROOT", "BORA_JOB", "BORA_JOIN_TIMEOUT"}) unsetenv(name);
    for (auto [k, v] : vars) setenv(k, v, 1);
    return config_from_environment();
  };
  EXPECT_EQ(with({}).size, 1);
  auto c = with(
      {{"BORA_RANK", "1"}, {"BORA_SIZE", "3"}, {"BORA_ROOT", "h:1"}, {"BORA_JOIN_TIMEOUT", "2.5"}, {"BORA_JOB", "j"}});
  EXPECT_EQ(c.rank, 1);
  EXPECT_EQ(c.size, 3);
  EXPECT_EQ(c.root, "h:1");
  EXPECT_EQ(c.job, "j");
  EXPECT_EQ(c.join_timeout_s, 2.5);
  EXPECT_THROW(with({{"BORA_RANK", "1"}}), ConfigError);
  EXPECT_THROW(with({{"BORA_RANK", "3"}, {"BORA_SIZE", "3"}, {"BORA_ROOT", "h:1"}}), ConfigError);
  EXPECT_THROW(with({{"BORA_RANK", "x"}, {"BORA_SIZE", "3"}, {"BORA_ROOT", "h:1"}}), ConfigError);
  EXPECT_THROW(with({{"BORA_RANK", "0"}, {"BORA_SIZE", "3"}}), ConfigError);
  with({});
}

// ---- real processes ----
struct Job {
  std::vector<std::unique_ptr<Process>> ranks;
  int port = free_port();
  Job(int n, const std::string& command, std::vector<std::pair<std::string, std::string>> env = {}) {
    for (int r = 0; r < n; ++r)
      ranks.push_back(std::make_unique<Process>(r, n, port, std::vector<std::string>{command}, env));
  }
  void ready() {
    for (auto& p : ranks) ASSERT_TRUE(p->wait_for_text("ready")) << p->output();
  }
};
TEST(Processes, MeetAndLeave) {
  Job job(3, "meet");
  for (auto& p : job.ranks) EXPECT_EQ(p->finish(), 0) << p->output();
}
TEST(Processes, KilledRankIsNamedByAllWithinASecond) {
  for (int victim : {0, 1, 2}) {
    Job job(3, "loop");
    job.ready();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto start = std::chrono::steady_clock::now();
    job.ranks[static_cast<std::size_t>(victim)]->signal(SIGKILL);
    auto name = "bora: rank " + std::to_string(victim) + " (host ";
    for (int r = 0; r < 3; ++r) {
      auto& p = *job.ranks[static_cast<std::size_t>(r)];
      auto pid = std::to_string(p.pid());
      EXPECT_EQ(p.finish(), r == victim ? -SIGKILL : 86) << p.output();
      if (r == victim) continue;
      EXPECT_HAS(p.output(), name);
      EXPECT_HAS(p.output(), ") lost: connection closed during ");
      EXPECT_HAS(p.output(), " axis data");
    }
    EXPECT_LT(seconds_since(start), 1.0 * test::crowded());
  }
}
/// Ends the n-th connection over TCP of another process, as a router that has forgotten it would; false if there are
/// fewer.
bool cut_connection(pid_t pid, int n) {
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  for (int fd = 0; fd < 256; ++fd) {
    int copy = static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0));
    if (copy < 0) continue;
    Descriptor socket(copy);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    bool connected = ::getpeername(copy, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family != AF_UNIX;
    if (connected && n-- == 0) return ::shutdown(copy, SHUT_RDWR) == 0;
  }
  return false;
}
TEST(Processes, AConnectionThatIsCutIsNamedByAll) {
  for (std::string carrier : {"tcp", "zmq"})
    for (int victim : {0, 1})
      for (int connection : {0, 1}) {  // control and data, in whichever order
        Job job(2, "loop", {{"BORA_CARRIER", carrier}});
        job.ready();
        auto start = std::chrono::steady_clock::now();
        ASSERT_TRUE(cut_connection(job.ranks[static_cast<std::size_t>(victim)]->pid(), connection))
            << carrier << " has no connection " << connection;
        for (auto& p : job.ranks) {
          EXPECT_EQ(p->finish(), 86) << p->output();
          EXPECT_HAS(p->output(), ") lost: ");
        }
        EXPECT_LT(seconds_since(start), 3.0 * test::crowded()) << carrier;
      }
}
/// For 6 s a connection may be a stranger's; later only those of ranks are open.
TEST(Processes, AJobOutlivesThePatienceWithStrangers) {
  Job job(3, "loop", {{"BORA_CARRIER", "zmq"}, {"TEST_PAUSE_MS", "20"}});
  job.ready();
  std::this_thread::sleep_for(std::chrono::milliseconds(7500));
  for (auto& p : job.ranks) EXPECT_EQ(::waitpid(p->pid(), nullptr, WNOHANG), 0) << p->output();
}
TEST(Processes, ALongKernelIsEndedByTheProgressThread) {
  Job job(2, "busy");
  job.ready();
  auto start = std::chrono::steady_clock::now();
  job.ranks[1]->signal(SIGKILL);
  EXPECT_EQ(job.ranks[0]->finish(), 86);
  EXPECT_GT(seconds_since(start), 0.25);
  EXPECT_LT(seconds_since(start), 1.5);
  EXPECT_HAS(job.ranks[0]->output(), "callback: rank 1 (host ");
  EXPECT_HAS(job.ranks[0]->output(), "bora: rank 1 (host ");
}
TEST(Processes, AnExitWithoutLeavingIsALoss) {
  Job job(3, "vanish");
  EXPECT_EQ(job.ranks[2]->finish(), 0);
  for (int r : {0, 1}) {
    EXPECT_EQ(job.ranks[static_cast<std::size_t>(r)]->finish(), 86);
    EXPECT_HAS(job.ranks[static_cast<std::size_t>(r)]->output(), "rank 2 (host ");
  }
}
TEST(Processes, FewFilesAreEnoughOrAClearError) {
  for (auto [carrier, files] : {std::pair{"auto", "64"}, {"auto", "80"}, {"tcp", "64"}, {"zmq", "80"}}) {
    Job enough(4, "meet", {{"TEST_FILES", files}, {"BORA_CARRIER", carrier}});
    for (auto& p : enough.ranks) EXPECT_EQ(p->finish(), 0) << carrier << ": " << p->output();
  }
  Job few(2, "meet", {{"TEST_FILES", "24"}});
  for (auto& p : few.ranks) {
    EXPECT_EQ(p->finish(), 2) << p->output();
    EXPECT_HAS(p->output(), "bora: this process may have 24 files open, and a rank of 2 needs ");
  }
}
TEST(Processes, AForkedChildCannotUseTheJob) {
  for (std::string carrier : {"zmq", "auto"}) {
    Job job(2, "fork", {{"BORA_CARRIER", carrier}});
    for (auto& p : job.ranks) {
      auto code = p->finish();
      EXPECT_EQ(code, 0) << p->output();
      EXPECT_HAS(p->output(), "child's code: 4");
      EXPECT_HAS(p->output(), "child: this process was forked from rank ");
    }
  }
}
TEST(Processes, AStoppedRankIsLostAndAShortStopIsNot) {
  for (int victim : {0, 1}) {
    Job job(2, victim == 0 ? "loop_5s" : "loop", {{"TEST_HEARTBEAT", "0.1"}, {"TEST_PAUSE_MS", "5"}});
    job.ready();
    auto& stopped = *job.ranks[static_cast<std::size_t>(victim)];
    auto& other = *job.ranks[static_cast<std::size_t>(1 - victim)];
    stopped.signal(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    stopped.signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    auto start = std::chrono::steady_clock::now();
    stopped.signal(SIGSTOP);
    EXPECT_EQ(other.finish(), 86) << other.output();
    EXPECT_LT(seconds_since(start), 3);
    EXPECT_HAS(other.output(), "rank " + std::to_string(victim) + " (host ");
    EXPECT_HAS(other.output(), " lost: no heartbeat for 1.");
    stopped.signal(SIGKILL);
    stopped.finish();
  }
}
}  // namespace
}  // namespace bora::transport::fault_test
