// names_odd.h -- the cases at awkward points, in further forms of arguments and with options of ported programs, called
// as make_odd_values.py, make_forms_names.py and make_ports_names.py in tests/golden call them.
#pragma once
#include "laws/names_table.h"

namespace bora::laws {
namespace names_odd_test { void add_odd(NamedCases&); }
namespace names_forms_test { void add_forms(NamedCases&); }
namespace names_ports_test { void add_ports(NamedCases&); }
}  // namespace bora::laws
