// Scan under Tape and Batch. The gradient of a scan is a second, reversed scan.
#include <algorithm>
#include "compile/api/control.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "fx/call.h"
#include "bora/array/primitive.h"
#include "bora/ops/ufuncs.h"
#include "ops/api/support.h"

namespace bora::fx {
Arrays scan_flat(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t length, bool reverse,
                 const std::vector<std::string>& labels) {
  Types t = types_of(init);
  for (auto& x : xs) {
    check<ShapeError>(x.ndim() > 0 && x.shape(0) == length,
                      "scan: got values with different leading axis sizes: ", x.type(), " where the length is ",
                      length);
    auto e = x.type();
    e.shape.erase(0);
    t.push_back(e);
  }
  auto s = stage(body, t, labels);
  Arrays in = s.captures;
  append(in, init);
  append(in, xs);
  std::vector<int> order;  // captures become consts, which come first
  for (std::size_t i = 0; i < s.captures.size(); ++i) order.push_back(static_cast<int>(t.size() + i));
  for (std::size_t i = 0; i < t.size(); ++i) order.push_back(static_cast<int>(i));
  auto program = rewired(s.program, order);
  auto outs = program->out_types();
  for (std::size_t i = 0; i < init.size(); ++i)
    check<ShapeError>(
        i < outs.size() && outs[i] == init[i].type(),
        "scan: the carry that the body returns must have the type it came with: ",
        [&] { return i < labels.size() && !labels[i].empty() ? labels[i] : "carry " + std::to_string(i); }, " came as ",
        init[i].type(), " and left as ", [&] { return i < outs.size() ? to_string(outs[i]) : std::string("nothing"); });
  return call(ops::Scan{program, static_cast<std::int64_t>(s.captures.size()), static_cast<std::int64_t>(init.size()),
                        length, reverse},
              in);
}
}  // namespace bora::fx

namespace bora::ops {
using namespace fx;
namespace {
/// An identity that counts as computed, so that its output is a residual of its own.
struct KeepCarry {
  static constexpr std::string_view name = "keep";
  static constexpr bool view = true;
  Type infer(const Types& in) const { return in[0]; }
  Array vjp(const Vjp& v) const { return v.ct[0]; }
  DimFactors factors(const Types& in) const { return elementwise_factors(in, {0}); }
  KeepCarry lift(std::int64_t) const { return {}; }
};
/// Makes the body return the carries that the backward pass reads as ys, so that they are stacked like other residuals.
ProgramPtr with_kept_carries(const ProgramPtr& body, const std::vector<int>& carries) {
  std::string key = "kept carries";
  for (int i : carries) key += ' ' + std::to_string(i);
  return *body->memo.get<ProgramPtr>(Form::body, key, [&] {
    return stage(
               [&](const Arrays& a) {
                 Arrays kept = a;
                 for (int i : carries)
                   kept[static_cast<std::size_t>(i)] = call_one(KeepCarry{}, {a[static_cast<std::size_t>(i)]});
                 return interpret(*body, kept);
               },
               body->in_types(), body->labels)
        .program;
  });
}
/// The type that a gradient of this one is summed in over the iterations.
Type type_of_sum(const Type& t) { return {t.shape, accumulator(t.dtype)}; }
/// The place of a residual in the backward body.
struct Place {
  enum { constant, stacked } kind;
  std::size_t index;
};
std::size_t position(const std::vector<std::size_t>& v, std::size_t x) {
  return static_cast<std::size_t>(std::find(v.begin(), v.end(), x) - v.begin());
}
/// The gradients of a scan as a scan in the other direction. It takes residuals that are constants, cotangents of
/// carries, sums of the gradients of constants, then, one for each iteration, the other residuals and cotangents of ys.
class BackwardScan {
 public:
  BackwardScan(const Scan& scan, SplitPtr kept, const Mask& wrt, Arrays constants, Arrays stacked,
               std::vector<Place> residuals)
      : scan_(scan),
        kept_(std::move(kept)),
        split_(*kept_),
        in_(scan.body->in_types()),
        out_(scan.body->out_types()),
        constants_(std::move(constants)),
        stacked_(std::move(stacked)),
        residuals_(std::move(residuals)) {
    for (std::size_t i = 0; i < K(); ++i)
      if (wrt[N() + i]) carries_.push_back(i);
    for (int g : split_.grad) {
      auto i = static_cast<std::size_t>(g);
      if (i < N()) sums_.push_back(i);
      else if (i >= N() + K()) slices_.push_back(i);
    }
  }
  Arrays operator()(const Arrays& ct) const {
    std::vector<std::size_t> ys;  // with a cotangent
    auto xs = stacked_;
    for (std::size_t i = K(); i < out_.size(); ++i)
      if (is_inexact(out_[i].dtype) && ct[i].defined()) {
        ys.push_back(i);
        xs.push_back(ct[i]);
      }
    auto back = stage([&](const Arrays& a) { return iteration(a, ys); }, types(xs));
    check<TraceError>(back.captures.empty(), "scan: the backward body captured a value");
    Arrays a = constants_;
    for (auto i : carries_) a.push_back(or_zero(ct[i], out_[i]));
    for (auto i : sums_) a.push_back(full_of(type_of_sum(in_[i]), 0));
    append(a, xs);
    auto r = call(Scan{back.program, static_cast<std::int64_t>(constants_.size()),
                       static_cast<std::int64_t>(carries_.size() + sums_.size()), scan_.length, !scan_.reverse},
                  a);
    Arrays g(in_.size());
    std::size_t k = 0;
    for (auto i : carries_) g[N() + i] = r[k++];
    for (auto i : sums_) g[i] = rounded_sum(r[k++], in_[i].dtype);
    for (auto i : slices_) g[i] = r[k++];
    return g;
  }

