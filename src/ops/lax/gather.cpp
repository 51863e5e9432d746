// General gather and scatter: one position in the raveled array for each element of the windows.
#include "kernels/api/index.h"
#include "bora/ops/lax.h"
#include "ops/numpy/support.h"
#include "ops/primitives/indexing.h"
#include "bora/ops/creation.h"
#include "ops/api/primitives.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora::lax {
using namespace ops;
namespace {
using kernels::ScatterMode;
struct Windows {
  Array positions;  // in the raveled x, of the shape of all windows; -1 where a window does not lie inside
  Array inside;     // of that shape; empty if all are
};
/// dims as gather has them; window: the sizes along all dimensions of x.
Windows windows_of(std::string_view what, const Array& x, const Array& indices, const GatherDims& dims,
                   const Shape& window, IndexMode mode) {
  auto nd = x.ndim();
  check<ShapeError>(indices.ndim() >= 1, what, ": the indices are [batch.., positions of a window], got ",
                    indices.type());
  check<DtypeError>(is_integer(indices.dtype()), what, ": indices must be integers, got ", indices.type());
  check<ShapeError>(static_cast<std::int64_t>(window.size()) == nd, what, ": ", window.size(),
                    " sizes of a window for an array of ", nd, " dimensions");
  check<ShapeError>(indices.shape(-1) == static_cast<std::int64_t>(dims.start_index_map.size()), what,
                    ": the indices ", indices.shape(), " hold ", indices.shape(-1), " positions of a window, and ",
                    dims.start_index_map.size(), " dimensions are named for them");
  check<ShapeError>(dims.operand_batching_dims.size() == dims.start_indices_batching_dims.size(), what, ": ",
                    dims.operand_batching_dims.size(), " batching dimensions of x and ",
                    dims.start_indices_batching_dims.size(), " of the indices");
  check<ShapeError>(x.size() <= std::numeric_limits<std::int32_t>::max(), what, ": positions are i32, and x ", x.type(),
                    " has ", x.size(), " elements");
  auto gone = joined(dims.collapsed_slice_dims, dims.operand_batching_dims);
  for (auto d : joined(gone, dims.start_index_map))
    check<IndexError>(d >= 0 && d < nd, what, ": there is no dimension ", d, " of ", x.shape());
  for (std::int64_t d = 0; d < nd; ++d) {
    auto n = window[at(d)];
    check<ShapeError>(n >= 0 && n <= x.shape(d), what, ": the window ", window, " does not fit into ", x.shape());
    check<ShapeError>(!contains(gone, d) || n == 1, what, ": dimension ", d, " disappears, so the window's size ", n,
                      " must be 1");
  }
  auto kept = others(nd, gone);
  check<ShapeError>(kept.size() == dims.offset_dims.size(), what, ": the window has ", kept.size(), " dimensions and ",
                    dims.offset_dims.size(), " places for them are named");
  auto batch_ndim = indices.ndim() - 1;
  auto out_ndim = batch_ndim + static_cast<std::int64_t>(kept.size());
  for (auto d : dims.offset_dims)
    check<IndexError>(d >= 0 && d < out_ndim, what, ": there is no dimension ", d, " of ", out_ndim);
  auto batch_places = others(out_ndim, dims.offset_dims);
  Shape out(Dims(at(out_ndim), 0));
  for (std::size_t i = 0; i < kept.size(); ++i) out[at(dims.offset_dims[i])] = window[at(kept[i])];
  for (std::int64_t i = 0; i < batch_ndim; ++i) out[at(batch_places[at(i)])] = indices.shape(i);

  auto strides = strides_of(x.shape());
  auto batch = indices.shape();
  batch.erase(at(batch_ndim));
  auto first = full_of({batch, i32}, 0);
  Array inside;
  for (std::size_t k = 0; k < dims.start_index_map.size(); ++k) {
    auto d = dims.start_index_map[k];
    auto start = index_in_dim(indices, batch_ndim, static_cast<std::int64_t>(k));
    auto most = x.shape(d) - window[at(d)];
    auto narrow = indices.dtype() == u8 || indices.dtype() == i32 ? start : clip(start.astype(i64), -1, most + 1);
    auto s = narrow.astype(i32);
    auto ok = s >= 0 && s <= constant(most, i32);
    if (mode == IndexMode::clamp) s = clamped(s, most + 1);
    else inside = inside.defined() ? inside && ok : ok;
    first = first + s * constant(strides[at(d)], i32);
  }
  for (std::size_t k = 0; k < dims.operand_batching_dims.size(); ++k) {
    auto d = dims.operand_batching_dims[k], b = dims.start_indices_batching_dims[k];
    check<IndexError>(b >= 0 && b < batch_ndim, what, ": there is no batch dimension ", b, " of the indices ",
                      indices.shape());
    check<ShapeError>(x.shape(d) == indices.shape(b), what, ": dimension ", d, " of x ", x.shape(), " and dimension ",
                      b, " of the indices ", indices.shape(), " must be equal");
    first = first + iota(batch, b) * constant(strides[at(d)], i32);
  }
  auto total = broadcast_in_dim(first, out, batch_places);
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (window[at(kept[i])] > 1)
      total = total + iota(out, dims.offset_dims[i]) * constant(strides[at(kept[i])], i32);
  if (!inside.defined()) return {total, {}};
  inside = broadcast_in_dim(inside, out, batch_places);
  return {where(inside, total, -1), inside};
}
GatherDims as_gather(const ScatterDims& d) {
  return {d.update_window_dims, d.inserted_window_dims, d.scatter_dims_to_operand_dims, d.operand_batching_dims,
          d.scatter_indices_batching_dims};
}
Shape window_of(std::string_view what, const Array& x, const Shape& updates, const ScatterDims& dims) {
  auto gone = joined(dims.inserted_window_dims, dims.operand_batching_dims);
  Shape window(Dims(at(x.ndim()), 1));
  std::size_t i = 0;
  for (auto d : others(x.ndim(), gone)) {
    check<ShapeError>(i < dims.update_window_dims.size(), what, ": dimension ", d, " of x ", x.shape(),
                      " has no place in update_window_dims");
    auto place = dims.update_window_dims[i++];
    check<IndexError>(place >= 0 && place < static_cast<std::int64_t>(updates.size()), what,
                      ": there is no dimension ", place, " of the updates ", updates);
    window[at(d)] = updates[at(place)];
  }
  return window;
}
Array scattered(std::string_view what, ScatterMode way, const Array& x, const Array& indices, const Array& updates,
                const ScatterDims& dims, IndexMode mode) {
  check<DtypeError>(promote(x.dtype(), updates.dtype()) == x.dtype(), what, ": updates of ", updates.dtype(),
                    " do not fit into ", x.dtype(), "; use astype()");
  auto w = windows_of(what, x, indices, as_gather(dims), window_of(what, x, updates.shape(), dims), mode);
  check<ShapeError>(w.positions.shape() == updates.shape(), what, ": the updates must be ", w.positions.shape(),
                    ", got ", updates.shape());
  auto y = call_one(Scatter{way, 0}, {ravel(x), ravel(w.positions), ravel(updates.astype(x.dtype()))});
  return reshape(y, x.shape());
}
}  // namespace

