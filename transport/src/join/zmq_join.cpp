// zmq_join.cpp -- how ranks find each other. Rank 0 listens at config.root; the others tell it who they are and where they listen; when all
// are there, or the time is over, it gives all of them one verdict.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include "carrier/net_link.h"
#include "control/hello.h"
#include "control/inquiry.h"
#include "engine/engine.h"
#include "join/calibrate.h"
#include "join/needs.h"
#include "wire/address.h"
#include "wire/bytes.h"

namespace bora::transport {
namespace {
using namespace std::chrono_literals;
static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

/// "bool u8 i32 ...": what reduce_in_order takes in this build.
std::string reduced_dtypes() {
  std::string names;
  for (std::size_t d = 0; d < kDtypes; ++d)
    if (is_numeric(static_cast<Dtype>(d))) names += (names.empty() ? "" : " ") + std::string(dtype_table[d].name);
  return names;
}
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

/// In place of an address: where data may go over MPI, which does not encrypt it.
constexpr const char *kMpiAnywhere = "mpi:anywhere", *kMpiHere = "mpi:here";
constexpr int kClosed = 5;              // attempts that rank 0 ended without a word, until that means another secret: it may be crowded, or just leaving
constexpr std::size_t kMostExtra = 64;  // ranks beyond the job's size that a verdict names

class Joining {
 public:
  Joining(const Config& c, std::size_t strangers) : c_(c), start_(Clock::now()), root_(resolve(c, start_)) {
    j_.strangers = strangers;
    auto ip = own_address(root_, c.interface_name);
    auto& open = is_loopback(ip) ? root_.ip : ip;  // 0.0.0.0 is reached from here by way of loopback, and from elsewhere as well
    check<ConfigError>(!c.secret.empty() || is_loopback(open) || c.insecure_private_network, "rank ", c.rank, " would ",
                       c.rank == 0 || &open == &ip ? "listen on " : "trust who listens on ", open,
                       " without a secret, and whoever reaches it could join: give all ranks one (head -c 32 /dev/urandom | base64 > FILE; chmod 600 FILE; "
                       "BORA_SECRET_FILE=FILE), or say that the network is private (BORA_INSECURE_PRIVATE_NETWORK=1, --insecure-private-network)");
    if (c.secret.empty() && !is_loopback(open) && c.rank == 0)
      std::fprintf(stderr, "warning: NO SECRET: whoever reaches %s can join this job, and read and change what its ranks send\n", open.c_str());
    if (!c.secret.empty()) j_.keys = derive_keys(c.secret);
    j_.doorkeeper = std::make_unique<Doorkeeper>(j_.context, j_.keys);
    if (c.carrier == "mpi") j_.mpi = {.rank = c.rank, .size = c.size, .timeout_s = c.join_timeout_s};
    else if (c.carrier == "zmq") listen_with_zmq(ip);
    else j_.tcp = listen_on_tcp(ip);
    char host[256] = "?";
    gethostname(host, sizeof host - 1);
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    me_ = {.rank = c.rank,
           .size = c.size,
           .pid = static_cast<std::int32_t>(getpid()),
           .job = c.job,
           .build = c.build,
           .host = host,
           .machine = boot + host,
           .address = j_.mpi ? c.insecure_private_network ? kMpiAnywhere : kMpiHere : j_.data ? zmq_address_ : j_.tcp.address,
           .nonce = random_bytes(32),
           .shm_host = {},
           .shm_name = {},
           .dtypes = reduced_dtypes(),
           .part = c.host_id + "|" + network_namespace()};
    if (c.carrier == "auto" || c.carrier == "shm" || c.carrier == "mpi") {
      j_.shm = listen_for_shm();
      me_.shm_name = j_.shm.name;
      if (!me_.shm_name.empty()) me_.shm_host = shm_host() + " " + c.host_id;
    }
    j_.star.control = Socket(j_.context, c.rank == 0 ? ZMQ_ROUTER : ZMQ_DEALER);
    if (c.rank == 0) listen_with(j_.star.control, j_.keys);
    if (j_.keys && c.rank != 0) connect_with(j_.star.control, *j_.keys);
    for (auto [option, value] : {std::pair{ZMQ_LINGER, 500},
                                 {ZMQ_IPV6, 1},
                                 {ZMQ_HANDSHAKE_IVL, 5000},
                                 {ZMQ_TCP_MAXRT, 10000},
                                 {ZMQ_SNDHWM, 0},
                                 {ZMQ_RCVHWM, 0},
                                 {ZMQ_RECONNECT_IVL, 20},
                                 {ZMQ_RECONNECT_IVL_MAX, 500}})
      j_.star.control.set(option, value);
    j_.star.control.set(ZMQ_MAXMSGSIZE, std::int64_t{64 << 20});
    j_.star.monitor = j_.star.control.monitor("control");
  }
  void run() { c_.rank == 0 ? gather() : greet(); }
  Joined take() { return std::move(j_); }
  const std::string& links() const { return links_; }
  EngineOptions options() const {
    EngineOptions o{.rank = c_.rank,
                    .size = c_.size,
                    .ranks_on_host = static_cast<int>(std::count_if(places_.begin(), places_.end(), [&](auto& p) { return p.rfind(me_.machine + "/", 0) == 0; })),
                    .tuning = tuning_,
                    .stuck_warn_s = c_.stuck_warn_s,
                    .stuck_abort_s = c_.stuck_abort_s,
                    .flight_dir = c_.flight_dir};
    for (auto& p : places_)
      o.hosts.push_back(static_cast<int>(std::find(places_.begin(), places_.end(), p) - places_.begin()));
    return o;
  }

