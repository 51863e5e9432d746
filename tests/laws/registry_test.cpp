// Laws over the registry: derivatives, batching, staging, sharding of every primitive.
#include <set>
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/laws.h"

namespace bora::laws::registry_test {
namespace {
std::string label(const PrimitiveSample& s) {
  std::string r(s.primitive->name());
  r += " [";
  for (auto& a : s.in) r += to_string(a.type()) + " ";
  return r + "] " + s.primitive->params();
}
FlatFn function(const PrimitiveSample& s) {
  return [p = s.primitive](const Arrays& in) { return call(p, in); };
}
bool refuses_reverse(const PrimitiveSample& s) { return s.primitive->name() == "while_loop"; }
/// Tangents are derived from second derivatives, which are many operations: minutes on all meshes.
bool costly_forward(const PrimitiveSample& s) { return s.primitive->name().starts_with("attention"); }
/// The primitives without a derivative, or without one by some operand. Every other one must have it.
bool may_refuse(const PrimitiveSample& s) {
  static const std::set<std::string_view> names = {
      "gamma_slope",       "counts",        "expn",         "zeta_by_s",
      "riemann_zeta_by_s", "gammainc_by_a", "betainc_by_a", "betainc_by_b", "schur",
      "qr_raw",            "hessenberg",    "ldexp",        "bessel_j",  "spherical_harmonic",
      "quantized_dot",
      "hyp1f1_by_a",       "hyp1f1_by_b",   "hyp2f1_by_a",  "hyp2f1_by_c",
      "polygamma",         "log_gammainc_by_a", "log_gammaincc_by_a", "log_betainc_by_a", "log_betainc_by_b",
      "log_betaincc_by_a", "log_betaincc_by_b", "gennorm_cdf_by_beta",
      "paged_attention",   "write_pages"};
  return names.count(s.primitive->name()) > 0;
}
/// Vectors are given up to phases, which differences see: complex_linalg_test.cpp tests what does not depend on them.
bool free_phases(const PrimitiveSample& s) {
  auto name = s.primitive->name();
  return (name == "eigh" || name == "svd") && is_complex(s.in[0].dtype());
}
/// The primitives with a derivative by a parameter that has none itself.
bool may_refuse_twice(const PrimitiveSample& s) {
  static const std::set<std::string_view> names = {
      "betainc",      "betaincc",      "beta_hazard",  "beta_lower_hazard",  "gamma_hazard",
      "gammainc",     "gammaincc",     "gennorm_cdf",  "gamma_hazard_slope", "gamma_lower_hazard",
      "hyp1f1",       "hyp2f1",        "log_betainc",  "log_betaincc",       "gamma_lower_hazard_slope",
      "log_gammainc", "log_gammaincc", "riemann_zeta", "zeta"};
  return names.count(s.primitive->name()) > 0;
}
/// The differentiable inputs and outputs.
struct Smooth {
  Mask in;
  std::vector<std::size_t> out;
  bool any() const { return !out.empty() && std::find(in.begin(), in.end(), true) != in.end(); }
};
Smooth smooth(const PrimitiveSample& s, const Arrays& y) {
  Smooth m;
  for (auto& a : s.in) m.in.push_back(floating(a));
  if (s.primitive->name() == "reshard_like") m.in[1] = false;                   // only its Spec is read
  if (s.primitive->name() == "stop_gradient") m.in.assign(s.in.size(), false);  // zero by decree
  for (std::size_t i = 0; i < y.size(); ++i)
    if (floating(y[i])) m.out.push_back(i);
  return m;
}
Arrays random_like(const Arrays& x, int seed) {
  Arrays r;
  for (auto& a : x) {
    r.push_back(floating(a) ? rnd(a.shape(), seed++) : Array());
    if (!floating(a)) continue;
    if (is_complex(a.dtype())) r.back() = complex(r.back(), rnd(a.shape(), 100 + seed));
    r.back() = r.back().astype(a.dtype());
  }
  return r;
}
Arrays moved(const Arrays& x, const Arrays& v, const Mask& m, double eps) {
  Arrays r = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (m[i] && v[i].defined()) r[i] = x[i] + v[i] * eps;
  return r;
}
/// The tangents of the differentiable outputs, along v in the differentiable inputs.
Arrays forward(const FlatFn& f, const Smooth& m, const Arrays& in, Arrays v) {
  for (std::size_t i = 0; i < v.size(); ++i)
    if (!m.in[i]) v[i] = {};
  auto [y, t] = fx::jvp_flat(f, in, v);
  Arrays r;
  for (auto k : m.out) r.push_back(t[k].defined() ? t[k] : zeros_like(y[k]));
  return r;
}
bool all_f64(const Arrays& a) {
  return std::all_of(a.begin(), a.end(), [](auto& x) { return !floating(x) || real_dtype(x.dtype()) == f64; });
}
/// Other numbers of the same kind, for a second lane of a vmap.
Array variant(const Array& x) {
  switch (x.dtype()) {
    case Dtype::boolean: return !x;
    case Dtype::i32:
    case Dtype::i64:
    case Dtype::u8: return maximum(x - 1, 0).astype(x.dtype());
    case Dtype::u32: return x + 1;
    case Dtype::key: return random::wrap_key_data(random::key_data(x) + 1);
    default: return x * 0.9 + 0.05;
  }
}

/// The sample with complex numbers in place of f64, if the primitive takes them; else it must refuse them by a
/// DtypeError.
std::optional<PrimitiveSample> complex_sample(const PrimitiveSample& s) {
  if (s.primitive->traits.holds) return {};
  PrimitiveSample r = s;
  bool some = false;
  for (auto& a : r.in)
    if (a.dtype() == f64) {
      some = true;
      a = complex(a, 0.3 * flip(a) + 0.1);
    }
  if (!some) return {};
  try {
    (void)s.primitive->infer(types_of(r.in));
  } catch (const DtypeError&) { return {}; }
  return r;
}

class Registry : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<PrimitiveSample> samples() {
    std::vector<PrimitiveSample> r;
    for (auto& e : registry())
      if (e.name == GetParam())
        for (auto& s : e.samples()) r.push_back(s);
    for (auto& s : std::vector<PrimitiveSample>(r))
      if (auto c = complex_sample(s)) {
        r.push_back(*c);
        break;
      }
    return r;
  }
};
std::vector<std::string> names() {
  std::vector<std::string> r;
  for (auto& e : registry()) r.push_back(e.name);
  std::sort(r.begin(), r.end());
  r.erase(std::unique(r.begin(), r.end()), r.end());
  return r;
}

TEST_P(Registry, Derivatives) {
  for (auto& s : samples()) {
    SCOPED_TRACE(label(s));
    auto f = function(s);
    auto y = f(s.in);
    auto m = smooth(s, y);
    if (!m.any()) continue;
    auto ct = random_like(y, 21);
    if (refuses_reverse(s)) {
      EXPECT_THROW((void)fx::vjp_flat(f, s.in, m.in).pullback(ct), TraceError);
      auto v = random_like(s.in, 11);
      auto hi = f(moved(s.in, v, m.in, 1e-6)), lo = f(moved(s.in, v, m.in, -1e-6));
      Arrays diff;
      for (auto i : m.out) diff.push_back((hi[i] - lo[i]) / 2e-6);
      close(forward(f, m, s.in, v), diff, 1e-8, "jvp against finite differences");
      continue;
    }
    Arrays g;
    try {
      g = fx::vjp_flat(f, s.in, m.in).pullback(ct);
    } catch (const TraceError& e) {  // it must say so
      EXPECT_TRUE(may_refuse(s)) << e.what();
      EXPECT_NE(std::string(e.what()).find("differentiated"), std::string::npos) << e.what();
      continue;
    }
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!m.in[i]) g[i] = {};
    if (!all_f64(s.in) || !all_f64(y) || free_phases(s)) continue;  // finite differences need digits
    auto v = random_like(s.in, 11);
    double eps = 1e-6;
    auto hi = f(moved(s.in, v, m.in, eps)), lo = f(moved(s.in, v, m.in, -eps));
    Arrays diff(y.size());
    for (auto i : m.out) diff[i] = (hi[i] - lo[i]) / (2 * eps);
    auto want = inner(ct, diff), got = inner(g, v);
    EXPECT_NEAR(want, got, 2e-6 * std::max(1.0, std::abs(want))) << "vjp against finite differences";
    FlatFn smooth_f = [&](const Arrays& a) {
      Arrays x = s.in, z;
      std::size_t k = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (m.in[i]) x[i] = a[k++];
      auto o = f(x);
      for (auto i : m.out) z.push_back(o[i]);
      return z;
    };
    Arrays x, t, c;
    for (std::size_t i = 0; i < s.in.size(); ++i)
      if (m.in[i]) {
        x.push_back(s.in[i]);
        t.push_back(v[i]);
      }
    for (auto i : m.out) c.push_back(ct[i]);
    Mask all(x.size(), true);
    Smooth every{all, {}};
    for (std::size_t k = 0; k < c.size(); ++k) every.out.push_back(k);
    FlatFn tangent = [&](const Arrays& a) {
      return forward(smooth_f, every, {a.begin(), a.begin() + static_cast<std::ptrdiff_t>(x.size())},
                     {a.begin() + static_cast<std::ptrdiff_t>(x.size()), a.end()});
    };
    auto dy = tangent(joined(x, t));
    auto jv = inner(c, dy);
    EXPECT_NEAR(jv, got, 1e-9 * std::max(1.0, std::abs(jv))) << "<ct, jvp v> against <vjp ct, v>";
    close(run_staged(tangent, joined(x, t)), dy, 1e-14, "jit(jvp) = jvp");
    auto linear = fx::linearize_flat(smooth_f, x).push(t);
    for (std::size_t k = 0; k < dy.size(); ++k)
      if (!linear[k].defined()) linear[k] = zeros_like(dy[k]);
    close(linear, dy, 1e-9, "linearize = jvp");
    // second order: derivative of <vjp(ct), v> by finite differences
    FlatFn first = [&](const Arrays& a) { return fx::vjp_flat(smooth_f, a, Mask(a.size(), true)).pullback(c); };
    try {
      auto second = fx::vjp_flat(first, x, all).pullback(t);
      auto w = random_like(x, 31);
      eps = 1e-5;
      auto gh = first(moved(x, w, all, eps)), gl = first(moved(x, w, all, -eps));
      double fd = 0;
      for (std::size_t i = 0; i < x.size(); ++i) fd += inner({(gh[i] - gl[i]) / (2 * eps)}, {t[i]});
      auto hv = inner(second, w);
      EXPECT_NEAR(fd, hv, 2e-5 * std::max(1.0, std::abs(fd))) << "second derivative against finite differences";
      auto over = fx::jvp_flat(first, x, w).second;
      EXPECT_NEAR(inner(over, t), hv, 1e-8 * std::max(1.0, std::abs(hv))) << "jvp of grad";
      auto under = fx::vjp_flat([&](const Arrays& a) { return tangent(joined(a, t)); }, x, all).pullback(c);
      EXPECT_NEAR(inner(under, w), hv, 1e-8 * std::max(1.0, std::abs(hv))) << "grad of jvp";
    } catch (const TraceError& e) {
      EXPECT_TRUE(may_refuse_twice(s)) << e.what();
      EXPECT_NE(std::string(e.what()).find("differentiated"), std::string::npos) << e.what();
    }
    auto plain = first(x);
    for (auto keep : {Saveable::nothing, Saveable::dots, Saveable::everything})
      close(fx::vjp_flat([&](const Arrays& a) { return fx::checkpoint_flat(smooth_f, a, keep); }, x, all).pullback(c),
            plain, 0, "checkpoint changes no gradient bit");
    close(fx::vjp_flat([&](const Arrays& a) { return run_staged(smooth_f, a); }, x, all).pullback(c), plain, 0,
          "grad(jit f) = grad f");
  }
}

