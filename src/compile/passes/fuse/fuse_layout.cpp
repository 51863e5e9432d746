#include "compile/passes/fuse/fuse_layout.h"
#include <algorithm>

namespace bora::exec {
Access contiguous(std::int64_t n) { return {{n}, {1}, 0}; }
Access along_rows(const Access& a, std::int64_t columns) {
  auto r = a;
  r.dims.push_back(columns);
  r.strides.push_back(0);
  return r;
}
bool is_one_per_row(const Access& a, std::int64_t columns) {
  if (a.offset != 0) return false;
  std::int64_t below = 1, next = 1;  // elements in the dimensions seen; stride of the next row dimension
  for (std::size_t d = a.dims.size(); d-- > 0;) {
    if (a.dims[d] == 1) continue;
    if (below < columns) {
      if (a.strides[d] != 0) return false;
    } else {
      if (a.strides[d] != next) return false;
      next *= a.dims[d];
    }
    below *= a.dims[d];
    if (below > columns && below / a.dims[d] < columns) return false;  // a dimension that is partly row
  }
  return true;
}
bool is_contiguous(const Access& a) { return is_one_per_row(a, 1); }

std::optional<Layout> common_layout(std::int64_t n, std::int64_t columns, const std::vector<Access>& accesses,
                                    const Dims& bounds) {
  std::vector<std::int64_t> cuts{1, n};  // numbers of elements after which some dimension starts again
  if (columns > 0) cuts.push_back(columns);
  cuts.insert(cuts.end(), bounds.begin(), bounds.end());
  for (auto& a : accesses) {
    std::int64_t below = 1;
    for (std::size_t d = a.dims.size(); d-- > 0;) cuts.push_back(below *= a.dims[d]);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 1; i < cuts.size(); ++i)
    if (cuts[i] % cuts[i - 1] != 0) return std::nullopt;
  auto parts = cuts.size() - 1;  // from the innermost: part i has cuts[i + 1] / cuts[i] elements
  Layout all{Dims(parts), std::vector<Dims>(accesses.size(), Dims(parts))};
  for (std::size_t i = 0; i < parts; ++i) all.extents[i] = cuts[i + 1] / cuts[i];
  for (std::size_t k = 0; k < accesses.size(); ++k) {
    auto& a = accesses[k];
    std::int64_t below = 1;
    std::size_t i = 0;
    for (std::size_t d = a.dims.size(); d-- > 0;) {
      auto end = below * a.dims[d];
      for (; i < parts && cuts[i] < end; ++i) all.strides[k][i] = a.strides[d] * (cuts[i] / below);
      below = end;
    }
  }
  Layout r{{}, std::vector<Dims>(accesses.size())};  // merged, still from the innermost
  for (std::size_t i = 0; i < parts; ++i) {
    bool joins = i > 0 && cuts[i] != columns && std::find(bounds.begin(), bounds.end(), cuts[i]) == bounds.end();
    for (std::size_t k = 0; k < accesses.size() && joins; ++k)
      joins = all.strides[k][i] == r.strides[k].back() * r.extents.back();
    if (joins) {
      r.extents.back() *= all.extents[i];
      continue;
    }
    r.extents.push_back(all.extents[i]);
    for (std::size_t k = 0; k < accesses.size(); ++k) r.strides[k].push_back(all.strides[k][i]);
  }
  if (r.extents.empty()) {
    r.extents.push_back(1);
    for (std::size_t k = 0; k < accesses.size(); ++k) r.strides[k].push_back(is_contiguous(accesses[k]) ? 1 : 0);
  }
  if (r.extents.size() > kernels::kMaxDims || (columns > 0 && r.extents.front() != columns)) return std::nullopt;
  std::reverse(r.extents.begin(), r.extents.end());
  for (auto& s : r.strides) std::reverse(s.begin(), s.end());
  return r;
}
bool turn_thin_rows(Layout& l, Dims& begin) {
  constexpr std::int64_t kThin = 2;
  auto n = l.extents.size();
  if (n < 2 || l.extents[n - 1] > kThin || l.extents[n - 2] <= l.extents[n - 1]) return false;
  auto swap = [n](Dims& d) { std::swap(d[n - 1], d[n - 2]); };
  swap(l.extents);
  swap(begin);
  for (auto& s : l.strides) swap(s);
  return true;
}
}  // namespace bora::exec
