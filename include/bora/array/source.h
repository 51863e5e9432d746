// source.h -- where in the user's program an operation was written. Captured as return addresses, turned into text only in errors.
#pragma once
#include <array>
#include <string>

namespace bora {
struct Source {
  std::array<void*, 12> frames{};
  int count = 0;
  std::string scope = {};        // tree path of the parameters among the operands, as far as known
};
/// The call stack from here outwards, without text.
Source capture_source();
/// "mlp.up, train.cpp:41": the scope, and the innermost frame that is not the library's. Empty if neither is known.
std::string describe(const Source&);
}  // namespace bora
