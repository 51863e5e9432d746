#include "control/coordinator.h"
#include <algorithm>
#include "bora/transport/transport.h"

namespace bora::transport {
using namespace std::chrono_literals;

void write_started(ByteWriter& w, const Started& s) {
  w.num(static_cast<std::uint64_t>(s.size()));
  for (auto& [group, count] : s) w.num(group).num(count);
}
Started read_started(ByteReader& r) {
  Started s;
  for (auto n = r.num<std::uint64_t>(); n > 0; --n) {
    auto group = r.num<std::uint32_t>();
    s[group] = r.num<std::uint64_t>();
  }
  return s;
}

Coordinator::Coordinator(std::vector<std::string> who, std::function<void(int, std::string)> send)
    : who_(std::move(who)), send_(std::move(send)), ranks_(who_.size()) {}

void Coordinator::abort(int rank, const std::string& text) {
  if (over_) return;
  over_ = true;
  tell_all(ByteWriter().num(Control::abort).num(static_cast<std::int32_t>(rank)).text(text).take());
}
void Coordinator::lost(int rank, const std::string& how) {
  if (!at(rank).leaving) abort(rank, who_[static_cast<std::size_t>(rank)] + " lost: " + how);
}
void Coordinator::handle(int from, std::string_view message) {
  if (over_) return;
  auto size = static_cast<int>(ranks_.size());
  ByteReader r(message);
  switch (r.num<Control>()) {
    case Control::waiting: return waiting(from, r);
    case Control::exchange: {
      auto number = r.num<std::uint64_t>();
      auto what = r.text(), mine = r.text();
      auto& e = exchanges_[number];
      if (e.texts.empty()) e.what = what, e.first = from;
      if (e.what != what)
        return abort(std::min(from, e.first), "the ranks disagree: rank " + std::to_string(e.first) + ": exchange of " +
                                                  e.what + "; rank " + std::to_string(from) + ": exchange of " + what);
      e.texts[from] = mine;
      at(from).started[kExchangeGroup] = number + 1;
      if (static_cast<int>(e.texts.size()) < size) return;
      ByteWriter w;
      w.num(Control::exchanged).num(number).num(static_cast<std::uint64_t>(size));
      for (auto& [rank, text] : e.texts) w.text(text);
      exchanges_.erase(number);
      auto all = w.take();
      if (all.size() > kMostControl)
        return abort(from, "exchange of " + what + ": the texts of all ranks have " + std::to_string(all.size()) +
                               " bytes, and at most " + std::to_string(kMostControl) + " can be exchanged");
      return tell_all(all);
    }
    case Control::leave: {
      at(from).started = read_started(r);
      at(from).leaving = true;
      if (halting_ && !halts_) no_halt();
      for (int k = 0; k < size; ++k)
        if (at(k).reports > 0) look_for_deadlock(k);
      if (over_ || !std::all_of(ranks_.begin(), ranks_.end(), [](auto& k) { return k.leaving; })) return;
      over_ = true;
      return tell_all(ByteWriter().num(Control::left).take());
    }
    case Control::close: {
      over_ = true;
      return tell_all(ByteWriter().num(Control::left).take());
    }
    case Control::aborted: {
      auto rank = r.num<std::int32_t>();
      check<TransportError>(rank >= 0 && rank < size, "a control message names rank ", rank, " of ", size);
      bool needed = r.num<bool>();
      if (!needed && at(rank).leaving) return;  // it has said good-bye: its connections may end
      return abort(rank, r.text());
    }
    case Control::ask: {
      auto why = r.num<Ask>();
      auto rank = r.num<std::int32_t>();
      return ask(why, rank, r.text());
    }
    case Control::activity: {
      if (!inquiry_ || r.num<std::uint64_t>() != inquiry_->number) return;
      inquiry_->answers[static_cast<std::size_t>(from)] = read_activity(r, size);
      for (int k = 0; k < size; ++k)
        if (!inquiry_->answers[static_cast<std::size_t>(k)] && !at(k).leaving) return;
      return conclude();
    }
    case Control::mismatch: {
      if (mismatch_) return;  // the first one is still being resolved
      auto peer = r.num<std::int32_t>();
      check<TransportError>(peer >= 0 && peer < size, "a control message names rank ", peer, " of ", size);
      auto group = r.num<std::uint32_t>();
      auto seq = r.num<std::uint64_t>();
      mismatch_ = Mismatch{from, peer, r.text(), Clock::now() + 2s};
      return send_(peer, ByteWriter().num(Control::describe).num(group).num(seq).take());
    }
    case Control::description: {
      if (!mismatch_ || from != mismatch_->b) return;
      auto [a, b, text, deadline] = *mismatch_;
      auto other = r.text();
      if (b < a) std::swap(a, b), std::swap(text, other);
      return abort(a, "the ranks disagree: rank " + std::to_string(a) + ": " + text + "; rank " + std::to_string(b) +
                          ": " + other + "; every rank must start the same collectives in the same order");
    }
    case Control::halt:
    case Control::standing:
    case Control::arrived: return halt(static_cast<Control>(message[0]), from, r);
    case Control::status: {
      auto text = r.text();
      check<TransportError>(text.size() <= Context::kMostStatus, "rank ", from, " told a status of ", text.size(),
                            " bytes");
      return send_(0, ByteWriter().num(Control::status).num(static_cast<std::int32_t>(from)).text(text).take());
    }
    default: fail<TransportError>("rank ", from, " sent a control message that is not for the coordinator");
  }
}
void Coordinator::tell_all(const std::string& message) {
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) send_(r, message);
}
void Coordinator::no_halt() {
  auto number = halting_->number();
  halting_.reset();
  tell_all(ByteWriter().num(Control::halt_at).num(number).num(std::int64_t{-1}).take());
}
void Coordinator::halt(Control what, int from, ByteReader& r) {
  auto rank = static_cast<std::size_t>(from);
  if (what == Control::halt) {
    if (halting_ || std::any_of(ranks_.begin(), ranks_.end(), [](auto& k) { return k.leaving; })) return;
    halting_.emplace(++haltings_, ranks_.size());
    return tell_all(ByteWriter().num(Control::stand).num(haltings_).take());
  }
  auto number = r.num<std::uint64_t>();
  if (!halting_ || number != halting_->number()) return;
  if (what == Control::arrived) {
    if (halts_ && halting_->arrives(rank)) tell_all(ByteWriter().num(Control::halted).num(number).take());
    return;
  }
  Standing s;
  s.done = r.num<std::int64_t>(), s.inside = r.num<bool>(), s.returns = r.num<bool>();
  if (halts_ || !halting_->stands(rank, s)) return;
  auto place = halting_->place();
  if (!place) return no_halt();
  halts_ = true;
  tell_all(ByteWriter().num(Control::halt_at).num(number).num(*place).take());
}
/// Asks all ranks for their activity. One inquiry at a time; ranks that ask for the same share one answer.
void Coordinator::ask(Ask why, int rank, const std::string& text) {
  if (inquiry_) {
    if (why == Ask::overdue && inquiry_->why != Ask::overdue)
      inquiry_->why = why, inquiry_->rank = rank, inquiry_->text = text;
    return;
  }
  auto now = Clock::now();
  auto quiet = why == Ask::warning ? 5s : 1s;
  if (auto last = concluded_.find(why); last != concluded_.end() && now - last->second < quiet) return;
  inquiry_ = Inquiry{++inquiries_, why, rank, text, std::vector<std::optional<Activity>>(ranks_.size()), now + 500ms};
  auto message = ByteWriter().num(Control::report).num(inquiries_).num(why).text(text).take();
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r)
    if (!at(r).leaving) send_(r, message);
}
void Coordinator::conclude() {
  auto q = std::move(*inquiry_);
  inquiry_.reset();
  concluded_[q.why] = Clock::now();
  std::vector<bool> left;
  for (auto& r : ranks_) left.push_back(r.leaving);
  auto sentence = who_waits_for_whom(q.answers, who_, left);
  if (q.why == Ask::overdue) return abort(q.rank, q.text + "; " + sentence);
  send_(0, ByteWriter()
               .num(Control::say)
               .text((q.why == Ask::warning ? "warning: " : "flight recorder: ") + q.text + ": " + sentence)
               .take());
}
void Coordinator::waiting(int from, ByteReader& r) {
  auto& k = at(from);
  auto now = Clock::now();
  if (auto g = r.num<std::uint64_t>(); g != k.generation || k.reports == 0)
    k.generation = g, k.reports = 0, k.first = now;
  k.last = now;
  ++k.reports;
  k.group = r.num<std::uint32_t>();
  k.seq = r.num<std::uint64_t>();
  auto fingerprint = r.num<std::uint64_t>();
  k.text = r.text();
  k.awaited.clear();
  for (auto n = r.num<std::uint64_t>(); n > 0; --n) {
    auto p = r.num<std::int32_t>();
    check<TransportError>(p >= 0 && p < static_cast<int>(ranks_.size()), "a control message names rank ", p);
    k.awaited.push_back(p);
  }
  k.started = read_started(r);
  if (k.group != kExchangeGroup)
    for (int p : k.awaited)
      send_(p, ByteWriter()
                   .num(Control::compare)
                   .num(k.group)
                   .num(k.seq)
                   .num(fingerprint)
                   .text(k.text)
                   .num(static_cast<std::int32_t>(from))
                   .take());
  look_for_deadlock(from);
}
bool Coordinator::has_not_started(int rank, std::uint32_t group, std::uint64_t seq) {
  auto& s = at(rank).started;
  auto found = s.find(group);
  return found == s.end() || found->second <= seq;
}
/// Follows `from` to the ranks it waits for that have not started the collective and wait in another one, or have left.
/// A wait is known only while it lasts, so all waits of a cycle must overlap: two reports of each.
void Coordinator::look_for_deadlock(int from) {
  auto now = Clock::now();
  auto blocked = [&](int r) { return at(r).reports >= 2 && now - at(r).last < 1s && !at(r).leaving; };
  if (!blocked(from)) return;
  std::vector<int> path{from};
  std::vector<bool> seen(ranks_.size(), false);
  std::function<bool(int)> walk = [&](int r) {
    seen[static_cast<std::size_t>(r)] = true;
    for (int p : at(r).awaited) {
      if (!has_not_started(p, at(r).group, at(r).seq)) continue;
      if (at(p).leaving) {
        abort(p, who_[static_cast<std::size_t>(p)] + " left the job while rank " + std::to_string(r) +
                     " waits for it in " + at(r).text);
        return true;
      }
      if (!blocked(p)) continue;
      if (auto again = std::find(path.begin(), path.end(), p); again != path.end()) {
        auto first = Clock::time_point::min(), last = Clock::time_point::max();
        std::string text;
        int lowest = p;
        for (auto i = again; i != path.end(); ++i) {
          first = std::max(first, at(*i).first);
          last = std::min(last, at(*i).last);
          lowest = std::min(lowest, *i);
          text += (text.empty() ? "" : "; ") + ("rank " + std::to_string(*i) + ": " + at(*i).text);
        }
        if (first > last) continue;
        abort(lowest, "the ranks wait for each other: " + text +
                          "; every rank must start the same collectives in the same order");
        return true;
      }
      if (seen[static_cast<std::size_t>(p)]) continue;
      path.push_back(p);
      if (walk(p)) return true;
      path.pop_back();
    }
    return false;
  };
  walk(from);
}
void Coordinator::tick(Clock::time_point now) {
  if (inquiry_ && !over_ && now >= inquiry_->deadline) conclude();
  if (!mismatch_ || over_ || now < mismatch_->deadline) return;
  abort(std::min(mismatch_->a, mismatch_->b), "the ranks disagree: rank " + std::to_string(mismatch_->a) + ": " +
                                                  mismatch_->text + "; rank " + std::to_string(mismatch_->b) +
                                                  " runs another collective and does not say which");
}
}  // namespace bora::transport
