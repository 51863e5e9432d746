#include "generate/grammar/numbers.h"
#include <algorithm>
#include <array>
#include <map>

namespace bora::generate::grammar {
namespace {
constexpr int kFreeDigits = 20, kExponentDigits = 2;

std::uint8_t digit(int d) { return static_cast<std::uint8_t>('0' + d); }
/// `least` to `most` digits.
void digits(Automaton& a, std::int32_t from, int least, int most, std::int32_t to) {
  for (int i = 0; i < most; ++i) {
    if (i >= least) a.skip(from, to);
    auto next = a.state();
    a.bytes(from, '0', '9', next);
    from = next;
  }
  a.skip(from, to);
}
void free_number(Automaton& a, std::int32_t from, std::int32_t to) {
  auto sign = a.state(), first = a.state(), whole = a.state(), point = a.state(), fraction = a.state(), e = a.state(),
       power = a.state();
  a.skip(from, sign);
  a.text(from, "-", sign);
  a.text(sign, "0", whole);
  a.bytes(sign, '1', '9', first);
  digits(a, first, 0, kFreeDigits - 1, whole);
  a.skip(whole, fraction);
  a.text(whole, ".", point);
  digits(a, point, 1, kFreeDigits, fraction);
  a.skip(fraction, to);
  for (auto byte : {"e", "E"}) a.text(fraction, byte, e);
  a.skip(e, power);
  for (auto byte : {"+", "-"}) a.text(e, byte, power);
  digits(a, power, 1, kExponentDigits, to);
}
/// A number from 0 on, in digits before and behind the point.
struct Decimal {
  std::string whole = "0", fraction = {};
  bool excluded = false;
};
/// 0 or more, and none where it has no end.
Decimal decimal(const Bound& b) {
  auto text = b.digits.substr(b.digits.starts_with('-') ? 1 : 0);
  auto point = std::min(text.find('.'), text.size());
  Decimal d{text.substr(0, point), point < text.size() ? text.substr(point + 1) : "", b.excluded};
  d.whole.erase(0, std::min(d.whole.find_first_not_of('0'), d.whole.size() - 1));
  while (d.fraction.ends_with('0')) d.fraction.pop_back();
  return d;
}
bool negative(const Bound& b) {
  return b.digits.starts_with('-') && b.digits.find_first_not_of("-0.") != std::string::npos;
}

/// Numbers of `length` digits before the point, at least `low` and at most `high` where these are of the same length.
class Digits {
 public:
  Digits(Automaton& a, int length, const Decimal* low, const Decimal* high, bool whole, std::int32_t to)
      : a_(a), length_(length), low_(low), high_(high), whole_(whole), to_(to) {
    for (auto* bound : {low, high})
      if (bound) fraction_ = std::max(fraction_, static_cast<int>(bound->fraction.size()));
  }
  void add(std::int32_t from) { a_.skip(from, at(0, low_ != nullptr, high_ != nullptr)); }

 private:
  int of(const Decimal* bound, int place) const {
    auto& text = place < length_ ? bound->whole : bound->fraction;
    auto k = static_cast<std::size_t>(place < length_ ? place : place - length_);
    return k < text.size() ? text[k] - '0' : 0;
  }
  bool zeros_from(const Decimal* bound, int place) const {
    for (; place < length_ + fraction_; ++place)
      if (of(bound, place) != 0) return false;
    return true;
  }
  /// Whether a number may end that is the bounds' digits so far: `low`, `high` say which.
  bool may_end(int place, bool low, bool high) const {
    if (low && (!zeros_from(low_, place) || low_->excluded)) return false;
    return !high || !(zeros_from(high_, place) && high_->excluded);
  }
  /// The state before the digit at `place`.
  std::int32_t at(int place, bool low, bool high) {
    auto [known, is_new] = known_.emplace(std::array{place, int{low}, int{high}}, 0);
    if (!is_new) return known->second;
    auto s = known->second = a_.state();
    if (place >= length_ && may_end(place, low, high)) a_.skip(s, to_);
    if (place == length_ + (whole_ ? 0 : fraction_)) return s;
    auto from = s;
    if (place == length_) a_.text(s, ".", from = a_.state());
    int first = std::max(low ? of(low_, place) : 0, place == 0 && length_ > 1 ? 1 : 0);
    int last = high ? of(high_, place) : 9;
    for (int d = first; d <= last; ++d)
      a_.bytes(from, digit(d), digit(d), at(place + 1, low && d == of(low_, place), high && d == of(high_, place)));
    return s;
  }
  Automaton& a_;
  int length_;
  const Decimal *low_, *high_;
  bool whole_;
  std::int32_t to_;
  int fraction_ = kFractionDigits;
  std::map<std::array<int, 3>, std::int32_t> known_ = {};
};
/// Numbers from 0 on.
void add_from_zero(Automaton& a, std::int32_t from, const Decimal& low, const std::optional<Decimal>& high, bool whole,
                   std::int32_t to) {
  auto least = static_cast<int>(low.whole.size()), most = high ? static_cast<int>(high->whole.size()) : kWholeDigits;
  for (int length = least; length <= most; ++length)
    Digits(a, length, length == least ? &low : nullptr, high && length == most ? &*high : nullptr, whole, to).add(from);
}
}  // namespace
void add_numbers(Automaton& a, std::int32_t from, const Between& b, std::int32_t to) {
  if (!b.low && !b.high && !b.whole) return free_number(a, from, to);
  if (!b.high || !negative(*b.high)) {
    auto low = b.low && !negative(*b.low) ? decimal(*b.low) : Decimal{};
    add_from_zero(a, from, low, b.high ? std::optional(decimal(*b.high)) : std::nullopt, b.whole, to);
  }
  if (b.low && !negative(*b.low)) return;
  auto minus = a.state();
  a.text(from, "-", minus);
  auto low = b.high && negative(*b.high) ? decimal(*b.high) : Decimal{};
  if (b.whole && low.whole == "0") low.whole = "1";  // -0 is 0
  if (!b.whole && low.whole == "0" && low.fraction.empty()) low.excluded = true;
  add_from_zero(a, minus, low, b.low ? std::optional(decimal(*b.low)) : std::nullopt, b.whole, to);
}
}  // namespace bora::generate::grammar
