// rendezvous.cpp -- the part common to all ranks: each opens its sockets and describes itself.
#include "join/rendezvous.h"
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include "control/coordinator.h"

namespace bora::transport {
namespace {
static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");
}  // namespace

std::string reduced_dtypes() {
  std::string names;
  for (std::size_t d = 0; d < kDtypes; ++d)
    if (is_numeric(static_cast<Dtype>(d))) names += (names.empty() ? "" : " ") + std::string(dtype_table[d].name);
  return names;
}

Rendezvous::Rendezvous(const Config& c, std::size_t strangers)
    : c_(c), start_(Clock::now()), root_(resolve(c, start_)) {
  j_.strangers = strangers;
  auto ip = own_address(root_, c.interface);
  // 0.0.0.0 is reached from here over loopback, and from elsewhere as well.
  auto& open = is_loopback(ip) ? root_.ip : ip;
  check<ConfigError>(!c.secret.empty() || is_loopback(open) || c.insecure_private_network, "rank ", c.rank, " would ",
                     c.rank == 0 || &open == &ip ? "listen on " : "trust who listens on ", open,
                     " without a secret, and whoever reaches it could join: give all ranks one (head -c 32 "
                     "/dev/urandom | base64 > FILE; chmod 600 FILE; "
                     "BORA_SECRET_FILE=FILE), or say that the network is private (BORA_INSECURE_PRIVATE_NETWORK=1, "
                     "--insecure-private-network)");
  if (c.secret.empty() && !is_loopback(open) && c.rank == 0)
    std::fprintf(stderr,
                 "warning: NO SECRET: whoever reaches %s can join this job, and read and change what its ranks send\n",
                 open.c_str());
  if (!c.secret.empty()) j_.keys = derive_keys(c.secret);
  j_.silence_ms = static_cast<int>(std::min(1000 * c.dead_s, 1e9));
  j_.authenticator = std::make_unique<Authenticator>(j_.context, j_.keys);
  if (c.carrier == "mpi") j_.mpi = {.rank = c.rank, .size = c.size, .timeout_s = c.join_timeout_s};
  else if (c.carrier == "zmq") listen_with_zmq(ip);
  else j_.tcp = listen_on_tcp(ip);
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  me_ = {.rank = c.rank,
         .size = c.size,
         .pid = static_cast<std::int32_t>(getpid()),
         .job = c.job,
         .build = c.build,
         .host = host,
         .machine = boot_id() + host,
         .address = j_.mpi    ? c.insecure_private_network ? kMpiAnywhere : kMpiHere
                    : j_.data ? zmq_address_
                              : j_.tcp.address,
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
  j_.control.socket = Socket(j_.context, c.rank == 0 ? ZMQ_ROUTER : ZMQ_DEALER);
  if (c.rank == 0) listen_with(j_.control.socket, j_.keys);
  if (j_.keys && c.rank != 0) connect_with(j_.control.socket, *j_.keys);
  for (auto [option, value] : {std::pair{ZMQ_LINGER, 500},
                               {ZMQ_IPV6, 1},
                               {ZMQ_HANDSHAKE_IVL, 5000},
                               {ZMQ_TCP_MAXRT, control_patience_ms()},
                               {ZMQ_SNDHWM, 0},
                               {ZMQ_RCVHWM, 0},
                               {ZMQ_RECONNECT_IVL, 20},
                               {ZMQ_RECONNECT_IVL_MAX, 500}})
    j_.control.socket.set(option, value);
  j_.control.socket.set(ZMQ_MAXMSGSIZE, std::int64_t{kMostControl});
  j_.control.monitor = j_.control.socket.monitor("control");
}
EngineOptions Rendezvous::options() const {
  EngineOptions o{.rank = c_.rank,
                  .size = c_.size,
                  .ranks_on_host = static_cast<int>(std::count_if(
                      places_.begin(), places_.end(), [&](auto& p) { return p.rfind(me_.machine + "/", 0) == 0; })),
                  .tuning = tuning_,
                  .stuck_warn_s = c_.stuck_warn_s,
                  .stuck_abort_s = c_.stuck_abort_s,
                  .flight_dir = c_.flight_dir};
  for (auto& p : places_)
    o.hosts.push_back(static_cast<int>(std::find(places_.begin(), places_.end(), p) - places_.begin()));
  return o;
}
void Rendezvous::listen_with_zmq(const std::string& ip) {
  j_.data = Socket(j_.context, ZMQ_ROUTER);
  listen_with(j_.data, j_.keys);
  set_data_options(j_.data, j_.silence_ms);
  j_.data.set(ZMQ_ROUTER_MANDATORY, 1);
  j_.data_monitor = j_.data.monitor("data");
  auto listener = listen_at(ip, 0);
  check<ConfigError>(static_cast<bool>(listener), "cannot listen on ", ip, ": ", std::strerror(errno));
  zmq_address_ = "tcp://" + bracketed(ip) + ":" + std::to_string(port_of(listener.get()));
  j_.data_gate = std::make_unique<Gate>(std::move(listener), j_.data, j_.strangers,
                                        static_cast<std::size_t>(c_.size - 1 - c_.rank), control_patience_ms());
}
void Rendezvous::wait_for_news() {
  zmq_pollitem_t items[] = {{j_.control.socket.get(), 0, ZMQ_POLLIN, 0}, {j_.control.monitor.get(), 0, ZMQ_POLLIN, 0}};
  zmq_poll(items, 2, 50);
  if (!given_up_) return;
  if (auto why = given_up_(); !why.empty()) throw RankLost(why, -1);
}
void Rendezvous::add(const Welcome::Rank& r) {
  j_.who.push_back(r.who);
  places_.push_back(r.place);
  j_.addresses.push_back(r.address);
  j_.nonces.push_back(r.nonce);
  j_.shm_names.push_back(shares_memory(r.shm_host) ? r.shm_name : "");
}
}  // namespace bora::transport
