// flags.h -- the words and flags of a command, bound to the fields of its aggregate. CLI11 parses them; its headers,
// which take six seconds of a compiler, stay in flags.cpp and commands.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI
namespace bora::app {
/// One of them, and what its values must be: each function returns the flag itself.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}
  Flag& required();
  Flag& one_of(const std::vector<std::string>& words);
  Flag& between(int least, int most);
  Flag& not_negative();
  /// Given several times, the last one counts.
  Flag& take_last();
  /// One value for each time it is given.
  Flag& one_value();
  /// In the help: of a value, and of what it is unless given.
  Flag& named(const std::string& type);
  Flag& no_default();
  /// Not in the help: given by Bora itself.
  Flag& hidden();

 private:
  CLI::Option* option_;
};

/// A name with dashes is a flag ("-n,--ranks"), another one a word at a place of its own; several words for a vector.
class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(app) {}
  Flag add(const std::string& name, std::string& value, const std::string& help);
  Flag add(const std::string& name, int& value, const std::string& help);
  Flag add(const std::string& name, std::optional<int>& value, const std::string& help);
  Flag add(const std::string& name, std::optional<std::string>& value, const std::string& help);
  Flag add(const std::string& name, std::int64_t& value, const std::string& help);
  Flag add(const std::string& name, double& value, const std::string& help);
  Flag add(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// f takes each value.
  Flag add(const std::string& name, std::function<void(const std::string&)> f, const std::string& help);
  /// True if the flag is given.
  Flag add(const std::string& name, bool& value, const std::string& help);
  /// f is called if the flag, which has no value, is given.
  Flag on(const std::string& name, std::function<void()> f, const std::string& help);
  /// Below the help.
  void footer(std::function<std::string()> text);

 private:
  CLI::App& app_;
};
}  // namespace bora::app