TEST_P(Registry, VmapIsLoopAndStack) {
  for (auto& s : samples()) {
    SCOPED_TRACE(label(s));
    if (s.in.empty()) continue;
    auto f = function(s);
    Arrays other;
    for (auto& a : s.in) other.push_back(variant(a));
    auto n = s.in.size();
    auto y0 = f(s.in);
    std::int64_t outs = 99;
    for (auto& y : y0) outs = std::min(outs, y.ndim() + 1);
    // Each input is not mapped (0) or mapped at one of its positions: the digits of k. Of thousands, only some are run.
    std::size_t total = 1;
    for (auto& a : s.in) total *= static_cast<std::size_t>(a.ndim()) + 2;
    std::size_t step = total > 2000 ? total / 400 : 1;
    if (step > 1)
      while (step % 2 == 0 || step % 3 == 0 || step % 5 == 0 || step % 7 == 0) ++step;  // reaches every place
    for (std::size_t k = 1; k < total; k += step) {
      Arrays x, second;
      std::vector<std::optional<std::int64_t>> axes(n);
      std::string what = "in";
      auto digits = k;
      for (std::size_t i = 0; i < n; ++i) {
        auto places = static_cast<std::size_t>(s.in[i].ndim()) + 2;
        if (auto d = digits % places) axes[i] = static_cast<std::int64_t>(d) - 1;
        digits /= places;
        second.push_back(axes[i] ? other[i] : s.in[i]);
        x.push_back(axes[i] ? stack({s.in[i], other[i]}, *axes[i]) : s.in[i]);
        what += axes[i] ? " " + std::to_string(*axes[i]) : " -";
      }
      auto y1 = f(second);
      for (std::int64_t o = 0; o < outs; ++o) {
        Arrays want;
        for (std::size_t i = 0; i < y0.size(); ++i) want.push_back(stack({y0[i], y1[i]}, o));
        close(fx::vmap_flat(f, x, {axes, {o}}), want, 1e-12, what + " out " + std::to_string(o));
      }
    }
    auto m = smooth(s, y0);
    if (!m.any() || s.primitive->traits.collective) continue;
    FlatFn along = [&](const Arrays& a) {
      Arrays in(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n)), v(n);
      std::size_t k = n;
      for (std::size_t i = 0; i < n; ++i)
        if (floating(s.in[i])) v[i] = a[k++];
      return forward(f, m, in, v);
    };
    try {
      Arrays x, both, two = s.in, others = other, want;
      for (auto& v : random_like(s.in, 13))
        if (v.defined()) two.push_back(v);
      for (auto& v : random_like(s.in, 17))
        if (v.defined()) others.push_back(v);
      for (std::size_t i = 0; i < two.size(); ++i) both.push_back(stack({two[i], others[i]}));
      auto a = along(two), b = along(others);
      for (std::size_t k = 0; k < a.size(); ++k) want.push_back(stack({a[k], b[k]}));
      std::vector<std::optional<std::int64_t>> zeros(both.size(), 0);
      close(fx::vmap_flat(along, both, {zeros, {0}}), want, 1e-12, "vmap(jvp) = loop of jvp");
    } catch (const TraceError& e) { EXPECT_TRUE(may_refuse(s)) << e.what(); }
    if (refuses_reverse(s)) continue;
    auto ct = random_like(y0, 5);
    FlatFn g = [&](const Arrays& in) {
      auto r = fx::vjp_flat(f, in, m.in).pullback(ct);
      Arrays z;
      for (std::size_t i = 0; i < r.size(); ++i)
        if (m.in[i]) z.push_back(r[i]);
      return z;
    };
    Arrays a, b;
    try {
      a = g(s.in);
      b = g(other);
    } catch (const TraceError&) {
      EXPECT_TRUE(may_refuse(s));
      continue;
    }
    Arrays x, want;
    for (std::size_t i = 0; i < n; ++i) x.push_back(stack({s.in[i], other[i]}));
    for (std::size_t i = 0; i < a.size(); ++i) want.push_back(stack({a[i], b[i]}));
    std::vector<std::optional<std::int64_t>> zeros(n, 0);
    close(fx::vmap_flat(g, x, {zeros, {0}}), want, 1e-12, "vmap(grad) = loop of grad");
    Arrays ct2;
    for (auto& c : ct) ct2.push_back(c.defined() ? stack({c, c}) : Array());
    auto gv = fx::vjp_flat([&](const Arrays& in) { return fx::vmap_flat(f, in, {zeros, {0}}); }, x, m.in).pullback(ct2);
    Arrays got;
    for (std::size_t i = 0; i < gv.size(); ++i)
      if (m.in[i]) got.push_back(gv[i]);
    close(got, want, 1e-12, "grad(vmap) = vmap(grad)");
  }
}

