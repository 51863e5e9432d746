// cases.h -- the functions with SciPy's names, called as tests/golden/make_scipy_names.py calls them.
#pragma once
#include "laws/names_table.h"

namespace bora::laws {
// Each in the namespace of its file.
namespace signal_cases {
void add_convolutions(NamedCases&);
void add_windows(NamedCases&);
void add_spectra(NamedCases&);
void add_transforms(NamedCases&);
}  // namespace signal_cases
namespace sample_cases {
void add_samples(NamedCases&);  // integrals, images, interpolation
}  // namespace sample_cases
}  // namespace bora::laws
