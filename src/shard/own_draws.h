// own_draws.h -- a Program whose readers of draws have their own ones. Private.
#pragma once
#include <map>
#include <set>
#include <vector>
#include "bora/array/rules.h"
#include "compile/api/program.h"

namespace bora::fx {
/// A Program in which each reader of a draw, or of what is computed from draws and numbers element by element, has its
/// own: a draw costs less than its bytes on a wire.
struct OwnDraws {
  Program program;
  std::vector<Sharded> values;
  std::vector<std::map<int, int>> copies = {};  // each: the variable of p -> its copy
  std::set<int> kept = {};                      // variables of p with copies, but those that nothing reads now
  std::map<int, std::vector<int>> operands_of = {};  // which of them each is computed from
  /// The copies that are no different in the end, each with the variable that stays. made: the Specs of variables.
  std::map<int, int> merged(const std::vector<Spec>& made) const;
};
OwnDraws own_draws(const Program& p, const std::vector<Sharded>& values);
}  // namespace bora::fx
