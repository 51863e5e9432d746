// components.cpp -- reductions of arrays of short vectors, [.., k] with k up to 8, that are computed from broadcast
// operands: positions of bodies, distances of points. Loops along rows of k elements would leave most lanes empty, so
// each component becomes an array of its own, [..], and the loops run along the dimension before. Same bits: sums of
// components add as a row's 32 partial sums do.
#include <algorithm>
#include <map>
#include "compile/api/executable.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/primitives.h"
#include "compile/passes/graph.h"
#include "compile/passes/pass_list.h"

namespace bora::exec {
namespace {
constexpr std::int64_t kMostComponents = 8, kLeastElements = 4096;
constexpr std::int64_t kGain = 4;  // elements computed for each element that is copied out of an operand

class Components {
 public:
  explicit Components(const Program& p)
      : p_(p), r_(std::make_shared<Program>(p)), same_(p.vars.size()), maker_(p.vars.size(), nullptr) {
    for (std::size_t v = 0; v < same_.size(); ++v) same_[v] = static_cast<int>(v);
    for (auto& i : p.code)
      for (int v : i.out) maker_[idx(v)] = &i;
  }
  ProgramPtr run() {
    r_->code.clear();
    for (auto i : p_.code) {
      if (auto* reduce = reduction(i); reduce && splits(*reduce, i.in[0])) {
        source_ = i.source;
        same_[idx(i.out[0])] = reduced(*reduce, i.in[0]);
        continue;
      }
      i.primitive = with_programs(i.primitive, components);
      for (int& v : i.in) v = same_[idx(v)];
      r_->code.push_back(std::move(i));
    }
    for (int& v : r_->out) v = same_[idx(v)];
    return r_;
  }

