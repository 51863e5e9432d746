// source.h -- where in the user's program an operation was written. Captured as return addresses, turned into text only
// in errors.
#pragma once
#include <array>
#include <memory>
#include <string>

namespace bora {
struct Source {
  std::array<void*, 12> frames{};
  int count = 0;
  std::string scope = {};  // tree path of the parameters among the operands, as far as known
};
using SourcePtr = std::shared_ptr<const Source>;
/// The call stack from here outwards, without text; within a SourceScope the place it names.
SourcePtr current_source();
/// While it lives, operations on this thread count as written at `source` (a Program that is run again). Null changes
/// nothing.
class SourceScope {
 public:
  explicit SourceScope(const SourcePtr& source);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;
 private:
  SourcePtr saved_;
};
/// "mlp.up, train.cpp:41": the scope, and the innermost frame that is not the library's. Empty if neither is known.
std::string describe(const Source&);
}  // namespace bora
