// Hosts that listen for their launcher, and strangers at their port: real processes and sockets, in a network of this
// test's own, where that is permitted.
#include "launch/api/tunnel.h"
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <atomic>
#include <csignal>
#include <deque>
#include "bora/base/error.h"
#include "support/crowded.h"
#include "support/processes.h"
#include "support/temp_folder.h"

namespace tunnel_test {
using namespace bora;
using namespace std::chrono_literals;
namespace {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto kBetweenStrangers = 50ms;  // each costs a fork, and an instrumented process takes 15 ms for it
#else
constexpr auto kBetweenStrangers = 3ms;
#endif
const std::string kSecret = "the secret of this job", kOther = "the secret of another job";

/// An end of a connection of a stranger, who says nothing unless told to.
class Stranger {
 public:
  explicit Stranger(const std::string& from = "127.0.0.1") : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_in mine{}, to{};
    mine.sin_family = to.sin_family = AF_INET;
    ::inet_pton(AF_INET, from.c_str(), &mine.sin_addr);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(launch::kAgentPort);
    came_ = ::bind(fd_, reinterpret_cast<::sockaddr*>(&mine), sizeof mine) == 0 &&
            ::connect(fd_, reinterpret_cast<::sockaddr*>(&to), sizeof to) == 0;
  }
  ~Stranger() { ::close(fd_); }
  Stranger(Stranger&& other) noexcept : fd_(std::exchange(other.fd_, -1)), came_(other.came_) {}
  Stranger& operator=(Stranger&&) = delete;
  bool came() const { return came_; }
  void say(std::string_view text) const {
    [[maybe_unused]] auto n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  /// Whether the host has closed it.
  bool is_out() const {
    char byte;
    return ::recv(fd_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0 || (errno != EAGAIN && errno != EINTR);
  }

 private:
  int fd_;
  bool came_ = false;
};
struct TunnelTest : testing::Test {
  test::TempFolder temp;
  std::string agent = temp.path() + "/agent";
  pid_t listener = 0;

  TunnelTest() {
    static const bool apart = ::unshare(CLONE_NEWNET) == 0 && up();
    (void)apart;  // else this machine's loopback interface will do
    std::ofstream(agent) << "#!/bin/sh\nexec cat\n";
    ::chmod(agent.c_str(), 0755);
  }
  ~TunnelTest() override {
    if (listener > 0) ::kill(listener, SIGKILL), ::waitpid(listener, nullptr, 0);
    for (int i = 0; i < 200 && Stranger().came(); ++i) std::this_thread::sleep_for(10ms);
  }
  static bool up() {
    int s = ::socket(AF_INET, SOCK_DGRAM, 0);
    ::ifreq lo{.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
    lo.ifr_flags = IFF_UP | IFF_RUNNING;
    bool done = ::ioctl(s, SIOCSIFFLAGS, &lo) == 0;
    ::close(s);
    return done;
  }
  /// With so many descriptors (0: as many as there are), and after it has closed so many connections.
  void listen(rlim_t descriptors = 0, int closed = 0, bool service = false) {
    std::fflush(nullptr);
    listener = ::fork();
    if (listener == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::rlimit most{descriptors, descriptors};
      if (descriptors > 0) ::setrlimit(RLIMIT_NOFILE, &most);
      if (closed > 0) turn_away(closed);
      for (int i = 0; i < 200; ++i) try {  // what a test before this one has left may still have the port
          ::_exit(service ? launch::listen_for_launchers(kSecret, agent)
                          : launch::listen_for_launcher(kSecret, agent, {}));
        } catch (const ConfigError&) { std::this_thread::sleep_for(25ms); }
      ::_exit(2);
    }
    for (int i = 0; i < 1000 && !Stranger().came(); ++i) std::this_thread::sleep_for(10ms);
  }
  static void turn_away(int connections) {
    int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ::sockaddr_in at{};
    at.sin_family = AF_INET, at.sin_port = htons(launch::kAgentPort);
    for (int i = 0; i < 200 && ::bind(s, reinterpret_cast<::sockaddr*>(&at), sizeof at) != 0; ++i)
      std::this_thread::sleep_for(25ms);
    if (::listen(s, 16) != 0) ::_exit(1);
    for (int i = 0; i < connections; ++i) ::close(::accept(s, nullptr, nullptr));
    ::close(s);
  }
  /// A launcher that sends a line to the agent, and ends once the agent has sent it back.
  test::Result reach(const std::string& secret = kSecret, const std::function<void()>& meanwhile = {}) const {
    int line[2];
    if (::pipe2(line, O_CLOEXEC) != 0) return {};
    auto said = temp.path() + "/said";
    std::ofstream(said + ".out").close();
    auto child = [&] {
      ::dup2(line[0], 0);
      ::close(line[1]);
      return launch::reach_agent("127.0.0.1", secret);
    };
    auto talk = [&](pid_t launcher) {
      ::close(line[0]);
      if (meanwhile) meanwhile();
      [[maybe_unused]] auto n = ::write(line[1], "hello\n", 6);
      ::siginfo_t over{};
      while (test::slurp(said + ".out").empty() &&
             ::waitid(P_PID, static_cast<id_t>(launcher), &over, WEXITED | WNOHANG | WNOWAIT) == 0 && over.si_pid == 0)
        std::this_thread::sleep_for(5ms);
      ::close(line[1]);
    };
    return test::run_apart(said, child, talk);
  }
  static std::vector<Stranger> strangers(int n, const std::string& from = "127.0.0.1") {
    std::vector<Stranger> all;
    for (int i = 0; i < n; ++i) all.emplace_back(from);
    return all;
  }
  void gets_in(double seconds) const {
    auto r = reach();
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, "hello\n");
    EXPECT_LT(r.seconds, seconds * test::crowded());
  }
};
}  // namespace

TEST_F(TunnelTest, IdleStrangersKeepNobodyOut) {
  listen();
  gets_in(9);
  for (int n : {16, 64, 200}) {
    SCOPED_TRACE(n);
    auto idle = strangers(n);
    gets_in(9);
  }
  std::vector<Stranger> of_many;
  for (int i = 2; i < 66; ++i) of_many.emplace_back("127.0.0." + std::to_string(i));
  gets_in(9);
}
TEST_F(TunnelTest, TheOldestStrangerGoesAndOthersOfOneAddressFirst) {
  listen();
  Stranger first("127.0.0.2");
  auto crowd = strangers(50, "127.0.0.3");
  Stranger last("127.0.0.4");
  auto in = [&] { return std::count_if(crowd.begin(), crowd.end(), [](auto& s) { return !s.is_out(); }); };
  for (int i = 0; i < 1000 && in() > 8; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(first.is_out());
  EXPECT_FALSE(last.is_out());
  EXPECT_TRUE(crowd.front().is_out());
  EXPECT_FALSE(crowd.back().is_out());
  EXPECT_GE(in(), 4);
  EXPECT_LE(in(), 8);
}
/// Of all sorts, a few hundred a second.
TEST_F(TunnelTest, StrangersWhoComeAgainAndAgainKeepNobodyOut) {
  listen();
  std::atomic<bool> over{false};
  std::thread crowd([&] {
    constexpr std::string_view words[] = {"", "\x16", "\x16\x03\x01\x02\x10\x01\x10\x01\xfc\x03\x03",
                                          "GET / HTTP/1.0\r\n\r\n"};
    std::deque<Stranger> there;
    for (std::size_t i = 0; !over; ++i) {
      there.emplace_back("127.0.0." + std::to_string(1 + i % 3));
      there.back().say(words[i % std::size(words)]);
      if (there.size() > 300) there.pop_front();
      std::this_thread::sleep_for(kBetweenStrangers);
    }
  });
  for (int i = 0; i < 2; ++i) gets_in(30);
  over = true;
  crowd.join();
}
/// What has proved to know the secret stays, whoever comes.
TEST_F(TunnelTest, AnAgentOutlivesStrangers) {
  listen();
  auto r = reach(kSecret, [&] {
    std::this_thread::sleep_for(300ms);  // it is there
    for (int i = 0; i < 100; ++i) Stranger("127.0.0." + std::to_string(1 + i % 5)).say("\x16");
  });
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "hello\n");
}
TEST_F(TunnelTest, AHostWithFewDescriptorsHearsItsLauncher) {
  listen(24);
  auto idle = strangers(60);
  gets_in(15);
}
TEST_F(TunnelTest, AnotherSecretIsSaidAtOnce) {
  listen();
  auto idle = strangers(20);
  auto r = reach(kOther);
  EXPECT_EQ(r.code, 255);
  EXPECT_EQ(r.err, "127.0.0.1: its secret is another one\n");
  EXPECT_LT(r.seconds, 8 * test::crowded());
}
/// A launcher whose connection was cut off tries again: here six times.
TEST_F(TunnelTest, ALauncherThatWasRefusedTriesAgain) {
  listen(0, 6);
  gets_in(15);
}
TEST_F(TunnelTest, AHostThatIsToEndDoesNotWaitForStrangers) {
  listen();
  auto idle = strangers(20);
  std::this_thread::sleep_for(200ms);
  auto begin = std::chrono::steady_clock::now();
  ::kill(listener, SIGTERM);
  int status = 0;
  ::waitpid(std::exchange(listener, 0), &status, 0);
  EXPECT_EQ(test::end_of(status), 130);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s * test::crowded());
}
/// All listeners hear how the job has ended, whatever strangers do at their port. (2: it is told until they have heard;
/// a busy machine may need more than one call.)
TEST_F(TunnelTest, TheEndIsHeardBesideStrangers) {
  listen();
  auto idle = strangers(40);
  auto begin = std::chrono::steady_clock::now();
  launch::end_listeners({{.name = "127.0.0.1"}}, kSecret, 2);
  int status = 0;
  ::waitpid(std::exchange(listener, 0), &status, 0);
  EXPECT_EQ(test::end_of(status), 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 12s * test::crowded());
}
/// A service of a host hears one launcher after another, also after a job whose end it was told.
TEST_F(TunnelTest, AServiceOutlivesItsJobs) {
  listen(0, 0, true);
  gets_in(9);
  launch::end_listeners({{.name = "127.0.0.1"}}, kSecret, 0);
  gets_in(9);
  EXPECT_EQ(reach(kOther).code, 255);
  gets_in(9);
  ::kill(listener, SIGTERM);
  int status = 0;
  ::waitpid(std::exchange(listener, 0), &status, 0);
  EXPECT_EQ(test::end_of(status), 130);
}
}  // namespace tunnel_test
