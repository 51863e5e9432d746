// Whether chains agree, and how many independent draws they are worth: Vehtari, Gelman, Simpson, Carpenter & Burkner
// 2021, as ArviZ computes it.
#include "bora/fx/core.h"
#include "bora/ops/creation.h"
#include "bora/ops/fft.h"
#include "bora/ops/complex.h"
#include "bora/ops/indexing.h"
#include "bora/ops/lax.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/statistics.h"
#include "bora/ops/stats.h"
#include "bora/ops/ufuncs.h"
#include "bora/science/mcmc.h"

namespace bora::mcmc {
namespace {
/// Both halves of each chain: [chains, draws] -> [2 chains, draws / 2].
Array halves(const Array& x) {
  auto n = x.shape(1), half = n / 2;
  return concatenate({slice_in_dim(x, 1, 0, half), slice_in_dim(x, 1, n - half, n)});
}
/// Normal scores of the ranks among all draws.
Array scores(const Array& x) {
  auto n = static_cast<double>(x.size());
  auto ranks = stats::rankdata(ravel(x)).astype(x.dtype());
  return reshape(stats::norm::ppf((ranks - 0.375) / (n + 0.25)), x.shape());
}
/// Of the elements along an axis, divided by their number less one.
Array spread(const Array& x, std::int64_t axis) {
  auto n = static_cast<double>(x.shape(axis));
  return var(x, axis) * (n / (n - 1));
}
Array shrinks(const Array& x) {  // [chains, draws]
  auto n = static_cast<double>(x.shape(1));
  auto between = n * spread(mean(x, 1), 0), within = mean(spread(x, 1));
  return sqrt((between / within + n - 1) / n);
}
/// Of x [chains, draws].
Array independent(const Array& x) {
  auto chains = x.shape(0), n = x.shape(1);
  auto d = x.dtype();
  auto apart = x - mean(x, 1, {.keepdims = true});
  auto length = std::int64_t{1};
  while (length < 2 * n) length *= 2;
  auto f = fft::rfft(apart, {.n = length});
  auto power_of = square(real(f)) + square(imag(f));
  auto covariance = mean(slice_in_dim(fft::irfft(complex(power_of, zeros_like(power_of)), {.n = length}), 1, 0, n), 0) /
                    static_cast<double>(n);
  auto size = static_cast<double>(n);
  auto within = index_in_dim(covariance, 0, 0) * (size / (size - 1));
  auto total = within * ((size - 1) / size);
  if (chains > 1) total = total + spread(mean(x, 1), 0);
  auto rho = 1 - (within - covariance) / total;
  // Geyer's pairs: up to the first that is not positive, and never rising.
  auto pairs = n / 2;
  auto even = slice_in_dim(rho, 0, 0, 2 * pairs, 2), odd = slice_in_dim(rho, 0, 1, 2 * pairs, 2);
  auto places = arange(pairs);
  even = where(places == 0, 1., even);
  auto both = even + odd;
  auto most = static_cast<int>(std::max<std::int64_t>(0, (n - 3) / 2));
  auto end = minimum(amin(where(both > 0, static_cast<int>(pairs), places)), most);
  auto falling = lax::cummin(both);
  auto last = index_in_dim(take(even, expand_dims(end, 0), 0, IndexMode::clamp), 0, 0);
  auto tau = -1 + 2 * sum(where(places < end, falling, 0.)) + maximum(last, 0.);
  auto draws = static_cast<double>(chains * n);
  return draws / maximum(tau, constant(1 / std::log10(draws), d));
}
Array by_parameter(std::string_view what, const Array& x, const std::function<Array(const Array&)>& f) {
  check<ShapeError>(x.ndim() >= 2, what, ": draws are [chains, draws, ..], got ", x.type());
  auto d = x.dtype() == f64 ? f64 : f32;
  auto shape = x.shape();
  Shape rest(Dims(shape.begin() + 2, shape.end()));
  if (x.shape(1) < 4) return full(rest, std::numeric_limits<double>::quiet_NaN(), d);
  auto flat = reshape(x.astype(d), {x.shape(0), x.shape(1), -1});
  auto r = fx::vmap_flat([&](const Arrays& in) -> Arrays { return {f(in[0])}; }, {flat}, {.in = {2}});
  return reshape(r[0], rest);
}
}  // namespace

Array rhat(const Array& x) {
  return by_parameter("rhat", x, [](const Array& y) {
    auto h = halves(y);
    return maximum(shrinks(scores(h)), shrinks(scores(abs(h - median(h)))));
  });
}
Array ess(const Array& x, Ess of) {
  return by_parameter("ess", x, [of](const Array& y) {
    if (of == Ess::bulk) return independent(scores(halves(y)));
    if (of == Ess::mean) return independent(halves(y));
    auto below = [&](double q) { return independent(halves((y <= quantile(y, q)).astype(y.dtype()))); };
    return minimum(below(0.05), below(0.95));
  });
}
}  // namespace bora::mcmc