 private:
  std::size_t N() const { return static_cast<std::size_t>(scan_.consts); }
  std::size_t K() const { return static_cast<std::size_t>(scan_.carries); }
  Types types(const Arrays& xs) const {
    auto t = types_of(constants_);
    for (auto i : carries_) t.push_back(in_[N() + i]);
    for (auto i : sums_) t.push_back(type_of_sum(in_[i]));
    for (auto& x : xs) {
      t.push_back(x.type());
      t.back().shape.erase(0);
    }
    return t;
  }
  Arrays iteration(const Arrays& a, const std::vector<std::size_t>& ys) const {
    auto C = constants_.size(), X = C + carries_.size() + sums_.size();
    Arrays b;
    for (auto& r : residuals_) b.push_back(a[r.kind == Place::constant ? r.index : X + r.index]);
    for (int o : split_.ct) {
      auto i = static_cast<std::size_t>(o);
      auto c = position(carries_, i), y = position(ys, i);
      if (i < K()) b.push_back(c < carries_.size() ? a[C + c] : full_of(out_[i], 0));
      else b.push_back(y < ys.size() ? a[X + stacked_.size() + y] : full_of(out_[i], 0));
    }
    auto g = spread(split_, interpret(*split_.bwd, b), in_.size());
    Arrays r;
    for (auto i : carries_) r.push_back(or_zero(g[N() + i], in_[N() + i]));
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      auto& sum = a[C + carries_.size() + k];
      r.push_back(accumulate(sum, g[sums_[k]].astype(sum.dtype())));
    }
    for (auto i : slices_) r.push_back(g[i]);
    return r;
  }
  Scan scan_;
  SplitPtr kept_;
  const Split& split_;
  Types in_, out_;      // of the body
  Arrays constants_, stacked_;
  std::vector<Place> residuals_;
  // Inputs of the body: carries with a cotangent; constants and xs with a gradient.
  std::vector<std::size_t> carries_, sums_, slices_;
};
}  // namespace

