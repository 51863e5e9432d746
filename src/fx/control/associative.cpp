#include "bora/fx/associative.h"
#include "bora/ops/manipulation.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
class Scanner {
 public:
  Scanner(const FlatFn& f, Dims a) : f_(f), axes_(std::move(a)) {}
  /// Pairs are combined, their running results are found, and the elements between them follow.
  Arrays operator()(const Arrays& x, std::int64_t n) const {
    if (n < 2) return x;
    auto odd = (*this)(f(every_other(x, 0, n - 1), every_other(x, 1, n)), n / 2);
    Arrays even = range(x, 0, 1);
    if (n > 2) {
      auto after = f(range(odd, 0, (n - 1) / 2), every_other(x, 2, n));
      for (std::size_t k = 0; k < x.size(); ++k) even[k] = concatenate({even[k], after[k]}, axes_[k]);
    }
    return woven(even, odd, n);
  }
  Arrays range(const Arrays& x, std::int64_t from, std::int64_t to, std::int64_t step = 1) const {
    Arrays r;
    for (std::size_t k = 0; k < x.size(); ++k) r.push_back(slice_in_dim(x[k], axes_[k], from, to, step));
    return r;
  }

 private:
  Arrays f(Arrays a, const Arrays& b) const {
    append(a, b);
    return f_(a);
  }
  Arrays every_other(const Arrays& x, std::int64_t from, std::int64_t to) const { return range(x, from, to, 2); }
  /// even[0], odd[0], even[1], ..: n elements.
  Arrays woven(const Arrays& even, const Arrays& odd, std::int64_t n) const {
    auto pairs = range(even, 0, n / 2);
    Arrays r;
    for (std::size_t k = 0; k < even.size(); ++k) {
      auto axis = axes_[k];
      auto s = even[k].shape();
      s[static_cast<std::size_t>(axis)] = n / 2 * 2;
      r.push_back(reshape(stack({pairs[k], odd[k]}, axis + 1), s));
      if (n % 2) r[k] = concatenate({r[k], slice_in_dim(even[k], axis, n / 2, n / 2 + 1)}, axis);
    }
    return r;
  }
  const FlatFn& f_;
  Dims axes_;
};
}  // namespace
Arrays associative_scan_shell(const FlatFn& combine, const Arrays& x, const std::vector<std::string>& labels,
                              const AssociativeScanOptions& o) {
  check<ValueError>(!x.empty(), "associative_scan: the elements have no leaves, so there is nothing to scan over");
  Dims axes;
  std::int64_t n = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    auto d = x[k].ndim();
    check<ShapeError>(
        -d <= o.axis && o.axis < d, "associative_scan: ", [&] { return where(labels[k]); }, " of type ", x[k].type(),
        " has no axis ", o.axis);
    axes.push_back(o.axis < 0 ? o.axis + d : o.axis);
    auto length = x[k].shape(axes[k]);
    if (k == 0) n = length;
    check<ShapeError>(
        length == n, "associative_scan: ", [&] { return where(labels[k]); }, " has ", length, " elements on axis ",
        o.axis, ", but ", [&] { return where(labels[0]); }, " has ", n);
  }
  auto reversed = [&](Arrays a) {
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = flip(a[k], axes[k]);
    return a;
  };
  Scanner scan(combine, axes);
  return o.reverse ? reversed(scan(reversed(x), n)) : scan(x, n);
}
}  // namespace bora::fx
