// Messages from outside the present job: of an earlier epoch, of strangers, malformed. They are dropped and counted.
#include "base/api/bytes.h"
#include "carrier/tcp_data.h"
#include "carrier/zmq_data.h"
#include "jobs.h"

namespace bora::transport::epoch_test {
namespace {
struct Counts final : Sink {
  void data(Arrival a) override { last = a.header, ++messages; }
  void make_room(int) override {}
  void control(std::string_view) override {}
  void lost(int, const std::string&) override {}
  void dropped(bool of_old) override { ++(of_old ? stale : refused); }
  Header last = {};
  int messages = 0, stale = 0, refused = 0;
};
/// Rank 0 of two, or another process that claims to be rank 1.
struct End {
  ZmqContext context;
  std::string address;
  std::unique_ptr<ZmqData> data;
  Counts counts;
  int ups = 0;
  End(int rank, std::uint32_t epoch, std::string peer) {
    Socket router(context, ZMQ_ROUTER);
    set_data_options(router);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    auto monitor = router.monitor("data");
    zmq_bind(router.get(), "tcp://127.0.0.1:*");
    address = router.last_endpoint();
    data = std::make_unique<ZmqData>(
        context, std::move(router), std::move(monitor),
        ZmqData::Options{.rank = rank, .epoch = epoch, .addresses = {peer, address}, .keys = {}},
        [this](int) { ++ups; });
  }
};
void until(End& e, const std::function<bool()>& done) {
  auto start = std::chrono::steady_clock::now();
  while (!done() && seconds_since(start) < 5) {
    e.data->receive(e.counts);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}
Header to_rank_0(std::uint32_t bytes) {
  Header h;
  h.group = 7;
  h.src = 1;
  h.bytes = bytes;
  return h;
}
TEST(Epoch, AnEarlierOnesMessagesAreDroppedAndCounted) {
  End root(0, 1000, "");
  std::vector<std::byte> bytes(40000);
  End old(1, 999, root.address);  // a rank of the attempt before, late
  old.data->connect(0);
  for (std::uint32_t n : {0u, 100u, 40000u}) old.data->send(0, to_rank_0(n), bytes.data(), nullptr);
  until(root, [&] { return root.counts.stale == 4; });  // its handshake as well
  EXPECT_EQ(root.counts.stale, 4);
  EXPECT_EQ(root.ups, 0);
  EXPECT_EQ(root.counts.messages, 0);
  // The rank of this attempt is not disturbed, nor by messages that take its place later.
  End now(1, 1000, root.address);
  now.data->connect(0);
  now.data->send(0, to_rank_0(40000), bytes.data(), nullptr);
  old.data->send(0, to_rank_0(100), bytes.data(), nullptr);
  until(root, [&] { return root.counts.messages == 1 && root.counts.stale == 5; });
  EXPECT_EQ(root.ups, 1);
  EXPECT_EQ(root.counts.messages, 1);
  EXPECT_EQ(root.counts.last.bytes, 40000u);
  EXPECT_EQ(root.counts.stale, 5);
  EXPECT_EQ(root.counts.refused, 0);
}
TEST(Epoch, TheSameOnOurOwnSockets) {
  auto listener = listen_on_tcp("127.0.0.1");
  auto address = listener.address;
  int ups = 0;
  Counts counts;
  auto root =
      make_tcp_data(std::move(listener), {.rank = 0, .epoch = 1000, .addresses = {address, ""}, .nonces = {"a", "b"}},
                    [&](int) { ++ups; });
  auto rank_1 = [&](std::uint32_t epoch) {
    auto other = listen_on_tcp("127.0.0.1");
    auto addresses = std::vector<std::string>{address, other.address};
    auto d = make_tcp_data(std::move(other), {.rank = 1, .epoch = epoch, .addresses = addresses, .nonces = {"a", "b"}},
                           [](int) {});
    d->connect(0);
    std::vector<std::byte> bytes(40000);
    d->send(0, to_rank_0(40000), bytes.data(), nullptr);
    return d;
  };
  auto until = [&](const std::unique_ptr<DataPath>& sender, auto done) {
    auto start = std::chrono::steady_clock::now();
    Counts nothing;
    while (!done() && seconds_since(start) < 5) root->receive(counts), sender->receive(nothing);
  };
  auto old = rank_1(999);
  until(old, [&] { return counts.stale == 1; });  // its handshake: the connection ends
  EXPECT_EQ(counts.stale, 1);
  EXPECT_EQ(ups, 0);
  auto now = rank_1(1000);
  until(now, [&] { return counts.messages == 1; });
  EXPECT_EQ(ups, 1);
  EXPECT_EQ(counts.messages, 1);
  EXPECT_EQ(counts.stale, 1);
  EXPECT_EQ(counts.refused, 0);
}
TEST(Epoch, HostileFramesAreDroppedAndCounted) {
  End root(0, 1000, "");
  ZmqContext context;
  Socket stranger(context, ZMQ_DEALER);
  stranger.set(ZMQ_LINGER, 0);
  stranger.set(ZMQ_ROUTING_ID, ByteWriter().num(std::uint32_t{1000}).num(std::uint32_t{5}).take());  // of no rank
  ASSERT_EQ(zmq_connect(stranger.get(), root.address.c_str()), 0);
  auto frame = [&](Header h, const std::string& payload, bool seal = true) {
    h.epoch = 1000;
    if (seal) h = sealed(h);
    stranger.send(std::string(reinterpret_cast<const char*>(&h), sizeof h) + payload, false);
  };
  auto h = to_rank_0(3);
  frame(h, "abc");         // the header says rank 1, the connection does not
  frame(h, "abc", false);  // a wrong checksum
  h.src = 1u << 31;
  frame(h, "abc");
  stranger.send("GET / HTTP/1.1", false);
  stranger.send("", true);
  stranger.send("", true);
  stranger.send("three frames", false);
  until(root, [&] { return root.counts.refused >= 5; });
  EXPECT_EQ(root.counts.refused, 5);
  EXPECT_EQ(root.counts.messages, 0);
  EXPECT_EQ(root.counts.stale, 0);
}
}  // namespace
}  // namespace bora::transport::epoch_test
