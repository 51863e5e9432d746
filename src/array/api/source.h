// source.h -- the place in the user's program where an operation was called. Captured as return addresses, turned into
// text only for errors.
#pragma once
#include <array>
#include <memory>
#include <string>

namespace bora {
struct Source {
  std::array<void*, 12> frames{};
  int count = 0;
  std::string scope = {};  // names of NamedScopes, then the tree path of the parameters among the operands
};
using SourcePtr = std::shared_ptr<const Source>;
/// The current call stack as addresses, without text; within a SourceScope, the scope's source.
SourcePtr current_source();
/// While it lives, operations on this thread count as called at `source` (a Program that is run again). Null changes
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
/// "mlp.up, train.cpp:41": the scope, and the innermost frame outside of the library. Empty if neither is known.
std::string describe(const Source&);
}  // namespace bora
