// stage.h -- staging a function as a Program, and queries on the result that need no definition of Program.
#pragma once
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "bora/array/rules.h"

namespace bora {
struct Staged {  // a Program, and the values that f closed over, which are its last inputs
  ProgramPtr program;
  Arrays captures;
};
/// How a Program is compiled. Every rank must make the same choices. Programs held by another one are compiled as the
/// outermost says. fuse and pipeline do not change results; they are for tests and measurements.
struct CompileOptions {
  bool fuse = true;              // elementwise operations and reductions of rows share loops
  bool pipeline = true;          // collectives of one iteration of a scan run while others compute
  bool flush_denormals = false;  // numbers below the normal range are zero: see bora/base/denormals.h
};
/// f staged on inputs of these types under the current interpreter.
Staged stage(const FlatFn& f, const Types& in, const std::vector<std::string>& labels = {},
             const CompileOptions& = {});
/// Instructions with this name, held Programs included.
std::size_t count(const Program&, std::string_view primitive);
/// The collectives in order, held Programs included: (name, axes, global shape, dtype, reduction), and nothing else.
std::vector<std::string> fingerprint(const Program&);
/// Every instruction: name and operands, held Programs included; no parameters, no types. Equal on every rank.
std::vector<std::string> structure(const Program&);
/// Readable text: one instruction per line, constants inline, held Programs indented.
std::string print(const Program&, int indent = 0);
std::ostream& operator<<(std::ostream&, const Program&);
std::ostream& operator<<(std::ostream&, const ProgramPtr&);
}  // namespace bora
