// names_odd.h -- the cases at awkward points, called as tests/golden/make_odd_values.py calls them.
#pragma once
#include "laws/names_table.h"

namespace bora::laws {
namespace names_odd_test { void add_odd(NamedCases&); }
}  // namespace bora::laws