Linearized Scan::linearize(const Arrays& in, const Mask& needs) const {
  auto N = static_cast<std::size_t>(consts), K = static_cast<std::size_t>(carries);
  auto wrt = with_reached_carries(*this, needs);
  auto ny = body->out_types().size();
  Mask invariant(body->in_types().size());
  for (std::size_t i = 0; i < N; ++i) invariant[i] = true;
  const auto kept = split_vjp(body, wrt, {.invariant = invariant, .reused = K});
  const auto& s = *kept;
  std::vector<int> carry_in;
  for (int i : s.residual)
    if (i >= 0 && static_cast<std::size_t>(i) >= N && static_cast<std::size_t>(i) < N + K) carry_in.push_back(i);
  if (!carry_in.empty())
    return Scan{with_kept_carries(body, carry_in), consts, carries, length, reverse}.linearize(in, needs);

  auto all = call(Scan{s.fwd, consts, carries, length, reverse}, in);
  Arrays constants, stacked;  // a const stays a const, an x or y exists already, all others were stacked
  std::vector<Place> residuals;
  std::size_t extra = ny;
  for (int r : s.residual) {
    auto i = static_cast<std::size_t>(r);
    if (r >= 0 && i < N) {
      residuals.push_back({Place::constant, constants.size()});
      constants.push_back(in[i]);
    } else {
      residuals.push_back({Place::stacked, stacked.size()});
      stacked.push_back(r >= 0 ? in[i] : r == -1 ? all[extra++] : all[static_cast<std::size_t>(-2 - r)]);
    }
  }
  return {part(all, 0, ny),
          BackwardScan(*this, kept, wrt, std::move(constants), std::move(stacked), std::move(residuals))};
}
/// One loop carries values and tangents.
Pushed Scan::jvp(const Arrays& in, const Arrays& t) const {
  auto N = static_cast<std::size_t>(consts), K = static_cast<std::size_t>(carries), n = in.size();
  Mask m;
  for (auto& x : t) m.push_back(x.defined());
  const auto q = reached(body, m, N, K);
  auto moved = [&](std::size_t from, std::size_t to) {
    return static_cast<std::size_t>(
        std::count(m.begin() + static_cast<std::ptrdiff_t>(from), m.begin() + static_cast<std::ptrdiff_t>(to), true));
  };
  auto dconsts = moved(0, N), dcarry = moved(N, N + K), dxs = moved(N + K, n);
  const auto pushed_body = *body->memo.get<ProgramPtr>(Form::body, "jvp of scan " + bits(m), [&] {
    std::vector<int> order;  // consts, carry, xs, each followed by its tangents
    auto add = [&](std::size_t from, std::size_t to) {
      for (auto i = from; i < to; ++i) order.push_back(static_cast<int>(i));
    };
    add(0, N), add(n, n + dconsts);
    add(N, N + K), add(n + dconsts, n + dconsts + dcarry);
    add(N + K, n), add(n + dconsts + dcarry, n + dconsts + dcarry + dxs);
    std::vector<std::size_t> results;
    for (std::size_t k = 0; k < K; ++k) results.push_back(k);
    for (std::size_t k = 0; k < dcarry; ++k) results.push_back(q.out.size() + k);
    for (std::size_t k = K; k < q.out.size(); ++k) results.push_back(k);
    for (auto k = q.out.size() + dcarry; k < q.program->out.size(); ++k) results.push_back(k);
    return with_results(rewired(q.program, order), results);
  });
  Arrays a;
  auto add = [&](std::size_t from, std::size_t to) {
    append(a, part(in, from, to - from));
    for (auto i = from; i < to; ++i)
      if (m[i]) a.push_back(or_zero(t[i], in[i].type()));
  };
  add(0, N), add(N, N + K), add(N + K, n);
  auto y = call(Scan{pushed_body, static_cast<std::int64_t>(N + dconsts), static_cast<std::int64_t>(K + dcarry), length,
                     reverse},
                a);
  auto r = part(y, 0, K), tangents = part(y, K, dcarry);  // values, then tangents
  append(r, part(y, K + dcarry, q.out.size() - K));
  append(r, tangents);
  append(r, part(y, q.out.size() + dcarry, y.size() - q.out.size() - dcarry));
  return pushed(q.out, r);
}
std::vector<Mapped> Scan::batch(const std::vector<Mapped>& in, const BatchRules& c) const {
  auto N = static_cast<std::size_t>(consts), K = static_cast<std::size_t>(carries);
  Mask m;
  for (auto& i : in) m.push_back(i.axis >= 0);
  BatchedProgram b;
  for (bool changed = true; changed;) {  // which carries become mapped is a fixed point
    changed = false;
    Mask force(m.begin() + consts, m.begin() + consts + carries);
    b = batch_program(body, m, c, force);
    for (std::size_t i = 0; i < K; ++i)
      if (b.out[i] && !m[N + i]) m[N + i] = changed = true;
  }
  Arrays x;
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto v = mapped_front(in[i], c, m[i]).value;
    x.push_back(m[i] && i >= N + K ? moveaxis(v, 0, 1) : v);
  }
  auto y = call(Scan{b.program, consts, carries, length, reverse}, x);
  std::vector<Mapped> r;
  for (std::size_t k = 0; k < y.size(); ++k) r.push_back({y[k], b.out[k] ? (k < K ? 0 : 1) : -1});
  return r;
}
SamplesOf<Scan> Scan::samples() {
  Type t{{3}, f64}, w{{3, 3}, f64};
  auto body = stage(
                  [](const Arrays& a) {
                    auto h = tanh(matmul(a[0], a[1]) + a[2]);
                    return Arrays{h, h * a[1]};
                  },
                  {w, t, t})
                  .program;
  SamplesOf<Scan> r;
  for (bool reverse : {false, true})
    r.push_back({{body, 1, 1, 4, reverse},
                 {random_values({3, 3}, -1, 1, 1), random_values({3}, -1, 1, 2), random_values({4, 3}, -1, 1, 3)}});
  return r;
}
}  // namespace bora::ops
