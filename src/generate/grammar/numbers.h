// numbers.h -- numbers of JSON between bounds, as paths of an automaton.
#pragma once
#include <optional>
#include <string>
#include "generate/grammar/automaton.h"

namespace bora::generate::grammar {
/// A bound: digits without an exponent, such as -12.5.
struct Bound {
  std::string digits = {};
  bool excluded = false;
};
struct Between {
  std::optional<Bound> low = {}, high = {};
  bool whole = false;  // integers alone
};
constexpr int kWholeDigits = 18, kFractionDigits = 6;  // of numbers with bounds, or more where the bounds have more
/// Adds the numbers between the bounds. Integers have up to 18 digits, whose bounds must have no fraction. Without
/// bounds numbers may have 20 digits on both sides of the point and an exponent of two digits.
void add_numbers(Automaton&, std::int32_t from, const Between&, std::int32_t to);
}  // namespace bora::generate::grammar
