#include "engine/engine.h"
#include <sched.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include "base/api/bytes.h"
#include "base/api/threads.h"
#include "bora/base/trace.h"
#include "wire/forks.h"
#include "wire/hash.h"

namespace bora::transport {
using namespace std::chrono_literals;
namespace {
constexpr auto kTick = 100ms;
constexpr auto kSpin = 50us;          // a wait yields this long before it parks
constexpr auto kGone = 200us;         // without a core for so long: other programs want it
constexpr auto kCrowded = 100ms;       // then waits park at once for so long, and do not yield to others' time slices
constexpr auto kFirstReport = 300ms;    // a wait this long is reported to the coordinator
constexpr std::size_t kPlans = 64;      // kept for each group
constexpr std::size_t kMaxActive = 64;  // collectives under way; bounds the messages an unready peer must keep

class Handle final : public Work {
 public:
  Handle(std::shared_ptr<Engine> e, std::shared_ptr<Operation> o) : engine_(std::move(e)), operation_(std::move(o)) {}
  bool test() override { return operation_->done || engine_->test(*operation_); }
  void wait() override {
    if (!operation_->done) engine_->wait(*operation_);
  }

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Operation> operation_;
};
}  // namespace

[[noreturn]] void end_process(const std::string& why) {
  std::fprintf(stderr, "bora: %s\n", why.c_str()), std::_Exit(86);
}
std::shared_ptr<void> private_memory(std::size_t bytes) {
  auto p = std::aligned_alloc(64, std::max<std::size_t>(64, (bytes + 63) / 64 * 64));
  if (!p) throw std::bad_alloc();
  return {p, std::free};
}

Engine::Engine(EngineOptions o, std::unique_ptr<Link> link)
    : options_(std::move(o)),
      link_(std::move(link)),
      spins_(options_.ranks_on_host <= static_cast<int>(std::thread::hardware_concurrency()) ? 256 : 0),
      exceptions_(std::uncaught_exceptions()), forks_(forks()) {
  thread_ = start_thread("progress of its collectives", [this] { run(); });
}
Engine::~Engine() {
  if (forks_ != forks()) {
    leave_to_parent();
    return;
  }
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  try {
    Lock lock(m_);
    depart(lock, link_->must_meet());
  } catch (const std::exception&) {
    // The job is lost; its waits have thrown.
  }
  {
    Lock lock(m_);
    stop_ = true;
    link_->wake(Side::progress);
  }
  thread_.join();
}

// ---- starting ----
Engine::Members& Engine::members(const Group& g) {
  if (last_ && last_->group->ranks == g.ranks && last_->group->name == g.name) return *last_;
  for (int r : g.ranks)
    check<ValueError>(r >= 0 && r < options_.size, "the group ", g.name, " has rank ", r, " of ", options_.size);
  auto id = static_cast<std::uint32_t>(Hash().list(g.ranks).value() >> 32) | 1u;
  auto [it, fresh] = groups_.try_emplace(id);
  auto& m = it->second;
  if (fresh) {
    m.id = id;
    auto found = std::find(g.ranks.begin(), g.ranks.end(), options_.rank);
    m.position = found == g.ranks.end() ? -1 : static_cast<int>(found - g.ranks.begin());
    if (m.position >= 0) m.layout = layout_of(g.ranks, options_.hosts);
  }
  // The same ranks under another name share one sequence.
  if (fresh || m.group->name != g.name) m.group = std::make_shared<const Group>(g);
  last_ = &m;
  return m;
}
Engine::Members::Planned& Engine::plan_for(Members& m, const CollectiveCall& c) {
  for (auto k = m.plans.size(); k-- > 0;)
    if (m.plans[k].plan->group == m.group->name && same_but_buffers(m.plans[k].plan->like, c)) return m.plans[k];
  if (m.plans.size() == kPlans) m.plans.erase(m.plans.begin());
  return m.plans.emplace_back(
      Members::Planned{std::make_shared<const Plan>(make_plan(*m.group, c, m.layout, options_.tuning, m.position))});
}
void Engine::check_here() const {
  check<TransportError>(state_ != State::left, "this rank has left the job");
  check<TransportError>(!all_left_, link_->who(0), " has left the job: it waited 10 s for this rank to leave as well");
}
void Engine::tune(const Tuning& t) {
  Lock lock(m_);
  options_.tuning = t;
  for (auto& [id, m] : groups_) m.plans.clear();
  traffic_ = {};
  user_thread_ = {};
}
void Engine::check_thread() {
  auto me = std::this_thread::get_id();
  if (user_thread_ == std::thread::id{}) user_thread_ = me;
  several_threads_ = several_threads_ || user_thread_ != me;
}
WorkPtr Engine::start(const Group& g, const CollectiveCall& c) {
  check_process();
  Lock lock(m_);
  auto op = begin(lock, g, c);
  while (pump()) {}
  if (leading_) link_->wake(Side::leader);  // it may sleep without polling the peers that this collective needs
  watch(leading_, !active_.empty());
  return std::make_shared<Handle>(shared_from_this(), op);
}
void Engine::run(const Group& g, const CollectiveCall& c) {
  check_process();
  Lock lock(m_);
  auto op = begin(lock, g, c);  // no need to wake the progress thread: this thread stays
  if (leading_) {  // by another thread, which may sleep; else the wait does it
    while (pump()) {}
    link_->wake(Side::leader);
  }
  Waiting w{.since = op->record->started, .operation = op.get()};
  await(lock, w, [&] { return op->done.load(); });
}
std::shared_ptr<Operation> Engine::begin(Lock& lock, const Group& g, const CollectiveCall& c) {
  check_here();
  auto& m = members(g);
  check<ValueError>(m.position >= 0, word(c.kind), ": rank ", options_.rank, " is not in the group",
                    g.name.empty() ? "" : " ", g.name);
  plan_for(m, c);  // throws if the collective cannot be
  check_thread();
  if (halt_.over) throw Halted(*halt_.at);
  auto enqueued = Clock::now(), started = enqueued;
  if (state_ != State::running) {
    Waiting w{.text = Summary{.kind = c.kind, .seq = m.next, .members = m.group}.short_text()};
    await(lock, w, [] { return false; });
  }
  while (active_.size() >= kMaxActive) {
    auto oldest = active_.begin()->second;
    for (auto& [key, o] : active_)
      if (o->order < oldest->order) oldest = o;
    Waiting w{.operation = oldest.get()};
    await(lock, w, [&] { return oldest->done.load(); });
    started = Clock::now();
  }
  auto& [plan, op] = plan_for(m, c);
  if (!op || op.use_count() > 1)
    op = std::make_shared<Operation>(plan, m.position, static_cast<std::uint32_t>(options_.rank), link_->wakeup());
  op->renew({c.kind, c.reduce, c.dtype, c.wire, plan->count, m.id, m.next, plan->fingerprint, m.group}, c);
  op->order = traffic_.collectives++;
  for (int p : plan->peers) link_->open(p);
  ++m.next;
  op->advance(*link_);  // first, because peers wait for it
  started_[m.id] = m.next;
  op->record = recorder_.add(
      {.summary = op->summary, .algorithm = plan->algorithm->name, .enqueued = enqueued, .started = started});
  Key key{m.id, op->summary.seq};
  if (spare_.empty()) active_[key] = op;
  else {
    spare_.key() = key;
    spare_.mapped() = op;
    active_.insert(std::move(spare_));
  }
  if (auto found = early_.find(key); found != early_.end()) {
    auto arrivals = std::move(found->second);
    early_.erase(found);
    for (auto& a : arrivals) data(std::move(a));
  }
  return op;
}

// ---- progress ----
/// Takes arrived messages and ends complete collectives. True if there were any: waits poll again before they park.
bool Engine::pump() {
  bool any = false;
  try {
    any = link_->receive(*this);
  } catch (const std::exception& e) { give_up(e.what()); }
  auto now = now_ = Clock::now();
  any = sweep(now) || any;
  // The thread with the lock keeps time: under a stream of collectives the progress thread may not get the lock for
  // long.
  if (now >= next_tick_) {
    next_tick_ = now + kTick;
    try {
      if (state_ == State::running || state_ == State::left) link_->tick(now, *this);
      if (state_ == State::running) check_waits(now);
    } catch (const std::exception& e) { give_up(e.what()); }
    any = true;  // sending may have cleared a descriptor's readiness: poll again before parking
  }
  return any;
}
/// Counts and completes the collective: from here on any thread may read it.
void Engine::end(Operation& o, Clock::time_point now) {
  auto& r = *o.record;
  recorder_.note(r, o.moved);
  traffic_.bytes_sent += static_cast<std::uint64_t>(r.all.out);
  traffic_.bytes_received += static_cast<std::uint64_t>(r.all.in);
  r.ended = now;
  if (tracing::on())
    tracing::add(tracing::Kind::collective, options_.rank, tracing::label(o.summary.text()),
                 tracing::nanoseconds(r.started), tracing::nanoseconds(r.ended));
  o.complete();
}
bool Engine::sweep(Clock::time_point now) {
  if (state_ == State::lost || halt_.over) return false;  // waits have thrown: results have nowhere to go
  bool ended = false;
  for (auto it = active_.begin(); it != active_.end();) {
    if (!it->second->finished()) {
      ++it;
      continue;
    }
    end(*it->second, now);
    spare_ = active_.extract(it++);
    spare_.mapped() = nullptr;
    ended = true;
  }
  if (ended) notify();
  return ended;
}
/// Makes waits look at their conditions again.
void Engine::notify() {
  if (waiting_.size() > 1) cv_.notify_all();
  if (leading_ && leader_ != std::this_thread::get_id()) link_->wake(Side::leader);
}
template <class Done> void Engine::await(Lock& lock, Waiting& w, Done done) {
  if (done()) return watch(leading_, !active_.empty());
  w.generation = ++generation_;
  if (w.since == Clock::time_point{}) w.since = Clock::now();
  w.next_report = w.since + kFirstReport;
  if (waiting_.empty()) blocked_since_ = w.since;
  waiting_.push_back(&w);
  auto over = [&] {
    return state_ == State::lost || state_ == State::left || (halt_.over && w.operation) || done();
  };
  while (!over()) {
    if (leading_) {  // another thread makes progress and notifies
      cv_.wait_until(lock, WaitClock::now() + kTick);
      continue;
    }
    leading_ = true;
    leader_ = std::this_thread::get_id();
    watch(true, true);
    Clock::time_point spin_end = {};
    while (!over()) {
      if (pump()) {
        spin_end = {};
        continue;
      }
      if (spin_end == Clock::time_point{}) spin_end = now_ < crowded_until_ ? now_ : now_ + kSpin;
      if (now_ < spin_end) {
        lock.unlock();
        auto last = Clock::now(), crowded_until = crowded_until_;
        for (int k = 0, spins = link_->by_memory() ? spins_ : 0; !link_->ready() && last < spin_end; ++k) {
          if (k < spins) __builtin_ia32_pause();
          else sched_yield();
          if (k < spins && k % 16 != 15) continue;
          auto now = Clock::now();
          if (now - last > kGone && spins_ > 0) crowded_until = now + kCrowded;
          last = now;
        }
        lock.lock();
        crowded_until_ = crowded_until;
      } else {
        lock.unlock();
        link_->park(Side::leader, kTick);
        lock.lock();
      }
    }
    leading_ = false;
    watch(false, !active_.empty());
    if (std::exchange(unseen_, false)) link_->wake(Side::progress);
    if (waiting_.size() > 1) cv_.notify_all();
  }
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &w));
  // The time of the last poll, which led to this end: no further reading of the clock.
  if (waiting_.empty()) waited_ += std::max(now_ - blocked_since_, Clock::duration::zero());
  if (tracing::on()) {
    auto about = w.operation ? w.operation->summary.short_text() : w.text;
    tracing::add(tracing::Kind::wait, options_.rank, tracing::label(about), tracing::nanoseconds(w.since),
                 tracing::now());
  }
  if (done()) return;
  // Once the wait throws, nothing may read the caller's buffers.
  if (w.operation)
    for (auto end = Clock::now() + 10s; w.operation->pins() > 0;) {
      if (Clock::now() > end)
        end_process((lost_ ? std::string(during(w).what()) : "halting") +
                    "; buffers are still being sent, so the process ends");
      lock.unlock();
      std::this_thread::sleep_for(1ms);
      lock.lock();
      link_->receive(*this);
    }
  if (halt_.over && !lost_) throw Halted(*halt_.at);
  check<TransportError>(lost_.has_value(), "this rank has left the job");
  throw during(w);
}
void Engine::await_that(Lock& lock, Waiting& w, const std::function<bool()>& done) { await(lock, w, done); }
bool Engine::test(Operation& op) {
  check_process();
  Lock lock(m_);
  if (state_ == State::running && !leading_)
    while (pump()) {}
  if ((state_ == State::running && !halt_.over) || op.done) return op.done;
  Waiting w{.operation = &op};
  await(lock, w, [&] { return op.done.load(); });
  return true;
}
void Engine::wait(Operation& op) {
  check_process();
  Lock lock(m_);
  check_thread();
  Waiting w{.operation = &op};
  await(lock, w, [&] { return op.done.load(); });
}
/// The progress thread: makes progress while no thread waits, keeps time, and announces failures.
void Engine::run() {
  Lock lock(m_);
  while (!stop_) {
    lock.unlock();
    link_->park(Side::progress, std::chrono::duration_cast<std::chrono::milliseconds>(kTick));
    lock.lock();
    if (leading_) unseen_ = true;
    else
      while (pump()) {}
    if (auto n = dumps_asked_for(); std::exchange(dumps_, n) != n && state_ == State::running)
      ask(Ask::dump, -1, "SIGUSR2 to rank " + std::to_string(options_.rank));
    if (state_ == State::running) watch(leading_, !active_.empty());
    if (state_ == State::failing) announce(lock);
    if (state_ == State::lost && grace_s_ > 0 && Clock::now() >= grace_end_)
      end_process(waiting_.empty() ? lost_->what() : during(*waiting_.front()).what());
  }
}
std::vector<std::string> Engine::exchange(const std::string& mine, std::string_view what) {
  check_process();
  Lock lock(m_);
  check_here();
  check_thread();
  constexpr auto most = kMostControl / 2;
  check<ValueError>(mine.size() <= most, "exchange of ", what, ": a text of ", mine.size(), " bytes; one has at most ",
                    most);
  auto number = exchanges_++;
  started_[kExchangeGroup] = exchanges_;
  // Ranks must agree on the first line; further lines only describe this rank's wait.
  auto name = what.substr(0, what.find('\n'));
  if (state_ == State::running)
    link_->to_coordinator(ByteWriter().num(Control::exchange).num(number).text(name).text(mine).take());
  Waiting w{.text = "exchange of " + std::string(name), .number = number};
  if (name.size() < what.size()) w.text += " (" + std::string(what.substr(name.size() + 1)) + ")";
  await(lock, w, [&] { return exchanged_.count(number) > 0; });
  auto texts = std::move(exchanged_[number]);
  exchanged_.erase(number);
  return texts;
}
void Engine::leave() {
  check_process();
  Lock lock(m_);
  depart(lock, true);
}
void Engine::depart(Lock& lock, bool meet) {
  if (state_ == State::left) return;
  if (state_ == State::running) {
    ByteWriter m;
    m.num(Control::leave);
    write_started(m, started_);
    link_->to_coordinator(m.take());
  }
  if (meet || state_ != State::running) {
    Waiting w{.text = "leaving", .reports = false};
    auto end = Clock::now() + 10s;
    await(lock, w, [&] { return state_ == State::running && (all_left_ || Clock::now() > end); });
    // Late ranks go on without a control plane; the end of this process is not a loss for them.
    if (!all_left_ && state_ == State::running && options_.rank == 0 && link_->must_meet())
      link_->to_coordinator(ByteWriter().num(Control::close).take());
  }
  state_ = State::left;
}
Traffic Engine::traffic() const {
  check_process();
  Lock lock(m_);
  auto r = traffic_;
  auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  if (!waiting_.empty()) r.waiting_s = seconds(Clock::now() - blocked_since_);
  r.waited_s = seconds(waited_) + r.waiting_s;
  return r;
}

}  // namespace bora::transport
