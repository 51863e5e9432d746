// engine_halt.cpp -- a rank's part in halting: where it stands, how it gets to where all halt, and the end of
// collectives there.
#include "base/api/bytes.h"
#include "engine/engine.h"

namespace bora::transport {
Halts* halts(Context& c) { return dynamic_cast<Halts*>(&c); }

void Engine::ask_to_halt() {
  check_process();
  Lock lock(m_);
  if (state_ == State::running && !halt_.over && !all_left_)
    link_->to_coordinator(ByteWriter().num(Control::halt).take());
}
void Engine::begin_work(std::int64_t done, bool returns) {
  check_process();
  Lock lock(m_);
  halt_.standing = {done, false, false};
  agreed(lock);
  if (halt_.at == done) halt_here(lock);
  halt_.standing = {done, true, returns};
}
void Engine::end_work(std::int64_t done) {
  check_process();
  Lock lock(m_);
  agreed(lock);
  if (halt_.at == halt_.standing.done) halt_here(lock);  // this piece was done in vain
  halt_.standing = {done, false, false};
}
void Engine::halt_if_given_up() {
  check_process();
  Lock lock(m_);
  if (given_up_) halt_here(lock);
}
/// Holds still while the agreement is under way in which this rank has said where it stands.
void Engine::agreed(Lock& lock) {
  Waiting w{.text = "the agreement on where to halt", .reports = false};
  if (halt_.asked != 0) await_that(lock, w, [&] { return halt_.asked == 0; });
}
/// Waits until all ranks are here; their collectives have ended then, but for those of work that was given up.
void Engine::halt_here(Lock& lock) {
  arrive();
  Waiting w{.text = "halting", .reports = false};
  await_that(lock, w, [&] { return halt_.over; });
  given_up_ = false;  // nothing more is given up
  throw Halted(*halt_.at);
}
void Engine::arrive() {
  if (!std::exchange(halt_.arrived, true))
    link_->to_coordinator(ByteWriter().num(Control::arrived).num(halt_.number).take());
}
/// A word of the coordinator's.
void Engine::halting(Control what, ByteReader& r) {
  auto number = r.num<std::uint64_t>();
  if (what == Control::stand) {
    halt_.asked = halt_.number = number;
    auto& s = halt_.standing;
    ByteWriter w;
    w.num(Control::standing).num(number).num(s.done).num(s.inside).num(s.returns);
    link_->to_coordinator(w.take());
  } else if (number != halt_.number) {
    return;
  } else if (what == Control::halt_at) {
    halt_.asked = 0;
    auto place = r.num<std::int64_t>();
    if (place < 0) return;  // the work goes on
    halt_.at = place;
    if (!halt_.standing.inside || halt_.standing.done != place) return;  // it gets there
    given_up_ = true;
    arrive();
  } else if (state_ == State::running) {
    halt_.over = true;
    link_->stop_data();
    early_.clear();
    for (auto& [key, op] : active_) op->drop();
    active_.clear();  // nothing waits for a rank any more: each may leave
  }
}
}  // namespace bora::transport
