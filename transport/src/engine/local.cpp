// local.cpp -- ranks as threads of one process: a message is a pointer to the sender's buffer, read straight by the
// receiver.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>
#include "engine/engine.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;

/// The messages sent to one rank. Has its own lock, taken inside any engine's.
class Inbox final : public Wakeup {
 public:
  struct Item {
    Arrival arrival;
    std::string control;  // if not empty: from the coordinator
  };
  void push(Item item) {
    std::lock_guard lock(m_);
    if (closed_ && item.control.empty()) return;
    items_.push_back(std::move(item));
    filled_ = true;
    // Data for collectives that have not started wakes no thread.
    if (parked_[0]) cv_[0].notify_one();
    else if (!leading_ && (busy_ || !items_.back().control.empty())) cv_[1].notify_one();
  }
  std::vector<Item> take() {
    std::vector<Item> items;
    if (!filled_) return items;
    std::lock_guard lock(m_);
    items.swap(items_);
    filled_ = false;
    return items;
  }
  /// Drops data from now on, queued data included: it would never be read, while its sender waits for its release.
  void close() {
    std::vector<Item> data;
    std::lock_guard lock(m_);
    closed_ = true;
    auto first = std::stable_partition(items_.begin(), items_.end(), [](auto& i) { return !i.control.empty(); });
    data.assign(std::make_move_iterator(first), std::make_move_iterator(items_.end()));
    items_.erase(first, items_.end());
  }
  bool filled() const { return filled_; }
  void ring() override { wake(Side::leader); }
  void wake(Side side) {
    std::lock_guard lock(m_);
    rung_[index(side)] = true;
    cv_[index(side)].notify_one();
  }
  void watch(bool leading, bool busy) {
    std::lock_guard lock(m_);
    leading_ = leading;
    busy_ = busy;
  }
  void park(Side side, std::chrono::milliseconds limit) {
    std::unique_lock lock(m_);
    auto i = index(side);
    parked_[i] = true;
    cv_[i].wait_until(lock, WaitClock::now() + limit,
                      [&] { return rung_[i] || (i == 0 ? !items_.empty() : !items_.empty() && busy_ && !leading_); });
    parked_[i] = rung_[i] = false;
  }

 private:
  static std::size_t index(Side s) { return s == Side::leader ? 0 : 1; }
  std::mutex m_;
  std::condition_variable cv_[2];
  bool parked_[2] = {false, false}, rung_[2] = {false, false};
  bool leading_ = false, busy_ = false, closed_ = false;
  std::atomic<bool> filled_{false};
  std::vector<Item> items_;
};
std::string thread_name(int rank) { return "rank " + std::to_string(rank) + " (thread)"; }

/// The state shared by the ranks.
struct Hub {
  explicit Hub(int n)
      : coordinator(names(n), [this](int rank, std::string m) {
          inboxes[static_cast<std::size_t>(rank)]->push({{}, std::move(m)});
        }) {
    for (int r = 0; r < n; ++r) inboxes.push_back(std::make_shared<Inbox>());
  }
  static std::vector<std::string> names(int n) {
    std::vector<std::string> who;
    for (int r = 0; r < n; ++r) who.push_back(thread_name(r));
    return who;
  }
  std::vector<std::shared_ptr<Inbox>> inboxes;
  std::mutex m;  // of the coordinator
  Coordinator coordinator;
};

class LocalLink final : public Link {
 public:
  LocalLink(std::shared_ptr<Hub> hub, int rank)
      : hub_(std::move(hub)), rank_(rank), inbox_(hub_->inboxes[static_cast<std::size_t>(rank)]) {}
  ~LocalLink() override { inbox_->close(); }
  void open(int) override {}
  void send(int peer, const Header& h, const std::byte* bytes, PayloadOwner* owner) override {
    if (stopped_) return;
    auto hold = owner && h.payload() > kCopied ? owner->pin() : nullptr;
    if (!hold && h.payload() > 0) {
      std::shared_ptr<std::byte[]> copy(new std::byte[h.payload()]);
      std::memcpy(copy.get(), bytes, h.payload());
      bytes = copy.get();
      hold = copy;
    }
    hub_->inboxes[static_cast<std::size_t>(peer)]->push({{h, bytes, std::move(hold)}, {}});
  }
  void to_coordinator(std::string message) override {
    std::lock_guard lock(hub_->m);
    hub_->coordinator.handle(rank_, message);
  }
  bool receive(Sink& sink) override {
    auto items = inbox_->take();
    for (auto& i : items)
      if (!i.control.empty()) sink.control(i.control);
      else if (!stopped_) sink.data(std::move(i.arrival));
    return !items.empty();
  }
  void tick(Clock::time_point now, Sink&) override {
    std::lock_guard lock(hub_->m);
    hub_->coordinator.tick(now);
  }
  void watch(bool leading, bool busy) override { inbox_->watch(leading, busy); }
  bool by_memory() const override { return true; }
  bool ready() override { return inbox_->filled(); }
  void park(Side side, std::chrono::milliseconds limit) override { inbox_->park(side, limit); }
  void wake(Side side) override { inbox_->wake(side); }
  std::shared_ptr<Wakeup> wakeup() override { return inbox_; }
  void stop_data() override {
    stopped_ = true;
    inbox_->close();
  }
  std::shared_ptr<void> allocate(std::size_t bytes) override { return private_memory(bytes); }
  bool must_meet() const override { return false; }
  std::string who(int rank) const override { return thread_name(rank); }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
  std::shared_ptr<Inbox> inbox_;
  bool stopped_ = false;
};
}  // namespace

std::vector<ContextPtr> local(int n, const std::string& algorithms) {
  check<ValueError>(n >= 1, "local: the number of ranks must be at least 1, got ", n);
  auto hub = std::make_shared<Hub>(n);
  std::vector<ContextPtr> contexts;
  for (int r = 0; r < n; ++r)
    contexts.push_back(std::make_shared<Engine>(
        EngineOptions{.rank = r, .size = n, .ranks_on_host = n, .tuning = {.forced = read_algorithms(algorithms)}},
        std::make_unique<LocalLink>(hub, r)));
  return contexts;
}
}  // namespace bora::transport
