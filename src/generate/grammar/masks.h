// masks.h -- an automaton with a stack walked byte by byte, and which tokens fit where it stands.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include "generate/grammar/automaton.h"
#include "generate/grammar/vocabulary.h"

namespace bora::generate::grammar {
/// A bit for each token: it fits.
using Mask = std::vector<std::uint64_t>;

/// Stacks: states in which rules go on that have called others. A text may stand at several at once. Where a text
/// stands is a number, and a byte leads from number to number. Throws ValueError where there are too many.
class Stacks {
 public:
  explicit Stacks(const Automaton& a) : automaton_(a) { (void)set({}, false); }
  static constexpr std::int32_t kNowhere = 0, kBottom = -1;
  struct Stack {
    std::int32_t state = 0, below = kBottom;
  };
  struct Set {
    std::vector<std::int32_t> tops = {};  // stacks whose uppermost state reads a byte
    bool whole = false;                   // the text of the bottom's rule may end here
    std::array<std::int32_t, 256> next = {};
  };
  /// With a state on a stack, and all that it leads to without a byte.
  std::int32_t begin(std::int32_t state, std::int32_t below = kBottom);
  /// Where the stack goes on when the rule on top of it has ended.
  std::int32_t begin_below(std::int32_t stack);
  std::int32_t next(std::int32_t set, std::uint8_t byte) {
    auto to = at(set).next[byte];
    return to != kUnknown ? to : step(set, byte);
  }
  const Set& at(std::int32_t set) const { return sets_[static_cast<std::size_t>(set)]; }
  const Stack& stack(std::int32_t i) const { return stacks_[static_cast<std::size_t>(i)]; }
  /// Whether it is time for new ones.
  bool full() const;
  /// The same place, which others have in theirs.
  std::int32_t copy(const Stacks& from, std::int32_t set);

 private:
  static constexpr std::int32_t kUnknown = -1;
  std::int32_t step(std::int32_t set, std::uint8_t byte);
  std::int32_t set(std::vector<std::int32_t> tops, bool whole);
  std::int32_t pushed(std::int32_t state, std::int32_t below);
  void reach(std::int32_t stack);
  std::int32_t reached();
  const Automaton& automaton_;
  std::vector<Stack> stacks_ = {};
  std::deque<Set> sets_ = {};
  std::unordered_map<std::uint64_t, std::int32_t> known_ = {};
  std::map<std::pair<std::vector<std::int32_t>, bool>, std::int32_t> known_sets_ = {};
  std::size_t held_ = 0;  // stacks in all sets
  // While stacks are looked for:
  std::vector<std::uint32_t> seen_ = {};
  std::uint32_t round_ = 1;
  std::vector<std::int32_t> tops_ = {};
  bool whole_ = false;
};

/// Tokens that fit, as they are asked for. What is kept is bounded. One thread at a time. Functions throw ValueError
/// for a grammar in which a text stands at too many places at once.
class Masks {
 public:
  Masks(Automaton, std::int32_t rule, std::shared_ptr<const Vocabulary>);
  /// Where a text stands, as long as these are the stacks.
  struct Place {
    std::shared_ptr<Stacks> stacks = {};
    std::int32_t set = 0;
  };
  Place begin();
  /// Walks from those states from which most tokens fit, such as within a string, so that no step waits for it; at most
  /// so many.
  void prepare(std::int64_t most);
  void take(Place&, std::string_view bytes);
  std::shared_ptr<const Mask> mask(Place&);
  const Stacks::Set& at(const Place& p) const { return p.stacks->at(p.set); }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const Automaton& automaton() const { return automaton_; }

 private:
  /// What fits from a state on, whatever is below it on the stack: the tokens whose bytes are a text of its rule or a
  /// beginning of one, and the nodes at which its rule ends and what is below it goes on.
  struct Local {
    std::vector<std::int32_t> few = {};  // tokens; or
    Mask many = {};
    std::vector<std::int32_t> ends = {};
  };
  void refresh(Place&, bool anyway = false);
  Mask mask_at(std::int32_t set);
  const Local& local(std::int32_t state);
  template <class Token, class End>
  void walk(Stacks&, std::int32_t node, std::int32_t set, const Token& token, const End& end);
  Automaton automaton_;
  std::int32_t rule_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<Stacks> stacks_;
  std::unordered_map<std::int32_t, std::shared_ptr<const Mask>> masks_ = {};  // of sets
  std::unordered_map<std::int32_t, Local> locals_ = {};                       // of states
  std::int64_t local_bytes_ = 0;
  std::vector<std::int32_t> path_ = {};
};
}  // namespace bora::generate::grammar