TEST_P(Registry, JitIsEager) {
  for (auto& s : samples()) {
    SCOPED_TRACE(label(s));
    auto f = function(s);
    close(run_staged(f, s.in), f(s.in), 0, "jit = eager");
    if (s.in.empty()) continue;
    std::vector<std::optional<std::int64_t>> zeros(s.in.size(), 0);
    FlatFn v = [&](const Arrays& a) { return fx::vmap_flat(f, a, {zeros, {0}}); };
    Arrays x;
    for (auto& a : s.in) x.push_back(stack({a, variant(a)}));
    close(run_staged(v, x), v(x), 0, "jit(vmap) = vmap");
  }
}

/// How much of the combinations is tried on a mesh: less where ranks are many, or where another mesh has more of the
/// same kind.
std::size_t sixths(const std::vector<MeshAxis>& axes) {
  if (axes.size() == 1) return axes[0].size == 3 ? 5 : axes[0].size == 2 ? 4 : 2;
  return axes[0].size == 2 ? 5 : 3;
}
TEST_P(Registry, ShardedIsLocal) {
  // For time, many samples share the combinations of placements; each sample begins with another one.
  auto shared = std::max<std::size_t>(2, 6 * combinations() / std::max<std::size_t>(1, samples().size()));
  auto tried = std::min(combinations(), shared);
  std::size_t number = 0;
  for (auto& s : samples()) {
    ++number;
    if (s.in.empty() || s.primitive->traits.collective) continue;
    auto f = function(s);
    auto y = f(s.in);
    auto m = smooth(s, y);
    auto ct = random_like(y, 7), v = random_like(s.in, 9);
    auto gradient = [&](const Arrays& in, const Arrays& c, bool pushed = true) {
      if (refuses_reverse(s)) return joined(f(in), forward(f, m, in, v));
      auto tangents = costly_forward(s) || !pushed ? Arrays{} : forward(f, m, in, v);
      auto r = fx::vjp_flat(f, in, m.in);
      auto g = r.pullback(c);
      Arrays out = r.out;
      for (std::size_t i = 0; i < g.size(); ++i)
        if (m.in[i]) out.push_back(g[i]);
      return joined(out, tangents);
    };
    bool differentiate = m.any();
    Arrays want = y;
    if (differentiate) {
      try {
        want = gradient(s.in, ct);
      } catch (const TraceError&) {
        EXPECT_TRUE(may_refuse(s));
        differentiate = false;
      }
    }
    for (auto& axes : meshes()) {
      std::string what = label(s) + " mesh " + name(axes);
      SCOPED_TRACE(what);
      auto run = [&] {
        local_mesh(axes, [&](const Mesh& mesh) {
          std::vector<std::vector<Spec>> options;
          std::size_t total = 1;
          for (auto& a : s.in) {
            options.push_back(all_specs(mesh.shape(), static_cast<std::size_t>(a.ndim())));
            total *= options.back().size();
          }
          auto here = effort() == Effort::full ? tried : std::max<std::size_t>(1, tried * sixths(axes) / 6);
          std::size_t step = total > here ? total / here : 1;
          if (step > 1)
            while (total % step == 0 || step % 2 == 0 || step % 3 == 0 || step % 5 == 0) ++step;  // reaches every Spec
          for (std::size_t k = number % step; k < total; k += step) {
            Arrays in;
            std::string where = what;
            auto q = k;
            for (std::size_t i = 0; i < s.in.size(); ++i) {
              auto& spec = options[i][q % options[i].size()];
              q /= options[i].size();
              in.push_back(with_sharding_constraint(s.in[i], spec));
              where += " " + to_string(spec);
            }
            bool pushed = k / step % 3 == 0;  // a third, for time
            FlatFn g = [&](const Arrays& a) { return differentiate ? gradient(a, ct, pushed) : f(a); };
            auto got = gathered(g(in));
            Arrays expected(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(got.size()));
            close(got, expected, 1e-12, "sharded = local " + where);
            auto staged = stage(g, types_of(in));
            auto all = joined(in, staged.captures);
            close(gathered(fx::run_jit(staged.program, all)), expected, 1e-12, "sharded(jit) = local " + where);
            same_everywhere(mesh, *fx::local_program(staged.program, all), where);
          }
        });
      };
      EXPECT_NO_THROW(run());
    }
  }
}
TEST(Registry, EveryPrimitiveHasSamplesOrIsTestedInContext) {
  std::vector<std::string> without;
  for (auto& e : registry())
    if (e.samples().empty()) without.push_back(e.name);
  std::sort(without.begin(), without.end());
  // Collectives and views of meshes have no meaning alone: laws/shard_test.cpp, exchange_test.cpp, sorted_test.cpp,
  // owners_test.cpp and nesting_test.cpp run them.
  std::vector<std::string> in_context{
      "all_gather",  "all_reduce",     "all_to_all", "axis_index",     "block_start",       "exchange",         "keep",
      "merge_sorted", "ppermute",      "reduce_scatter", "scatter_to_owners", "take_from_owners", "to_global",
      "to_local"};
  for (auto& n : without)
    EXPECT_TRUE(std::find(in_context.begin(), in_context.end(), n) != in_context.end()) << n << " has no samples()";
}
INSTANTIATE_TEST_SUITE_P(Laws, Registry, testing::ValuesIn(names()), [](auto& info) { return info.param; });
}  // namespace
}  // namespace bora::laws::registry_test
