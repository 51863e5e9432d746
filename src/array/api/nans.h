// nans.h -- the switch that makes a NaN an error where it arises.
#pragma once
#include "bora/array/array.h"

namespace bora {
bool stops_at_nan();
void stop_at_nan(bool on);
/// Position of the first NaN of a buffer, row-major; -1 if there is none.
std::int64_t first_nan(const Array&);
/// Throws ValueError if a result of the operation holds a NaN.
void check_no_nan(std::string_view operation, const Arrays& in, const Arrays& out);
}  // namespace bora