Array gather(const Array& x, const Array& start_indices, const GatherDims& dims, const Shape& slice_sizes,
             const GatherOptions& o) {
  auto w = windows_of("gather", x, start_indices, dims, slice_sizes, o.mode);
  auto y = call_one(Take{0, o.mode == IndexMode::fill}, {ravel(x), w.positions});
  return o.fill && w.inside.defined() ? where(w.inside, y, *o.fill) : y;
}
Array scatter(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter", ScatterMode::set, x, i, u, d, mode);
}
Array scatter_add(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter_add", ScatterMode::add, x, i, u, d, mode);
}
Array scatter_sub(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter_sub", ScatterMode::add, x, i, -u, d, mode);
}
Array scatter_mul(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter_mul", ScatterMode::multiply, x, i, u, d, mode);
}
Array scatter_min(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter_min", ScatterMode::min, x, i, u, d, mode);
}
Array scatter_max(const Array& x, const Array& i, const Array& u, const ScatterDims& d, IndexMode mode) {
  return scattered("scatter_max", ScatterMode::max, x, i, u, d, mode);
}
Array scatter_apply(const Array& x, const Array& indices, const std::function<Array(const Array&)>& f,
                    const Shape& update_shape, const ScatterDims& dims, IndexMode mode) {
  auto what = "scatter_apply";
  auto w = windows_of(what, x, indices, as_gather(dims), window_of(what, x, update_shape, dims), mode);
  check<ShapeError>(w.positions.shape() == update_shape, what, ": update_shape must be ", w.positions.shape(),
                    ", got ", update_shape);
  auto old = call_one(Take{0, false}, {ravel(x), w.positions});
  auto made = f(old);
  check<ShapeError>(made.type() == old.type(), what, ": f must return ", old.type(), ", got ", made.type());
  return reshape(call_one(Scatter{ScatterMode::set, 0}, {ravel(x), ravel(w.positions), ravel(made)}), x.shape());
}

