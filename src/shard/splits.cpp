#include "shard/splits.h"
#include <algorithm>
#include <optional>

namespace bora {
namespace {
/// Operations of less work than this stay whole: messages cost more.
constexpr double kLittleWork = 1000;
bool contains(const Dims& d, std::int64_t label) { return std::find(d.begin(), d.end(), label) != d.end(); }
/// Numbers of the operands, the largest first.
std::vector<std::size_t> by_size(const std::vector<Sharded>& in) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < in.size(); ++i) order.push_back(i);
  auto size = [&](std::size_t i) { return in[i].symbolic ? in[i].symbolic->size : in[i].type.size(); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size(a) > size(b); });
  return order;
}
bool any_used(const MeshAxes& axes, const MeshAxes& used) {
  return std::any_of(axes.begin(), axes.end(), [&](auto& a) { return used.has(a); });
}
/// The label of operand x, independent in all results, that `axes` can split further and whose largest block is the
/// smallest part of all.
std::optional<std::int64_t> free_label(const DimFactors& f, const Sharded& x, const Dims& labels, const Splits& splits,
                                       const MeshAxes& axes, const MeshShape& mesh) {
  std::optional<std::int64_t> best;
  std::int64_t best_rows = 1, best_block = 1;
  for (std::size_t e = 0; e < labels.size(); ++e) {
    auto l = labels[e];
    auto rows = x.type.shape[e];
    if (l == kNone || !std::all_of(f.out.begin(), f.out.end(), [&](auto& o) { return contains(o, l); })) continue;
    auto known = splits.of.find(l);
    auto all = known == splits.of.end() ? MeshAxes{} : known->second;
    all.append(axes);
    if (rows < mesh.parts(all)) continue;
    auto block = mesh.most(rows, all);
    if (!best || block * best_rows < best_block * rows) best = l, best_rows = rows, best_block = block;
  }
  return best;
}
}  // namespace

Spec Splits::spec(const Dims& labels) const {
  Spec s;
  for (auto l : labels) s.push_back(of.count(l) ? of.at(l) : MeshAxes{});
  return s;
}
Splits splits_of(const DimFactors& f, const std::vector<Sharded>& in) {
  Splits r;
  for (auto i : by_size(in))
    for (std::size_t d = 0; d < in[i].spec.size(); ++d) {
      const auto& axes = in[i].spec[d];
      auto label = f.in[i][d];
      if (axes.empty() || label == kNone || r.of.count(label) || any_used(axes, r.used)) continue;
      r.of[label] = axes;
      r.used.append(axes);
    }
  return r;
}
std::vector<Turn> turns_of(const Primitive& p, const DimFactors& f, const std::vector<Sharded>& in,
                           const Splits& splits, const MeshShape& mesh) {
  auto must = [&](std::size_t i, std::size_t d) {
    return f.in[i][d] == kNone && in[i].type.shape[d] > 1 && mesh.parts(in[i].spec[d]) > 1;
  };
  bool any = false;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t d = 0; d < in[i].spec.size(); ++d) any = any || must(i, d);
  if (!any) return {};
  double most = 0;
  Types types;
  for (auto& x : in) {
    types.push_back(x.type);
    most = std::max(most, static_cast<double>(x.type.size()));
  }
  if (std::max(most, p.cost(types, p.infer(types)).flops) <= kLittleWork) return {};
  std::vector<Turn> r;
  auto during = splits;
  for (auto i : by_size(in)) {
    // What is written into an array goes where that array is.
    if (p.traits.in_place >= 0 && i != static_cast<std::size_t>(p.traits.in_place)) continue;
    for (std::size_t d = 0; d < in[i].spec.size(); ++d) {
      const auto axes = in[i].spec[d];
      if (!must(i, d) || any_used(axes, during.used)) continue;
      for (auto end = axes.size(); end > 0;) {  // a dimension hands its innermost axes over first
        std::optional<std::int64_t> label;
        std::size_t begin = 0;
        while (begin < end && !(label = free_label(f, in[i], f.in[i], during, axes.head(end).tail(begin), mesh)))
          ++begin;
        if (label) {
          r.push_back({i, d, axes.head(end).tail(begin), *label});
          during.of[*label].append(r.back().axes);
          during.used.append(r.back().axes);
        }
        end = label ? begin : end - 1;
      }
    }
  }
  return r;
}
Spec turned_back(const std::vector<Turn>& turns, const DimFactors& f, std::size_t o, const Shape& shape,
                 const std::vector<Sharded>& in, const Splits& before, const Splits& during) {
  auto r = before.spec(f.out[o]);
  auto returns = [&](const Turn& t) {
    for (std::size_t j = 0; j < in.size(); ++j)
      for (std::size_t d = 0; d < in[j].spec.size(); ++d) {
        auto& axes = in[j].spec[d];
        bool whole = f.in[j][d] == kNone && in[j].spec.size() == shape.size() && f.out[o][d] == kNone &&
                     shape[d] == in[j].type.shape[d];
        if (!whole || !std::all_of(t.axes.begin(), t.axes.end(), [&](auto& a) { return axes.has(a); })) continue;
        r[d] = axes;
        return true;
      }
    return false;
  };
  return std::all_of(turns.begin(), turns.end(), returns) ? r : during.spec(f.out[o]);
}
}  // namespace bora
