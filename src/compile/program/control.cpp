// Call, Scan, Cond, While, CustomVjp, LinearSolve, Root: types and evaluation. Their other rules run held Programs
// again and live in fx and shard.
#include "compile/api/control.h"
#include <algorithm>
#include <list>
#include "array/api/nans.h"
#include "base/api/cache_counts.h"
#include "compile/api/executable.h"
#include "bora/ops/creation.h"
#include "bora/ops/manipulation.h"
#include "bora/array/primitive.h"

namespace bora::ops {
namespace {
void check_inputs(std::string_view what, const Types& got, const Types& want) {
  check<ShapeError>(got.size() == want.size(), what, ": takes ", want.size(), " inputs, got ", got.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    check<ShapeError>(got[i] == want[i], what, ": input ", i, " should be ", want[i], ", got ", got[i]);
}
}  // namespace

Types Call::infer(const Types& in) const {
  check_inputs("call", in, program->in_types());
  return program->out_types();
}
Arrays Call::run(const Arrays& in, const Types&) const { return run_program(program, in, donated); }

Types Scan::infer(const Types& in) const {
  auto nc = static_cast<std::size_t>(consts), nk = static_cast<std::size_t>(carries);
  auto want = body->in_types(), t = body->out_types();
  check<ShapeError>(in.size() == want.size() && t.size() >= nk, "scan: takes ", want.size(), " inputs, got ",
                    in.size());
  for (std::size_t i = 0; i < nk; ++i)
    check<ShapeError>(t[i] == want[nc + i], "scan: carry ", i, " enters the body as ", want[nc + i], " and leaves as ",
                      t[i], "; the body must return a carry of the same shape and dtype");
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto w = i < nc + nk ? want[i] : with_length(want[i], length);
    check<ShapeError>(in[i] == w, "scan: input ", i, " should be ", w, ", got ", in[i]);
  }
  for (std::size_t i = nk; i < t.size(); ++i) t[i] = with_length(t[i], length);
  return t;
}
/// A Program of one instruction, so that eager and staged scans share the Executable's loop.
static ProgramPtr single(const PrimitivePtr& p, const Types& in, const Types& out) {
  auto q = std::make_shared<Program>();
  Instruction i{p, {}, {}};
  for (auto& t : in) {
    i.in.push_back(static_cast<int>(q->vars.size()));
    q->vars.push_back(t);
  }
  q->in = i.in;
  for (auto& t : out) {
    i.out.push_back(static_cast<int>(q->vars.size()));
    q->vars.push_back(t);
  }
  q->out = i.out;
  q->code.push_back(std::move(i));
  return q;
}
/// Caches loops called eagerly, most recent first. Not kept on the held Programs: an entry holds its primitive, which
/// holds them.
static Arrays run_alone(const PrimitivePtr& p, const Arrays& in, const Types& out) {
  struct Entry {
    PrimitivePtr primitive;
    Types in;
    ExecutablePtr executable;
  };
  static std::mutex mutex;
  static std::list<Entry> recent;
  constexpr std::size_t kept = 64;
  static auto& counts = *new auto(detail::listed_cache("eager loops", kept));
  auto types = types_of(in);
  ExecutablePtr e;
  {
    std::lock_guard l(mutex);
    for (auto i = recent.begin(); i != recent.end() && !e; ++i)
      if (i->primitive->equals(*p) && i->in == types) {
        e = i->executable;
        recent.splice(recent.begin(), recent, i);
      }
  }
  counts->found(e != nullptr);
  if (!e) {
    e = executable(single(p, types, out));
    std::list<Entry> gone;  // destroyed without the lock
    std::lock_guard l(mutex);
    recent.push_front({p, types, e});
    counts->added();
    if (recent.size() > kept) {
      gone.splice(gone.begin(), recent, std::prev(recent.end()));
      counts->evicted();
    }
  }
  return e->run(in);
}
/// Is the loop run round by round from the start, since a repetition would communicate, or have its effects, again?
static bool opens(const Program& body) {
  return stops_at_nan() && std::any_of(body.code.begin(), body.code.end(),
                                       [](auto& i) { return communicates(i) || has_effect(i); });
}
static bool holds_nan(const Arrays& a) {
  return stops_at_nan() && std::any_of(a.begin(), a.end(), [](auto& x) { return first_nan(x) >= 0; });
}
static Arrays concat(const Arrays& a, std::size_t from, std::size_t n, const Arrays& b) {
  Arrays r(a.begin() + static_cast<std::ptrdiff_t>(from), a.begin() + static_cast<std::ptrdiff_t>(from + n));
  r.insert(r.end(), b.begin(), b.end());
  return r;
}
/// The loop round by round, so that the operation that gives the first NaN is found.
static Arrays opened(const Scan& s, const Arrays& in, const Types& out) {
  auto n = static_cast<std::size_t>(s.consts), k = static_cast<std::size_t>(s.carries);
  Arrays carry = concat(in, n, k, {});
  std::vector<Arrays> ys(out.size() - k, Arrays(static_cast<std::size_t>(s.length)));
  for (std::int64_t step = 0; step < s.length; ++step) {
    auto i = s.reverse ? s.length - 1 - step : step;
    auto a = concat(in, 0, n, carry);
    for (auto x = n + k; x < in.size(); ++x) a.push_back(index_in_dim(in[x], 0, i));
    auto r = run_program(s.body, a);
    carry = concat(r, 0, k, {});
    for (std::size_t y = 0; y < ys.size(); ++y) ys[y][static_cast<std::size_t>(i)] = r[k + y];
  }
  for (std::size_t y = 0; y < ys.size(); ++y) carry.push_back(s.length ? stack(ys[y], 0) : full_of(out[k + y], 0));
  return carry;
}
static Arrays opened(const While& w, const Arrays& in) {
  auto nc = static_cast<std::size_t>(w.cond_consts), nb = static_cast<std::size_t>(w.body_consts);
  auto carry = concat(in, nc + nb, in.size() - nc - nb, {});
  while (run_program(w.cond, concat(in, 0, nc, carry))[0].item<bool>())
    carry = run_program(w.body, concat(in, nc, nb, carry));
  return carry;
}
Arrays Scan::run(const Arrays& in, const Types& out) const {
  if (opens(*body)) return opened(*this, in, out);
  auto y = run_alone(primitive(*this), in, out);
  return holds_nan(y) ? opened(*this, in, out) : y;
}
Types Cond::infer(const Types& in) const {
  check<ShapeError>(!in.empty() && in[0] == Type{{}, Dtype::boolean}, "cond: the predicate must be one bool, got ",
                    in.empty() ? Type{} : in[0]);
  check_inputs("cond", Types(in.begin() + 1, in.end()), on_true->in_types());
  auto t = on_true->out_types(), f = on_false->out_types();
  check<ShapeError>(t.size() == f.size(), "cond: the branches return ", t.size(), " and ", f.size(),
                    " arrays; they must return the same");
  for (std::size_t i = 0; i < t.size(); ++i)
    check<ShapeError>(t[i] == f[i], "cond: the branches must have equal output types but result ", i, " is ", t[i],
                      " in one and ", f[i], " in the other");
  return t;
}
Arrays Cond::run(const Arrays& in, const Types&) const {
  return run_program(in[0].item<bool>() ? on_true : on_false, Arrays(in.begin() + 1, in.end()));
}
Types While::infer(const Types& in) const {
  auto first = static_cast<std::size_t>(cond_consts + body_consts);
  auto t = body->out_types();
  check<ShapeError>(in.size() == first + t.size(), "while_loop: takes ", first + t.size(), " inputs, got ", in.size());
  auto pred = cond->out_types();
  check<ShapeError>(pred.size() == 1 && pred[0] == Type{{}, Dtype::boolean},
                    "while_loop: the condition must return one bool scalar, got ", pred.empty() ? Type{} : pred[0]);
  for (std::size_t i = 0; i < t.size(); ++i)
    check<ShapeError>(in[first + i] == t[i], "while_loop: carry ", i, " enters the body as ", in[first + i],
                      " and leaves as ", t[i], "; the body must return a carry of the same shape and dtype");
  return t;
}
Arrays While::run(const Arrays& in, const Types& out) const {
  if (opens(*body) || opens(*cond)) return opened(*this, in);
  auto y = run_alone(primitive(*this), in, out);
  return holds_nan(y) ? opened(*this, in) : y;
}
Arrays While::vjp(const Vjp&) const {
  fail<TraceError>("while_loop cannot be differentiated in reverse (grad, vjp): the number of its rounds is not known ",
                   "when it is traced; use scan, or fori_loop with integer bounds, or a forward derivative (jvp, ",
                   "jacfwd)");
}
Types CustomVjp::infer(const Types& in) const {
  check_inputs("custom_vjp", in, program->in_types());
  return program->out_types();
}
Arrays CustomVjp::run(const Arrays& in, const Types&) const { return run_program(program, in); }
Types LinearSolve::infer(const Types& in) const {
  check_inputs("custom_linear_solve", in, solve->in_types());
  return solve->out_types();
}
Arrays LinearSolve::run(const Arrays& in, const Types&) const { return run_program(solve, in); }
Types Root::infer(const Types& in) const {
  check_inputs("custom_root", in, program->in_types());
  return program->out_types();
}
Arrays Root::run(const Arrays& in, const Types&) const { return run_program(program, in); }
}  // namespace bora::ops
namespace bora {
template PrimitivePtr primitive<ops::Call>(ops::Call);
template PrimitivePtr primitive<ops::Scan>(ops::Scan);
template PrimitivePtr primitive<ops::Cond>(ops::Cond);
template PrimitivePtr primitive<ops::While>(ops::While);
template PrimitivePtr primitive<ops::CustomVjp>(ops::CustomVjp);
template PrimitivePtr primitive<ops::LinearSolve>(ops::LinearSolve);
template PrimitivePtr primitive<ops::Root>(ops::Root);
}  // namespace bora
