// laws.h -- shared by the laws. A law holds for every primitive that exists in the program: a primitive is tested the
// day it is written.
#pragma once
#include <gtest/gtest.h>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include "bora/bora.h"
#include "compile/api/program.h"
#include "bora/fx/core.h"
#include "laws/effort.h"
#include "support/numbers.h"

namespace bora::laws {
/// The number of Specs, by the effort.
inline std::size_t combinations() {
  return effort() == Effort::full ? 600 : effort() == Effort::thin ? 4 : 6;
}
using test::rnd;
using test::values;
inline bool floating(const Array& a) { return a.defined() && is_inexact(a.dtype()); }
/// Its numbers; of complex ones all real parts, then all imaginary ones.
inline std::vector<double> numbers_of(const Array& a) {
  auto x = a.concrete();
  if (!is_complex(x.dtype())) return x.to_vector<double>();
  auto r = real(x).to_vector<double>(), im = imag(x).to_vector<double>();
  r.insert(r.end(), im.begin(), im.end());
  return r;
}
/// Largest |a - b| / max(1, |b|); infinite if types differ.
inline double worst(const Array& a, const Array& b) {
  if (a.type() != b.type()) return HUGE_VAL;
  if (a.dtype() == Dtype::key) return worst(random::key_data(a.concrete()), random::key_data(b.concrete()));
  auto x = numbers_of(a), y = numbers_of(b);
  double w = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(x[i] == y[i]) && !(std::isnan(x[i]) && std::isnan(y[i]))) {
      auto e = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
      w = std::max(w, std::isnan(e) ? HUGE_VAL : e);
    }
  return w;
}
inline void close(const Arrays& a, const Arrays& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].defined(), b[i].defined()) << what << ": result " << i;
    if (!a[i].defined()) continue;
    auto w = worst(a[i], b[i]);
    EXPECT_LE(w, tolerance) << what << ": result " << i << " " << a[i].type() << " against " << b[i].type();
  }
}
/// The real part of the sum of all products, without conjugation.
inline double inner(const Arrays& a, const Arrays& b) {
  double s = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!floating(a[i]) || !floating(b[i])) continue;
    auto x = numbers_of(a[i]), y = numbers_of(b[i]);
    auto real_ones = is_complex(a[i].dtype()) ? x.size() / 2 : x.size();
    for (std::size_t k = 0; k < x.size(); ++k) s += (k < real_ones ? 1 : -1) * x[k] * y[k];
  }
  return s;
}
inline std::vector<std::vector<MeshAxis>> meshes() {
  std::vector<std::vector<MeshAxis>> r{{{"data", 1}},
                                       {{"data", 2}},
                                       {{"data", 3}},
                                       {{"data", 4}},
                                       {{"data", 2}, {"model", 2}},
                                       {{"data", 3}, {"model", 2}},
                                       {{"data", 4, {3, 3, 2, 1}}},
                                       {{"data", 2, {3, 1}}, {"model", 2, {1, 2}}}};
  if (effort() == Effort::full) r.push_back({{"data", 2, {1, 3}}}), r.push_back({{"data", 2}, {"model", 2, {1, 3}}});
  return r;
}
inline std::string name(const std::vector<MeshAxis>& m) {
  std::string s;
  for (auto& a : m) {
    s += (s.empty() ? "" : "x") + std::to_string(a.size);
    for (std::size_t i = 0; i < a.shares.size(); ++i) s += (i ? ":" : "(") + std::to_string(a.shares[i]);
    s += a.shares.empty() ? "" : ")";
  }
  return s;
}
/// Every Spec of an array of n dimensions on this mesh.
inline std::vector<Spec> all_specs(const MeshShape& m, std::size_t ndim) {
  std::vector<Spec> r{Spec::replicated(ndim)};
  for (auto& entry : m.axes) {
    auto next = r;
    for (auto& s : r)
      for (std::size_t d = 0; d < ndim; ++d) {
        auto t = s;
        t[d].push_back(entry.first);
        next.push_back(t);
        if (s[d].empty()) continue;
        t = s;
        t[d].insert_front(entry.first);
        next.push_back(t);
      }
    r = next;
  }
  return r;
}
inline Arrays gathered(const Arrays& a) {
  Arrays r;
  for (auto& x : a) r.push_back(x.defined() ? gather(x) : x);
  return r;
}
inline Arrays joined(Arrays a, const Arrays& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// {f(in), the gradients of its elements' weighted sum by each leaf of `in`}: f gives a NamedArray.
template <class F, class In> Arrays with_gradients(const F& f, const In& in) {
  auto loss = [&](const In& x) {
    auto y = f(x).array();
    return sum(y * rnd(y.shape(), 7).astype(y.dtype()));
  };
  return joined({f(in).array()}, tree::leaves(grad(loss)(in)));
}
/// f staged on these arguments and run as an inner jit.
inline Arrays run_staged(const FlatFn& f, const Arrays& in) {
  auto s = stage(f, types_of(in));
  return fx::run_jit(s.program, joined(in, s.captures));
}
inline std::string one_line(const std::vector<std::string>& lines) {
  std::string s;
  for (auto& l : lines) s += l + "\n";
  return s;
}
/// The ranks' local Programs are one Program: the same instructions on the same operands, and the same collectives;
/// only sizes differ.
inline void same_everywhere(const Mesh& mesh, const Program& local, const std::string& what) {
  auto all = mesh.exchange(one_line(structure(local)) + "---\n" + one_line(fingerprint(local)), "law: one Program");
  std::istringstream mine(all[static_cast<std::size_t>(mesh.rank())]), first(all[0]);
  std::string x = "x", y = "x";
  int line = 0;
  while (x == y && (mine || first)) {
    ++line;
    if (!std::getline(mine, x)) x = "nothing";
    if (!std::getline(first, y)) y = "nothing";
  }
  EXPECT_EQ(x, y) << what << ": instruction " << line << " of rank " << mesh.rank() << " is not rank 0's";
}
}  // namespace bora::laws
