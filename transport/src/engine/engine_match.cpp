// engine_match.cpp -- the engine's Sink: finds the collective that an arrived message belongs to.
#include <utility>
#include "base/api/bytes.h"
#include "engine/engine.h"

namespace bora::transport {
void Engine::data(Arrival a) {
  if (state_ != State::running) return;
  Key key{a.header.group, a.header.seq};
  auto found = active_.find(key);
  if (found == active_.end()) {
    auto m = groups_.find(key.first);
    if (m == groups_.end() || key.second >= m->second.next) {
      a.keep();
      early_[key].push_back(std::move(a));
      return;
    }
    // A message for a collective that has ended here: a last credit, or the peer ran another collective.
    if (a.header.type != MessageType::data) return;
    auto* ended = recorder_.find(key.first, key.second);
    if (!ended || ended->summary.fingerprint == a.header.fingerprint) return;
    return disagree(ended->summary, nullptr, static_cast<int>(a.header.src));
  }
  auto op = found->second.get();
  auto src = static_cast<int>(a.header.src);
  if (a.header.fingerprint != op->summary.fingerprint) return disagree(op->summary, op, src);
  if (a.header.type == MessageType::data && op->record->first_byte == Clock::time_point{})
    op->record->first_byte = Clock::now();
  try {
    if (!op->accept(std::move(a), *link_).empty()) return disagree(op->summary, op, src);
  } catch (const TransportError& e) { return lost(src, e.what()); }  // its buffer cannot be read
  op->advance(*link_);
}
std::byte* Engine::place(const Header& h) {
  auto found = active_.find({h.group, h.seq});
  return found == active_.end() || h.fingerprint != found->second->summary.fingerprint ? nullptr
                                                                                       : found->second->place(h);
}
void Engine::make_room(int rank) {
  for (auto& [key, arrivals] : early_)
    for (auto& a : arrivals)
      if (a.header.src == static_cast<std::uint32_t>(rank)) a.copy();
  for (auto& [key, op] : active_) op->make_room(rank);
}
/// A peer's collective is not this rank's (`o`: while it runs): tells the coordinator, once.
void Engine::disagree(const Summary& s, const Operation* o, int peer) {
  if (std::exchange(disagreed_, true)) return;
  auto mine = o ? o->describe() : s.text();
  auto rank = static_cast<std::int32_t>(peer);
  link_->to_coordinator(ByteWriter().num(Control::mismatch).num(rank).num(s.group).num(s.seq).text(mine).take());
}
}  // namespace bora::transport