 private:
  const Type& type(int v) const { return p_.vars[idx(v)]; }
  /// A sum over the components, or any reduction of the dimensions before them that the kernel does along rows too.
  bool splits(const ops::Reduce& r, int v) {
    auto& t = type(v);
    auto last = t.ndim() - 1;
    bool lanes = t.dtype == f32 || t.dtype == f64 || t.dtype == i32 || t.dtype == i64;
    if (!lanes || last < 1 || r.dims.empty() || t.size() < kLeastElements || t.shape.back() < 2 ||
        t.shape.back() > kMostComponents)
      return false;
    if (r.dims.back() == last) {
      if (r.dims.size() > 1 || r.kind != Reduction::sum) return false;
    } else {
      std::int64_t n = 1;
      for (std::size_t k = r.dims.size(); k-- > 0; n *= t.shape[idx(r.dims[k])])
        if (r.dims[k] != last - static_cast<std::int64_t>(r.dims.size() - k)) return false;
      if (n < ops::kLongColumn) return false;
    }
    copied_ = 0;
    seen_.clear();
    auto* m = maker_[idx(v)];
    return m && is_elementwise(*m) && visit(v) && copied_ * kGain <= t.size();
  }
  static bool is_elementwise(const Instruction& i) {
    auto role = i.primitive->traits.loop;
    return (role == LoopRole::op || role == LoopRole::cast) && i.out.size() == 1;
  }
  /// Counts the elements that are copied; false if there are others than the components to copy.
  bool visit(int v) {
    if (std::find(seen_.begin(), seen_.end(), v) != seen_.end()) return true;
    seen_.push_back(v);
    auto* m = maker_[idx(v)];
    if (m && is_elementwise(*m)) {
      return std::all_of(m->in.begin(), m->in.end(), [&](int u) { return type(u).shape == type(v).shape && visit(u); });
    }
    auto* b = m ? broadcast(*m) : nullptr;
    if (!b) copied_ += type(v).size();
    else if (spans(*b, m->in[0])) copied_ += type(m->in[0]).size();
    return true;
  }
  /// Does the operand of this broadcast have the components?
  bool spans(const ops::BroadcastInDim& b, int operand) const {
    auto& s = type(operand).shape;
    return !s.empty() && b.dims.back() == static_cast<std::int64_t>(b.shape.size()) - 1 && s.back() == b.shape.back();
  }
  int staged(const FlatFn& f, const std::vector<int>& in) {
    Types types;
    for (int v : in) types.push_back(r_->vars[idx(v)]);
    auto first = r_->code.size();
    auto out = inline_into(*r_, *stage(f, types).program, in);
    for (; first < r_->code.size(); ++first) r_->code[first].source = source_;
    return out[0];
  }
  static Shape without_last(const Shape& s) {
    auto d = s.dims();
    d.pop_back();
    return Shape(d);
  }
  /// Component c of an array in memory.
  int copied(int v, std::int64_t c) {
    return staged(
        [&](const Arrays& a) {
          auto one = slice_in_dim(a[0], a[0].ndim() - 1, c, c + 1);
          return Arrays{reshape(one, without_last(one.shape()))};
        },
        {same_[idx(v)]});
  }
  int part(int v, std::int64_t c) {
    auto [it, fresh] = parts_.try_emplace({v, c}, -1);
    if (!fresh) return it->second;
    auto* m = maker_[idx(v)];
    int made = -1;
    if (m && is_elementwise(*m)) {
      Instruction i{m->primitive, {}, {}, m->source};
      for (int u : m->in) i.in.push_back(part(u, c));
      r_->vars.push_back({without_last(type(v).shape), type(v).dtype});
      i.out.push_back(made = static_cast<int>(r_->vars.size()) - 1);
      r_->code.push_back(std::move(i));
    } else if (auto* b = m ? broadcast(*m) : nullptr) {
      auto operand = m->in[0];
      auto dims = b->dims;
      bool has = spans(*b, operand), last = !dims.empty() && dims.back() == type(v).ndim() - 1;
      auto from = has ? copied(operand, c) : same_[idx(operand)];
      if (last) dims.pop_back();
      made = staged(
          [&](const Arrays& a) {
            auto x = last && !has ? reshape(a[0], without_last(a[0].shape())) : a[0];
            return Arrays{broadcast_in_dim(x, without_last(b->shape), dims)};
          },
          {from});
    } else made = copied(v, c);
    return parts_[{v, c}] = made;
  }
  int reduced(const ops::Reduce& r, int v) {
    auto& t = type(v);
    std::vector<int> in;
    for (std::int64_t c = 0; c < t.shape.back(); ++c) in.push_back(part(v, c));
    if (r.dims.back() == t.ndim() - 1) return staged([&](const Arrays& a) { return Arrays{sum_of(a)}; }, in);
    for (int& x : in) {
      Instruction i{primitive(r), {x}, {}, source_};
      r_->vars.push_back(r.infer({r_->vars[idx(x)]}));
      i.out.push_back(x = static_cast<int>(r_->vars.size()) - 1);
      r_->code.push_back(std::move(i));
    }
    return staged([](const Arrays& a) { return Arrays{stack(a, -1)}; }, in);
  }
  /// Halved as the partial sums of a row are. They begin with 0, which no sum of two -0 has.
  static Array sum_of(Arrays x) {
    for (std::size_t half = kMostComponents / 2; half > 0; half /= 2)
      for (std::size_t k = half; k < x.size() && k < 2 * half; ++k) x[k - half] = x[k - half] + x[k];
    return is_float(x[0].dtype()) ? x[0] + 0.0 : x[0];
  }

  const Program& p_;
  std::shared_ptr<Program> r_;
  std::vector<int> same_;  // variable -> the one that replaces it
  std::vector<const Instruction*> maker_;
  std::map<std::pair<int, std::int64_t>, int> parts_;
  std::vector<int> seen_;
  std::int64_t copied_ = 0;
  SourcePtr source_;
};
}  // namespace

ProgramPtr components(const ProgramPtr& p) {
  bool any = std::any_of(p->code.begin(), p->code.end(), [](auto& i) {
    return i.primitive->traits.holds || i.primitive->traits.loop == LoopRole::reduce;
  });
  return any ? Components(*p).run() : p;
}
}  // namespace bora::exec
