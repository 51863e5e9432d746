// Chains: warm-up, draws, and their places on ranks.
#include "bora/science/mcmc.h"
#include "bora/compile/stage.h"
#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ravel.h"
#include "bora/ops/transform.h"
#include "bora/ops/ufuncs.h"
#include "bora/random/random.h"
#include "bora/shard/shard.h"
#include "science/adaptation.h"

namespace bora::fx {
namespace {
using namespace mcmc::core;
using mcmc::SampleOptions;
struct WarmUp {
  Place at;
  DualAveraging paces;
  Moments moments;
  Scales scales;
};
/// x [samples, n], then the fields of Chains, of one chain.
Arrays drawn_chain(const Density& f, const Array& key, const Array& start, const SampleOptions& o) {
  auto keys = random::split<4>(key);
  bool dense = o.metric == mcmc::Metric::dense;
  auto move = [&](const Place& at, const Scales& scales, const Array& pace, const Array& k) {
    return o.sampler == mcmc::Sampler::nuts ? nuts(f, at, scales, pace, k, o.max_depth)
                                            : hmc(f, at, scales, pace, k, o.leaps);
  };
  auto first = f(start + o.jitter * random::uniform(keys[0], start.shape(), start.dtype(), -1., 1.));
  auto unit = unit_scales(start, dense);
  WarmUp w{first, DualAveraging::at(log(first_pace(f, first, unit, keys[1]))), Moments::none_of(start, dense), unit};
  auto learn = [&](const WarmUp& w, const Arrays& x) {  // x: number, whether it counts, whether a window ends
    auto m = move(w.at, w.scales, exp(w.paces.log_pace), random::fold_in(keys[2], x[0]));
    WarmUp next{m.to, w.paces.next(m.acceptance, o.target_accept), w.moments, w.scales};
    next.moments = cond(x[1], [](const Moments& s, const Array& q) { return s.with(q); },
                        [](const Moments& s, const Array&) { return s; }, w.moments, m.to.x);
    auto settled = cond(x[2],
                        [&](const WarmUp& s) {
                          return WarmUp{s.at, DualAveraging::at(s.paces.average), Moments::none_of(start, dense),
                                        s.moments.scales()};
                        },
                        [](const WarmUp& s) { return s; }, next);
    return std::pair{settled, none};
  };
  auto plan = windows(o.warmup);
  if (o.warmup > 0) w = scan(learn, w, Arrays{arange(o.warmup), asarray(plan.counts), asarray(plan.ends)}).first;
  auto pace = exp(o.warmup > 0 ? w.paces.average : w.paces.log_pace);
  auto draw = [&](const Place& at, const Array& number) {
    auto m = move(at, w.scales, pace, random::fold_in(keys[3], number));
    return std::pair{m.to, Arrays{m.to.x, m.to.density, m.acceptance, m.steps, m.diverging}};
  };
  auto r = scan(draw, w.at, arange(o.samples)).second;
  r.push_back(pace);
  r.push_back(w.scales.inverse);
  return r;
}
void check_options(const Array& key, const Arrays& q0, const SampleOptions& o) {
  check<DtypeError>(key.dtype() == Dtype::key && key.ndim() == 0, "sample: needs one key, got ", key.type(),
                    "; random::key(seed) makes one");
  check<ShapeError>(!q0.empty(), "sample: q0 has no leaves");
  for (auto& q : q0)
    check<DtypeError>(q.dtype() == f32 || q.dtype() == f64, "sample: q0 must be f32 or f64, got ", q.type());
  check<ValueError>(o.chains >= 1 && o.warmup >= 0 && o.samples >= 1 && o.leaps >= 1, "sample: chains = ", o.chains,
                    ", warmup = ", o.warmup, ", samples = ", o.samples, ", leaps = ", o.leaps, " must be positive");
  check<ValueError>(o.max_depth >= 1 && o.max_depth <= 20, "sample: max_depth = ", o.max_depth,
                    " does not lie in [1, 20]");
  check<ValueError>(o.target_accept > 0 && o.target_accept < 1 && o.jitter >= 0, "sample: target_accept = ",
                    o.target_accept, " does not lie in (0, 1), or jitter = ", o.jitter, " is negative");
  if (o.over.empty()) return;
  check<ShardError>(here().mesh != nullptr, "sample: .over = \"", o.over, "\" needs a mesh in force; open it with "
                    "UseMesh");
}
}  // namespace

ChainsFlat sample_flat(const Array& key, const FlatFn& log_density, const Arrays& q0, const SampleOptions& o) {
  check_options(key, q0, o);
  auto types = types_of(q0);
  auto start = tree::ravel_leaves(q0).flat;
  auto on_vector = [&](const Arrays& in) -> Arrays {
    auto r = log_density(tree::unravel_leaves(in[0], types));
    check<ShapeError>(r.size() == 1 && r[0].ndim() == 0, "sample: log_density must give a scalar, got ",
                      r.empty() ? Type{} : r[0].type());
    return {r[0].astype(in[0].dtype())};
  };
  auto staged = stage(on_vector, {start.type()});
  auto chains = [&](const Arrays& in) {  // keys [chains], start, captures
    Arrays captures(in.begin() + 2, in.end());
    auto density = [&](const Array& x) {
      auto all = captures;
      all.insert(all.begin(), x);
      Mask wrt(all.size(), false);
      wrt[0] = true;
      auto v = vjp_flat([&](const Arrays& a) { return run_jit(staged.program, a); }, all, wrt);
      auto slope = v.pullback({ones_like(v.out[0])})[0];
      return Place{x, v.out[0], slope.defined() ? slope : zeros_like(x)};
    };
    return vmap_flat([&](const Arrays& k) { return drawn_chain(density, k[0], in[1], o); }, {in[0]}, {.in = {0}});
  };
  auto over_ranks = [&](const Arrays& in) {
    if (o.over.empty()) return chains(in);
    std::vector<Spec> specs;
    for (auto& x : in) specs.push_back(Spec::replicated(static_cast<std::size_t>(x.ndim())));
    specs[0][0] = MeshAxes{o.over};
    std::size_t results = 7;
    auto out = [&] {
      std::vector<OutSpec> r;
      for (std::size_t i = 0; i < results; ++i) r.push_back({std::to_string(i), Spec{o.over}});
      return r;
    };
    return shard_map_flat(chains, in, specs, out, {});
  };
  Arrays in{random::split(key, o.chains), start};
  in.insert(in.end(), staged.captures.begin(), staged.captures.end());
  for (auto& x : in) x = stop_gradient(x);
  auto whole = stage(over_ranks, types_of(in));
  auto all = in;
  all.insert(all.end(), whole.captures.begin(), whole.captures.end());
  auto r = run_jit(whole.program, all);
  ChainsFlat result{{}, r[1], r[2], r[3], r[4], r[5], r[6]};
  std::int64_t from = 0;
  for (auto& type : types) {
    auto shape = type.shape;
    shape.insert(0, o.samples);
    shape.insert(0, o.chains);
    result.q.push_back(reshape(slice_in_dim(r[0], 2, from, from + type.size()), shape).astype(type.dtype));
    from += type.size();
  }
  return result;
}
}  // namespace bora::fx
