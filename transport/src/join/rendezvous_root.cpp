// rendezvous_root.cpp -- rank 0's part of the rendezvous: it gathers the others' handshakes and decides.
#include <fcntl.h>
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include "base/api/bytes.h"
#include "control/inquiry.h"
#include "join/calibrate.h"
#include "join/rendezvous.h"
#include "wire/authenticator.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
constexpr std::size_t kMostExtra = 64;  // ranks beyond the job's size that a verdict names

/// The names and values in the lines of Config::build.
std::vector<std::pair<std::string, std::string>> facts(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    auto tab = line.find('\t');
    if (tab == line.npos) found.emplace_back("build", line);
    else found.emplace_back(line.substr(0, tab), line.substr(tab + 1));
  }
  return found;
}

class Root final : public Rendezvous {
 public:
  Root(const Config& c, std::size_t strangers) : Rendezvous(c, strangers) {}
  void run() override {
    j_.control.socket.set(ZMQ_ROUTER_MANDATORY, 1);
    j_.gate = std::make_unique<Gate>(listen_at_root(), j_.control.socket, j_.strangers,
                                     static_cast<std::size_t>(c_.size - 1), control_patience_ms());
    if (j_.keys) check_that_strangers_are_refused(root_.endpoint(), *j_.keys);
    if (j_.keys) strangers_ = -1;  // of that check
    arrived_.assign(static_cast<std::size_t>(c_.size), std::nullopt);
    j_.control.ids.assign(static_cast<std::size_t>(c_.size), {});
    arrived_[0] = me_;
    while (!missing().empty() && elapsed() < c_.join_timeout_s) {
      wait_for_news();
      serve();
    }
    auto absent = missing();
    auto differences = compare();
    if (absent.empty() && differences.empty()) return accept();
    std::ostringstream text;
    if (!absent.empty())
      text << list_of(absent) << " of " << c_.size << " did not arrive at " << root_.text() << " within "
           << c_.join_timeout_s << " s";
    if (!absent.empty() && is_loopback(root_.ip) && root_.host != root_.ip && root_.host != "localhost")
      text << " (" << root_.host << " is " << root_.ip << " here, which other hosts cannot reach)";
    if (!absent.empty() && strangers_ > 0)
      text << "; " << strangers_ << (strangers_ == 1 ? " connection" : " connections")
           << " had another secret, or none: is BORA_SECRET_FILE the same everywhere?";
    if (!differences.empty()) text << (absent.empty() ? "" : "; ") << "the ranks do not fit together: " << differences;
    verdict_ = ByteWriter().num(JoinMessage::refused).text(text.str()).num(absent.empty()).take();
    auto everybody = j_.control.ids;
    everybody.insert(everybody.end(), extra_ids_.begin(), extra_ids_.end());
    for (auto& id : everybody)
      if (!id.empty()) tell(id, verdict_);
    ask({});  // those that have it leave, which must not keep this rank from saying who is missing
    // Ranks that are just arriving get it as well.
    for (auto end = Clock::now() + 200ms; Clock::now() < end;) {
      wait_for_news();
      serve();
    }
    if (!absent.empty()) throw JoinTimeout(text.str(), absent[0]);
    throw Refused(text.str());
  }

