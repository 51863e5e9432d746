// rendezvous_member.cpp -- the other ranks' part of the rendezvous: each sends rank 0 its handshake and waits for the
// verdict.
#include <sstream>
#include "join/rendezvous.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
// Attempts that rank 0 closes without a word before they mean another secret: it may be crowded, or just leaving.
constexpr int kClosed = 5;

class Member final : public Rendezvous {
 public:
  Member(const Config& c, std::size_t strangers) : Rendezvous(c, strangers) {}
  void run() override {
    auto endpoint = root_.endpoint();
    check<ConfigError>(attach(zmq_connect, j_.control.socket.get(), endpoint.c_str()), "cannot connect to ",
                       root_.text(), ": ", zmq_reason);
    std::string absent;
    bool known = false, connected = false;
    int closed = 0;
    auto look_again = Clock::now() + 1s;
    // Rank 0 counts from its own start: allow it a little longer to send its verdict to all.
    while (elapsed() < c_.join_timeout_s + 1) {
      wait_for_news();
      if (c_.root_may_lag && !known && Clock::now() >= look_again) {
        look_again = Clock::now() + 1s;
        if (auto now = resolve(c_, start_); now.ip != root_.ip) {  // rank 0 has been started again, elsewhere
          zmq_disconnect(j_.control.socket.get(), endpoint.c_str());
          root_ = now;
          endpoint = root_.endpoint();
          check<ConfigError>(attach(zmq_connect, j_.control.socket.get(), endpoint.c_str()), "cannot connect to ",
                             root_.text(), ": ", zmq_reason);
        }
      }
      while (auto e = next_event(j_.control.monitor)) {
        bool stood = connected;
        if (e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED || e->event == ZMQ_EVENT_DISCONNECTED)
          connected = e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        if (e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {  // again after every new connection
          j_.control.socket.send(me_.bytes(), false);
          known = true;
        } else if (e->event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || e->event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                   (e->event == ZMQ_EVENT_DISCONNECTED && !stood && !known && ++closed > kClosed)) {
          fail<ConfigError>(
              "refused by ", root_.text(), ": ",
              j_.keys ? "this rank's secret is not the job's" : "the job has a secret and this rank has none",
              "; is BORA_SECRET_FILE the same everywhere?");
        }
      }
      Frame f;
      while (j_.control.socket.receive(f)) {
        auto answer = read_answer(f.view(), c_.size);
        if (!answer.absent.empty()) absent = answer.absent;
        if (answer.refused && answer.final) throw Refused(*answer.refused);
        if (answer.refused) throw JoinTimeout(*answer.refused);
        if (answer.again) j_.control.socket.send(me_.bytes(), false);
        if (!answer.welcome) continue;
        j_.epoch = answer.welcome->epoch;
        if (j_.mpi) j_.mpi->epoch = j_.epoch;
        for (auto& r : answer.welcome->ranks) add(r);
        tuning_ = read_tuning(answer.welcome->tuning);
        j_.control.closed = !connected;
        return;
      }
    }
    std::ostringstream s;
    if (absent.empty()) s << "rank 0 did not answer at " << root_.text();
    else s << absent << " of " << c_.size << " did not arrive at " << root_.text();
    s << " within " << c_.join_timeout_s << " s";
    if (absent.empty()) s << "; once all its ranks have met it listens no more: was this one started twice?";
    throw JoinTimeout(s.str(), absent.empty() ? 0 : -1);
  }
};
}  // namespace

std::unique_ptr<Rendezvous> make_member_rendezvous(const Config& c, std::size_t strangers) {
  return std::make_unique<Member>(c, strangers);
}
}  // namespace bora::transport
