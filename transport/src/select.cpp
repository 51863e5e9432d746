#include "select.h"
#include <algorithm>

namespace bora::transport {
Layout layout_of(const std::vector<int>& ranks, const std::vector<int>& hosts) {
  Layout l;
  l.size = static_cast<int>(ranks.size());
  auto host = [&](int position) { return hosts.empty() ? 0 : hosts[static_cast<std::size_t>(ranks[static_cast<std::size_t>(position)])]; };
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
Algorithm choose_algorithm(const Size& s, const Layout& l) {
  using A = Algorithm;
  auto upto = [&](std::int64_t kib) { return s.bytes <= kib << 10; };
  bool by_host = !l.blocks.empty();
  switch (s.op) {
    case Op::all_reduce:
      if (by_host) return upto(4) ? A::one_shot_by_host : A::by_host;
      // Two ranks send the same bytes either way, but one-shot sums all of them twice.
      if (l.size == 2) return upto(256) ? A::one_shot : A::two_shot;
      if (l.size >= 16 && upto(4)) return A::bruck;
      if (l.size > 32) return upto(1024) ? A::two_shot : A::chain;
      return upto(32) ? A::one_shot : A::two_shot;
    case Op::all_gather:
      if (by_host) return A::by_host;
      if (l.size >= 16 && s.bytes <= std::int64_t{4096} * l.size) return A::bruck;
      return l.size > 32 ? A::ring : A::direct;
    case Op::reduce_scatter:
      if (by_host && l.least > 2) return A::by_host;
      return l.size > 32 && !upto(1024) ? A::chain : A::direct;
    case Op::broadcast:
      if (l.size <= 2) return A::direct;
      if (by_host && !upto(64)) return A::by_host;
      if (upto(64)) return A::binomial;
      return l.size <= 16 ? A::chain : l.size < 64 ? A::scatter_gather : A::double_tree;
    case Op::gather:
    case Op::scatter: return l.size >= 16 && s.bytes <= std::int64_t{4096} * l.size ? A::binomial : A::direct;
    case Op::all_to_all: return s.uniform && l.size >= 8 && s.bytes < std::int64_t{256} * l.size ? A::bruck : A::direct;
    case Op::barrier: return A::dissemination;
    default: return A::direct;
  }
}
}  // namespace bora::transport
