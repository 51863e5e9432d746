// What warm-up learns.
#include "science/adaptation.h"
#include "bora/ops/contractions.h"
#include "bora/ops/creation.h"
#include "bora/ops/linalg.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::mcmc::core {
DualAveraging DualAveraging::at(const Array& log_pace) {
  auto zero = zeros_like(log_pace);
  return {log_pace, zero, zero, log_pace + std::log(10.), zero};
}
DualAveraging DualAveraging::next(const Array& acceptance, double target) const {
  constexpr double gamma = 0.05, early = 10, decay = 0.75;
  auto t = count + 1;
  auto weight = 1 / (t + early);
  auto g = (1 - weight) * gap + weight * (target - where(isnan(acceptance), 0., acceptance));
  auto pace = centre - sqrt(t) / gamma * g;
  auto eta = power(t, -decay);
  return {pace, eta * pace + (1 - eta) * average, g, centre, t};
}
Moments Moments::none_of(const Array& x, bool dense) {
  auto n = x.size();
  return {zeros_like(x), zeros(dense ? Shape{n, n} : Shape{n}, x.dtype()), zeros({}, x.dtype())};
}
Moments Moments::with(const Array& x) const {
  auto n = count + 1;
  auto apart = x - mean;
  auto m = mean + apart / n;
  auto more = squares.ndim() == 1 ? apart * (x - m) : outer(apart, x - m);
  return {m, squares + more, n};
}
Scales Moments::scales() const {
  auto of = squares / maximum(count - 1, 1.);
  auto kept = count / (count + 5), floor = 1e-3 * 5 / (count + 5);
  if (of.ndim() == 1) {
    auto v = kept * of + floor;
    return {v, sqrt(v)};
  }
  auto c = kept * (of + transpose(of)) * 0.5 + floor * eye(of.shape(0), of.dtype());
  return {c, linalg::cholesky(c)};
}
Scales unit_scales(const Array& x, bool dense) {
  auto one = dense ? eye(x.size(), x.dtype()) : ones_like(x);
  return {one, one};
}
Windows windows(std::int64_t warmup) {
  Windows w{std::vector<bool>(static_cast<std::size_t>(warmup), false), {}};
  w.ends = w.counts;
  if (warmup < 20) return w;
  std::int64_t begin = 75, end = 50, size = 25;
  if (begin + size + end > warmup) {
    begin = warmup * 15 / 100;
    end = warmup / 10;
    size = warmup - begin - end;
  }
  auto last = warmup - end;
  for (auto from = begin; from < last;) {
    if (3 * size > last - from) size = last - from;
    for (auto i = from; i < from + size; ++i) w.counts[static_cast<std::size_t>(i)] = true;
    from += size;
    w.ends[static_cast<std::size_t>(from - 1)] = true;
    size *= 2;
  }
  return w;
}
}  // namespace bora::mcmc::core
