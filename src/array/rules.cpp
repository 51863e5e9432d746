#include "bora/array/rules.h"
#include <algorithm>
#include "array/api/splits.h"

namespace bora {
SplitLog*& split_log() {
  thread_local SplitLog* log = nullptr;
  return log;
}
std::int64_t block_size(std::int64_t n, const MeshAxes& axes, const MeshShape& mesh, int rank) {
  if (auto* log = split_log()) log->add({n, {}, axes});
  return mesh.block_of_rank(n, axes, rank).size();
}
Dims part_sizes(std::int64_t n, const MeshAxes& within, const MeshAxes& axes, const MeshShape& mesh, int rank) {
  auto all = within;
  all.append(axes);
  if (auto* log = split_log()) log->add({n, {}, all}), log->add({n, within, axes});
  auto inner = mesh.parts(axes), first = mesh.part(rank, within) * inner;
  Dims r;
  for (int k = 0; k < inner; ++k) r.push_back(mesh.block(n, all, first + k).size());
  return r;
}
void SplitLog::add(const Split& s) {
  if (std::find(splits.begin(), splits.end(), s) == splits.end()) splits.push_back(s);
}
std::vector<std::int64_t> SplitLog::sizes(const MeshShape& mesh, int rank) const {
  std::vector<std::int64_t> r;
  for (auto& s : splits) {
    auto parts = s.within.empty() ? 0 : mesh.parts(s.axes);
    auto all = s.within;
    all.append(s.axes);
    if (parts == 0) r.push_back(mesh.block_of_rank(s.n, all, rank).size());
    for (int k = 0, first = mesh.part(rank, s.within) * parts; k < parts; ++k)
      r.push_back(mesh.block(s.n, all, first + k).size());
  }
  return r;
}
DimFactors batch_factors(const Types& in, const Types& out, std::size_t batch) {
  auto labels = [&](const Types& types) {
    std::vector<Dims> r;
    for (auto& t : types) {
      r.emplace_back(t.shape.size(), kNone);
      for (std::size_t d = 0; d < batch; ++d) r.back()[d] = static_cast<std::int64_t>(d);
    }
    return r;
  };
  return {labels(in), labels(out)};
}
std::string describe(const Sharded& x) {
  auto r = to_string(x.type);
  if (!x.spec.trivial() || !x.partial.empty()) r += to_string(x.spec);
  for (auto& a : x.partial) r += " +" + a.str();
  return r;
}
Shape ShardRules::local_shape(const Shape& s, const Spec& spec) const {
  Shape r = s;
  MeshAxes used;
  for (std::size_t d = 0; d < s.size() && d < spec.size(); ++d)
    for (auto& a : spec[d]) {
      check<ShardError>(!used.has(a), "mesh axis '", a.str(), "' is used twice in Spec", spec,
                        " for an array of shape ", s, "; a mesh axis can split one dimension only");
      used.push_back(a);
    }
  for (std::size_t d = 0; d < s.size() && d < spec.size(); ++d)
    if (!spec[d].empty()) r[d] = block_size(s[d], spec[d], mesh(), rank());
  return r;
}
bool ShardRules::same_blocks(std::int64_t n, std::int64_t m, const MeshAxes& axes) const {
  auto p = mesh().parts(axes);
  for (int b = 1; b < p; ++b)
    if (mesh().block(n, axes, b).begin * m != mesh().block(m, axes, b).begin * n) return false;
  return true;
}
}  // namespace bora
