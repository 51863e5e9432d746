#include "schedule/select.h"
#include <algorithm>
#include <cmath>
#include <sstream>
#include "bora/base/bytes.h"

namespace bora::transport {
Layout layout_of(const std::vector<int>& ranks, const std::vector<int>& hosts) {
  Layout l;
  l.size = static_cast<int>(ranks.size());
  auto host = [&](int position) {
    return hosts.empty() ? 0 : hosts[static_cast<std::size_t>(ranks[static_cast<std::size_t>(position)])];
  };
  std::vector<std::pair<int, int>> found;  // host, members
  bool side_by_side = true;
  for (int p = 0; p < l.size; ++p) {
    auto known = std::find_if(found.begin(), found.end(), [&](auto& f) { return f.first == host(p); });
    side_by_side = side_by_side && (known == found.end() || known + 1 == found.end());
    if (known == found.end()) found.emplace_back(host(p), 0), known = found.end() - 1, l.blocks.push_back(p);
    ++known->second;
  }
  l.blocks.push_back(l.size);
  auto fewer = [](auto& a, auto& b) { return a.second < b.second; };
  l.hosts = static_cast<int>(found.size());
  l.most = std::max_element(found.begin(), found.end(), fewer)->second;
  l.least = std::min_element(found.begin(), found.end(), fewer)->second;
  if (!side_by_side || l.hosts == 1 || l.most == 1) l.blocks.clear();
  return l;
}

// ---- rank 0's decisions ----
namespace {
constexpr Op kOps[] = {Op::all_reduce, Op::all_gather, Op::reduce_scatter, Op::broadcast, Op::gather,
                       Op::scatter,    Op::all_to_all, Op::permute,        Op::send_recv, Op::barrier};
}  // namespace
std::vector<std::pair<Op, Algorithm>> read_algorithms(const std::string& text) {
  std::vector<std::pair<Op, Algorithm>> found;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    auto equal = item.find('=');
    auto name = item.substr(0, equal), wanted = equal == std::string::npos ? "" : item.substr(equal + 1);
    auto op = std::find_if(std::begin(kOps), std::end(kOps), [&](Op o) { return word(o) == name; });
    check<ConfigError>(op != std::end(kOps), "BORA_ALGORITHMS: '", name,
                       "' is not a collective; expected all_reduce=chain,...");
    auto all = algorithms_for(*op, true, true);
    auto a = std::find_if(all.begin(), all.end(), [&](Algorithm x) { return algorithm_name(x) == wanted; });
    std::string names;
    for (auto x : all) names += (names.empty() ? "" : ", ") + std::string(algorithm_name(x));
    check<ConfigError>(a != all.end(), "BORA_ALGORITHMS: ", name, " has no algorithm '", wanted, "'; there are ",
                       names);
    found.emplace_back(*op, *a);
  }
  return found;
}
std::string Tuning::bytes() const {
  ByteWriter w;
  w.num(measure).num(costs.has_value()).num(costs.value_or(Costs{})).num(static_cast<std::uint64_t>(forced.size()));
  for (auto& [op, algorithm] : forced) w.num(op).num(algorithm);
  return w.take();
}
Tuning read_tuning(std::string_view bytes) {
  ByteReader r(bytes);
  Tuning t;
  t.measure = r.num<bool>();
  bool measured = r.num<bool>();
  auto costs = r.num<Costs>();
  if (measured) t.costs = costs;
  for (auto n = r.num<std::uint64_t>(); n > 0; --n) {
    auto op = r.num<Op>();
    t.forced.emplace_back(op, r.num<Algorithm>());
  }
  return t;
}

// ---- the model ----
double Estimate::seconds(const Costs& c) const {
  auto time = [](const Part& p, const LinkCost& l) {
    return l.alpha * p.hops + l.message * p.messages + l.beta * (p.bytes + p.fill);
  };
  return time(here, c.here) + time(wire, c.wire) + c.gamma * reduced;
}
namespace {
// Senders to one rank at a time that a switch's buffers can hold; beyond it a byte takes the time of two.
constexpr double kIncast = 32;

/// Fills in an Estimate for a group's layout; bytes are per stream.
struct Model {
  const Layout& l;
  std::int64_t chunk;
  Estimate e = {};
  double n = l.size, hosts = l.hosts, most = l.most;
  bool side_by_side = l.hosts == 1 || l.most == 1 || !l.blocks.empty();