 private:
  using Seconds = std::chrono::duration<double>;
  double elapsed() const { return Seconds(Clock::now() - start_).count(); }
  void listen_with_zmq(const std::string& ip) {
    j_.data = Socket(j_.context, ZMQ_ROUTER);
    listen_with(j_.data, j_.keys);
    set_data_options(j_.data);
    j_.data.set(ZMQ_ROUTER_MANDATORY, 1);
    j_.data_monitor = j_.data.monitor("data");
    auto listener = listen_at(ip, 0);
    check<ConfigError>(static_cast<bool>(listener), "cannot listen on ", ip, ": ", std::strerror(errno));
    zmq_address_ = "tcp://" + bracketed(ip) + ":" + std::to_string(port_of(listener.get()));
    j_.data_gate = std::make_unique<Gate>(std::move(listener), j_.data, j_.strangers);
  }
  void wait_for_news() {
    zmq_pollitem_t items[] = {{j_.star.control.get(), 0, ZMQ_POLLIN, 0}, {j_.star.monitor.get(), 0, ZMQ_POLLIN, 0}};
    zmq_poll(items, 2, 50);
  }

  // ---- rank 0 ----
  void gather() {
    j_.star.control.set(ZMQ_ROUTER_MANDATORY, 1);
    j_.gate = std::make_unique<Gate>(listen_at_root(), j_.star.control, j_.strangers);
    if (j_.keys) check_that_strangers_are_refused(root_.endpoint(), *j_.keys);
    if (j_.keys) strangers_ = -1;  // that one
    arrived_.assign(static_cast<std::size_t>(c_.size), std::nullopt);
    j_.star.ids.assign(static_cast<std::size_t>(c_.size), {});
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
    verdict_ = Writer().num(JoinMessage::refused).text(text.str()).num(absent.empty()).take();
    auto everybody = j_.star.ids;
    everybody.insert(everybody.end(), extra_ids_.begin(), extra_ids_.end());
    for (auto& id : everybody)
      if (!id.empty() && j_.star.control.send(id, true)) j_.star.control.send(verdict_, false);
    // Those who are just arriving hear it as well.
    for (auto end = Clock::now() + 200ms; Clock::now() < end;) {
      wait_for_news();
      serve();
    }
    if (!absent.empty()) throw JoinTimeout(text.str());
    throw ConfigError(text.str());
  }
  /// What the launcher has bound, or a socket of our own.
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
      // A name that was given to this host a moment ago may lead to where it was before.
      if (e == EADDRNOTAVAIL && c_.root_may_lag && elapsed() < c_.join_timeout_s) {
        std::this_thread::sleep_for(500ms);
        root_ = resolve(c_, start_);
        continue;
      }
      fail<ConfigError>("cannot listen on ", root_.text(), ": ",
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
    struct Greeting {
      std::string id;
      int connection;
      Hello hello;
    };
    std::vector<Greeting> greetings;
    Frame f;
    while (j_.star.control.receive(f)) {
      std::string id(f.view());
      if (!f.more() || !j_.star.control.receive(f)) continue;
      int connection = f.connection();
      auto hello = read_hello(f.view());
      j_.star.control.skip_rest(f);
      if (hello) greetings.push_back({id, connection, *hello});  // else a stranger
    }
    // Events after messages: what began the connection of a greeting is among them. A descriptor that was closed before belonged to another
    // connection, a stranger's perhaps.
    bool news = false;
    std::set<int> closed;
    while (auto e = next_event(j_.star.monitor)) {
      if (e->event == ZMQ_EVENT_ACCEPTED) closed.erase(e->descriptor);
      if (e->event == ZMQ_EVENT_DISCONNECTED) news = forget(e->descriptor) || news, closed.insert(e->descriptor);
      strangers_ += failed_handshake(e->event);
    }
    for (auto& [id, connection, hello] : greetings) {
      if (closed.count(connection) != 0) continue;
      if (auto why = objection(hello); !why.empty()) {
        refuse(id, why);
        continue;
      }
      if (!verdict_.empty()) {
        if (j_.star.control.send(id, true)) j_.star.control.send(verdict_, false);
        continue;
      }
      auto r = static_cast<std::size_t>(hello.rank);
      if (hello.rank >= c_.size) {  // its size differs: it takes part in the verdict
        if (extra_.size() >= kMostExtra) continue;
        j_.gate->keep(connection);
        extra_.push_back(hello);
        extra_ids_.push_back(id);
        continue;
      }
      j_.gate->keep(connection);
      arrived_[r] = hello;
      j_.star.ids[r] = id;
      j_.star.connections[connection] = hello.rank;
      news = true;
    }
    if (!news || !verdict_.empty()) return;
    auto message = Writer().num(JoinMessage::missing).text(list_of(missing())).take();
    for (auto& id : j_.star.ids)
      if (!id.empty() && j_.star.control.send(id, true)) j_.star.control.send(message, false);
  }
  /// A rank died, or its connection did: it may come again. False: it was no rank's.
  bool forget(int connection) {
    auto found = j_.star.connections.find(connection);
    if (found == j_.star.connections.end()) return false;
    arrived_[static_cast<std::size_t>(found->second)].reset();
    j_.star.ids[static_cast<std::size_t>(found->second)].clear();
    j_.star.connections.erase(found);
    return true;
  }
  /// Why this one cannot be a rank of the job, whatever the others are.
  std::string objection(const Hello& h) const {
    if (h.protocol == kProtocol && h.job != c_.job)
      return "it belongs to job '" + h.job + "', the job at " + root_.text() + " is '" + c_.job + "'";
    if (h.rank < 0) return "its rank is " + std::to_string(h.rank);
    if (h.rank < c_.size && arrived_[static_cast<std::size_t>(h.rank)])
      return "rank " + std::to_string(h.rank) +
             " was started twice: " + arrived_[static_cast<std::size_t>(h.rank)]->who() + " and " + h.who();
    return {};
  }
  bool shares_memory(const std::string& shm_host) const { return !shm_host.empty() && shm_host == me_.shm_host; }
  void refuse(const std::string& id, const std::string& why) {
    if (j_.star.control.send(id, true))
      j_.star.control.send(Writer()
                          .num(JoinMessage::refused)
                          .text("refused by the job at " + root_.text() + ": " + why)
                          .num(true)
                          .take(),
                      false);
  }
  static std::string scheme(const std::string& address) {
    return address.starts_with("data:") ? "tcp" : address.starts_with("mpi:") ? "mpi" : "zmq";
  }
  /// Every difference between rank 0 and the others.
  std::string compare() const {
    std::string text;
    bool several = std::any_of(arrived_.begin(), arrived_.end(), [&](auto& h) { return h && h->place() != me_.place(); });
    auto differ = [&](const char* what, const Hello& h, const std::string& mine, const std::string& other) {
      if (mine != other)
        text += (text.empty() ? "" : "; ") + std::string(what) + ": rank 0 has '" + mine + "', rank " +
                std::to_string(h.rank) + " '" + other + "'";
    };
    auto look = [&](const Hello& h) {
      differ("protocol", h, std::to_string(kProtocol), std::to_string(h.protocol));
      differ("size", h, std::to_string(c_.size), std::to_string(h.size));
      if (h.protocol != kProtocol) return;  // nothing more is known
      differ("dtypes", h, me_.dtypes, h.dtypes);
      auto mine = lines(c_.build), theirs = lines(h.build);
      if (mine.size() != theirs.size()) differ("build", h, c_.build, h.build);
      else
        for (std::size_t i = 0; i < mine.size(); ++i) differ("build", h, mine[i], theirs[i]);
      if (c_.carrier == "shm" && !shares_memory(h.shm_host))
        text += (text.empty() ? "" : "; ") + h.who() + " shares no memory with " + me_.who() +
                ", and BORA_CARRIER=shm wants it";
      differ("carrier of data", h, scheme(me_.address), scheme(h.address));
      if (h.address == kMpiHere && j_.keys && several)
        text += (text.empty() ? "" : "; ") + h.who() + " would send data to another host over MPI, which does not encrypt, and the job has a secret: "
                "use another BORA_CARRIER, or say that the network is private (BORA_INSECURE_PRIVATE_NETWORK=1, --insecure-private-network)";
      if (h.machine != me_.machine && (h.address.find("//127.") != std::string::npos || h.address.find("//[::1]") != std::string::npos))
        text += (text.empty() ? "" : "; ") + h.who() + " listens on loopback, where " + me_.who() +
                " cannot reach it: set BORA_INTERFACE to one of its network interfaces";
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
      j_.who.push_back(h->who());
      j_.addresses.push_back(h->address);
      j_.nonces.push_back(h->nonce);
      j_.shm_names.push_back(shares_memory(h->shm_host) ? h->shm_name : "");
      places_.push_back(h->place());
      all.ranks.push_back({h->who(), h->place(), h->address, h->nonce, h->shm_host, h->shm_name});
    }
    if (j_.mpi) j_.mpi->epoch = j_.epoch;
    tune();
    all.tuning = tuning_.bytes();
    auto verdict = all.bytes();
    for (std::size_t r = 1; r < j_.star.ids.size(); ++r)
      if (j_.star.control.send(j_.star.ids[r], true)) j_.star.control.send(verdict, false);
    j_.gate->close();  // nobody else is to come
  }

