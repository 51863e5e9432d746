// One-hot labels, cross entropy.
#include "bora/array/communicator.h"
#include "bora/ops/accumulator.h"
#include "bora/ops/creation.h"
#include "bora/ops/nn.h"
#include "bora/ops/sharding.h"
#include "ops/numpy/support.h"
#include "bora/ops/reductions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/ufuncs.h"

namespace bora {
using namespace ops;
Array one_hot(const Array& indices, std::int64_t n, Dtype dtype) {
  check<DtypeError>(is_integer(indices.dtype()), "one_hot: indices are integers, not ", indices.dtype());
  check<ValueError>(n >= 0, "one_hot: n is the number of classes and must not be negative, got ", n);
  auto shape = indices.shape();
  shape.push_back(n);
  auto wide = promote(indices.dtype(), i32);  // u8 cannot count to n
  auto i = broadcast_in_dim(indices.astype(wide), shape, ops::range_of(indices.ndim()));
  return (i == iota(shape, indices.ndim(), wide)).astype(dtype);
}

Array cross_entropy(const Array& logits, const Array& labels) {
  check<DtypeError>(is_integer(labels.dtype()), "cross_entropy: labels are integers, not ", labels.dtype());
  check<ShapeError>(logits.ndim() >= 1, "cross_entropy: logits need a last dimension of classes, got ", logits.type());
  auto rows = logits.shape();
  rows.pop_back();
  check<ShapeError>(labels.shape() == rows, "cross_entropy: logits ", logits.shape(), " want labels of shape ", rows,
                    ", got ", labels.shape());
  auto x = in_real_accumulator(logits);
  // The label's logit as a masked sum: unlike a gather it fuses with the softmax in both directions, and it splits over
  // classes.
  auto classes = logits.shape(-1);
  auto index = promote(labels.dtype(), i32);  // u8 does not count to all classes
  auto spread = [&](const Array& v, const Dims& dims) { return broadcast_in_dim(v, logits.shape(), dims); };
  auto number = spread(iota({classes}, 0, index), {labels.ndim()});
  if (here().mesh) number = reshard_like(number, logits);  // labels and classes alone say nothing of a split
  auto hit = spread(labels.astype(index), range_of(labels.ndim())) == number;
  auto chosen = sum(where(hit, x, 0), -1);
  auto loss = logsumexp(x, -1) - chosen;
  return where(labels >= 0 && labels.astype(index) < constant(classes, index), loss, kNan);
}
}  // namespace bora
