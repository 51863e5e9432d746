// checks.h -- comparing arrays, and gradients by a tape of a dozen lines (the real one lives in a later layer).
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <functional>
#include <algorithm>
#include <map>
#include "bora/array/primitive.h"
#include "compile/api/program.h"
#include "bora/ops/creation.h"
#include "bora/ops/ops.h"
#include "support/throws.h"
#include "bora/ops/indexing.h"

namespace bora::test {
inline std::vector<double> numbers(const Array& x) { return x.to_vector<double>(); }
/// Same shape and dtype, elements within rtol + atol; NaN equals NaN.
inline ::testing::AssertionResult close(const Array& got, const Array& want, double rtol = 1e-6, double atol = 1e-7) {
  if (got.type() != want.type())
    return ::testing::AssertionFailure() << "type " << got.type() << ", expected " << want.type();
  auto a = numbers(got), b = numbers(want);
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool same =
        a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i]);
    if (!same)
      return ::testing::AssertionFailure()
             << "element " << i << ": " << a[i] << ", expected " << b[i] << "\n got  " << got << "\n want " << want;
  }
  return ::testing::AssertionSuccess();
}
class Recorder final : public Interpreter {
 public:
  Recorder() : Interpreter(current()) {}
  Arrays process(const PrimitivePtr& p, const Arrays& in) override {
    Within w(parent);
    auto out = call(p, in);
    steps.push_back({p, in, out});
    return out;
  }
  struct Step {
    PrimitivePtr p;
    Arrays in, out;
  };
  std::vector<Step> steps;
};
/// Gradients of sum(f(x)) for all inputs, by the primitives' vjp rules; zeros where none arrives.
inline Arrays gradients(const std::function<Array(const Arrays&)>& f, const Arrays& x) {
  Recorder tape;
  Array y;
  {
    Within w(&tape);
    y = f(x);
  }
  std::map<const ArrayValue*, Array> ct{{y.get(), ones_like(y)}};
  for (auto s = tape.steps.rbegin(); s != tape.steps.rend(); ++s) {
    Arrays arrived;
    bool any = false;
    for (auto& o : s->out) {
      auto at = ct.find(o.get());
      arrived.push_back(at == ct.end() ? Array{} : at->second);
      any = any || arrived.back().defined();
    }
    if (!any || !is_float(s->out[0].dtype())) continue;
    Mask needs;
    for (auto& i : s->in) needs.push_back(is_float(i.dtype()));
    if (std::find(needs.begin(), needs.end(), true) == needs.end()) continue;
    auto g = s->p->vjp({s->in, s->out, arrived, needs});
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (!g[i].defined()) continue;
      auto& total = ct[s->in[i].get()];
      total = total.defined() ? total + g[i] : g[i];
    }
  }
  Arrays r;
  for (auto& i : x) r.push_back(ct.count(i.get()) ? ct[i.get()] : zeros_like(i));
  return r;
}
inline Array gradient(const std::function<Array(const Array&)>& f, const Array& x) {
  return gradients([&](const Arrays& a) { return f(a[0]); }, {x})[0];
}
/// The same by central differences, for f64.
inline Array difference(const std::function<Array(const Array&)>& f, const Array& x, double h = 1e-6) {
  auto v = numbers(x);
  std::vector<double> g(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    auto at = [&](double d) {
      auto w = v;
      w[i] += d;
      double total = 0;
      for (auto e : numbers(f(asarray(w, x.shape())))) total += e;
      return total;
    };
    g[i] = (at(h) - at(-h)) / (2 * h);
  }
  return asarray(g, x.shape());
}
}  // namespace bora::test
