// automaton.h -- texts as paths of bytes through states, and rules that paths go through and come back from: a finite
// automaton with a stack.
#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::generate::grammar {
/// To `to` with a byte from `low` to `high`, or, with a rule, after all of a text of this rule, or with nothing.
struct Edge {
  enum class Kind : std::uint8_t { bytes, rule, nothing };
  Kind kind = Kind::nothing;
  std::uint8_t low = 0, high = 0;
  std::int32_t rule = 0;
  std::int32_t to = 0;
};
struct State {
  std::vector<Edge> edges = {};
  bool last = false;       // of its rule: a text of it may end here
  bool reads = false;      // whether an edge has bytes
  std::int32_t alike = 0;  // a state from which a token fits exactly if it fits from this one; often itself
};
struct Rule {
  std::int32_t first = 0, last = 0;
};
/// Characters as ranges of code points, in order and apart.
using Characters = std::vector<std::pair<char32_t, char32_t>>;

class Automaton {
 public:
  /// Throws ValueError where there are too many.
  std::int32_t state();
  std::int32_t rule();
  void bytes(std::int32_t from, std::uint8_t low, std::uint8_t high, std::int32_t to);
  void text(std::int32_t from, std::string_view, std::int32_t to);
  void call(std::int32_t from, std::int32_t rule, std::int32_t to);
  void skip(std::int32_t from, std::int32_t to);
  /// One of these characters as strings of JSON have it: itself in UTF-8, or `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`.
  /// Other control characters are left out. free: also written as `\/` and `\u0061`, if these are all characters.
  void character(std::int32_t from, const Characters&, std::int32_t to, bool free = false);
  /// Says that tokens of at most `longest` bytes cannot tell those states apart that are further from the end of the
  /// stretch: each is a character behind the one before, and all do the same otherwise.
  void same_from_afar(const std::vector<std::int32_t>& stretch, std::int64_t longest);
  /// Removes all that leads nowhere. Throws ValueError if nothing is left of the rule.
  void finish(std::int32_t rule);
  const Rule& rule_at(std::int32_t i) const { return rules_[static_cast<std::size_t>(i)]; }
  const State& at(std::int32_t i) const { return states_[static_cast<std::size_t>(i)]; }
  std::int64_t size() const { return static_cast<std::int64_t>(states_.size()); }

 private:
  State& own(std::int32_t i) { return states_[static_cast<std::size_t>(i)]; }
  std::vector<State> states_ = {};
  std::vector<Rule> rules_ = {};
  std::map<std::pair<Characters, bool>, std::int32_t> parts_ = {};  // rules of characters of several bytes
};
/// All characters but the surrogates.
const Characters& all_characters();
/// Those that are none of these.
Characters others(const Characters&);
/// In order and apart.
Characters sorted(Characters);
}  // namespace bora::generate::grammar