  double log_n() const { return std::ceil(std::log2(n)); }
  double chunks(double bytes) const { return std::max(1.0, std::ceil(bytes / static_cast<double>(chunk))); }
  double piece(double bytes) const {  // of a pipeline
    return std::min(bytes, static_cast<double>(chunk_elements(static_cast<std::int64_t>(bytes), 1, chunk)));
  }
  Estimate::Part& slow() { return l.hosts > 1 ? e.wire : e.here; }
  /// All pairs.
  void pairs(double bytes) {
    double away = n - most, near = most - 1;
    slow().hops += n > 1;
    e.wire.messages += away * chunks(bytes);
    e.wire.bytes += most * away * bytes * (away > kIncast ? 2 : 1);
    e.here.messages += near * chunks(bytes);
    e.here.bytes += near * bytes;
  }
  /// All pairs, with one stream per host and receiver.
  void pairs_by_host(double bytes) {
    double away = n - most, near = (most - 1) * (1 + away / most);
    e.here = {1, near * chunks(bytes), near * bytes, 0};
    e.wire = {1, away / most * chunks(bytes * most), most * away * bytes, 0};
  }
  /// To or from one member; other hosts' parts pass through one of their members.
  void by_door(double bytes) {
    e.here = {1, (most - 1) * chunks(bytes), (most - 1) * bytes, 0};
    e.wire = {1, (hosts - 1) * chunks(bytes * most), (n - most) * bytes, 0};
  }
  /// From member to member in group order, in a pipeline; `streams` of `bytes` each on every link.
  void chain(double hops, double streams, double bytes) {
    double across = l.hosts == 1 ? 0 : side_by_side ? hops * (hosts - 1) / std::max(1.0, n - 1) : hops;
    e.wire.hops += across, e.here.hops += hops - across;
    slow().messages += streams * chunks(bytes);
    slow().bytes += streams * bytes * (side_by_side ? 1 : most);
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
void all_reduce(Model& m, Algorithm a, double S) {
  using A = Algorithm;
  double L = m.most, H = m.hosts, n = m.n;
  m.e.reduced = a == A::two_shot ? S * (n - 1) / n : a == A::chain || a == A::hierarchical ? S : S * (n - 1);
  if (a == A::one_shot) m.pairs(S);
  if (a == A::two_shot) {
    m.pairs(S / n), m.pairs(S / n);
    m.slow().hops -= n > 1 && m.piece(S / n) < S / n;  // the second hop overlaps the chunks of the first
  }
  if (a == A::chain) m.chain(2 * (n - 1), n > 2 ? 2 : 1, S);
  if (a == A::bruck) {  // all inputs are stored before they are summed
    m.rounds(m.log_n(), m.log_n() - 1 + m.chunks(S * (n - 1)), S * (n - 1), L);
    m.e.reduced += S * (n - 1);
  }
  if (a == A::hierarchical) {
    m.e.here = {2, 2 * (L - 1) * m.chunks(S / L), 2 * S * (L - 1) / L, m.piece(S / L)};
    m.e.wire = {2 * (H - 1), (H > 2 ? 2 : 1) * m.chunks(S / L), (H > 2 ? 2 : 1) * S, L * (2 * H - 3) * m.piece(S / L)};
  }
  if (a == A::one_shot_hierarchical) {
    double forwards = (L - 1) * (1 + (n - L) / L);
    m.e.here = {1, forwards * m.chunks(S), forwards * S, 0};
    m.e.wire = {1, (H - 1) * m.chunks(S), L * (H - 1) * S, 0};
  }
}
void all_gather(Model& m, Algorithm a, double S) {
  using A = Algorithm;
  double L = m.most, H = m.hosts, n = m.n, part = S / n;
  if (a == A::direct) m.pairs(part);
  if (a == A::ring) m.chain(n - 1, n - 1, part);
  if (a == A::bruck) {
    m.rounds(m.log_n(), m.log_n() - 1 + m.chunks(part * (n - 1)), part * (n - 1), L);
    m.e.reduced = part * (n - 1);  // copied once more
  }
  if (a == A::hierarchical) {
    double forwards = (L - 1) * (1 + (n - L) / L);
    m.e.here = {1, forwards * m.chunks(part), forwards * part, 0};
    m.e.wire = {1, (H - 1) * m.chunks(part), L * (H - 1) * part, 0};
  }
}
void reduce_scatter(Model& m, Algorithm a, double S) {
  using A = Algorithm;
  double L = m.most, H = m.hosts, n = m.n, part = S / n;
  m.e.reduced = a == A::direct ? part * (n - 1) : S;
  if (a == A::direct) m.pairs(part);
  if (a == A::chain) m.chain(n, n, part);
  if (a == A::hierarchical) {
    m.e.here = {1, (n - n / L) * m.chunks(part), S * (L - 1) / L, 0};
    m.e.wire = {H, n / L * m.chunks(part), S, (H - 1) * m.piece(part)};
  }
}
void broadcast(Model& m, Algorithm a, double S) {
  using A = Algorithm;
  double L = m.most, H = m.hosts, n = m.n;
  if (a == A::direct) m.rounds(1, (n - 1) * m.chunks(S), S * (n - 1), 1);
  if (a == A::binomial) m.rounds(m.log_n(), m.log_n() * m.chunks(S), S * m.log_n(), 1);
  if (a == A::chain) m.chain(n - 1, 1, S);
  if (a == A::scatter_gather) {
    m.rounds(m.log_n(), m.log_n() * m.chunks(S / n), S * (n - 1) / n, 1);
    m.chain(n - 1, n - 1, S / n);
  }
  if (a == A::double_tree) {
    m.rounds(m.log_n() + 1, 3 * m.chunks(S / 2), S * 1.5, L);
    m.slow().fill += 2 * m.log_n() * m.piece(S / 2);
  }
  if (a == A::hierarchical) {
    m.e.here = {2, L * m.chunks(S / L), S, m.piece(S / L)};
    m.e.wire = {H - 1, m.chunks(S / L), S, L * (H - 2) * m.piece(S / L)};
  }
}
}  // namespace
Estimate estimate(const Size& s, const Layout& l, Algorithm a, std::int64_t chunk_limit) {
  Model m{l, chunk_limit};
  auto S = static_cast<double>(s.bytes);
  if (l.size == 1) return m.e;
  double n = m.n;
  switch (s.op) {
    case Op::all_reduce: all_reduce(m, a, S); break;
    case Op::all_gather: all_gather(m, a, S); break;
    case Op::reduce_scatter: reduce_scatter(m, a, S); break;
    case Op::broadcast: broadcast(m, a, S); break;
    case Op::gather:
    case Op::scatter:
      if (a == Algorithm::direct) m.rounds(1, (n - 1) * m.chunks(S / n), S / n * (n - 1), 1);
      else if (a == Algorithm::binomial) m.rounds(m.log_n(), m.log_n(), S / n * (n - 1) * 1.5, 1);
      else m.by_door(S / n);
      break;
    case Op::all_to_all:
      if (a == Algorithm::direct) m.pairs(S / n);
      else if (a == Algorithm::bruck) m.rounds(m.log_n(), m.log_n(), S / 2 * m.log_n(), m.most);
      else m.pairs_by_host(S / n);
      break;
    case Op::barrier: m.rounds(m.log_n(), m.log_n(), 0, 1); break;
    default: m.rounds(1, m.chunks(S), S, m.most);
  }
  return m.e;
}
std::int64_t chunk_limit(const Layout& l, const Tuning& t) {
  // A message costs about 10 us: 1 % of 128 KiB at 1 Gbit/s, and of 256 KiB at 2.
  bool slow = l.hosts > 1 && t.costs && t.costs->wire.beta > 8 / 2.5e9;
  return slow ? kMaxChunkBytes / 2 : kMaxChunkBytes;
}
namespace {
/// For links that have not been measured.
Algorithm from_table(const Size& s, const Layout& l) {
  using A = Algorithm;
  auto upto = [&](std::int64_t kib) { return s.bytes <= kib << 10; };
  bool blocks = !l.blocks.empty();
  switch (s.op) {
    case Op::all_reduce:
      if (blocks) return upto(4) ? A::one_shot_hierarchical : A::hierarchical;
      // Two ranks send the same bytes either way, but one-shot sums all of them twice.
      if (l.size == 2) return upto(256) ? A::one_shot : A::two_shot;
      if (l.size >= 16 && upto(4)) return A::bruck;
      if (l.size > 32) return upto(1024) ? A::two_shot : A::chain;
      return upto(32) ? A::one_shot : A::two_shot;
    case Op::all_gather:
      if (blocks) return A::hierarchical;
      if (l.size >= 16 && s.bytes <= std::int64_t{4096} * l.size) return A::bruck;
      return l.size > 32 ? A::ring : A::direct;
    case Op::reduce_scatter:
      if (blocks && l.least > 2) return A::hierarchical;
      return l.size > 32 && !upto(1024) ? A::chain : A::direct;
    case Op::broadcast:
      if (l.size <= (l.hosts == 1 ? 8 : 2)) return A::direct;  // within a host all read the root's buffer in place
      if (blocks && !upto(64)) return A::hierarchical;
      if (upto(64)) return A::binomial;
      return l.size <= 16 ? A::chain : l.size < 64 ? A::scatter_gather : A::double_tree;
    case Op::gather:
    case Op::scatter:
      if (blocks && s.bytes <= (std::int64_t{16} << 10) * l.size) return A::hierarchical;
      return l.size >= 16 && s.bytes <= std::int64_t{4096} * l.size ? A::binomial : A::direct;
    case Op::all_to_all:
      if (blocks && s.uniform && s.bytes <= (std::int64_t{16} << 10) * l.size) return A::hierarchical;
      return s.uniform && l.size >= 8 && s.bytes < std::int64_t{256} * l.size ? A::bruck : A::direct;
    case Op::barrier: return A::dissemination;
    default: return A::direct;
  }
}
}  // namespace
Algorithm choose_algorithm(const Size& s, const Layout& l, const Tuning& t) {
  if (t.forced.empty() && !t.costs) return from_table(s, l);
  auto able = algorithms_for(s.op, !l.blocks.empty(), s.uniform);
  for (auto& [op, a] : t.forced)
    if (op == s.op && std::find(able.begin(), able.end(), a) != able.end()) return a;
  if (!t.costs) return from_table(s, l);
  auto limit = chunk_limit(l, t);
  auto seconds = [&](Algorithm a) { return estimate(s, l, a, limit).seconds(*t.costs); };
  return *std::min_element(able.begin(), able.end(), [&](auto a, auto b) { return seconds(a) < seconds(b); });
}
}  // namespace bora::transport
