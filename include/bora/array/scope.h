// scope.h -- names for parts of a program, in errors and traces.
#pragma once
#include <string>
#include <string_view>

namespace bora {
/// While it lives, operations of this thread belong to the part of this name, inside the parts already open: errors and
/// traces of runs say "encoder/attention, train.cpp:41", also when a jitted function runs later.
///     NamedScope s("encoder");
/// Source: jax.named_scope.
class [[nodiscard]] NamedScope {
 public:
  explicit NamedScope(std::string_view name);
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;
 private:
  std::string saved_;
};
}  // namespace bora