namespace {
std::int64_t axis_of(std::string_view what, const Array& x, std::int64_t axis) {
  return normalize_axis(what, axis, x.ndim());
}
Arrays starts_along(const Array& x, const Array& start, std::int64_t axis) {
  Arrays starts(at(x.ndim()), constant(0, i32));
  starts[at(axis)] = start;
  return starts;
}
}  // namespace
Array dynamic_slice_in_dim(const Array& x, const Array& start, std::int64_t size, std::int64_t axis) {
  axis = axis_of("dynamic_slice_in_dim", x, axis);
  check<ShapeError>(size >= 0 && size <= x.shape(axis), "dynamic_slice_in_dim: size ", size,
                    " does not fit into dimension ", axis, " of ", x.shape());
  auto sizes = x.shape();
  sizes[at(axis)] = size;
  return dynamic_slice(x, starts_along(x, start, axis), sizes);
}
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start, std::int64_t axis) {
  axis = axis_of("dynamic_update_slice_in_dim", x, axis);
  return dynamic_update_slice(x, update, starts_along(x, start, axis));
}
Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& i, std::int64_t axis) {
  axis = axis_of("dynamic_update_index_in_dim", x, axis);
  auto u = update.ndim() == x.ndim() ? update : expand_dims(update, axis);
  check<ShapeError>(u.ndim() == x.ndim() && u.shape(axis) == 1, "dynamic_update_index_in_dim: an update ",
                    update.type(), " is no part of x ", x.type(), " at one position of dimension ", axis);
  return dynamic_update_slice(x, u, starts_along(x, i, axis));
}
Array index_take(const Array& x, const Arrays& indices, const Dims& axes) {
  check<ValueError>(!axes.empty() && indices.size() == axes.size(), "index_take: ", indices.size(),
                    " vectors of indices for ", axes.size(), " axes");
  Dims a;
  for (auto d : axes) a.push_back(axis_of("index_take", x, d));
  Arrays columns;
  auto sizes = x.shape();
  for (std::size_t k = 0; k < a.size(); ++k) {
    check_vector("index_take", "each list of indices", indices[k]);
    check<ShapeError>(indices[k].size() == indices[0].size(), "index_take: lists of ", indices[0].size(), " and ",
                      indices[k].size(), " indices differ");
    columns.push_back(from_front("index_take", indices[k], x.shape(a[k])));
    sizes[at(a[k])] = 1;
  }
  auto kept = static_cast<std::int64_t>(others(x.ndim(), a).size());
  return gather(x, stack(columns, 1), {range_of(kept, 1), a, a, {}, {}}, sizes, {.mode = IndexMode::clamp});
}
Array collapse(const Array& x, std::int64_t start, std::optional<std::int64_t> stop) {
  auto from = axis_of("collapse", x, start);
  auto to = stop.value_or(x.ndim());
  if (to < 0) to += x.ndim();
  check<IndexError>(to >= from && to <= x.ndim(), "collapse: there are no dimensions from ", start, " to ",
                    stop.value_or(x.ndim()), " of ", x.shape());
  Shape s;
  for (std::int64_t d = 0; d < from; ++d) s.push_back(x.shape(d));
  s.push_back(product(x.shape(), from, to));
  for (auto d = to; d < x.ndim(); ++d) s.push_back(x.shape(d));
  return reshape(x, s);
}
}  // namespace bora::lax
