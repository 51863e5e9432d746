// fields.h -- the fields of a request, each asked for once by its name. null is a field that is not there. Private.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include "json/api/value.h"

namespace bora::serve {
class Fields {
 public:
  /// in: the place of the object, such as "messages[2]"; empty: the body.
  explicit Fields(const json::Value& object, std::string in = {}) : object_(object), in_(std::move(in)) {}
  /// The field's name with its place.
  std::string place(std::string_view name) const { return (in_.empty() ? "" : in_ + ".") + std::string(name); }
  const json::Value* find(std::string_view name);
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> whole(std::string_view name, std::int64_t least, std::int64_t most);
  std::optional<double> number(std::string_view name, double least, double most);
  std::optional<std::string> text(std::string_view name);
  /// Fields that change nothing.
  void ignore(std::initializer_list<std::string_view> names);
  /// A field that is refused unless its value is this one (or null, an empty list, object or text).
  void only(std::string_view name, const json::Value& value = {});
  /// Refuses fields that nobody has asked for.
  void finish() const;

 private:
  const json::Value& object_;
  std::string in_;
  std::set<std::string, std::less<>> known_ = {};
};
/// "a string", "a negative number" ..: a value as errors name it.
std::string named(const json::Value&);
}  // namespace bora::serve
