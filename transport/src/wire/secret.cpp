#include "wire/secret.h"
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <chrono>
#include <cstring>
#include <vector>
#include "bora/base/threads.h"

namespace bora::transport {
namespace {
constexpr char kDoor[] = "inproc://zeromq.zap.01";
using namespace std::chrono_literals;

std::array<std::uint8_t, 32> derive_bytes(const std::string& secret, const char* role) {
  std::array<std::uint8_t, 32> bytes;
  unsigned n = 0;
  auto text = std::string("bora transport 1 ") + role;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &n);
  check<TransportError>(n == bytes.size(), "OpenSSL cannot derive keys from the job's secret");
  return bytes;
}
KeyPair derive(const std::string& secret, const char* role) {
  KeyPair k;
  k.secret = derive_bytes(secret, role);
  char coded[41], open[41];
  zmq_z85_encode(coded, k.secret.data(), k.secret.size());
  check<TransportError>(zmq_curve_public(open, coded) == 0,
                        "this libzmq has no CURVE, so a job with a secret cannot run: ", zmq_strerror(zmq_errno()));
  zmq_z85_decode(k.open.data(), open);
  OPENSSL_cleanse(coded, sizeof coded);
  return k;
}
std::string_view bytes_of(const std::array<std::uint8_t, 32>& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}
void connect_as(Socket& s, const KeyPair& server, const KeyPair& me) {
  s.set(ZMQ_CURVE_SERVERKEY, bytes_of(server.open));
  s.set(ZMQ_CURVE_PUBLICKEY, bytes_of(me.open));
  s.set(ZMQ_CURVE_SECRETKEY, bytes_of(me.secret));
}
}  // namespace

JobKeys derive_keys(const std::string& secret) {
  return {derive(secret, "server"), derive(secret, "client"), derive_bytes(secret, "data")};
}
std::string random_bytes(int n) {
  std::string bytes(static_cast<std::size_t>(n), '\0');
  check<TransportError>(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), n) == 1, "OpenSSL has no random numbers");
  return bytes;
}
void listen_with(Socket& s, const std::optional<JobKeys>& k) {
  s.set(ZMQ_ZAP_DOMAIN, "bora");
  if (!k) return;
  s.set(ZMQ_CURVE_SERVER, 1);
  s.set(ZMQ_CURVE_SECRETKEY, bytes_of(k->server.secret));
}
void connect_with(Socket& s, const JobKeys& k) { connect_as(s, k.server, k.client); }

Doorkeeper::Doorkeeper(const ZmqContext& c, const std::optional<JobKeys>& k) : keys_(k) {
  Socket door(c, ZMQ_REP), stop(c, ZMQ_PAIR);
  end_ = Socket(c, ZMQ_PAIR);
  for (auto* s : {&door, &stop, &end_}) s->set(ZMQ_LINGER, 0);
  bool open = attach(zmq_bind, door.get(), kDoor) && attach(zmq_bind, stop.get(), "inproc://door-stop") &&
              attach(zmq_connect, end_.get(), "inproc://door-stop");
  check<TransportError>(open, "cannot check who connects: ", zmq_strerror(zmq_errno()));
  thread_ = start_thread("who may connect", [this, d = std::move(door), s = std::move(stop)]() mutable { run(std::move(d), std::move(s)); });
}
Doorkeeper::~Doorkeeper() {
  end_.send("end", false);
  thread_.join();
}
void Doorkeeper::run(Socket door, Socket stop) {
  for (;;) {
    zmq_pollitem_t items[] = {{door.get(), 0, ZMQ_POLLIN, 0}, {stop.get(), 0, ZMQ_POLLIN, 0}};
    zmq_poll(items, 2, -1);
    if (items[1].revents) return;
    // version, request id, domain, address, identity, mechanism, client's key
    std::vector<std::string> request;
    for (Frame f; door.receive(f);) {
      request.emplace_back(f.view());
      if (!f.more()) break;
    }
    if (request.empty()) continue;
    bool known = request.size() >= 6 && request[0] == "1.0";
    bool ours = known && (keys_ ? request.size() == 7 && request[5] == "CURVE" && request[6].size() == 32 &&
                                      CRYPTO_memcmp(request[6].data(), keys_->client.open.data(), 32) == 0
                                : request[5] == "NULL");
    std::string parts[] = {"1.0", request.size() > 1 ? request[1] : "", ours ? "200" : "400", "", "", ""};
    for (std::size_t i = 0; i < 6; ++i) door.send(parts[i], i < 5);
  }
}

void check_that_strangers_are_refused(const std::string& endpoint, const JobKeys& k) {
  ZmqContext own;
  Socket s(own, ZMQ_DEALER);
  s.set(ZMQ_LINGER, 0);
  s.set(ZMQ_IPV6, 1);
  s.set(ZMQ_RECONNECT_IVL, -1);
  connect_as(s, k.server, derive("another secret than the job's", "client"));
  auto address = "inproc://stranger";
  check<TransportError>(zmq_socket_monitor(s.get(), address, ZMQ_EVENT_ALL) == 0, "cannot watch a socket: ",
                        zmq_strerror(zmq_errno()));
  Socket events(own, ZMQ_PAIR);
  events.set(ZMQ_LINGER, 0);
  bool watching = attach(zmq_connect, events.get(), address) && attach(zmq_connect, s.get(), endpoint.c_str());
  check<TransportError>(watching, "cannot connect to ", endpoint, ": ", zmq_strerror(zmq_errno()));
  bool refused = false, let_in = false;
  for (auto end = std::chrono::steady_clock::now() + 5s; !refused && !let_in && std::chrono::steady_clock::now() < end;) {
    zmq_pollitem_t item{events.get(), 0, ZMQ_POLLIN, 0};
    if (zmq_poll(&item, 1, 100) <= 0) continue;
    Frame f;
    if (!events.receive(f) || f.size() < 2) continue;
    std::uint16_t event = 0;
    std::memcpy(&event, f.data(), sizeof event);
    events.skip_rest(f);
    refused = event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
              event == ZMQ_EVENT_DISCONNECTED;
    let_in = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  }
  zmq_socket_monitor(s.get(), nullptr, 0);
  check<TransportError>(refused, endpoint, let_in ? " let a stranger in" : " does not answer a stranger",
                        ": the job's secret protects nothing here, so it is not started");
}
}  // namespace bora::transport
