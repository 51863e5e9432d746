// names_odd.h -- the cases at awkward points and in further forms of arguments, called as
// tests/golden/make_odd_values.py and make_forms_names.py call them.
#pragma once
#include "laws/names_table.h"

namespace bora::laws {
namespace names_odd_test { void add_odd(NamedCases&); }
namespace names_forms_test { void add_forms(NamedCases&); }
}  // namespace bora::laws
