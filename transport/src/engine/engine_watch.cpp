// engine_watch.cpp -- the engine's slow paths: long waits, the coordinator's messages, failures.
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>
#include "base/api/bytes.h"
#include "engine/engine.h"
#include "wire/forks.h"

namespace bora::transport {
namespace {
constexpr auto kNextReport = std::chrono::milliseconds(200);
}  // namespace
// ---- forked children ----
void Engine::check_process() const {
  check<TransportError>(
      forks() == forks_, "this process was forked from ", link_->who(options_.rank),
      " after that had joined its job, and cannot use it; fork before joining, or exec another program");
}
/// A forked child has neither the threads nor the locks, and shares sockets and memory with its parent: all of it is
/// left alone.
void Engine::leave_to_parent() {
  new auto(std::move(active_));
  new auto(std::move(early_));
  [[maybe_unused]] auto* link = link_.release();
  // The parent's threads wait in the old one: destroying it would wait for them.
  new (&cv_) std::condition_variable;
  thread_.detach();
}

// ---- waits ----
/// By all collectives, or by those that the wire serves before the awaited one, and by that.
std::int64_t Engine::bytes_moved(const Waiting& w) const {
  auto n = w.operation ? std::int64_t{0} : static_cast<std::int64_t>(traffic_.bytes_sent + traffic_.bytes_received);
  for (auto& [key, o] : active_)
    for (auto& m : o->moved) n += w.operation && o->order > w.operation->order ? 0 : m.out + m.in;
  return n;
}
void Engine::check_waits(Clock::time_point now) {
  for (auto* w : waiting_) {
    if (now < w->next_report) continue;
    w->next_report = now + kNextReport;
    // A slow network is no reason to give up, as long as bytes arrive.
    if (auto moved = bytes_moved(*w); moved != w->moved || w->moved_at == Clock::time_point{})
      w->moved_at = w->moved_at == Clock::time_point{} ? w->since : now, w->moved = moved;
    auto seconds = std::chrono::duration<double>(now - w->moved_at).count();
    auto awaited = w->operation ? w->operation->waiting_for() : std::vector<int>{};
    auto what = w->operation ? w->operation->summary.short_text() : w->text;
    auto first = awaited.empty() ? -1 : awaited.front();
    if (!w->warned && seconds > options_.stuck_warn_s) {
      w->warned = true;
      ask(Ask::warning, first,
          "rank " + std::to_string(options_.rank) + " has waited " + std::to_string(static_cast<int>(seconds)) + " s");
    }
    if (seconds > options_.stuck_abort_s) {
      std::ostringstream s;
      if (first < 0) s << "rank " << options_.rank << " waited " << static_cast<int>(seconds) << " s in " << what;
      else
        s << link_->who(first) << " is alive but did not take part in " << what << " for " << static_cast<int>(seconds)
          << " s; rank " << options_.rank << " waits for it";
      if (all_left_) fail(std::max(first, 0), s.str());  // there is no coordinator any more
      else ask(Ask::overdue, first, s.str());
    }
    if (!several_threads_ && w->reports) report(*w);
  }
}
/// Reports this rank's wait to the coordinator, which finds ranks that wait for each other and lets the awaited ones
/// compare fingerprints.
void Engine::report(Waiting& w) {
  ByteWriter m;
  m.num(Control::waiting).num(w.generation);
  std::vector<int> awaited;
  if (w.operation) {
    auto& s = w.operation->summary;
    m.num(s.group).num(s.seq).num(s.fingerprint).text(w.operation->describe());
    awaited = w.operation->waiting_for();
  } else {
    m.num(kExchangeGroup).num(w.number).num(std::uint64_t{0}).text(w.text);
    for (int r = 0; r < options_.size; ++r)
      if (r != options_.rank) awaited.push_back(r);
  }
  m.num(static_cast<std::uint64_t>(awaited.size()));
  for (int r : awaited) m.num(static_cast<std::int32_t>(r));
  write_started(m, started_);
  link_->to_coordinator(m.take());
}

void Engine::ask(Ask why, int rank, const std::string& text) {
  link_->to_coordinator(ByteWriter().num(Control::ask).num(why).num(static_cast<std::int32_t>(rank)).text(text).take());
}
void Engine::dump(const std::string& why) {
  check_process();
  Lock lock(m_);
  if (state_ == State::running) ask(Ask::dump, -1, why);
}
void Engine::tell(const std::string& status) {
  check_process();
  check<ValueError>(status.size() <= kMostStatus, "tell: a status of ", status.size(), " bytes; one has at most ",
                    kMostStatus);
  Lock lock(m_);
  if (state_ != State::running || all_left_) return;
  if (options_.rank != 0) return link_->to_coordinator(ByteWriter().num(Control::status).text(status).take());
  told_.resize(static_cast<std::size_t>(options_.size));
  told_[0] = {status, Clock::now()};
}
std::vector<Told> Engine::told() const {
  check_process();
  Lock lock(m_);
  std::vector<Told> r(static_cast<std::size_t>(options_.size));
  for (std::size_t k = 0; k < told_.size(); ++k)
    if (auto& [status, at] = told_[k]; !status.empty())
      r[k] = {status, std::chrono::duration<double>(Clock::now() - at).count()};
  return r;
}
Activity Engine::activity() const {
  Activity a;
  if (auto* last = recorder_.last_ended())
    a.last = last->summary.short_text() + " at " + wall_time(last->ended).substr(11, 8);
  std::vector<const Operation*> open;
  for (auto& [key, o] : active_) open.push_back(o.get());
  std::sort(open.begin(), open.end(), [](auto* x, auto* y) { return x->order < y->order; });
  for (auto* o : open) {
    auto [done, all] = o->chunks();
    a.waits.push_back({o->summary.group, o->summary.seq, o->summary.short_text(), done, all, o->waiting_for()});
  }
  for (auto* w : waiting_) {
    if (w->operation) continue;
    Activity::Wait x{.group = kExchangeGroup, .seq = w->number, .text = w->text};
    for (int r = 0; r < options_.size; ++r)
      if (r != options_.rank) x.awaited.push_back(r);
    a.waits.push_back(std::move(x));
  }
  return a;
}
void Engine::write_recorder(const std::string& why) {
  if (options_.flight_dir.empty()) return;
  JsonWriter w;
  w.object()("rank", options_.rank)("who", link_->who(options_.rank))("why", why)("written", wall_time(Clock::now()));
  w("collectives", traffic_.collectives)("stale", traffic_.stale)("refused", traffic_.refused).end();
  for (auto& [key, o] : active_) recorder_.note(*o->record, o->moved);
  recorder_.write(w, [&](JsonWriter& line, const Record& r) {
    auto found = active_.find({r.summary.group, r.summary.seq});
    line("state", found != active_.end() && state_ == State::running ? "running" : "aborted");
    if (found == active_.end()) return;
    auto [done, all] = found->second->chunks();
    line("chunks", done)("of", all)("waiting_for").list();
    for (int p : found->second->waiting_for()) line.add(p);
    line.end();
  });
  auto problem = write_whole(options_.flight_dir, "rank-" + std::to_string(options_.rank) + ".jsonl", w.take());
  if (!problem.empty()) std::fprintf(stderr, "warning: the flight recorder: %s\n", problem.c_str());
}

// ---- control ----
void Engine::control(std::string_view message) {
  ByteReader r(message);
  switch (auto what = r.num<Control>()) {
    case Control::stand:
    case Control::halt_at:
    case Control::halted: halting(what, r); break;
    case Control::abort: {
      auto rank = r.num<std::int32_t>();
      return fail(rank, r.text());
    }
    case Control::exchanged: {
      auto number = r.num<std::uint64_t>();
      auto& texts = exchanged_[number];
      for (auto n = r.num<std::uint64_t>(); n > 0; --n) texts.push_back(r.text());
      break;
    }
    case Control::left: all_left_ = true; break;
    case Control::report: {
      auto number = r.num<std::uint64_t>();
      auto why = r.num<Ask>();
      if (why == Ask::dump) write_recorder(r.text());
      ByteWriter w;
      w.num(Control::activity).num(number);
      write(w, activity());
      link_->to_coordinator(w.take());
      break;
    }
    case Control::status: {
      auto rank = static_cast<std::size_t>(r.num<std::int32_t>());
      told_.resize(static_cast<std::size_t>(options_.size));
      if (rank < told_.size()) told_[rank] = {r.text(), Clock::now()};
      return;  // no wait is about it
    }
    case Control::say: std::fprintf(stderr, "%s\n", r.text().c_str()); break;
    case Control::describe: {
      auto group = r.num<std::uint32_t>();
      auto seq = r.num<std::uint64_t>();
      std::string text = "no such collective";
      if (auto* r = recorder_.find(group, seq)) text = r->summary.text();
      if (auto found = active_.find({group, seq}); found != active_.end()) text = found->second->describe();
      link_->to_coordinator(ByteWriter().num(Control::description).text(text).take());
      break;
    }
    case Control::compare: {
      auto group = r.num<std::uint32_t>();
      auto seq = r.num<std::uint64_t>(), fingerprint = r.num<std::uint64_t>();
      auto text = r.text();
      auto rank = r.num<std::int32_t>();
      auto* r = recorder_.find(group, seq);
      if (!r || r->summary.fingerprint == fingerprint) break;
      auto found = active_.find({group, seq});
      disagree(r->summary, found == active_.end() ? nullptr : found->second.get(), rank);
      break;
    }
    default: break;  // pings
  }
  notify();
}
/// Tells the link which thread polls. Never throws: callers are inside of waits.
void Engine::watch(bool leading, bool busy) {
  try {
    link_->watch(leading, busy);
  } catch (const TransportError& e) { give_up(e.what()); }
}
void Engine::abort(const std::string& reason) noexcept {
  if (forks() != forks_) return;
  try {
    Lock lock(m_);
    give_up(reason);
  } catch (const std::exception& e) { std::fprintf(stderr, "warning: while ending the job: %s\n", e.what()); }
}
// ---- failures ----
/// This rank cannot go on.
void Engine::give_up(const std::string& why) {
  if (state_ != State::running) return;
  std::string text;
  try {
    text = link_->who(options_.rank) + " ended the job: " + why;
    link_->to_coordinator(
        ByteWriter().num(Control::aborted).num(static_cast<std::int32_t>(options_.rank)).num(true).text(text).take());
  } catch (const std::exception&) {}  // without memory it fails all the same
  fail(options_.rank, text);
}
void Engine::on_lost(std::function<void(const RankLost&)> f, double grace_s) {
  check_process();
  Lock lock(m_);
  callback_ = std::move(f);
  grace_s_ = grace_s;
}
void Engine::lost(int rank, const std::string& how) {
  if (rank != 0 && state_ == State::running) broken(rank, how);  // so that all ranks name the same one
  fail(rank, link_->who(rank) + " lost: " + how);
}
/// The coordinator decides, as long as there is one.
void Engine::broken(int rank, const std::string& how) {
  auto text = link_->who(rank) + " lost: " + how;
  if (all_left_) return fail(rank, text);
  link_->to_coordinator(
      ByteWriter().num(Control::aborted).num(static_cast<std::int32_t>(rank)).num(needs(rank)).text(text).take());
}
/// Something cannot end without this rank: a collective, or an exchange, which needs all of them.
bool Engine::needs(int rank) const {
  auto awaits = [&](auto& o) {
    auto ranks = o.second->waiting_for();
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  return std::any_of(active_.begin(), active_.end(), awaits) ||
         std::any_of(waiting_.begin(), waiting_.end(), [](auto* w) { return !w->operation && w->reports; });
}
/// The first failure counts. Waits throw after the callback has run on the progress thread.
void Engine::fail(int rank, const std::string& text) {
  if (state_ != State::running || (all_left_ && !needs(rank))) return;
  state_ = State::failing;
  lost_.emplace(text, rank);
  says_during_ = text.find(" lost: ") != std::string::npos;
  link_->stop_data();
  early_.clear();
  for (auto& [key, op] : active_) op->drop();
  link_->wake(Side::progress);
}
void Engine::announce(Lock& lock) {
  try {
    write_recorder(lost_->what());
  } catch (const std::bad_alloc&) {}
  grace_end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(grace_s_));
  if (auto& callback = callback_) try {
      auto call = callback;
      auto lost = waiting_.empty() ? *lost_ : during(*waiting_.front());
      lock.unlock();
      call(lost);
      lock.lock();
    } catch (const std::bad_alloc&) {
      if (!lock) lock.lock();
    }
  state_ = State::lost;
  cv_.notify_all();
  notify();
}
/// The verdict; for the loss of a rank also this rank's wait.
RankLost Engine::during(const Waiting& w) const {
  std::string text = lost_->what();
  if (says_during_) text += " during " + (w.operation ? w.operation->summary.short_text() : w.text);
  return {text, lost_->rank};
}
}  // namespace bora::transport
