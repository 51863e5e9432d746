// rules.h -- arguments and results of primitives' rules: plain data, and the abstract services that fx (Batch) and
// shard implement.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/base/reduction.h"

namespace bora {
struct Program;
struct Wire;
namespace ops {
struct Moved;  // ops/api/exchange.h
}
using ProgramPtr = std::shared_ptr<const Program>;  // a compiled graph of operations, shared
// ---- derivatives ----------------------------------------------------------------------------------------------------
/// An empty ct is zero; rules return an empty Array for a zero gradient. needs: inputs whose gradient is wanted.
struct Vjp {
  const Arrays& in;
  const Arrays& out;
  const Arrays& ct;
  const Mask& needs;
};
/// The counterpart of vjp for higher-order primitives: the forward pass changes to save residuals.
struct Linearized {
  Arrays out;
  std::function<Arrays(const Arrays& ct)> pullback;
};
/// The results and their tangents. An empty tangent is zero.
struct Pushed {
  Arrays out, tangents;
};

// ---- sharding rules -------------------------------------------------------------------------------------------------
// An einsum-like map between dimensions. A label on an input and on the output: independent along it. On inputs only:
// reduced over it. kNone: the operation needs the whole dimension. Determines how Specs and pending sums propagate.
inline constexpr std::int64_t kNone = -1;
struct DimFactors {
  std::vector<Dims> in, out;
  std::vector<std::size_t> linear{};  // inputs in which the result is linear: pending sums may pass through them
  bool joint = false;                 // linear in all of `linear` together (add) rather than in each alone (mul)
  Reduction reduce = Reduction::sum;  // sum, max or min
};
/// The first `batch` dimensions of all operands and results go together; each of the others is needed whole.
DimFactors batch_factors(const Types& in, const Types& out, std::size_t batch);
/// An operation that has not run: its block is made once an operation needs it, at the split that this one wants.
struct Symbolic {
  PrimitivePtr primitive;  // has factors
  Arrays operands;
  std::int64_t size;       // elements of its operands
  std::size_t length = 1;  // operations that have not run, itself included
};
/// Shard's view of a value; type is global, partial: mesh axes over which it is a pending sum. Rules get symbolic
/// inputs, which have no local block, and those whose rows are still to move (`moved`, so that moves compose),
/// materialized unless they say takes_symbolic.
struct Sharded {
  Array local;
  Type type;
  Spec spec;
  MeshAxes partial = {};
  std::shared_ptr<const Symbolic> symbolic = {};
  std::shared_ptr<ops::Moved> moved = {};
};
std::string describe(const Sharded&);  // "f64[8, 4]{data, -} +model"
/// What rules of sharding may ask for: the mesh, moves between Specs, and the result that follows from factors.
class ShardRules {
 public:
  virtual ~ShardRules() = default;
  virtual const MeshShape& mesh() const = 0;
  /// May rows that move wait until their block is needed, so that moves compose? Only in Programs.
  virtual bool defers() const { return false; }
  virtual int rank() const = 0;
  /// x moved to `spec`. Pending sums over axes outside `keep` are completed: reduce_scatter where spec asks for that
  /// split, else all_reduce.
  virtual Sharded reshard(const Sharded& x, const Spec& spec, const MeshAxes& keep = {}) const = 0;
  Sharded resolve(const Sharded& x) const { return reshard(x, x.spec); }
  /// Do dimensions that p needs whole, and that these operands split, hand their split to other dimensions (by_factors
  /// does that), so that p needs no rule of its own?
  virtual bool turns(const PrimitivePtr& p, const DimFactors&, const std::vector<Sharded>&) const = 0;
  /// The value on the first rank of these axes, zero on the others: a complete value as a pending sum.
  virtual Sharded to_partial(const Sharded& x, const MeshAxes&) const = 0;
  virtual std::vector<Sharded> by_factors(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&) = 0;
  /// The same with another local operation: `local` gets the operands, split as the factors ask, and the results' types
  /// and Specs; it returns the results' blocks.
  using LocalRule = std::function<Arrays(const std::vector<Sharded>& in, const std::vector<Sharded>& out)>;
  virtual std::vector<Sharded> by_factors(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&,
                                          const LocalRule& local) = 0;
  /// reshard() where sums over the axes `over` travel as `wire` says; sums over other axes come before them, exact.
  /// DtypeError if these cannot: of f64.
  virtual Sharded reshard_over(const Sharded& x, const Spec& spec, const MeshAxes& keep, const Wire& wire,
                               const MeshAxes& over) const = 0;
  /// The shape of this rank's block. ShardError if the Spec names an axis twice or one that does not exist.
  Shape local_shape(const Shape&, const Spec&) const;
  /// Does splitting n and m over these axes cut at the same fractions, on every rank?
  bool same_blocks(std::int64_t n, std::int64_t m, const MeshAxes&) const;
};

// ---- batching rules -------------------------------------------------------------------------------------------------
struct Mapped {  // a value inside of a vmap, and its mapped dimension
  Array value;
  std::int64_t axis = -1;  // -1: not mapped
};
/// The mesh axes over which constraints inside of a vmap split the mapped dimension.
struct MappedOver {
  MeshAxes axes = {};
  bool strict = true;  // ShardError for a constraint that uses one of them itself; else it keeps it
};
/// What rules of batching may ask for: the vmap's size and name, and the same operation with one more dimension.
class BatchRules {
 public:
  BatchRules(std::int64_t n, std::string name, MappedOver over = {})
      : size(n), axis_name(std::move(name)), over(std::move(over)) {}
  virtual ~BatchRules() = default;
  const std::int64_t size;
  const std::string axis_name;
  const MappedOver over;
  /// The operation with one more leading dimension, on inputs that all have it (unmapped ones are broadcast).
  virtual std::vector<Mapped> lifted(const PrimitivePtr&, const std::vector<Mapped>&) const = 0;
  /// `f`, composed of other operations, under a vmap of its own.
  virtual std::vector<Mapped> composite(const FlatFn& f, const std::vector<Mapped>&) const = 0;
  Array front(const Mapped&) const;  // mapped axis first; an unmapped value is broadcast (ops)
};
}  // namespace bora