 private:
  /// The socket that the launcher has bound, or one of our own.
  Descriptor listen_at_root() {
    if (c_.root_socket >= 0) {
      Descriptor socket(c_.root_socket);
      bool listens = ::listen(socket.get(), kBacklog) == 0 && ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0;
      check<ConfigError>(listens, "cannot listen on ", root_.text(), ": ", std::strerror(errno));
      return socket;
    }
    for (;;) {
      if (auto socket = listen_at(root_.ip, std::stoi(root_.port))) return socket;
      auto e = errno;
      // A name given to this host a moment ago may still resolve to its previous address.
      if (e == EADDRNOTAVAIL && c_.root_may_lag && elapsed() < c_.join_timeout_s) {
        std::this_thread::sleep_for(500ms);
        root_ = resolve(c_, start_);
        continue;
      }
      fail<ConfigError>(
          "cannot listen on ", root_.text(), ": ",
          e == EADDRINUSE ? "the port is in use; is another job running there? choose another one (BORA_ROOT=host:port)"
          : e == EADDRNOTAVAIL || e == ENODEV
              ? "it is not an address of this host (" + me_.host + "); rank 0 must run on the root's host"
              : std::string(std::strerror(e)));
    }
  }
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int r = 0; r < c_.size; ++r)
      if (!arrived_[static_cast<std::size_t>(r)]) ranks.push_back(r);
    return ranks;
  }
  void serve() {
    struct Received {
      std::string id;
      int connection;
      Handshake handshake;
    };
    std::vector<Received> received;
    Frame f;
    while (j_.control.socket.receive(f)) {
      std::string id(f.view());
      if (!f.more() || !j_.control.socket.receive(f)) continue;
      int connection = f.connection();
      auto handshake = read_handshake(f.view());
      j_.control.socket.skip_rest(f);
      if (handshake) received.push_back({id, connection, *handshake});  // else a stranger
    }
    // Reads events after messages. A message's connection is open, and its descriptor no other's, unless the descriptor
    // was closed in this call, or in the one before after that had read its messages.
    bool news = false;
    std::set<int> closed;
    while (auto e = next_event(j_.control.monitor)) {
      if (e->event == ZMQ_EVENT_DISCONNECTED) news = forget(e->descriptor) || news, closed.insert(e->descriptor);
      strangers_ += failed_handshake(e->event);
    }
    auto closed_before = std::exchange(closed_, closed);
    for (auto& [id, connection, handshake] : received) {
      if (closed.contains(connection) || closed_before.contains(connection)) {
        tell(id, ByteWriter().num(JoinMessage::again).take());  // if the message's connection is the later one
        continue;
      }
      if (auto why = objection(handshake); !why.empty()) {
        refuse(id, why);
        continue;
      }
      if (!verdict_.empty()) {
        tell(id, verdict_);
        continue;
      }
      auto r = static_cast<std::size_t>(handshake.rank);
      if (handshake.rank >= c_.size) {  // its size differs: the verdict names it
        auto same = std::find_if(extra_.begin(), extra_.end(), [&](auto& h) { return h.same_process(handshake); });
        if ((same == extra_.end() && extra_.size() >= kMostExtra) || !j_.gate->keep(connection)) continue;
        if (same != extra_.end()) {
          extra_ids_[static_cast<std::size_t>(same - extra_.begin())] = id;
        } else {
          extra_.push_back(handshake);
          extra_ids_.push_back(id);
        }
        continue;
      }
      // A process that comes again takes the place of its earlier connection, which this rank may still hold for alive.
      if (j_.control.ids[r] == id || !j_.gate->keep(connection)) continue;
      std::erase_if(j_.control.connections, [&](auto& c) { return c.second == handshake.rank; });
      arrived_[r] = handshake;
      j_.control.ids[r] = id;
      j_.control.connections[connection] = handshake.rank;
      news = true;
    }
    if (!news || !verdict_.empty()) return;
    auto message = ByteWriter().num(JoinMessage::missing).text(list_of(missing())).take();
    for (auto& id : j_.control.ids)
      if (!id.empty()) tell(id, message);
  }
  /// A rank died, or its connection did: it may come again. False: the connection was no rank's.
  bool forget(int connection) {
    auto found = j_.control.connections.find(connection);
    if (found == j_.control.connections.end()) return false;
    arrived_[static_cast<std::size_t>(found->second)].reset();
    j_.control.ids[static_cast<std::size_t>(found->second)].clear();
    j_.control.connections.erase(found);
    return true;
  }
  /// Why this process cannot be a rank of the job, whatever the others are; empty if it can.
  std::string objection(const Handshake& h) const {
    if (h.protocol == kProtocol && h.job != c_.job)
      return "it belongs to job '" + h.job + "', the job at " + root_.text() + " is '" + c_.job + "'";
    if (h.rank < 0) return "its rank is " + std::to_string(h.rank);
    if (h.rank >= c_.size) return {};
    auto& first = arrived_[static_cast<std::size_t>(h.rank)];
    if (!first || first->same_process(h)) return {};
    return "rank " + std::to_string(h.rank) + " was started twice: " + first->who() + " and " + h.who();
  }
  void refuse(const std::string& id, const std::string& why) {
    auto text = "refused by the job at " + root_.text() + ": " + why;
    tell(id, ByteWriter().num(JoinMessage::refused).text(text).num(true).take());
  }
  void tell(const std::string& id, const std::string& message) {
    if (j_.control.socket.send(id, true)) j_.control.socket.send(message, false);
  }
  static std::string scheme(const std::string& address) {
    return address.starts_with("data:") ? "tcp" : address.starts_with("mpi:") ? "mpi" : "zmq";
  }
  /// Every difference between rank 0 and the others.
  std::string compare() const {
    std::string text;
    bool several =
        std::any_of(arrived_.begin(), arrived_.end(), [&](auto& h) { return h && h->place() != me_.place(); });
    auto differ = [&](const std::string& what, const Handshake& h, const std::string& mine, const std::string& other) {
      if (mine != other)
        text += (text.empty() ? "" : "; ") + what + ": rank 0 has '" + mine + "', rank " +
                std::to_string(h.rank) + " '" + other + "'";
    };
    auto look = [&](const Handshake& h) {
      differ("protocol", h, std::to_string(kProtocol), std::to_string(h.protocol));
      differ("size", h, std::to_string(c_.size), std::to_string(h.size));
      if (h.protocol != kProtocol) return;  // nothing more is known
      differ("dtypes", h, me_.dtypes, h.dtypes);
      auto theirs = facts(h.build);
      for (auto& [name, mine] : facts(c_.build)) {
        auto other = std::find_if(theirs.begin(), theirs.end(), [&](auto& f) { return f.first == name; });
        differ(name, h, mine, other == theirs.end() ? "" : other->second);
        if (other != theirs.end()) theirs.erase(other);
      }
      for (auto& [name, other] : theirs) differ(name, h, "", other);
      if (c_.carrier == "shm" && !shares_memory(h.shm_host))
        text += (text.empty() ? "" : "; ") + h.who() + " shares no memory with " + me_.who() +
                ", and transport.carrier=shm (BORA_CARRIER) wants it";
      differ("carrier of data", h, scheme(me_.address), scheme(h.address));
      if (h.address == kMpiHere && j_.keys && several)
        text += (text.empty() ? "" : "; ") + h.who() +
                " would send data to another host over MPI, which does not encrypt, and the job has a secret: "
                "use another transport.carrier (BORA_CARRIER), or say that the network is private "
                "(BORA_INSECURE_PRIVATE_NETWORK=1, --insecure-private-network)";
      if (h.machine != me_.machine &&
          (h.address.find("//127.") != std::string::npos || h.address.find("//[::1]") != std::string::npos))
        text += (text.empty() ? "" : "; ") + h.who() + " listens on loopback, where " + me_.who() +
                " cannot reach it: set transport.interface (BORA_INTERFACE) to one of its network interfaces";
    };
    for (auto& h : arrived_)
      if (h) look(*h);
    for (auto& h : extra_) look(h);
    return text;
  }
  void accept() {
    std::random_device random;
    do j_.epoch = random();
    while (j_.epoch == 0);
    Welcome all{.epoch = j_.epoch, .ranks = {}};
    for (auto& h : arrived_) {
      all.ranks.push_back({h->who(), h->place(), h->address, h->nonce, h->shm_host, h->shm_name});
      add(all.ranks.back());
    }
    if (j_.mpi) j_.mpi->epoch = j_.epoch;
    tune();
    all.tuning = tuning_.bytes();
    auto verdict = all.bytes();
    for (std::size_t r = 1; r < j_.control.ids.size(); ++r)
      tell(j_.control.ids[r], verdict);
    j_.gate->close();  // the job is complete
  }

  void tune() {
    tuning_.forced = read_algorithms(c_.algorithms);
    if (c_.calibrate == "off") return;
    auto away = std::find_if(places_.begin(), places_.end(), [&](auto& p) { return p != places_[0]; });
    bool several = away != places_.end();
    auto& other = *arrived_[several ? static_cast<std::size_t>(away - places_.begin()) : 0];
    // Hosts that are parts of one machine (containers, emulated networks) may differ next time.
    constexpr std::size_t kBoot = 36;  // characters of a boot id
    if (!several || other.machine.compare(0, kBoot, me_.machine, 0, kBoot) != 0) {
      // All that distinguishes links: both ends, the carrier, the number of ranks that share them.
      std::ostringstream key;
      for (auto* end : {&me_, &other})
        key << end->host << "," << end->address.substr(0, end->address.rfind(':')) << ","
            << std::count_if(arrived_.begin(), arrived_.end(), [&](auto& h) { return h->place() == end->place(); })
            << ",";
      key << c_.carrier << (j_.keys ? ",sealed" : "");
      links_ = key.str();
    }
    if (!links_.empty() && c_.calibrate != "on") tuning_.costs = cached_links(cache_of_links(), links_);
    tuning_.measure = c_.calibrate == "on" || (several && !tuning_.costs);
  }

  std::vector<std::optional<Handshake>> arrived_;
  std::vector<Handshake> extra_;
  std::vector<std::string> extra_ids_;
  std::set<int> closed_;  // descriptors, in the last serve()
  std::string verdict_;
  int strangers_ = 0;
};
}  // namespace

std::unique_ptr<Rendezvous> make_root_rendezvous(const Config& c, std::size_t strangers) {
  return std::make_unique<Root>(c, strangers);
}
}  // namespace bora::transport
