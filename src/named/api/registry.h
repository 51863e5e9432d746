// registry.h -- the registry of named functions. Each source adds its functions beside their positional forms, from
// which tests/named/laws_test.cpp tests all of them: by name as by position, staged as run directly, split as whole.
#pragma once
#include <functional>
#include <string>
#include "bora/named/array.h"

namespace bora {
using NamedArrays = std::vector<NamedArray>;
/// The axes of the samples: a:4, b:3. unary, whole, along and over take one array {a, b}, binary {a, b} and another
/// one.
enum class NamedKind : std::uint8_t {
  unary,   // elementwise
  binary,  // elementwise
  over,    // reduces b: of the positional form dimension 1
  whole,   // reduces all axes
  along    // keeps b: dimension 1
};
struct NamedFunction {
  std::string name;
  NamedKind kind;
  NamedArray (*named)(const NamedArrays&);
  Array (*positional)(const Arrays&);
  Dtype dtype;
  double lo, hi;
};
std::vector<NamedFunction>& named_functions();
/// Called by each source when the program starts.
bool add_named(std::vector<NamedFunction> functions);
}  // namespace bora
