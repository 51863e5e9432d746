// jinja.h -- templates in Jinja, as far as published chat templates use it, in a sandbox: no template reads or changes
// anything but its values, and steps, depth and texts are limited. The settings are those of `transformers`
// (trim_blocks, lstrip_blocks, {% break %}, {% continue %}, {% generation %}); there are no inheritance, imports and
// autoescape.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "text/jinja/value.h"

namespace bora::text {
/// A template, for several threads at a time.
class Jinja {
 public:
  using Names = std::vector<std::pair<std::string, jinja::Value>>;
  /// place: how errors call the source. Throws ConfigError "PLACE:LINE: ..".
  Jinja(std::string_view source, std::string place);
  /// The text for these variables: each byte has its mark (jinja::kSaid where a value had it, jinja::kLearnt within
  /// {% generation %}). now: seconds since 1970 for strftime_now, in UTC, which is refused without. Throws ConfigError
  /// "PLACE:LINE: ..", also with what the template itself raises.
  jinja::Marked render(const Names&, std::optional<std::int64_t> now = {}) const;

 private:
  struct Tree;
  std::string place_;
  std::shared_ptr<const Tree> tree_;
};
}  // namespace bora::text
