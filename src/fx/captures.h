// captures.h -- whether what a jitted function captures is still what it was when it was staged. Private to fx.
#pragma once
#include <string>

namespace bora::fx {
struct Traced;
/// BORA_CHECK_CAPTURES=1.
bool always_checked();
/// The first difference of two stagings of a function, in words; empty if there is none.
std::string changed_captures(const Traced& was, const Traced& is);
}  // namespace bora::fx
