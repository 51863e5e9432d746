#include "bora/fx/jacobian.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
/// The standard basis of arrays like this, [size, shape...].
Array basis_of(const Type& t) {
  auto n = t.size();
  Shape s{n};
  s.append(t.shape);
  return reshape(equal(iota({n, n}, 0), iota({n, n}, 1)).astype(t.dtype), s);
}
Array as_block(const Array& x, const Type& out, const Type& in) {
  Shape s = out.shape;
  s.append(in.shape);
  return reshape(x, s);
}
/// The places of the inputs by which f is differentiated. Throws if there are none. Forward, they are real.
std::vector<std::size_t> floating_inputs(const Arrays& in, std::size_t n, bool forward, const GradOptions& options) {
  std::vector<std::size_t> r;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_inexact(in[i].dtype())) continue;
    if (options.holomorphic) check_holomorphic("a Jacobian", "arguments", in[i].type());
    else if (forward)
      check<DtypeError>(
          !is_complex(in[i].dtype()), "a Jacobian needs floating values, got ", in[i].type(),
          "; split it into real and imaginary parts, or use jvp; of holomorphic functions it is jacfwd(f,",
          " {.holomorphic = true})");
    r.push_back(i);
  }
  check<DtypeError>(!r.empty(), "a Jacobian needs floating values, got ",
                    [&] { return n ? to_string(in[0].type()) : std::string("an argument without leaves"); });
  return r;
}
/// Forward, a result may be complex.
void check_floating(const Arrays& out, std::size_t results, bool forward, const GradOptions& options) {
  for (std::size_t k = 0; k < results; ++k) {
    if (options.holomorphic) check_holomorphic("a Jacobian", "results", out[k].type());
    else
      check<DtypeError>(is_float(out[k].dtype()) || (forward && is_complex(out[k].dtype())),
                        "a Jacobian needs floating values, got ", out[k].type(),
                        is_complex(out[k].dtype()) ? "; jacfwd takes complex results; of holomorphic functions it is "
                                                     "jacrev(f, {.holomorphic = true})"
                                                   : "");
  }
}
/// f of the first n inputs, the others as they are.
FlatFn of_first(const FlatFn& f, const Arrays& in, std::size_t n) {
  return [&f, &in, n](const Arrays& x) {
    auto all = x;
    append(all, part(in, n, in.size() - n));
    return f(all);
  };
}
}  // namespace

Blocks jacrev_flat(const FlatFn& f, const Arrays& in, std::size_t n, const std::function<std::size_t()>& results,
                   const GradOptions& options) {
  auto wrt = floating_inputs(in, n, false, options);
  auto v = vjp_flat(of_first(f, in, n), part(in, 0, n), Mask(n, true));
  auto count = results();
  check_floating(v.out, count, false, options);
  Blocks r{v.out, Arrays(count * n)};
  for (std::size_t k = 0; k < count; ++k) {
    auto& type = v.out[k].type();
    auto row = [&](const Arrays& basis) {
      Arrays ct(v.out.size()), some;
      ct[k] = basis[0];
      auto g = v.pullback(ct);
      for (auto i : wrt) some.push_back(g[i]);
      return some;
    };
    auto rows = vmap_flat(row, {basis_of(type)}, {{0}, {0}, -1, {}});
    for (std::size_t j = 0; j < wrt.size(); ++j) r.blocks[k * n + wrt[j]] = as_block(rows[j], type, in[wrt[j]].type());
  }
  return r;
}
Blocks jacfwd_flat(const FlatFn& f, const Arrays& in, std::size_t n, const std::function<std::size_t()>& results,
                   const GradOptions& options) {
  auto wrt = floating_inputs(in, n, true, options);
  auto l = linearize_flat(of_first(f, in, n), part(in, 0, n));
  auto count = results();
  check_floating(l.out, count, true, options);
  auto outs = types_of(part(l.out, 0, count));
  Blocks r{l.out, Arrays(count * n)};
  for (auto i : wrt) {
    auto& type = in[i].type();
    auto column = [&](const Arrays& basis) {
      Arrays t(n);
      t[i] = basis[0];
      return pushed(l.push, t, outs);
    };
    auto columns = vmap_flat(column, {basis_of(type)}, {{0}, {-1}, -1, {}});
    for (std::size_t k = 0; k < count; ++k) r.blocks[k * n + i] = as_block(columns[k], outs[k], type);
  }
  return r;
}
}  // namespace bora::fx
