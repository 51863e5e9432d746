// pattern.h -- a part of ECMAScript's regular expressions as paths of an automaton.
#pragma once
#include <string>
#include <string_view>
#include "generate/grammar/automaton.h"

namespace bora::generate::grammar {
/// Adds the strings in which the pattern is found, as JSON writes them, without quotes. Known: characters, classes,
/// `.`, \d \w \s and their opposites, groups, alternatives, repetitions, and ^ and $ at the ends of an alternative
/// that is in no group. Throws ValueError, which begins with `where`, for anything else.
void add_pattern(Automaton&, std::int32_t from, std::string_view pattern, std::int32_t to, const std::string& where);
}  // namespace bora::generate::grammar
