#include "wire/authenticator.h"
#include <openssl/crypto.h>
#include <chrono>
#include <cstring>
#include <vector>
#include "base/api/threads.h"

namespace bora::transport {
namespace {
constexpr char kZap[] = "inproc://zeromq.zap.01";
using namespace std::chrono_literals;
}  // namespace

Authenticator::Authenticator(const ZmqContext& c, const std::optional<JobKeys>& k) : keys_(k) {
  Socket requests(c, ZMQ_REP), stop(c, ZMQ_PAIR);
  end_ = Socket(c, ZMQ_PAIR);
  for (auto* s : {&requests, &stop, &end_}) s->set(ZMQ_LINGER, 0);
  bool ready = attach(zmq_bind, requests.get(), kZap) && attach(zmq_bind, stop.get(), "inproc://authenticator-stop") &&
               attach(zmq_connect, end_.get(), "inproc://authenticator-stop");
  check<TransportError>(ready, "cannot check who connects: ", zmq_strerror(zmq_errno()));
  thread_ = start_thread("who may connect", [this, r = std::move(requests), s = std::move(stop)]() mutable {
    run(std::move(r), std::move(s));
  });
}
Authenticator::~Authenticator() {
  end_.send("end", false);
  thread_.join();
}
void Authenticator::run(Socket requests, Socket stop) {
  for (;;) {
    zmq_pollitem_t items[] = {{requests.get(), 0, ZMQ_POLLIN, 0}, {stop.get(), 0, ZMQ_POLLIN, 0}};
    zmq_poll(items, 2, -1);
    if (items[1].revents) return;
    // version, request id, domain, address, identity, mechanism, client's key
    std::vector<std::string> request;
    for (Frame f; requests.receive(f);) {
      request.emplace_back(f.view());
      if (!f.more()) break;
    }
    if (request.empty()) continue;
    bool known = request.size() >= 6 && request[0] == "1.0";
    bool ours = known && (keys_ ? request.size() == 7 && request[5] == "CURVE" && request[6].size() == 32 &&
                                      CRYPTO_memcmp(request[6].data(), keys_->client.open.data(), 32) == 0
                                : request[5] == "NULL");
    std::string parts[] = {"1.0", request.size() > 1 ? request[1] : "", ours ? "200" : "400", "", "", ""};
    for (std::size_t i = 0; i < 6; ++i) requests.send(parts[i], i < 5);
  }
}

void check_that_strangers_are_refused(const std::string& endpoint, const JobKeys& k) {
  ZmqContext own;
  Socket s(own, ZMQ_DEALER);
  s.set(ZMQ_LINGER, 0);
  s.set(ZMQ_IPV6, 1);
  s.set(ZMQ_RECONNECT_IVL, -1);
  connect_with(s, {k.server, derive_keys("another secret than the job's").client, {}});
  auto address = "inproc://stranger";
  check<TransportError>(watch(s.get(), address, ZMQ_EVENT_ALL), "cannot watch a socket: ", zmq_reason);
  Socket events(own, ZMQ_PAIR);
  events.set(ZMQ_LINGER, 0);
  bool watching = attach(zmq_connect, events.get(), address) && attach(zmq_connect, s.get(), endpoint.c_str());
  check<TransportError>(watching, "cannot connect to ", endpoint, ": ", zmq_strerror(zmq_errno()));
  bool refused = false, admitted = false;
  for (auto end = std::chrono::steady_clock::now() + 5s;
       !refused && !admitted && std::chrono::steady_clock::now() < end;) {
    zmq_pollitem_t item{events.get(), 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, 100) <= 0) continue;
    Frame f;
    if (!events.receive(f) || f.size() < 2) continue;
    std::uint16_t event = 0;
    std::memcpy(&event, f.data(), sizeof event);
    events.skip_rest(f);
    refused = event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
              event == ZMQ_EVENT_DISCONNECTED;
    admitted = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  }
  zmq_socket_monitor(s.get(), nullptr, 0);
  check<TransportError>(refused, endpoint, admitted ? " let a stranger in" : " does not answer a stranger",
                        ": the job's secret protects nothing here, so it is not started");
}
}  // namespace bora::transport
