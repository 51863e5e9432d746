// Functions that are linear in some of their inputs: their transposes, and custom_jvp, whose rule is transposed once.
#include "compile/api/control.h"
#include "bora/ops/creation.h"
#include "fx/call.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
Mask mask(std::size_t n, std::size_t from, std::size_t to) {
  Mask m(n);
  for (auto i = from; i < to; ++i) m[i] = true;
  return m;
}
/// Throws if a value that the transpose reads, or one of the first `plain` outputs, depends on the inputs `linear`.
void check_linear(const Split& s, const Mask& linear, std::size_t outputs, std::size_t plain, std::string_view words) {
  auto moved = depends(*s.fwd, linear, Flow::values);
  for (std::size_t k = 0; k < plain; ++k) check<TraceError>(!moved[k], words, ": result ", k, " depends on them");
  std::size_t extra = outputs;
  for (int r : s.residual) {
    bool varies = r >= 0 ? linear[static_cast<std::size_t>(r)] : moved[extra++];
    check<TraceError>(!varies, words, ": its derivative depends on them");
  }
}
Arrays zeros_of(const Types& types) {
  Arrays r;
  for (auto& t : types) r.push_back(full_of(t, 0));
  return r;
}
}  // namespace

namespace {
/// The transpose of p in the inputs for which `linear` holds, at these values of the others.
std::function<Arrays(const Arrays&)> transpose_program(const ProgramPtr& p, const Mask& linear, const Arrays& known,
                                                       std::string_view not_linear) {
  auto outs = p->out_types(), in = p->in_types();
  const auto kept = split_vjp(p, linear, {});
  const auto& split = *kept;
  check_linear(split, linear, outs.size(), 0, not_linear);
  auto with = [&](const Arrays& others, const Arrays& values) {
    Arrays a;
    std::size_t i = 0, k = 0;
    for (bool l : linear) a.push_back(l ? values[k++] : others[i++]);
    return a;
  };
  Types moving;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (linear[i]) moving.push_back(in[i]);
  Arrays extra;  // residuals that the others determine
  if (split.fwd->out.size() > outs.size()) {
    const auto fixed = *p->memo.get<ProgramPtr>(Form::body, "residuals " + bits(linear), [&] {
      return stage(
                 [&](const Arrays& others) {
                   auto all = interpret(*split.fwd, with(others, zeros_of(moving)));
                   return part(all, outs.size(), all.size() - outs.size());
                 },
                 types_of(known))
          .program;
    });
    extra = call(ops::Call{fixed}, known);
  }
  return [p, outs, linear, moving, kept,
          res = residuals(split, with(known, Arrays(moving.size())), extra)](const Arrays& ct) {
    const auto& split = *kept;
    Arrays all(linear.size()), g;
    if (!split.grad.empty()) {
      auto a = res;
      append(a, cotangents(split, ct, outs));
      all = spread(split, call(ops::Call{split.bwd}, a), linear.size());
    }
    for (std::size_t i = 0; i < linear.size(); ++i)
      if (linear[i]) g.push_back(or_zero(all[i], moving[g.size()]));
    return g;
  };
}
}  // namespace

std::function<Arrays(const Arrays&)> transpose_last(const ProgramPtr& p, const Arrays& known) {
  return transpose_program(p, mask(p->in.size(), known.size(), p->in.size()), known,
                           "custom_root: tangent_solve must be linear in y");
}
std::function<Arrays(const Arrays&)> linear_transpose_flat(const FlatFn& f, const Types& in) {
  auto s = stage(f, in);
  for (auto& t : in)
    check<DtypeError>(is_inexact(t.dtype), "linear_transpose: an argument is ", t, ", which is not floating");
  for (auto& t : s.program->out_types())
    check<DtypeError>(is_inexact(t.dtype), "linear_transpose: f gives ", t, ", which is not floating");
  return transpose_program(s.program, mask(s.program->in.size(), 0, in.size()), s.captures,
                           "linear_transpose: f is not linear in its arguments");
}

Arrays custom_jvp_flat(const FlatFn& f, const FlatFn& rule, const Arrays& in) {
  auto types = types_of(in), tangent_types = floating(types), all = types;
  append(all, tangent_types);
  auto s = stage(rule, all);
  auto n = types.size(), m = tangent_types.size();
  auto given = s.program->out_types();
  std::size_t outs = 0, moving = 0;  // the results come first, then a tangent for each floating one
  while (outs + moving < given.size()) moving += is_inexact(given[outs++].dtype);
  auto wrt = mask(n + m + s.captures.size(), n, n + m);
  const auto whole = split_vjp(s.program, wrt, {});
  const auto& split = *whole;
  check_linear(split, wrt, given.size(), outs, "custom_jvp: the rule must be linear in the tangents");
  auto forward = [&](const Arrays& x) {
    auto a = x;
    append(a, zeros_of(tangent_types));
    append(a, s.captures);
    auto y = interpret(*split.fwd, a);
    auto r = part(y, 0, outs);
    append(r, residuals(split, a, part(y, given.size(), y.size() - given.size())));
    return r;
  };
  auto backward = [&](const Arrays& a) {  // residuals, then a cotangent for each floating result
    auto kept = a.size() - moving;
    auto b = part(a, 0, kept);
    for (int o : split.ct) b.push_back(a[kept + static_cast<std::size_t>(o) - outs]);
    Arrays g(n + m);
    if (!split.grad.empty()) g = spread(split, interpret(*split.bwd, b), n + m);
    for (std::size_t k = 0; k < m; ++k) g[n + k] = or_zero(g[n + k], tangent_types[k]);
    return part(g, n, m);
  };
  return custom_vjp_flat(f, forward, backward, in);
}
}  // namespace bora::fx
