#include "bora/fx/control.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"
#include "fx/retrace.h"

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
/// A loop over groups of `size` elements, each run by `group`; the remainder, run by `rest_of`, comes first in reverse,
/// else last.
using Rounds = std::function<Arrays(const Arrays& carry, const Arrays& xs, std::int64_t n)>;
Arrays in_groups(const Rounds& group, const Rounds& rest_of, const Arrays& init, const Arrays& xs, std::int64_t n,
                 std::int64_t size, bool reverse, const std::vector<std::string>& labels) {
  auto c = init.size();
  auto rounds = n / size, rest = n % size;
  auto range = [&](std::int64_t from, std::int64_t to) {
    Arrays r;
    for (auto& x : xs) r.push_back(slice_in_dim(x, 0, from, to));
    return r;
  };
  Arrays carry = init, tail;
  auto leftover = [&] {
    auto r = rest_of(carry, range(n - rest, n), rest);
    carry = part(r, 0, c);
    tail = part(r, c, r.size() - c);
  };
  if (rest && reverse) leftover();
  Arrays groups = range(0, n - rest);
  for (auto& x : groups) {
    auto s = x.shape();
    s[0] = size;
    s.insert(0, rounds);
    x = reshape(x, s);
  }
  auto body = [&](const Arrays& in) { return group(part(in, 0, c), part(in, c, in.size() - c), size); };
  auto r = scan_flat(body, carry, groups, rounds, reverse, labels);
  carry = part(r, 0, c);
  Arrays ys = part(r, c, r.size() - c);
  for (auto& y : ys) {
    auto s = y.shape();
    s.erase(0);
    s[0] = rounds * size;
    y = reshape(y, s);
  }
  if (rest && !reverse) leftover();
  for (std::size_t j = 0; j < ys.size(); ++j) carry.push_back(rest ? concatenate({ys[j], tail[j]}, 0) : ys[j]);
  return carry;
}
}  // namespace
Arrays scan_shell(const FlatFn& body, const Arrays& init, const Arrays& xs, const std::vector<std::string>& labels,
                  const ScanOptions& o) {
  check<ValueError>(o.unroll >= 1, "scan: .unroll must be at least 1, got ", o.unroll);
  check<ValueError>(o.checkpoint_every >= 0, "scan: .checkpoint_every must not be negative, got ", o.checkpoint_every);
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
  Rounds line = [&](const Arrays& carry, const Arrays& x, std::int64_t k) {
    return straight_line(body, carry, x, k, o.reverse);
  };
  Rounds loop = [&](const Arrays& carry, const Arrays& x, std::int64_t k) {
    if (o.unroll == 1 || k == 0) return scan_flat(body, carry, x, k, o.reverse, labels);
    return o.unroll >= k ? line(carry, x, k) : in_groups(line, line, carry, x, k, o.unroll, o.reverse, labels);
  };
  if (o.checkpoint_every == 0 || n == 0) return loop(init, xs, n);
  Rounds segment = [&](const Arrays& carry, const Arrays& x, std::int64_t k) {
    auto all = carry;
    append(all, x);
    auto f = [&](const Arrays& in) {
      return loop(part(in, 0, carry.size()), part(in, carry.size(), in.size() - carry.size()), k);
    };
    return checkpoint_flat(f, all, Saveable::nothing);
  };
  auto every = static_cast<std::int64_t>(o.checkpoint_every);
  return every >= n ? segment(init, xs, n) : in_groups(segment, segment, init, xs, n, every, o.reverse, labels);
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
    auto swapped = [&](const Arrays& in) {  // (carry.., i) -> body(i, carry..)
      Arrays a{in.back()};
      append(a, part(in, 0, in.size() - 1));
      return body(a);
    };
    constexpr std::int64_t most = 1 << 24;  // numbers in memory; beyond, the counter is carried
    if (n <= most) return scan_flat(swapped, init, {add(iota({n}, 0), Scalar(*lower.n))}, n, false, labels);
    auto counting = [&](const Arrays& in) {
      auto r = swapped(in);
      r.push_back(add(in.back(), Scalar(1)));
      return r;
    };
    auto state = init;
    state.push_back(constant(Scalar(*lower.n), i32));
    auto named = labels;
    if (!named.empty()) named.emplace_back("counter");
    auto r = scan_flat(counting, state, {}, n, false, named);
    r.pop_back();
    return r;
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
