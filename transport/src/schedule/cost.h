// cost.h -- the cost model of collectives: hops, messages and bytes of the busiest rank, and their time on given links.
#pragma once
#include <algorithm>
#include <cmath>
#include "schedule/schedule.h"

namespace bora::transport {
/// Costs of a link between two ranks, in seconds: latency of a message, processor time of each further one, time of
/// each byte.
struct LinkCost {
  double alpha = 0, message = 0, beta = 0;
};
struct Costs {
  LinkCost here = {3e-6, 0.5e-6, 0.1e-9};  // within a host: shared memory
  LinkCost wire = {100e-6, 8e-6, 0.9e-9};  // between hosts: tcp on 10 Gbit/s
  double gamma = 0.05e-9;                  // seconds for each byte summed
};
/// The work of the busiest rank, and of the host that sends most, for one collective. Source: the cost model of Thakur
/// et al. 2005.
struct Estimate {
  struct Part {
    double hops = 0, messages = 0, bytes = 0, fill = 0;  // fill: bytes that pass before a pipeline is full
  };
  Part here = {}, wire = {};
  double reduced = 0;  // bytes
  double seconds(const Costs&) const;
};
/// Senders to one rank at a time that a switch's buffers can hold; beyond it a byte takes the time of two.
inline constexpr double kIncast = 32;

/// Fills in an Estimate for S bytes, n ranks and H hosts with at most L ranks. Arguments named `bytes` are those of one
/// stream.
struct Model {
  const Layout& l;
  double S;
  std::int64_t chunk;  // bytes of the largest message
  Estimate e = {};
  double n = l.size, H = l.hosts, L = l.most;
  bool side_by_side = l.hosts == 1 || l.most == 1 || !l.blocks.empty();

  double log_n() const { return std::ceil(std::log2(n)); }
  double chunks(double bytes) const { return std::max(1.0, std::ceil(bytes / static_cast<double>(chunk))); }
  double piece(double bytes) const {  // of a pipeline
    return std::min(bytes, static_cast<double>(chunk_elements(static_cast<std::int64_t>(bytes), 1, chunk)));
  }
  Estimate::Part& slow() { return l.hosts > 1 ? e.wire : e.here; }
  /// All pairs.
  void pairs(double bytes) {
    double away = n - L, near = L - 1;
    slow().hops += n > 1;
    e.wire.messages += away * chunks(bytes);
    e.wire.bytes += L * away * bytes * (away > kIncast ? 2 : 1);
    e.here.messages += near * chunks(bytes);
    e.here.bytes += near * bytes;
  }
  /// Every member's bytes to all others; other hosts' ones once to each host.
  void gather_by_host(double bytes) {
    double forwards = (L - 1) * (1 + (n - L) / L);
    e.here = {1, forwards * chunks(bytes), forwards * bytes, 0};
    e.wire = {1, (H - 1) * chunks(bytes), L * (H - 1) * bytes, 0};
  }
  /// From member to member in group order, in a pipeline; `streams` of `bytes` each on every link.
  void chain(double hops, double streams, double bytes) {
    double across = l.hosts == 1 ? 0 : side_by_side ? hops * (H - 1) / std::max(1.0, n - 1) : hops;
    e.wire.hops += across, e.here.hops += hops - across;
    slow().messages += streams * chunks(bytes);
    slow().bytes += streams * bytes * (side_by_side ? 1 : L);
    if (hops > 1)
      e.wire.fill += std::max(0.0, across - (hops == across)) * piece(bytes),
          e.here.fill += (hops - across - (across == 0)) * piece(bytes);
  }
  /// Rounds that wait for one another, with `bytes` in all.
  void rounds(double hops, double messages, double bytes, double ranks_that_send) {
    slow().hops += hops;
    slow().messages += messages;
    slow().bytes += bytes * (l.hosts > 1 ? ranks_that_send : 1);
  }
};
/// For `bytes` in all elements (count_of), in messages of at most chunk_limit bytes.
Estimate estimate(const Algorithm&, std::int64_t bytes, const Layout&, std::int64_t chunk_limit);
}  // namespace bora::transport
