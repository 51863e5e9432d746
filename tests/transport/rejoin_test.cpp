// A rank whose connection to rank 0 is cut off, at whatever byte, comes again and is let in; another process with its
// rank is not.
#include <fcntl.h>
#include <poll.h>
#include <atomic>
#include <optional>
#include "bora/transport/join.h"
#include "jobs.h"
#include "support/text.h"
#include "wire/address.h"
#include "wire/descriptor.h"

namespace bora::transport::rejoin_test {
namespace {
using namespace std::chrono_literals;
constexpr auto kWhole = std::size_t(-1);

template <class F> bool soon(F f) {
  for (auto end = std::chrono::steady_clock::now() + 10s; std::chrono::steady_clock::now() < end;
       std::this_thread::sleep_for(2ms))
    if (f()) return true;
  return false;
}
/// The network between a rank and rank 0: forwards connections, and cuts off the first `times` of them behind `bytes`
/// bytes of the rank's; `half`: rank 0 does not notice.
class Network {
 public:
  Network(int root, std::size_t bytes, int times, bool half)
      : root_(root), bytes_(bytes), times_(times), half_(half), thread_([this] { run(); }) {}
  ~Network() {
    stop_ = true;
    thread_.join();
  }
  int port() const { return port_of(listener_.get()); }
  int connections() const { return connections_; }
  /// Bytes of the rank's that rank 0 got on the newest connection, 0 as long as rank 0 has not answered them.
  std::size_t answered() const { return answered_; }
  /// Rank 0 notices the cuts.
  void end_half_open() { ended_ = true; }

 private:
  void run() {
    while (!stop_) {
      pollfd news{listener_.get(), POLLIN, 0};
      if (::poll(&news, 1, 20) <= 0) continue;
      Descriptor rank(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      Descriptor root;
      bool reached = soon([&] {
        root = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        auto to = socket_address("127.0.0.1", root_);
        return stop_ || ::connect(root.get(), to.get(), to.size) == 0;
      });
      if (stop_ || !reached) return;
      answered_ = 0;
      ++connections_;
      forward(rank, root, connections_ <= times_ ? bytes_ : kWhole);
      if (half_ && connections_ <= times_) open_.push_back(std::move(root));
    }
  }
  void forward(const Descriptor& rank, const Descriptor& root, std::size_t left) {
    std::size_t said = 0;
    std::vector<char> buffer(64 << 10);
    auto pass = [&](int from, int to, std::size_t most) {
      auto n = ::recv(from, buffer.data(), std::min(most, buffer.size()), 0);
      return n > 0 && ::send(to, buffer.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) == n ? n : 0;
    };
    while (!stop_ && said < left) {
      if (ended_) open_.clear();
      pollfd sides[] = {{rank.get(), POLLIN, 0}, {root.get(), POLLIN, 0}};
      if (::poll(sides, 2, 20) <= 0) continue;
      auto n = sides[0].revents ? pass(rank.get(), root.get(), left - said) : 0;
      if (sides[0].revents && n == 0) return;
      said += static_cast<std::size_t>(n);
      if (sides[1].revents && pass(root.get(), rank.get(), buffer.size()) == 0) return;
      if (sides[1].revents) answered_ = said;
    }
    std::this_thread::sleep_for(50ms);  // rank 0 takes what it got
  }
  int root_;
  std::size_t bytes_;
  int times_;
  bool half_;
  Descriptor listener_ = listen_at("127.0.0.1", 0);
  std::vector<Descriptor> open_;
  std::atomic<bool> stop_{false}, ended_{false};
  std::atomic<int> connections_{0};
  std::atomic<std::size_t> answered_{0};
  std::thread thread_;
};
/// Three ranks, of which rank 1 comes over such a network and rank 2 once rank 1 is known to be there. Returns the
/// bytes that rank 1 said until then on its last connection.
std::size_t meet(std::size_t bytes, int times, bool half, const std::string& secret = {}) {
  int port = free_port();
  std::optional<Network> network(std::in_place, port, bytes, times, half);
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  std::atomic<int> joined{0};
  auto start = [&](int rank, int at) {
    threads.emplace_back([&, rank, at] {
      auto c = config_for(rank, 3, at);
      c.secret = secret;
      try {
        auto context = join(c);
        ++joined;
        context->barrier(everybody(3));
        context->leave();
      } catch (const std::exception& e) { errors[static_cast<std::size_t>(rank)] = e.what(), joined = 3; }
    });
  };
  start(0, port), start(1, network->port());
  // Rank 0 has answered a whole handshake, which is longer than all before it.
  std::size_t whole = 0;
  EXPECT_TRUE(soon([&] {
    if (joined == 3) return true;
    if (network->connections() <= times || network->answered() < 300) return false;
    std::this_thread::sleep_for(30ms);
    return std::exchange(whole, network->answered()) == network->answered();
  }));
  start(2, port);
  soon([&] { return joined == 3; });
  network->end_half_open();
  for (auto& t : threads) t.join();
  network.reset();
  expect_no_errors(errors);
  return whole;
}
TEST(Rejoin, ARankThatIsCutOffAtAnyStepIsLetIn) {
  auto whole = meet(kWhole, 0, false);
  for (bool half : {false, true})
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{10}, std::size_t{11}, std::size_t{64},
                              std::size_t{65}, std::size_t{100}, whole / 2, whole - 1, whole}) {
      SCOPED_TRACE(std::to_string(bytes) + " of " + std::to_string(whole) + " bytes" + (half ? ", half open" : ""));
      meet(bytes, 1, half);
    }
}
TEST(Rejoin, SomeCutsAreNotTakenForAnotherSecret) {
  for (std::size_t bytes : {0, 64, 200}) meet(bytes, 5, false, "a secret of some length");
}
/// Both handshakes come before rank 0 looks, and the kernel gives the second connection the first one's descriptor.
TEST(Rejoin, ARankDoesNotTakeThePlaceOfOneThatHasGone) {
  int port = free_port(), go[2];
  ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
  std::vector<std::string> meets{"meet"};
  std::vector<std::pair<std::string, std::string>> soon_over{{"BORA_JOIN_TIMEOUT", "20"}};
  Process later(2, 3, port, meets, soon_over, [&] {
    char byte;
    [[maybe_unused]] auto n = ::read(go[0], &byte, 1);
  });
  Process gone(1, 3, port, meets, soon_over);
  std::atomic<bool> looks{false}, waits{false};
  std::string error;
  std::thread root([&] {
    try {
      join(config_for(0, 3, port), {.given_up = [&]() -> std::string {
             while (!looks) waits = true, std::this_thread::sleep_for(2ms);
             return {};
           }})
          ->barrier(everybody(3));
    } catch (const std::exception& e) { error = e.what(); }
  });
  EXPECT_TRUE(soon([&] { return waits.load(); }));
  std::this_thread::sleep_for(300ms);
  gone.signal(SIGKILL);
  gone.finish();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(::write(go[1], "g", 1), 1);
  std::this_thread::sleep_for(300ms);
  looks = true;
  std::this_thread::sleep_for(100ms);
  Process again(1, 3, port, meets, soon_over);
  EXPECT_EQ(later.finish(), 0) << later.output();
  EXPECT_EQ(again.finish(), 0) << again.output();
  root.join();
  EXPECT_EQ(error, "");
  ::close(go[0]);
  ::close(go[1]);
}
}  // namespace
}  // namespace bora::transport::rejoin_test