  void tune() {
    tuning_.forced = read_algorithms(c_.algorithms);
    if (c_.calibrate == "off") return;
    auto away = std::find_if(places_.begin(), places_.end(), [&](auto& p) { return p != places_[0]; });
    bool several = away != places_.end();
    auto& other = *arrived_[several ? static_cast<std::size_t>(away - places_.begin()) : 0];
    // Hosts that are parts of one machine (containers, emulated networks) may be something else next time.
    constexpr std::size_t kBoot = 36;  // characters of a boot id
    if (!several || other.machine.compare(0, kBoot, me_.machine, 0, kBoot) != 0) {
      std::ostringstream key;  // all that makes a link another one: both ends, how data goes, how many share them
      for (auto* end : {&me_, &other})
        key << end->host << "," << end->address.substr(0, end->address.rfind(':')) << ","
            << std::count_if(arrived_.begin(), arrived_.end(), [&](auto& h) { return h->place() == end->place(); }) << ",";
      key << c_.carrier << (j_.keys ? ",sealed" : "");
      links_ = key.str();
    }
    if (!links_.empty() && c_.calibrate != "on") tuning_.costs = cached_links(cache_of_links(), links_);
    tuning_.measure = c_.calibrate == "on" || (several && !tuning_.costs);
  }

  // ---- the others ----
  void greet() {
    auto endpoint = root_.endpoint();
    check<ConfigError>(attach(zmq_connect, j_.star.control.get(), endpoint.c_str()), "cannot connect to ", root_.text(), ": ",
                       zmq_strerror(zmq_errno()));
    std::string absent;
    bool known = false, connected = false;
    int closed = 0;
    auto look_again = Clock::now() + 1s;
    // Rank 0 counts from its own start: it gets a little longer to give its verdict to all.
    while (elapsed() < c_.join_timeout_s + 1) {
      wait_for_news();
      if (c_.root_may_lag && !known && Clock::now() >= look_again) {
        look_again = Clock::now() + 1s;
        if (auto now = resolve(c_, start_); now.ip != root_.ip) {  // rank 0 has been started again, elsewhere
          zmq_disconnect(j_.star.control.get(), endpoint.c_str());
          root_ = now;
          endpoint = root_.endpoint();
          check<ConfigError>(attach(zmq_connect, j_.star.control.get(), endpoint.c_str()), "cannot connect to ", root_.text(),
                             ": ", zmq_strerror(zmq_errno()));
        }
      }
      while (auto e = next_event(j_.star.monitor)) {
        if (e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED || e->event == ZMQ_EVENT_DISCONNECTED) connected = e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
        if (e->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {  // again after every new connection
          j_.star.control.send(me_.bytes(), false);
          known = true;
        } else if (e->event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH || e->event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
                   ((e->event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL || (j_.keys && !known && e->event == ZMQ_EVENT_DISCONNECTED)) && ++closed > kClosed)) {
          fail<ConfigError>("refused by ", root_.text(), ": ",
                            j_.keys ? "this rank's secret is not the job's" : "the job has a secret and this rank has none",
                            "; is BORA_SECRET_FILE the same everywhere?");
        }
      }
      Frame f;
      while (j_.star.control.receive(f)) {
        auto answer = read_answer(f.view(), c_.size);
        if (!answer.absent.empty()) absent = answer.absent;
        if (answer.refused && answer.final) throw ConfigError(*answer.refused);
        if (answer.refused) throw JoinTimeout(*answer.refused);
        if (!answer.welcome) continue;
        j_.epoch = answer.welcome->epoch;
        if (j_.mpi) j_.mpi->epoch = j_.epoch;
        for (auto& r : answer.welcome->ranks) {
          j_.who.push_back(r.who);
          places_.push_back(r.place);
          j_.addresses.push_back(r.address);
          j_.nonces.push_back(r.nonce);
          j_.shm_names.push_back(shares_memory(r.shm_host) ? r.shm_name : "");
        }
        tuning_ = read_tuning(answer.welcome->tuning);
        j_.star.closed = !connected;
        return;
      }
    }
    std::ostringstream s;
    if (absent.empty()) s << "rank 0 did not answer at " << root_.text();
    else s << absent << " of " << c_.size << " did not arrive at " << root_.text();
    s << " within " << c_.join_timeout_s << " s";
    if (absent.empty()) s << "; once all its ranks have met it listens no more: was this one started twice?";
    throw JoinTimeout(s.str());
  }

  Config c_;
  Clock::time_point start_;
  Address root_;
  Joined j_;
  Hello me_;
  std::string zmq_address_;  // of data, with BORA_CARRIER=zmq
  std::vector<std::optional<Hello>> arrived_;
  std::vector<Hello> extra_;
  std::vector<std::string> extra_ids_;
  std::string verdict_;
  std::vector<std::string> places_;  // by rank, the same text on one host
  Tuning tuning_;
  std::string links_;  // rank 0: the key of the job's links in the cache; empty: they have none
  int strangers_ = 0;
};
}  // namespace

namespace {
/// All ranks measure; rank 0 says what was found, and keeps it.
void calibrate(Engine& engine, const std::string& key) {
  auto tuning = engine.options().tuning;
  tuning.measure = false;
  tuning.costs = measure_links(engine, engine.options().hosts);
  engine.tune(tuning);
  if (engine.rank() != 0) return;
  std::string kept;
  auto file = cache_of_links();
  try {
    if (!file.empty() && !key.empty()) cache_links(file, key, *tuning.costs), kept = "; kept in " + file;
  } catch (const IoError& e) { kept = std::string("; not kept: ") + e.what(); }
  std::fprintf(stderr, "links: %s%s\n", text_of(*tuning.costs, engine.options().hosts).c_str(), kept.c_str());
}
}  // namespace

ContextPtr join(const Config& c) {
  check<ConfigError>(c.size >= 1 && c.rank >= 0 && c.rank < c.size, "rank ", c.rank, " of ", c.size,
                     " ranks: ranks count from 0 to size - 1");
  check<ConfigError>(c.join_timeout_s > 0, "join_timeout: must be above 0, got ", c.join_timeout_s);
  check<ConfigError>(c.heartbeat_s > 0 && c.suspect_s > c.heartbeat_s && c.dead_s > c.suspect_s, "heartbeat ",
                     c.heartbeat_s, " s, suspect ", c.suspect_s, " s and dead ", c.dead_s, " s must increase");
  check<ConfigError>(c.carrier == "auto" || c.carrier == "tcp" || c.carrier == "zmq" || c.carrier == "shm" || c.carrier == "mpi",
                     "BORA_CARRIER: unknown carrier '", c.carrier, "'; there are auto, tcp, zmq, shm and mpi");
  if (c.size == 1) return local(1).front();
  if (c.carrier == "mpi") check_mpi();
  check<ConfigError>(c.calibrate == "auto" || c.calibrate == "on" || c.calibrate == "off", "BORA_CALIBRATE: there are auto, on and off, not '",
                     c.calibrate, "'");
  read_algorithms(c.algorithms);  // a wrong one ends every rank at once
  Joining joining(c, check_limits(c));
  joining.run();
  auto link = make_net_link(
      {.rank = c.rank, .size = c.size, .heartbeat_s = c.heartbeat_s, .suspect_s = c.suspect_s, .dead_s = c.dead_s},
      joining.take());
  auto engine = std::make_shared<Engine>(joining.options(), std::move(link));
  if (engine->options().tuning.measure) calibrate(*engine, joining.links());
  return engine;
}
}  // namespace bora::transport
