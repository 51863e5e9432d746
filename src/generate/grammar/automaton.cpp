#include "generate/grammar/automaton.h"
#include <algorithm>
#include <string>
#include "bora/base/error.h"

namespace bora::generate::grammar {
namespace {
constexpr std::int64_t kMostStates = 200'000;
constexpr char32_t kLastOf[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};  // with so many bytes and one

struct Escape {
  char32_t character;
  char letter;
};
constexpr Escape kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
                               {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};

bool has(const Characters& set, char32_t c) {
  return std::ranges::any_of(set, [&](auto& range) { return range.first <= c && c <= range.second; });
}
std::string utf8(char32_t c) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}
/// Calls f with texts of bytes `low` and `high` so that the characters are those whose bytes lie between, each by
/// itself.
template <class F> void byte_ranges(char32_t low, char32_t high, const F& f) {
  for (auto last : kLastOf)
    if (low <= last && high > last) {
      byte_ranges(low, last, f);
      return byte_ranges(last + 1, high, f);
    }
  if (low >= 0x80)
    for (int shift : {6, 12, 18}) {
      char32_t within = (char32_t{1} << shift) - 1;
      if ((low & ~within) == (high & ~within)) break;
      if ((low & within) != 0) {
        byte_ranges(low, low | within, f);
        return byte_ranges((low | within) + 1, high, f);
      }
      if ((high & within) != within) {
        byte_ranges(low, (high & ~within) - 1, f);
        return byte_ranges(high & ~within, high, f);
      }
    }
  f(utf8(low), utf8(high));
}
}  // namespace

const Characters& all_characters() {
  static const Characters all{{0, 0xD7FF}, {0xE000, 0x10FFFF}};
  return all;
}
Characters sorted(Characters set) {
  std::sort(set.begin(), set.end());
  Characters r;
  for (auto& [low, high] : set)
    if (!r.empty() && low <= r.back().second + 1) r.back().second = std::max(r.back().second, high);
    else r.emplace_back(low, high);
  return r;
}
Characters others(const Characters& set) {
  Characters r;
  for (auto [low, high] : all_characters()) {
    for (auto& [first, last] : set) {
      if (last < low || first > high) continue;
      if (first > low) r.emplace_back(low, first - 1);
      low = last + 1;
    }
    if (low <= high) r.emplace_back(low, high);
  }
  return r;
}

