// cases.h -- the functions with SciPy's names, called as tests/golden/make_scipy_names.py calls them.
#pragma once
#include "laws/names_table.h"

namespace bora::laws {
void add_convolutions(NamedCases&);
void add_windows(NamedCases&);
void add_spectra(NamedCases&);
void add_transforms(NamedCases&);
void add_samples(NamedCases&);  // integrals, images, interpolation
}  // namespace bora::laws
