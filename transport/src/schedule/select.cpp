#include "schedule/select.h"
#include <sstream>
#include "base/api/bytes.h"
#include "bora/transport/forecast.h"
#include "schedule/codec.h"

namespace bora::transport {
namespace {
constexpr std::string_view kSetting = "transport.algorithms (BORA_ALGORITHMS): ";
}  // namespace
std::vector<const Algorithm*> read_algorithms(const std::string& text) {
  std::vector<const Algorithm*> found;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    auto equal = item.find('=');
    auto name = item.substr(0, equal), wanted = equal == std::string::npos ? "" : item.substr(equal + 1);
    auto tables = algorithm_tables();
    auto table = std::find_if(tables.begin(), tables.end(), [&](auto* t) { return word(t->rows[0].kind) == name; });
    check<ConfigError>(table != tables.end(), kSetting, "'", name,
                       "' is not a collective; expected all_reduce=chain,...");
    auto rows = (*table)->rows;
    auto a = std::find_if(rows.begin(), rows.end(), [&](auto& row) { return row.name == wanted; });
    std::string names;
    for (auto& row : rows) names += (names.empty() ? "" : ", ") + std::string(row.name);
    check<ConfigError>(a != rows.end(), kSetting, name, " has no algorithm '", wanted, "'; there are ", names);
    found.push_back(&*a);
  }
  return found;
}
std::string Tuning::bytes() const {
  ByteWriter w;
  w.num(measure).num(costs.has_value()).num(costs.value_or(Costs{})).num(static_cast<std::uint64_t>(forced.size()));
  for (auto* a : forced) w.num(a->kind).text(a->name);
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
    auto kind = r.num<CollectiveKind>();
    auto name = r.text();
    try {
      t.forced.push_back(&algorithm(kind, name));
    } catch (const ValueError& e) { fail<TransportError>("a control message names an algorithm: ", e.text()); }
  }
  return t;
}

std::int64_t chunk_limit(const Layout& l, const Tuning& t) {
  // A message costs about 10 us: 1 % of 128 KiB at 1 Gbit/s, and of 256 KiB at 2.
  bool slow = l.hosts > 1 && t.costs && t.costs->wire.beta > 8 / 2.5e9;
  return slow ? kMaxChunkBytes / 2 : kMaxChunkBytes;
}
namespace {
void check_forced(const std::vector<const Algorithm*>& forced, CollectiveKind kind, const Wire& wire) {
  for (auto* a : forced) {
    if (a->kind != kind || !a->traits.running) continue;
    std::string others;
    for (auto& row : algorithm_table(kind).rows)
      if (!row.traits.running) others += (others.empty() ? "" : ", ") + std::string(row.name);
    fail<ConfigError>(kSetting, word(kind), "=", a->name, " passes running sums on from rank to rank, where ",
                      word(wire.codec), " would round at every hop; use ", others, ", or another wire");
  }
}
}  // namespace
void check_wire(const Wire& wire, const std::string& algorithms) {
  check_block(wire, "wire");
  auto forced = read_algorithms(algorithms);
  if (!wire.blocks()) return;
  for (auto kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter}) check_forced(forced, kind, wire);
}
const Algorithm& choose_algorithm(CollectiveKind kind, std::int64_t bytes, bool uniform, const Layout& l,
                                  const Tuning& t, const Wire& wire) {
  auto able = algorithms_for(kind, !l.blocks.empty(), uniform);
  if (wire.blocks()) {
    check_forced(t.forced, kind, wire);
    std::erase_if(able, [](auto* a) { return a->traits.running; });
  }
  auto usable = [&](const Algorithm* a) { return std::find(able.begin(), able.end(), a) != able.end(); };
  for (auto* a : t.forced)
    if (usable(a)) return *a;
  if (!t.costs) {
    auto unmeasured = algorithm_table(kind).unmeasured;
    auto* a = unmeasured ? &algorithm(kind, unmeasured(bytes, l)) : able.front();
    if (wire.blocks() && a->traits.running) a = &algorithm(kind, algorithm_table(kind).unmeasured_blocks);
    return usable(a) ? *a : *able.front();
  }
  auto limit = chunk_limit(l, t);
  auto seconds = [&](const Algorithm* a) { return estimate(*a, bytes, l, limit).seconds(*t.costs); };
  return **std::min_element(able.begin(), able.end(), [&](auto* a, auto* b) { return seconds(a) < seconds(b); });
}
}  // namespace bora::transport
