// join.cpp -- from a Config to a Context: rendezvous, links, engine, and the costs of the links.
#include "bora/transport/join.h"
#include <cstdio>
#include "base/api/most_ranks.h"
#include "join/calibrate.h"
#include "join/needs.h"
#include "join/rendezvous.h"
#include "join/uncaught.h"

namespace bora::transport {
namespace {
/// All ranks measure; rank 0 prints the costs and keeps them.
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

void check_options(const Config& c) {
  check<ConfigError>(c.join_timeout_s > 0,
                     "transport.join_timeout (BORA_JOIN_TIMEOUT): must be above 0, got ", c.join_timeout_s);
  check<ConfigError>(c.heartbeat_s > 0 && c.suspect_s > c.heartbeat_s && c.dead_s > c.suspect_s,
                     "transport.heartbeat (BORA_HEARTBEAT) ", c.heartbeat_s, " s, suspect ", c.suspect_s,
                     " s and dead ", c.dead_s, " s must increase");
  check<ConfigError>(
      c.carrier == "auto" || c.carrier == "tcp" || c.carrier == "zmq" || c.carrier == "shm" || c.carrier == "mpi",
      "transport.carrier (BORA_CARRIER): unknown carrier '", c.carrier, "'; there are auto, tcp, zmq, shm and mpi");
  check<ConfigError>(c.calibrate == "auto" || c.calibrate == "on" || c.calibrate == "off",
                     "transport.calibrate (BORA_CALIBRATE): there are auto, on and off, not '", c.calibrate, "'");
  read_algorithms(c.algorithms);  // a wrong one ends every rank at once
}
std::string common_terms(const Config& c) {
  auto carrier = c.carrier == "auto" ? "tcp" : c.carrier;  // within a host both share memory
  return "protocol: " + std::to_string(kProtocol) + "\nnumbers: " + reduced_dtypes() + "\ncarrier of data: " + carrier +
         " (transport.carrier, BORA_CARRIER)\n";
}
void rehearse(const Config& c) {
  check_options(c);
  if (c.carrier == "mpi") check_mpi();
  make_member_rendezvous(c, check_limits(c));
}
ContextPtr join(const Config& c) { return join(c, Witness{}); }
ContextPtr join(const Config& c, const Witness& witness) {
  check<ConfigError>(c.size >= 1 && c.rank >= 0 && c.rank < c.size, "rank ", c.rank, " of ", c.size,
                     " ranks: ranks count from 0 to size - 1");
  check<ConfigError>(c.size <= kMostRanks, c.size, " ranks: a job has at most ", kMostRanks);
  check_options(c);
  if (c.size == 1) return local(1).front();
  end_in_order_if_uncaught();
  if (c.carrier == "mpi") check_mpi();
  auto strangers = check_limits(c);
  auto rendezvous = c.rank == 0 ? make_root_rendezvous(c, strangers) : make_member_rendezvous(c, strangers);
  rendezvous->ask(witness.given_up);
  rendezvous->run();
  auto link = make_net_link(
      {.rank = c.rank, .size = c.size, .heartbeat_s = c.heartbeat_s, .suspect_s = c.suspect_s, .dead_s = c.dead_s,
       .misses = witness.misses},
      rendezvous->take());
  auto engine = std::make_shared<Engine>(rendezvous->options(), std::move(link));
  if (engine->options().tuning.measure) calibrate(*engine, rendezvous->links());
  return engine;
}
}  // namespace bora::transport
