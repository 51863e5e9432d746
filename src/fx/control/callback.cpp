// Two primitives that call the host. The ordered one is an effect.
#include "bora/fx/callback.h"
#include "bora/array/communicator.h"
#include "bora/ops/manipulation.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"
#include "bora/ops/creation.h"

namespace bora {
namespace ops {
namespace {
/// Equal only to itself.
class HostFunction {
 public:
  using F = std::function<Arrays(const Arrays&)>;
  explicit HostFunction(F f) : f_(std::make_shared<const F>(std::move(f))) {}
  Arrays operator()(const Arrays& a) const { return (*f_)(a); }
  operator std::string_view() const { return "function"; }
  bool operator==(const HostFunction&) const = default;
  friend std::ostream& operator<<(std::ostream& o, const HostFunction&) { return o << "function"; }
 private:
  std::shared_ptr<const F> f_;
};
Arrays call_with_copies(const HostFunction& f, const Arrays& in, const Types& out, std::string_view name) {
  Within host(eval_interpreter());
  Arrays copies, r;  // the numbers may lie in memory that the next run overwrites
  for (auto& a : in) copies.push_back(from_bytes(a.type(), a.bytes()));
  auto y = f(copies);
  for (std::size_t k = 0; k < out.size(); ++k) {
    check<ShapeError>(k < y.size() && y[k].type() == out[k], name, ": result ", k, " should be ", out[k], ", f gave ",
                      [&] { return k < y.size() ? to_string(y[k].type()) : std::string("nothing"); });
    r.push_back(y[k].concrete());
  }
  return r;
}
/// Lane by lane, in order.
template <class P> std::vector<Mapped> each_lane(const P& p, const std::vector<Mapped>& in, const BatchRules& b) {
  std::vector<Arrays> columns;
  for (std::int64_t i = 0; i < b.size; ++i) {
    Arrays a;
    for (auto& m : in) a.push_back(m.axis < 0 ? m.value : index_in_dim(m.value, m.axis, i));
    auto y = call(primitive(p), a);
    columns.resize(y.size());
    for (std::size_t k = 0; k < y.size(); ++k) columns[k].push_back(y[k]);
  }
  std::vector<Mapped> r;
  for (std::size_t k = 0; k < columns.size(); ++k) r.push_back({stack(columns[k]), 0});
  if (b.size == 0)
    for (auto& t : p.infer({})) r.push_back({full_of({prepend(0, t.shape), t.dtype}, 0), 0});
  return r;
}
Arrays whole_operands(const std::vector<Sharded>& in, ShardRules& s) {
  Arrays a;
  for (auto& x : in) a.push_back(s.reshard(x, Spec::replicated(x.spec.size())).local);
  return a;
}
struct PureCallback {
  HostFunction f;
  Types out;
  static constexpr std::string_view name = "pure_callback";
  static constexpr bool any_dtype = true;
  Types infer(const Types&) const { return out; }
  Arrays run(const Arrays& in, const Types& t) const { return call_with_copies(f, in, t, name); }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    return each_lane(*this, in, b);
  }
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    std::vector<Sharded> r;
    for (auto& y : call(primitive(*this), whole_operands(in, s)))
      r.push_back({y, y.type(), Spec::replicated(static_cast<std::size_t>(y.ndim()))});
    return r;
  }
  static SamplesOf<PureCallback> samples() {
    static const PureCallback p{HostFunction([](const Arrays& a) { return Arrays{values({2}, {1, 2}, i32), a[0]}; }),
                                {{{2}, i32}, {{2, 3}, i32}}};
    return {{p, {random_values({2, 3}, -4, 4, 1, i32)}}};
  }
};
/// every_rank: inside shard_map. A token that is true comes after the results, so that there is one.
struct IoCallback {
  HostFunction f;
  Types out;
  bool every_rank;
  static constexpr std::string_view name = "io_callback";
  static constexpr bool effect = true, random = true, enters_shard = true;
  Types infer(const Types&) const {
    auto t = out;
    t.push_back({{}, boolean});
    return t;
  }
  Arrays run(const Arrays& in, const Types&) const {
    Arrays r;
    if (every_rank || here().rank == 0) r = call_with_copies(f, in, out, name);
    else
      for (auto& t : out) r.push_back(full_of(t, 0));
    r.push_back(constant(true, boolean));
    return r;
  }
  std::vector<Mapped> batch(const std::vector<Mapped>& in, const BatchRules& b) const {
    return each_lane(*this, in, b);
  }
  /// Rank 0 has the sum of all.
  std::optional<std::vector<Sharded>> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    MeshAxes all;
    for (auto& axis : s.mesh().axes) all.push_back(axis.first);
    std::vector<Sharded> r;
    for (auto& t : out)
      check<DtypeError>(is_numeric(t.dtype) && t.dtype != boolean, "io_callback: on a mesh its results are numbers, ",
                        "got ", t, "; cast it");
    auto y = call(primitive(*this), whole_operands(in, s));
    for (std::size_t k = 0; k < y.size(); ++k)
      r.push_back({y[k], y[k].type(), Spec::replicated(static_cast<std::size_t>(y[k].ndim())),
                   k < out.size() ? all : MeshAxes{}});
    return r;
  }
  static SamplesOf<IoCallback> samples() {
    static const IoCallback p{HostFunction([](const Arrays& a) { return a; }), {{{2, 3}, i32}}, false};
    return {{p, {random_values({2, 3}, -4, 4, 1, i32)}}};
  }
};
}  // namespace
}  // namespace ops
Arrays fx::host_call(std::function<Arrays(const Arrays&)> f, const Types& out, const Arrays& in, bool ordered) {
  ops::HostFunction host(std::move(f));
  if (!ordered) return call(ops::PureCallback{std::move(host), out}, in);
  auto r = call(ops::IoCallback{std::move(host), out, here().in_blocks}, in);
  r.pop_back();
  return r;
}
}  // namespace bora
