// closures.h -- what a user's rule closes over, as values of its own: fx, which can stage the rule, says how.
#pragma once
#include <optional>
#include "bora/array/rules.h"

namespace bora::ops {
/// A function that closes over nothing: what it did is given to it behind its arguments.
struct Closed {
  FlatFn f;
  Arrays captures;
};
struct Closures {
  /// f on inputs of these types, if it closes over something and will run later or on other operands: a Program is
  /// staged, or a vmap within a derivative lifts the operation. Else nothing. `of`: whose rule it is, which may call
  /// the same operation again.
  std::optional<Closed> (*closed)(const FlatFn& f, const Types& in, const void* of) = nullptr;
  /// f of each element of a vmap, whose inputs have the mapped axis first.
  FlatFn (*mapped)(FlatFn f, const BatchRules&) = nullptr;
};
/// Filled in by fx before main.
Closures& closures();
}  // namespace bora::ops
