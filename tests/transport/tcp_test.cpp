// Data connections over tcp as others on the network see them: sealed messages that are changed, repeated or cut on the
// way, and strangers.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include "carrier/tcp_data.h"
#include "jobs.h"
#include "wire/address.h"
#include "wire/seal.h"

namespace bora::transport::tcp_test {
namespace {
using namespace std::chrono_literals;
Header numbered(std::uint32_t chunk, std::uint32_t bytes = 0) {
  Header h;
  h.src = 1;
  h.chunk = chunk;
  h.bytes = bytes;
  return sealed(h);
}
std::vector<std::byte> text(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}
const Key kKey{1, 2, 3};
/// n bytes and the tag, in pieces of `piece` bytes.
std::vector<std::byte> seal(Sealer& s, const Header& h, const std::vector<std::byte>& plain,
                            std::size_t piece = 1 << 20) {
  std::vector<std::byte> out(plain.size() + kTagBytes);
  s.begin(h);
  for (std::size_t i = 0; i < plain.size(); i += piece)
    s.update(plain.data() + i, std::min(piece, plain.size() - i), out.data() + i);
  s.end(out.data() + plain.size());
  return out;
}
/// In place.
bool open(Opener& o, const Header& h, std::vector<std::byte>& bytes, std::size_t piece = 1 << 20) {
  auto n = bytes.size() - kTagBytes;
  o.begin(h);
  for (std::size_t i = 0; i < n; i += piece) o.update(bytes.data() + i, std::min(piece, n - i), bytes.data() + i);
  return o.end(bytes.data() + n);
}

TEST(Seal, OpensTheNextMessageOfTheSameKeyOnly) {
  for (std::size_t n : {0, 1, 16, 1000, 262144}) {
    auto plain = text(n);
    Sealer s(kKey);
    auto h = numbered(0, static_cast<std::uint32_t>(n));
    auto first = seal(s, h, plain), second = seal(s, h, plain, 48);
    EXPECT_NE(first, second);  // another number
    auto opens = [&](const Key& k, const Header& header, std::vector<std::byte> bytes) {
      Opener o(k);
      return open(o, header, bytes, 160) && std::equal(plain.begin(), plain.end(), bytes.begin());
    };
    EXPECT_TRUE(opens(kKey, h, first));
    EXPECT_FALSE(opens(kKey, h, second)) << "left out";
    EXPECT_FALSE(opens(Key{1, 2, 4}, h, first)) << "another key";
    EXPECT_FALSE(opens(kKey, numbered(1, h.bytes), first)) << "another header";
    for (std::size_t at : {std::size_t{0}, n / 2, n, n + kTagBytes - 1}) {
      auto changed = first;
      changed[at] ^= std::byte{4};
      EXPECT_FALSE(opens(kKey, h, changed)) << "a bit at " << at;
    }
    Opener o(kKey);
    auto copy = first;
    EXPECT_TRUE(open(o, h, copy));
    EXPECT_FALSE(open(o, h, first)) << "repeated";
  }
}
TEST(Seal, NoTwoDirectionsConnectionsOrJobsShareAKey) {
  std::set<Key> keys;
  std::string a(32, 'a'), b(32, 'b');
  for (auto& data_key : {Key{1}, Key{2}})
    for (std::uint32_t epoch : {1, 2})
      for (auto [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}})
        for (auto& [x, y] : {std::pair{a, b}, {b, a}, {a, a}})
          keys.insert(direction_key(data_key, epoch, from, to, x, y));
  EXPECT_EQ(keys.size(), 2u * 2 * 3 * 3);
}

/// Arrived payloads, as bytes; no losses or control messages occur here.
struct Received final : Sink {
  void data(Arrival a) override { bytes.insert(bytes.end(), a.bytes, a.bytes + a.header.bytes), ++messages; }
  void make_room(int) override {}
  void dropped(bool) override {}
  void control(std::string_view) override {}
  void lost(int, const std::string&) override {}
  std::vector<std::byte> bytes;
  int messages = 0;
};
/// Forwards bytes from `port` to `to`, after `change` has seen them and their place in the stream.
class Proxy {
 public:
  using Change = std::function<void(std::vector<char>& bytes, std::size_t place)>;
  Proxy(int to, Change change) : change_(std::move(change)), listener_(listen_on_tcp("127.0.0.1")) {
    thread_ = std::thread([this, to] {
      Descriptor from, out(::socket(AF_INET, SOCK_STREAM, 0));
      auto at = socket_address("127.0.0.1", to);
      while (!stop_ && !from) {
        int fd = ::accept(listener_.socket.get(), nullptr, nullptr);
        if (fd >= 0) from = Descriptor(fd);
        else std::this_thread::sleep_for(1ms);
      }
      if (stop_ || ::connect(out.get(), at.get(), at.size) != 0) return;
      timeval soon{0, 10000};
      setsockopt(from.get(), SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
      std::size_t place = 0;
      for (std::vector<char> bytes(4096); !stop_;) {
        bytes.resize(4096);
        auto n = ::recv(from.get(), bytes.data(), bytes.size(), 0);
        if (n == 0) return;
        if (n < 0) continue;
        bytes.resize(static_cast<std::size_t>(n));
        change_(bytes, place);
        place += static_cast<std::size_t>(n);
        if (::send(out.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
      }
    });
  }
  ~Proxy() {
    stop_ = true;
    thread_.join();
  }
  const std::string& address() const { return listener_.address; }

 private:
  Change change_;
  TcpListener listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};
int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

/// Rank 1 connects to rank 0, through a proxy or not, and sends it messages.
class Pair {
 public:
  Pair(const std::string& secret0, const std::string& secret1, const Proxy::Change& change = {}) {
    auto l0 = listen_on_tcp("127.0.0.1"), l1 = listen_on_tcp("127.0.0.1");
    port = port_of(l0.address);
    std::vector<std::string> addresses{l0.address, l1.address}, nonces{std::string(32, 'x'), std::string(32, 'y')};
    auto keys = [](const std::string& s) { return s.empty() ? std::nullopt : std::optional(derive_keys(s)); };
    zero = make_tcp_data(std::move(l0),
                         {.rank = 0, .epoch = 9, .addresses = addresses, .nonces = nonces, .keys = keys(secret0)},
                         [this](int r) { up.push_back(r); });
    if (change) {
      proxy = std::make_unique<Proxy>(port, change);
      addresses[0] = proxy->address();
    }
    one = make_tcp_data(std::move(l1),
                        {.rank = 1, .epoch = 9, .addresses = addresses, .nonces = nonces, .keys = keys(secret1)},
                        [](int) {});
    one->connect(0);
  }
  void send(std::uint32_t chunk, const std::vector<std::byte>& bytes) {
    one->send(0, numbered(chunk, static_cast<std::uint32_t>(bytes.size())), bytes.data(), nullptr);
  }
  /// Both make progress until `done`, at most two seconds. False if it never was.
  template <class Done> bool run(Done done) {
    for (auto end = std::chrono::steady_clock::now() + 2s; std::chrono::steady_clock::now() < end;) {
      zero->receive(received);
      one->receive(ignored);
      for (auto& b : zero->broken(Clock::now())) how = b.how;
      if (done()) return true;
    }
    return false;
  }
  Received received, ignored;
  std::vector<int> up;
  std::string how;  // of the end of rank 1's connection
  int port = 0;
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<DataPath> zero, one;
};
constexpr char kSecret[] = "a secret of some length";

TEST(TcpData, MessagesOfAllSizesArriveInOrder) {
  for (std::string secret : {"", kSecret}) {
    Pair p(secret, secret);
    std::vector<std::byte> all;
    int messages = 0;
    for (std::size_t n : {1, 63, 64, 65, 16383, 16384, 16385, 100000, 262144, 7, 262144, 262144, 1}) {
      auto bytes = text(n);
      p.send(static_cast<std::uint32_t>(messages++), bytes);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    EXPECT_TRUE(p.run([&] { return p.received.messages == messages; })) << p.received.messages;
    EXPECT_TRUE(p.received.bytes == all);
    EXPECT_EQ(p.up, std::vector{1});
  }
}
TEST(TcpData, AChangedBitEndsTheConnection) {
  // Beyond the handshake: in a header, in a payload, in a tag.
  for (std::size_t at : {64 + 16 + 40, 64 + 16 + 64 + 500, 64 + 16 + 64 + 1000 + 3}) {
    Pair p(kSecret, kSecret, [&](std::vector<char>& bytes, std::size_t place) {
      if (at >= place && at < place + bytes.size()) bytes[at - place] ^= 1;
    });
    p.send(0, text(1000));
    EXPECT_TRUE(p.run([&] { return !p.how.empty(); }));
    EXPECT_TRUE(p.how == "sent a message that is not authentic" || p.how == "sent a message that makes no sense")
        << p.how;
    EXPECT_EQ(p.received.messages, 0);
  }
}
TEST(TcpData, ARepeatedMessageEndsTheConnection) {
  std::vector<char> seen;
  Pair p(kSecret, kSecret, [&](std::vector<char>& bytes, std::size_t) {
    seen.insert(seen.end(), bytes.begin(), bytes.end());
    constexpr std::size_t kHandshake = 64 + 16, kMessage = 64 + 100 + 16;
    if (seen.size() == kHandshake + kMessage) bytes.insert(bytes.end(), seen.begin() + kHandshake, seen.end());
  });
  p.send(0, text(100));
  EXPECT_TRUE(p.run([&] { return !p.how.empty(); }));
  EXPECT_EQ(p.how, "sent a message that is not authentic");
  EXPECT_EQ(p.received.messages, 1);
}
TEST(TcpData, AnotherSecretOrNoneIsAStranger) {
  for (auto& [a, b] : {std::pair<std::string, std::string>{kSecret, "a secret of some lengtH"}, {kSecret, ""}}) {
    Pair p(a, b);
    p.send(0, text(100));
    bool closed = p.run([&] { return !p.one->broken(Clock::now() + 2s).empty(); });
    EXPECT_TRUE(closed);
    EXPECT_TRUE(p.up.empty());
    EXPECT_EQ(p.how, "");  // no rank's connection has ended
    EXPECT_EQ(p.received.messages, 0);
  }
}
TEST(TcpData, StrangersAreClosedAndTheJobGoesOn) {
  Pair p("", "");
  std::vector<Descriptor> strangers;
  auto at = socket_address("127.0.0.1", p.port);
  auto stranger = [&](std::string_view says) {
    strangers.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(strangers.back().get(), at.get(), at.size), 0);
    ASSERT_EQ(::send(strangers.back().get(), says.data(), says.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(says.size()));
  };
  auto header = [](auto change) {
    Header h;
    h.type = MessageType::handshake;
    h.epoch = 9;
    h.src = 1;
    change(h);
    h = sealed(h);
    return std::string(reinterpret_cast<const char*>(&h), sizeof h);
  };
  ASSERT_TRUE(p.run([&] { return p.up.size() == 1; }));
  stranger("GET / HTTP/1.1\r\nHost: somewhere\r\nUser-Agent: nobody in particular\r\n\r\n");
  stranger(header([](Header&) {}));                                          // a second rank 1
  stranger(header([](Header& h) { h.epoch = 8; }));                          // of an earlier job
  stranger(header([](Header& h) { h.src = 0; }));                            // this rank itself
  stranger(header([](Header& h) { h.src = 7; }));                            // of no rank
  stranger(header([](Header& h) { h.type = MessageType::data, h.bytes = 0xffffffff; }));
  for (int k = 0; k < 100; ++k) stranger("");  // silent
  p.send(0, text(5000));
  EXPECT_TRUE(p.run([&] { return p.received.messages == 1; }));
  auto end = std::chrono::steady_clock::now() + 300ms;
  p.run([&] { return std::chrono::steady_clock::now() > end; });
  for (int k = 0; k < 6; ++k) {
    char byte;
    errno = 0;
    EXPECT_LE(::recv(strangers[static_cast<std::size_t>(k)].get(), &byte, 1, MSG_DONTWAIT), 0) << k;
    EXPECT_NE(errno, EAGAIN) << k;
  }
  EXPECT_EQ(p.up, std::vector{1});
  EXPECT_EQ(p.how, "");
}
}  // namespace
}  // namespace bora::transport::tcp_test
