// flags.h -- the words and flags of a command, bound to the fields of its aggregate: a table, from which commands.cpp
// makes CLI11's options.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>
#include "bora/config/duration.h"

namespace bora::app {
/// What a text of a flag names, as a place of job::Places.
enum class Names { nothing, input, texts, output, folder, imported, ranks };
/// One of them, and what its values must be: each function returns the flag itself.
class Flag {
 public:
  /// The place that takes the values. A function without an argument belongs to a flag that has none.
  using Target = std::variant<std::string*, int*, std::int64_t*, double*, bool*, std::optional<int>*,
                              std::optional<std::string>*, std::vector<std::string>*, config::Duration*,
                              std::function<void(const std::string&)>, std::function<void()>>;
  struct Form {
    std::optional<Names> names = {};  // of a flag with a text
    bool required = false, not_negative = false, take_last = false, one_value = false;
    bool no_default = false, hidden = false;
    std::vector<std::string> words = {};                 // empty: any
    std::optional<std::pair<int, int>> between = {};
    std::optional<std::string> type = {};                // of a value, in the help
  };
  Flag(std::string name, Target target, std::string help)
      : name_(std::move(name)), target_(std::move(target)), help_(std::move(help)) {}
  Flag& required() { return form_.required = true, *this; }
  Flag& one_of(const std::vector<std::string>& words) { return form_.words = words, *this; }
  Flag& between(int least, int most) { return form_.between = {least, most}, *this; }
  Flag& not_negative() { return form_.not_negative = true, *this; }
  Flag& names(Names what) { return form_.names = what, *this; }
  /// Given several times, the last one counts.
  Flag& take_last() { return form_.take_last = true, *this; }
  /// One value for each time it is given.
  Flag& one_value() { return form_.one_value = true, *this; }
  /// In the help: of a value, and of what it is unless given.
  Flag& named(const std::string& type) { return form_.type = type, *this; }
  Flag& no_default() { return form_.no_default = true, *this; }
  /// Not in the help: given by Bora itself.
  Flag& hidden() { return form_.hidden = true, *this; }

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const Target& target() const { return target_; }
  const Form& form() const { return form_; }

 private:
  std::string name_;
  Target target_;
  std::string help_;
  Form form_ = {};
};

/// A name with dashes is a flag ("-n,--ranks"), another one a word at a place of its own; several words for a vector.
class Flags {
 public:
  /// A bool is true if the flag, which has no value, is given.
  template <class T> Flag& add(const std::string& name, T& value, const std::string& help) {
    return all_.emplace_back(name, &value, help);
  }
  /// f takes each value.
  Flag& add(const std::string& name, std::function<void(const std::string&)> f, const std::string& help) {
    return all_.emplace_back(name, std::move(f), help);
  }
  /// f is called if the flag, which has no value, is given.
  Flag& on(const std::string& name, std::function<void()> f, const std::string& help) {
    return all_.emplace_back(name, std::move(f), help);
  }
  /// Below the help.
  void footer(std::function<std::string()> text) { footer_ = std::move(text); }

  const std::deque<Flag>& all() const { return all_; }
  const std::function<std::string()>& footer() const { return footer_; }

 private:
  std::deque<Flag> all_ = {};
  std::function<std::string()> footer_ = {};
};
}  // namespace bora::app