std::int32_t Automaton::state() {
  bora::check<ValueError>(size() < kMostStates, "it is too large: it takes more than ", kMostStates, " states");
  auto i = static_cast<std::int32_t>(states_.size());
  states_.push_back({.alike = i});
  return i;
}
std::int32_t Automaton::rule() {
  auto first = state(), last = state();
  own(last).last = true;
  rules_.push_back({first, last});
  return static_cast<std::int32_t>(rules_.size()) - 1;
}
void Automaton::bytes(std::int32_t from, std::uint8_t low, std::uint8_t high, std::int32_t to) {
  own(from).edges.push_back({.kind = Edge::Kind::bytes, .low = low, .high = high, .to = to});
}
void Automaton::text(std::int32_t from, std::string_view text, std::int32_t to) {
  if (text.empty()) return skip(from, to);
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<std::uint8_t>(text[i]);
    auto next = i + 1 < text.size() ? state() : to;
    bytes(from, byte, byte, next);
    from = next;
  }
}
void Automaton::call(std::int32_t from, std::int32_t rule, std::int32_t to) {
  own(from).edges.push_back({.kind = Edge::Kind::rule, .rule = rule, .to = to});
}
void Automaton::skip(std::int32_t from, std::int32_t to) { own(from).edges.push_back({.to = to}); }
void Automaton::character(std::int32_t from, const Characters& set, std::int32_t to, bool free) {
  Characters several;
  for (auto [low, high] : set) {
    if (high > 0x7F) several.emplace_back(std::max<char32_t>(low, 0x80), high);
    for (auto [first, last] : {std::pair<char32_t, char32_t>{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7F}})
      if (auto a = std::max(low, first), b = std::min(high, last); a <= b)
        bytes(from, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), to);
  }
  for (auto& e : kEscapes)
    if (has(set, e.character)) several.emplace_back(e.character, e.character);
  if (several.empty()) return;
  auto known = parts_.find({several, free});
  if (known == parts_.end()) {
    auto part = rule();
    known = parts_.emplace(std::pair{several, free}, part).first;
    auto [first, last] = rule_at(part);
    auto slash = state();
    bytes(first, '\\', '\\', slash);
    for (auto& [low, high] : several) {
      if (low < 0x80) {
        for (auto& e : kEscapes)
          if (e.character == low) bytes(slash, static_cast<std::uint8_t>(e.letter),
                                        static_cast<std::uint8_t>(e.letter), last);
        continue;
      }
      byte_ranges(low, high, [&, first = first, last = last](const std::string& a, const std::string& b) {
        auto at = first;
        for (std::size_t i = 0; i < a.size(); ++i) {
          auto next = i + 1 < a.size() ? state() : last;
          bytes(at, static_cast<std::uint8_t>(a[i]), static_cast<std::uint8_t>(b[i]), next);
          at = next;
        }
      });
    }
    if (free) {
      bytes(slash, '/', '/', last);
      auto hex = [&](std::int32_t at, std::string_view digits, std::int32_t next) {
        for (char c : digits) {
          bytes(at, static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c), next);
          auto upper = static_cast<std::uint8_t>(c - 'a' + 'A');
          if (c >= 'a') bytes(at, upper, upper, next);
        }
      };
      auto any = [&](std::int32_t at, int n, std::int32_t next) {
        for (; n > 0; --n) {
          auto behind = n > 1 ? state() : next;
          hex(at, "0123456789abcdef", behind);
          at = behind;
        }
      };
      auto u = state(), d = state(), high = state(), low = state(), second = state();
      bytes(slash, 'u', 'u', u);
      auto three = state();
      hex(u, "0123456789abcef", three);
      any(three, 3, last);
      hex(u, "d", d);
      auto two = state();
      hex(d, "01234567", two);
      any(two, 2, last);
      hex(d, "89ab", high);  // the first half of a pair
      any(high, 2, low);
      text(low, "\\u", second);
      auto third = state(), fourth = state();
      hex(second, "d", third);
      hex(third, "cdef", fourth);
      any(fourth, 2, last);
    }
  }
  call(from, known->second, to);
}
void Automaton::same_from_afar(const std::vector<std::int32_t>& stretch, std::int64_t longest) {
  for (std::int64_t i = 1; i + longest < static_cast<std::int64_t>(stretch.size()); ++i)
    own(stretch[static_cast<std::size_t>(i)]).alike = stretch[0];
}
void Automaton::finish(std::int32_t rule) {
  std::vector<char> ends(states_.size());
  auto ended = [&](std::int32_t i) { return ends[static_cast<std::size_t>(i)] != 0; };
  auto leads = [&](const Edge& e) {
    return ended(e.to) && (e.kind != Edge::Kind::rule || ended(rule_at(e.rule).first));
  };
  // Backwards from the ends of rules. An edge that calls a rule waits for two states, and is looked at with both.
  std::vector<std::vector<std::int32_t>> before(states_.size());
  std::vector<std::int32_t> todo;
  for (std::int32_t i = 0; i < size(); ++i) {
    if (at(i).last) ends[static_cast<std::size_t>(i)] = 1, todo.push_back(i);
    for (auto& e : at(i).edges) {
      before[static_cast<std::size_t>(e.to)].push_back(i);
      if (e.kind == Edge::Kind::rule) before[static_cast<std::size_t>(rule_at(e.rule).first)].push_back(i);
    }
  }
  while (!todo.empty()) {
    auto last = todo.back();
    todo.pop_back();
    for (auto i : before[static_cast<std::size_t>(last)])
      if (!ended(i) && std::ranges::any_of(at(i).edges, leads)) {
        ends[static_cast<std::size_t>(i)] = 1;
        todo.push_back(i);
      }
  }
  bora::check<ValueError>(ended(rule_at(rule).first), "no value fits it");
  for (auto& s : states_) {
    std::erase_if(s.edges, [&](auto& e) { return !leads(e); });
    s.reads = std::ranges::any_of(s.edges, [](auto& e) { return e.kind == Edge::Kind::bytes; });
  }
}
}  // namespace bora::generate::grammar
