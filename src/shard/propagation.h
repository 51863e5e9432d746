// propagation.h -- what the values of one Program are wanted in, and the Program with reshards in front of operations.
// Private.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include "shard/held_body.h"
#include "shard/own_draws.h"

namespace bora {
class TypesOnly;
namespace ops {
struct Iota;
}
}  // namespace bora
namespace bora::fx {
/// The Spec that a result is wanted in, if not as it comes; does the Program itself place it there?
struct Result {
  std::optional<Spec> spec = {};
  bool places = false;
};
struct Propagated {
  ProgramPtr program = {};     // null: as it was
  std::vector<Spec> in = {};   // that its inputs are wanted in
  Cost all = {}, saved = {};   // of each rank
};
void add(Cost& to, const Cost& c, double times);
Propagated propagated(const Program& p, const std::vector<Sharded>& values, const std::vector<Result>& results,
                      const Shard& s);

class Propagation {
 public:
  Propagation(const OwnDraws& given, const Shard& s);
  ~Propagation();
  /// Backward: what each value is wanted in.
  void backward(const std::vector<Result>& results);
  Propagated rewritten(const std::vector<Result>& results);

 private:
  struct Edit {
    std::vector<std::optional<Spec>> operands = {};  // resharded in front of the operation
    PrimitivePtr primitive = {};                     // in its place
    PrimitivePtr source = {};                        // makes its operand
  };
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }
  const Spec& has(int v) const { return has_[at(v)].spec; }
  Spec wished(int v) const;
  void want(int v, const Spec& spec);
  void as_is(const Instruction& i);
  /// Operand j comes in `spec`.
  void take(const Instruction& i, Edit& e, std::size_t j, const Spec& spec);
  /// The Spec that operand j is wanted in, open where a sum does not mind: along dimensions that it adds up, if the
  /// ranks then have little to add up.
  Spec summed(const Instruction& i, const DimFactors& f, std::size_t j, Spec spec) const;
  double parts(const Spec& spec) const;
  Cost cost_of(const Instruction& i) const;
  /// Counts what the operation no longer does.
  void save(const Instruction& i);
  void visit(const Instruction& i, Edit& e);
  void by_factors(const Instruction& i, Edit& e);
  /// A reshape whose result is not wanted otherwise: its first and last dimensions, as long as they stay the same, are
  /// open if those of the result are.
  void open_ends(const Instruction& i);
  /// The inverse reshape carries the wish back, unless a block would be made of rows of other ranks.
  void reshape(const Instruction& i, Edit& e);
  void draw(const Instruction& i, Edit& e);
  /// Both terms of an accumulate are wanted as their sum is.
  void terms(const Instruction& i, Edit& e);
  /// A scatter's target that is wanted in blocks of rows: each rank writes its own, and skips what falls into others.
  bool writes(const Instruction& i, const DimFactors& f, Edit& e);
  /// One row of numbers, which is stretched where it is needed.
  void count(const ops::Iota& iota, Edit& e);
  // Operations that hold Programs (propagate_held.cpp).
  void held(const Instruction& i, Edit& e);
  /// Both branches give their results as they are wanted.
  void branches(const Instruction& i, const Body& b, Edit& e);
  /// What a body must give: its carries in these Specs, other results as they are wanted.
  std::vector<Result> results_of(const Instruction& i, const Body& b, const std::vector<Spec>& carries) const;
  /// The body with its carries in these Specs.
  Propagated inside(const Instruction& i, const Body& b, const std::vector<Sharded>& in,
                    const std::vector<Spec>& carries, const std::vector<Result>& results) const;
  /// The Specs of the carries: as they are wanted, if the loop then sends nothing more and nothing else of it changes.
  std::vector<Spec> carried(const Instruction& i, const Body& b, const std::vector<Sharded>& in) const;

  const OwnDraws& given_;
  const Program& p_;
  const Shard& outer_;
  std::unique_ptr<TypesOnly> types_;
  Shard on_types_;
  std::vector<Sharded> has_;                // forward
  std::vector<Spec> made_;                  // as it is computed in the end
  std::vector<std::optional<Spec>> wish_;   // of all readers; none: nobody reads it
  std::vector<Edit> edits_;
  Cost all_, saved_;
};
}  // namespace bora::fx
