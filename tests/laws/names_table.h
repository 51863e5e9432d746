// names_table.h -- the functions with NumPy's names, called as tests/golden/make_numpy_names.py calls them.
#pragma once
#include "laws/laws.h"

namespace bora::laws {
/// How far a case can be tested: values: it reads values, so no transform takes it; steps: it has no useful derivative,
/// or one with ties; smooth: the derivative equals differences.
enum class Takes : std::uint8_t { values, steps, smooth };
struct NamedCase {
  Takes takes;
  std::function<Arrays(const Arrays&)> f;
};
using NamedCases = std::map<std::string, NamedCase>;
// Each in the namespace of its file.
namespace names_statistics_test { void add_statistics(NamedCases&); }
namespace names_numeric_test { void add_numeric(NamedCases&); }
namespace names_arrange_test { void add_arrange(NamedCases&); }
namespace names_linalg_test { void add_linalg(NamedCases&); }
namespace names_convolution_test { void add_convolution(NamedCases&); }
namespace names_special_test { void add_special(NamedCases&); }
namespace names_stats_test { void add_stats(NamedCases&); }
namespace names_activations_test { void add_activations(NamedCases&); }
namespace names_lax_test { void add_lax(NamedCases&); }
namespace names_image_test { void add_images(NamedCases&); }
/// A result as a list.
inline Arrays results_of(Array x) { return {std::move(x)}; }
inline Arrays results_of(Arrays x) { return x; }
/// a and b are the first two inputs, c the third.
#define BORA_CASE(kind, name, ...)                                                                        \
  cases[name] = {Takes::kind, [=](const Arrays& in) -> Arrays {                                            \
                   [[maybe_unused]] const Array a = in.empty() ? Array() : in[0],                          \
                                b = in.size() > 1 ? in[1] : Array(), c = in.size() > 2 ? in[2] : Array(); \
                   return results_of(__VA_ARGS__);                                                         \
                 }}
}  // namespace bora::laws
