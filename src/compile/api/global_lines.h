// global_lines.h -- the fingerprint of a Program before it is partitioned, which is that of the function that every
// rank staged. Private to compile and shard.
#pragma once
#include <string>
#include <vector>
#include "compile/api/program.h"

namespace bora {
struct GlobalLine {
  std::string words;  // "sin(input 0) -> f64[8]"
  SourcePtr source;   // not compared
};
/// Every operation of a global Program with its parameters, scalar constants and the types of its results, those of
/// held Programs behind it: equal on every rank that staged the same function. No addresses, source lines, labels or
/// values of captured Arrays. Operations on blocks, inside of shard_map, are left out, since a rank's sizes, and what
/// depends on them, are its own; a Program of blocks alone has no lines.
std::vector<GlobalLine> global_lines(const Program&);
}  // namespace bora
