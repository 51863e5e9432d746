#include "schedule/schedule.h"
#include <algorithm>
#include "schedule/build.h"

namespace bora::transport {
namespace {
constexpr const AlgorithmTable* kTables[] = {&kAllReduce, &kAllGather, &kReduceScatter, &kBroadcast, &kGather,
                                             &kScatter,   &kAllToAll,  &kPermute,       &kSendRecv,  &kBarrier};
}  // namespace

std::span<const AlgorithmTable* const> algorithm_tables() { return kTables; }
const AlgorithmTable& algorithm_table(CollectiveKind kind) {
  for (auto* t : kTables)
    if (t->rows[0].kind == kind) return *t;
  fail<ValueError>(word(kind), ": this collective has no algorithms");
}
const Algorithm& algorithm(CollectiveKind kind, std::string_view name) {
  for (auto& a : algorithm_table(kind).rows)
    if (a.name == name) return a;
  fail<ValueError>(word(kind), ": there is no algorithm ", name);
}
std::vector<const Algorithm*> algorithms_for(CollectiveKind kind, bool blocks, bool uniform) {
  std::vector<const Algorithm*> found;
  for (auto& a : algorithm_table(kind).rows)
    if ((blocks || !a.traits.hierarchical) && (uniform || !a.traits.equal_parts)) found.push_back(&a);
  return found;
}
Schedule make_schedule(const Algorithm& a, const CollectiveCall& call, const Layout& layout, int rank) {
  Builder b{call, layout, rank};
  a.steps(b);
  return std::move(b.s);
}
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
Range part_of(std::int64_t n, int p, int P) {
  auto cut = [&](int k) { return k == P ? n : n * k / P / 16 * 16; };
  return {cut(p), cut(p + 1)};
}
std::int64_t chunk_elements(std::int64_t n, std::size_t element_bytes, std::int64_t limit) {
  auto e = static_cast<std::int64_t>(element_bytes);
  auto least = limit < kMaxChunkBytes ? 16 << 10 : 64 << 10;
  auto bytes = std::clamp<std::int64_t>((n * e + 3) / 4, least, limit);
  return std::min((bytes / e + 63) / 64 * 64, limit / e);
}
}  // namespace bora::transport
