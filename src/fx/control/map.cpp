#include "bora/fx/map.h"
#include "bora/ops/manipulation.h"
#include "fx/retrace.h"

namespace bora::fx {
namespace {
Arrays mapped(const FlatFn& f, const Arrays& xs, std::int64_t n) {
  VmapFlat how;
  how.in.assign(xs.size(), 0);
  how.size = n;
  return vmap_flat(f, xs, how);
}
/// The rows from .. to - 1 of each.
Arrays rows(const Arrays& xs, std::int64_t from, std::int64_t to) {
  Arrays r;
  for (auto& x : xs) r.push_back(slice_in_dim(x, 0, from, to));
  return r;
}
/// The first axis as two, or the first two as one: [first.., rest of the shape..].
Array led_by(const Array& x, std::int64_t skip, const Shape& first) {
  Shape s = first;
  for (auto i = skip; i < x.ndim(); ++i) s.push_back(x.shape(i));
  return reshape(x, s);
}
}  // namespace
Arrays map_shell(const FlatFn& f, const Arrays& xs, const std::vector<std::string>& labels, const MapOptions& o) {
  check<ValueError>(!xs.empty(), "map: xs has no leaves, so there is nothing to map over");
  check<ValueError>(!o.batch_size || *o.batch_size >= 1, "map: .batch_size must be at least 1, got ",
                    o.batch_size.value_or(0));
  for (std::size_t k = 0; k < xs.size(); ++k) {
    check<ShapeError>(
        xs[k].ndim() > 0, "map: ", [&] { return where(labels[k]); }, " is a scalar ", xs[k].type(),
        ": it has no leading axis to map over");
    check<ShapeError>(
        xs[k].shape(0) == xs[0].shape(0), "map: ", [&] { return where(labels[k]); }, " has ", xs[k].shape(0),
        " elements on its leading axis, but ", [&] { return where(labels[0]); }, " has ", xs[0].shape(0));
  }
  auto n = xs[0].shape(0), size = o.batch_size.value_or(1), chunks = n / size, whole = chunks * size;
  if (!o.batch_size) return scan_flat(f, {}, xs, n, false, labels);
  auto chunk = [&](const Arrays& in) { return mapped(f, in, size); };
  Arrays y;
  if (chunks > 0) {
    auto groups = rows(xs, 0, whole);
    for (auto& x : groups) x = led_by(x, 1, {chunks, size});
    y = scan_flat(chunk, {}, groups, chunks, false, labels);
    for (auto& a : y) a = led_by(a, 2, {whole});
  }
  if (chunks > 0 && whole == n) return y;
  auto rest = mapped(f, rows(xs, whole, n), n - whole);
  if (chunks == 0) return rest;
  for (std::size_t k = 0; k < y.size(); ++k) y[k] = concatenate({y[k], rest[k]}, 0);
  return y;
}
}  // namespace bora::fx
