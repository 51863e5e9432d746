#include "control/control_plane.h"
#include <algorithm>
#include <cstdio>
#include "base/api/bytes.h"
#include "control/handshake.h"
#include "wire/address.h"

namespace bora::transport {
using namespace std::chrono_literals;

std::optional<ConnectionEvent> next_event(Socket& monitor) {
  Frame f;
  if (!monitor.receive(f)) return std::nullopt;
  std::uint16_t event = 0;
  std::int32_t value = -1;
  if (f.size() >= sizeof event + sizeof value) {
    std::memcpy(&event, f.data(), sizeof event);
    std::memcpy(&value, f.data() + sizeof event, sizeof value);
  }
  monitor.skip_rest(f);
  if (event == ZMQ_EVENT_CONNECTED || event == ZMQ_EVENT_ACCEPTED) leave_bbr_within_host(value);
  return ConnectionEvent{event, value};
}

bool failed_handshake(int event) {
  return event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
         event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
}

ControlPlane::ControlPlane(const ControlOptions& o, ControlSockets s, std::vector<std::string> who,
                           std::function<void()> wake)
    : options_(o),
      s_(std::move(s)),
      who_(std::move(who)),
      wake_(std::move(wake)),
      heard_(static_cast<std::size_t>(o.size), Clock::now()),
      suspected_(static_cast<std::size_t>(o.size), false) {
  epoll_.add(s_.socket.descriptor(), 0);
  epoll_.add(s_.monitor.descriptor(), 0);
  if (o.rank == 0) coordinator_.emplace(who_, [this](int r, std::string m) { from_coordinator(r, std::move(m)); });
}
ControlPlane::~ControlPlane() {
  int linger = 1000;  // the last messages (an abort, the end of the job) must still be sent
  zmq_setsockopt(s_.socket.get(), ZMQ_LINGER, &linger, sizeof linger);
  zmq_socket_monitor(s_.socket.get(), nullptr, 0);
}
void ControlPlane::to_coordinator(std::string message) {
  if (coordinator_) coordinator_->handle(0, message);
  else send(0, message);
}
void ControlPlane::send(int r, const std::string& message) {
  dirty_ = true;  // sending may clear the readiness of the socket's descriptor
  if (options_.rank == 0 && !s_.socket.send(s_.ids[static_cast<std::size_t>(r)], true)) return;
  s_.socket.send(message, false);
}
void ControlPlane::from_coordinator(int r, std::string message) {
  if (r != 0) return send(r, message);
  self_.push_back(std::move(message));
  if (!receiving_) wake_();
}
void ControlPlane::gone(int r, const std::string& how, Sink& sink) {
  if (coordinator_) coordinator_->lost(r, how);
  else sink.lost(r, how);
}
bool ControlPlane::receive(Sink& sink) {
  epoll_event e[2];
  dirty_ = epoll_.wait(e, 2, 0) > 0 || dirty_;
  if (!dirty_ && self_.empty()) return false;
  bool any = false;
  receiving_ = true;
  struct Received {
    bool& receiving;
    ~Received() { receiving = false; }
  } received{receiving_};
  // Reads events, then messages, and then acts on the events: a rank's last messages are read before it counts as lost.
  std::vector<int> closed;
  if (std::exchange(s_.closed, false)) closed.push_back(-1);
  while (auto event = next_event(s_.monitor))
    if (event->event == ZMQ_EVENT_DISCONNECTED) closed.push_back(event->descriptor);
  dirty_ = false;
  Frame f;
  while (s_.socket.receive(f)) {
    any = true;
    int from = 0;
    if (options_.rank == 0) {
      std::string id(f.view());
      auto found = std::find(s_.ids.begin(), s_.ids.end(), id);
      if (!f.more() || !s_.socket.receive(f)) continue;
      if (found == s_.ids.end()) {
        refuse(id, f);
        continue;
      }
      from = static_cast<int>(found - s_.ids.begin());
    }
    auto message = f.view();
    heard_[static_cast<std::size_t>(from)] = Clock::now();
    // A handshake comes twice if the connection before this one was cut off while the first waited to be sent.
    bool nothing = (message.size() == 1 && static_cast<Control>(message[0]) == Control::ping) ||
                   (coordinator_ && is_handshake(message));
    try {
      if (!nothing && coordinator_) coordinator_->handle(from, message);
      else if (!nothing) sink.control(message);
    } catch (const TransportError& e) { gone(from, std::string("said what makes no sense: ") + e.what(), sink); }
    s_.socket.skip_rest(f);
  }
  for (int fd : closed) {
    any = true;
    if (options_.rank != 0) gone(0, "connection closed", sink);
    else if (auto found = s_.connections.find(fd); found != s_.connections.end()) {
      int r = found->second;
      s_.connections.erase(found);
      gone(r, "connection closed", sink);
    }
  }
  for (auto& m : std::exchange(self_, {})) sink.control(m), any = true;
  return any;
}
void ControlPlane::tick(Clock::time_point now, Sink& sink) {
  if (coordinator_) coordinator_->tick(now);
  // Time in which this process was stopped does not count as the others' silence.
  if (auto gap = now - last_tick_; gap > 1s)
    for (auto& t : heard_) t += gap;
  last_tick_ = now;
  auto seconds = [&](Clock::time_point t) { return std::chrono::duration<double>(now - t).count(); };
  if (seconds(last_ping_) >= options_.heartbeat_s) {
    last_ping_ = now;
    auto ping = ByteWriter().num(Control::ping).take();
    for (int r = 0; r < options_.size; ++r)
      // A leaving rank too gets pings: it listens until all have left.
      if (r != options_.rank && (r == 0 || options_.rank == 0)) send(r, ping);
  }
  for (int r = 0; r < options_.size; ++r) {
    if (r == options_.rank || !hears(r)) continue;
    auto i = static_cast<std::size_t>(r);
    auto silence = seconds(heard_[i]);
    if (silence > options_.suspect_s && !suspected_[i])
      std::fprintf(stderr, "warning: %s has been silent for %.1f s\n", who(r).c_str(), silence);
    suspected_[i] = silence > options_.suspect_s;
    bool missed = suspected_[i] && options_.misses && options_.misses(r);
    if (silence <= options_.dead_s && !missed) continue;
    char text[64];
    std::snprintf(text, sizeof text, "no heartbeat for %.1f s%s", silence, missed ? ", nor one of its host" : "");
    gone(r, text, sink);
  }
}
/// Refuses a rank that connects when the job is complete.
void ControlPlane::refuse(const std::string& id, Frame& f) {
  bool handshake = is_handshake(f.view());
  s_.socket.skip_rest(f);
  if (!handshake) return;
  dirty_ = true;
  if (!s_.socket.send(id, true)) return;
  s_.socket.send(ByteWriter()
                      .num(JoinMessage::refused)
                      .text("the job already has all its " + std::to_string(options_.size) +
                            " ranks; was a rank started twice, or is another job using this port?")
                      .take(),
                  false);
}
}  // namespace bora::transport
