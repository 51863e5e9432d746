// rules.h -- what the rules of a primitive take and give. Plain data, and the abstract services that fx (Batch) and
// shard implement.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/collective.h"

namespace bora {
struct Program;
using ProgramPtr = std::shared_ptr<const Program>;
// ---- derivatives ----------------------------------------------------------------------------------------------------
/// An empty ct is zero; rules return an empty Array for a zero gradient. needs: which inputs want one.
struct Vjp {
  const Arrays& in;
  const Arrays& out;
  const Arrays& ct;
  const Mask& needs;
};
/// What a higher-order primitive gives instead: its forward pass changes to save residuals.
struct Linearized {
  Arrays out;
  std::function<Arrays(const Arrays& ct)> pullback;
};

// ---- sharding rules -------------------------------------------------------------------------------------------------
/// An einsum-like map between dimensions. A label on an input and on the output: independent along it. On inputs only:
/// reduced over it. kNone: the operation needs the whole dimension. Propagation of Specs and pending sums follow from
/// it.
inline constexpr std::int64_t kNone = -1;
struct Factors {
  std::vector<Dims> in, out;
  std::vector<std::size_t> linear{};  // inputs the result is linear in: pending sums may pass through them
  bool joint = false;                 // linear in all of `linear` together (add) rather than in each alone (mul)
  Reduction reduce = Reduction::sum;  // sum, max or min
};
/// Shard's view of a value; type is global, partial: mesh axes over which it is a pending sum. A stretched value stays
/// symbolic until somebody needs its block: then `fill` is what broadcast_in_dim stretches, fill_dims say how, and
/// local is empty. Rules get such inputs made real, unless they say takes_symbolic.
struct Sharded {
  Array local;
  Type type;
  Spec spec;
  MeshAxes partial = {};
  Array fill = {};
  Dims fill_dims = {};
};
std::string describe(const Sharded&);  // "f64[8, 4]{data, -} +model"
class ShardRules {
 public:
  virtual ~ShardRules() = default;
  virtual const MeshShape& mesh() const = 0;
  virtual int rank() const = 0;
  /// x moved to `spec`. Pending sums over axes outside `keep` are completed: reduce_scatter where spec asks for that
  /// split, else all_reduce.
  virtual Sharded reshard(const Sharded& x, const Spec& spec, const MeshAxes& keep = {}) const = 0;
  Sharded resolve(const Sharded& x) const { return reshard(x, x.spec); }
  /// The value on the first rank of these axes, zero on the others: a complete value as a pending sum.
  virtual Sharded to_partial(const Sharded& x, const MeshAxes&) const = 0;
  virtual std::vector<Sharded> by_factors(const PrimitivePtr&, const Factors&, const std::vector<Sharded>&) = 0;
  /// This rank's block of such an array. ShardError if the Spec names an axis twice or one that does not exist.
  Shape local_shape(const Shape&, const Spec&) const;
  /// Does splitting n and m over these axes cut at the same fractions, on every rank?
  bool same_blocks(std::int64_t n, std::int64_t m, const MeshAxes&) const;
};

// ---- batching rules -------------------------------------------------------------------------------------------------
struct Mapped {
  Array value;
  std::int64_t axis = -1;  // -1: not mapped
};
class BatchRules {
 public:
  BatchRules(std::int64_t n, std::string name) : size(n), axis_name(std::move(name)) {}
  virtual ~BatchRules() = default;
  const std::int64_t size;
  const std::string axis_name;
  /// The operation with one more leading dimension, on inputs that all have it (unmapped ones are broadcast).
  virtual std::vector<Mapped> lifted(const PrimitivePtr&, const std::vector<Mapped>&) const = 0;
  /// `f`, written with other operations, under a vmap of its own.
  virtual std::vector<Mapped> composite(const FlatFn& f, const std::vector<Mapped>&) const = 0;
  Array front(const Mapped&) const;  // mapped axis first; an unmapped value is broadcast (ops)
};
}  // namespace bora
