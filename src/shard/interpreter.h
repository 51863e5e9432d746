// interpreter.h -- Shard: the interpreter whose values are blocks. A value that is not split is simply a plain value
// one level out. Private.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <vector>
#include "shard/agreement.h"
#include "bora/base/wire.h"
#include "bora/array/rules.h"

namespace bora {
namespace ops {
struct BroadcastInDim;
}  // namespace ops
class Shard final : public Interpreter, public ShardRules {
 public:
  /// `eager`: its operations run at once, one after the other, and are not part of a Program.
  Shard(Interpreter* parent, const MeshShape& m, int r, bool eager = false)
      : Interpreter(parent), mesh_(m), rank_(r), eager_(eager || parent == eval_interpreter()) {}
  bool eager() const { return eager_; }
  bool defers() const override { return !eager_; }
  Arrays process(const PrimitivePtr&, const Arrays&) override;
  const MeshShape& mesh() const override { return mesh_; }
  int rank() const override { return rank_; }
  Sharded reshard(const Sharded& x, const Spec& spec, const MeshAxes& keep = {}) const override {
    return reshard_over(x, spec, keep, {}, {});
  }
  Sharded reshard_over(const Sharded& x, const Spec& spec, const MeshAxes& keep, const Wire& wire,
                       const MeshAxes& over) const override;
  Sharded to_partial(const Sharded& x, const MeshAxes&) const override;
  bool turns(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&) const override;
  std::vector<Sharded> by_factors(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&) override;
  std::vector<Sharded> by_factors(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&,
                                  const LocalRule&) override;

  Sharded view(const Array&) const;    // a plain value is replicated; may be symbolic
  Array wrap(const Sharded&, OriginPtr = {}) const;  // replicated and complete: back to a plain value
  OriginPtr origin(const Array&) const;
  /// For the results of the current operation: the types that the ranks compared for the Program that it runs.
  void note(const OriginPtr& agreed) const { noted_ = Origin::joined({noted_, agreed}); }
  Sharded real(const Sharded&) const;  // a symbolic value materialized at its local shape
 private:
  std::vector<Sharded> by_factors_of(const PrimitivePtr&, const DimFactors&, const std::vector<Sharded>&,
                                     const Arrays* sources, const LocalRule* = nullptr);
  /// The result of p as a symbolic value; no symbolic one if it is better made at once (symbolic.cpp).
  Sharded deferred(const PrimitivePtr& p, const Arrays& in) const;
  Sharded stretched(const PrimitivePtr& p, const Array& operand) const;
  /// x, f32 or bf16, through a sum that travels as `wire`
  static Array coded(const Array& x, const Wire& wire, const std::function<Array(const Array&, const Wire&)>& sum);
  // The phases of reshard_over.
  void sum_pending(Sharded&, const Spec& target, const MeshAxes& keep, const Wire&, const MeshAxes& over) const;
  void hand_axes_over(Sharded&, const Spec& target) const;
  void gather(Sharded&, const Spec& target) const;
  void slice_to(Sharded&, const Spec& target, const Shape& block) const;
  /// how this rank's block over prefix divides over suffix
  Dims part_sizes(std::int64_t n, const MeshAxes& prefix, const MeshAxes& suffix) const;
  const MeshShape mesh_;
  const int rank_;
  const bool eager_;
  mutable OriginPtr noted_;
  // Values whose split was moved back (turned.cpp).
  struct Turned {
    Array local;   // kept, so that its address stays its own
    Spec spec;
    Sharded made;  // the same value before that
  };
  const Sharded* as_made(const Sharded&) const;
  /// `made` needs no communication to be split so.
  bool only_sliced(const Sharded& made, const Spec&) const;
  void keep_as_made(const Sharded& x, const Sharded& made) const;
  /// Of an elementwise operation p with the result y: from operands as they were made, if there are such ones.
  void also_as_made(const PrimitivePtr& p, const std::vector<Sharded>& in, const std::vector<Sharded>& ready,
                    const Sharded& y) const;
  mutable std::map<const ArrayValue*, Turned> turned_;
};
/// Does an element of the result come from those of the operands at its place alone?
bool is_elementwise(const Primitive&);
/// The draw whose result is split so, and the Spec of its keys.
std::pair<Spec, PrimitivePtr> drawn_at(const Primitive& draw, const Spec& spec);
namespace fx {
struct ShardedProgram {
  ProgramPtr program;
  std::vector<Sharded> out;  // local is empty
  std::shared_ptr<const std::vector<Sharded>> values = {};  // of global variables, before Specs flowed back
  ProgramPtr global = {};  // the global Program with the reshards that Specs which flow back put there
  std::shared_ptr<const std::vector<Sharded>> placed = {};  // of its variables
  OriginPtr agreed = {};     // its arguments' types, as the ranks compared them
};
using Forced = std::vector<std::optional<Sharded>>;  // outputs whose Spec and pending sums are given
/// How p is run on this rank. draft: only for the Specs of its results.
ShardedProgram shard_program(const ProgramPtr& p, const std::vector<Sharded>& in, const Shard&,
                             const Forced& force = {}, bool draft = false);
}  // namespace fx
}  // namespace bora
