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
struct Staged {
  ProgramPtr program;
  Arrays captures;
};
/// How a Program is compiled. All choices give the same bits; they are for tests and measurements. Every rank must make
/// the same ones. Programs held by another one are compiled as the outermost says.
struct CompileOptions {
  bool fuse = true;      // elementwise operations and reductions of rows share loops
  bool pipeline = true;  // collectives of one iteration of a scan run while others compute
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
