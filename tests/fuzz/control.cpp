// A peer of the job that sends nonsense: control messages to the coordinator and to a rank, data messages for a
// collective in flight. Items of the input: kind and sender (1 byte), length (2), bytes. Errors are welcome; the
// rank ends its job
// and nothing else happens.
#include <sched.h>
#include <cstring>
#include "engine/engine.h"

using namespace bora::transport;
namespace {
constexpr int kRanks = 3;
struct Item {
  std::uint8_t what;
  std::string_view bytes;
};
std::vector<Item> items_of(std::string_view text) {
  std::vector<Item> items;
  while (text.size() >= 3 && items.size() < 100) {
    auto n = std::min<std::size_t>(static_cast<std::uint8_t>(text[1]) | static_cast<std::uint8_t>(text[2]) << 8,
                                   text.size() - 3);
    items.push_back({static_cast<std::uint8_t>(text[0]), text.substr(3, n)});
    text.remove_prefix(3 + n);
  }
  return items;
}
class NoWakeup final : public Wakeup {
  void ring() override {}
};
/// Hands over the items, one at a time.
class Scripted final : public Link {
 public:
  explicit Scripted(std::vector<Item> items) : items_(std::move(items)) {}
  void open(int) override {}
  void send(int, const Header& h, const std::byte*, PayloadOwner*) override { like_ = h; }
  void to_coordinator(std::string) override {}
  bool receive(Sink& sink) override {
    if (next_ == items_.size()) return false;
    auto [what, bytes] = items_[next_++];
    auto from = what & 3;
    if (what & 4) {
      try {
        sink.control(bytes);
      } catch (const bora::TransportError& e) { sink.lost(from % kRanks, e.what()); }
    } else {
      Arrival a{.header = like_};
      auto own = std::make_shared<std::string>(bytes);
      std::uint16_t fields[4] = {};  // step, chunk, offset, and what the payload is short of
      std::memcpy(fields, own->data(), std::min(own->size(), sizeof fields));
      a.header.type = what & 8 ? MessageType::credit : MessageType::data;
      a.header.src = static_cast<std::uint32_t>(from);
      a.header.step = fields[0];
      a.header.chunk = fields[1];
      a.header.offset = fields[2] * 4u;
      own->resize(std::max<std::size_t>(own->size(), 4096));
      a.header.bytes = static_cast<std::uint32_t>(own->size()) - std::min<std::uint32_t>(fields[3], 4096);
      if (what & 16) a.header.seq += fields[1];
      if (what & 32) a.header.fingerprint ^= fields[3];
      a.bytes = reinterpret_cast<const std::byte*>(own->data());
      a.hold = std::shared_ptr<const void>(own, own->data());
      sink.data(std::move(a));
    }
    return true;
  }
  void tick(Clock::time_point, Sink&) override {}
  void watch(bool, bool) override {}
  bool by_memory() const override { return true; }
  bool ready() override { return true; }
  void park(Side, std::chrono::milliseconds) override { sched_yield(); }
  void wake(Side) override {}
  std::shared_ptr<Wakeup> wakeup() override { return std::make_shared<NoWakeup>(); }
  void stop_data() override { next_ = items_.size(); }
  std::shared_ptr<void> allocate(std::size_t bytes) override { return private_memory(bytes); }
  bool must_meet() const override { return false; }
  std::string who(int r) const override { return "rank " + std::to_string(r); }

 private:
  std::vector<Item> items_;
  std::size_t next_ = 0;
  Header like_;
};
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  auto items = items_of({reinterpret_cast<const char*>(data), n});
  Coordinator coordinator({"rank 0", "rank 1", "rank 2"}, [](int, std::string) {});
  for (auto& i : items) try {
      coordinator.handle((i.what & 3) % kRanks, i.bytes);
      coordinator.tick(Clock::now());
    } catch (const bora::TransportError&) {}
  auto count = items.size();
  std::vector<float> in(1024, 1), out(1024);
  try {
    auto engine = std::make_shared<Engine>(EngineOptions{.rank = 0, .size = kRanks},
                                           std::make_unique<Scripted>(std::move(items)));
    auto w = engine->start({.ranks = {0, 1, 2}},
                           {.kind = bora::CollectiveKind::all_reduce,
                            .in = in.data(),
                            .out = out.data(),
                            .send_counts = {1024}});
    for (std::size_t k = 0; k < count + 2 && !w->test(); ++k) {}
    engine->abort("the input is over");
    w.reset();
  } catch (const bora::Error&) {}
  return 0;
}
