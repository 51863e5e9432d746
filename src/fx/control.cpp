#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/elementwise.h"
#include "bora/ops/index.h"
#include "bora/ops/shape.h"
#include "fx/split.h"

namespace bora::fx {
namespace {
/// Runs body `n` times on elements first, first +- 1, .. of xs; ys of each element, in order of the elements.
Arrays straight_line(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t n, bool reverse) {
  auto c = init.size();
  Arrays carry = init;
  std::vector<Arrays> ys(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    auto i = reverse ? n - 1 - k : k;
    Arrays in = carry;
    for (auto& x : xs) in.push_back(index_in_dim(x, 0, i));
    auto r = body(in);
    carry = part(r, 0, c);
    ys[static_cast<std::size_t>(i)] = part(r, c, r.size() - c);
  }
  for (std::size_t j = 0; n > 0 && j < ys[0].size(); ++j) {
    Arrays column;
    for (auto& row : ys) column.push_back(row[j]);
    carry.push_back(stack(column, 0));
  }
  return carry;
}
/// `unroll` iterations per round: the loop runs over groups of elements; the remainder runs first in reverse, else
/// last.
Arrays unrolled(const FlatFn& body, const Arrays& init, const Arrays& xs, std::int64_t n, const ScanOptions& o,
                const std::vector<std::string>& labels) {
  auto c = init.size();
  auto u = static_cast<std::int64_t>(o.unroll), rounds = n / u, rest = n % u;
  auto range = [&](std::int64_t from, std::int64_t to) {
    Arrays r;
    for (auto& x : xs) r.push_back(slice_in_dim(x, 0, from, to));
    return r;
  };
  Arrays carry = init, tail;
  auto leftover = [&] {
    auto r = straight_line(body, carry, range(n - rest, n), rest, o.reverse);
    carry = part(r, 0, c);
    tail = part(r, c, r.size() - c);
  };
  if (rest && o.reverse) leftover();
  Arrays groups = range(0, n - rest);
  for (auto& x : groups) {
    auto s = x.shape();
    s[0] = u;
    s.insert(0, rounds);
    x = reshape(x, s);
  }
  auto group = [&](const Arrays& in) {
    return straight_line(body, part(in, 0, c), part(in, c, in.size() - c), u, o.reverse);
  };
  auto r = scan_flat(group, carry, groups, rounds, o.reverse, labels);
  carry = part(r, 0, c);
  Arrays ys = part(r, c, r.size() - c);
  for (auto& y : ys) {
    auto s = y.shape();
    s.erase(0);
    s[0] = rounds * u;
    y = reshape(y, s);
  }
  if (rest && !o.reverse) leftover();
  for (std::size_t j = 0; j < ys.size(); ++j) carry.push_back(rest ? concatenate({ys[j], tail[j]}, 0) : ys[j]);
  return carry;
}
}  // namespace
Arrays scan_shell(const FlatFn& body, const Arrays& init, const Arrays& xs, const std::vector<std::string>& labels,
                  const ScanOptions& o) {
  check<ValueError>(o.unroll >= 1, "scan: .unroll must be at least 1, got ", o.unroll);
  check<ValueError>(!xs.empty() || o.length,
                    "scan: there is nothing to scan over: xs has no leaves and .length is not given");
  std::int64_t n = o.length.value_or(-1);
  check<ValueError>(n >= 0 || !o.length, "scan: .length must not be negative, got ", n);
  for (std::size_t k = 0; k < xs.size(); ++k) {
    auto& name = labels[init.size() + k];
    check<ShapeError>(
        xs[k].ndim() > 0, "scan: ", [&] { return where(name); }, " of xs is a scalar ", xs[k].type(),
        ": it has no leading axis to scan over");
    check<ShapeError>(
        n < 0 || xs[k].shape(0) == n, "scan: ", [&] { return where(name); }, " of xs has ", xs[k].shape(0),
        " elements on its leading axis, but ", o.length ? ".length says " : "the others have ", n);
    n = xs[k].shape(0);
  }
  if (o.unroll == 1 || n == 0) return scan_flat(body, init, xs, n, o.reverse, labels);
  return o.unroll >= n ? straight_line(body, init, xs, n, o.reverse) : unrolled(body, init, xs, n, o, labels);
}
Arrays cond_shell(const Array& predicate, const FlatFn& on_true, const FlatFn& on_false, const Arrays& operands) {
  check<ShapeError>(predicate.ndim() == 0, "cond: the predicate must be a scalar, got ", predicate.type(),
                    "; use where(c, a, b) to choose element by element");
  check<DtypeError>(is_numeric(predicate.dtype()), "cond: the predicate must be a boolean or a number, got ",
                    predicate.type());
  return cond_flat(predicate.dtype() == boolean ? predicate : not_equal(predicate, 0), on_true, on_false, operands);
}
Arrays while_shell(const FlatFn& condition, const FlatFn& body, const Arrays& init) {
  auto checked = [&](const Arrays& in) {
    auto r = condition(in);
    check<ShapeError>(r.size() == 1 && r[0].ndim() == 0 && r[0].dtype() == boolean,
                      "while_loop: the condition must give a boolean scalar, got ",
                      [&] { return r.empty() ? std::string("an empty Array") : to_string(r[0].type()); });
    return r;
  };
  return while_flat(checked, body, init);
}
Arrays fori_shell(const LoopBound& lower, const LoopBound& upper, const FlatFn& body, const Arrays& init,
                  const std::vector<std::string>& labels) {
  if (lower.n && upper.n) {
    auto n = *upper.n - *lower.n;
    if (n <= 0) return init;
    auto i = add(iota({n}, 0), Scalar(*lower.n));
    auto swapped = [&](const Arrays& in) {  // (carry.., i) -> body(i, carry..)
      Arrays a{in.back()};
      append(a, part(in, 0, in.size() - 1));
      return body(a);
    };
    return scan_flat(swapped, init, {i}, n, false, labels);
  }
  auto bound = [](const LoopBound& b, std::string_view which) {
    if (b.n) return constant(Scalar(*b.n), i32);
    check<ShapeError>(b.a.ndim() == 0 && is_integer(b.a.dtype()), "fori_loop: the ", which,
                      " bound must be an integer scalar, got ", b.a.type());
    return b.a.astype(i32);
  };
  Arrays state{bound(lower, "lower"), bound(upper, "upper")};
  append(state, init);
  auto more = [](const Arrays& in) { return Arrays{less(in[0], in[1])}; };
  auto next = [&](const Arrays& in) {
    Arrays a{in[0]};
    append(a, part(in, 2, in.size() - 2));
    Arrays r{add(in[0], Scalar(1)), in[1]};
    append(r, body(a));
    return r;
  };
  auto r = while_flat(more, next, state);
  return part(r, 2, r.size() - 2);
}
}  // namespace bora::fx
