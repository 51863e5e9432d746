// Laws of the functions with SciPy's names: each gives the numbers of SciPy or JAX, staged and mapped the same ones,
// and its derivative equals differences.
#include "laws/names_driver.h"
#include "scipy/cases.h"

namespace bora::laws::names_test {
namespace {
const NamesDriver& driver() {
  static const NamesDriver all({"scipy_names.txt"},
                               {signal_cases::add_convolutions, signal_cases::add_windows, signal_cases::add_spectra,
                                signal_cases::add_transforms, sample_cases::add_samples});
  return all;
}
bool steps_in_time(const std::string& name) { return name.find("odeint") != name.npos; }
TEST(SciPyNames, EveryCaseIsInTheTableAndInTheFile) { driver().table_and_files_agree(); }
TEST(SciPyNames, EveryFunctionHasACase) {
  EXPECT_GE(driver().functions_have_cases(
                {"ops/signal", "ops/windows", "ops/fft", "ops/ndimage", "ops/integrate", "fx/ode"},
                "Array|Spectrum|Spectra|Signal|Y",
                "fft::fft fft::ifft fft::rfft fft::irfft fft::hfft fft::ihfft fft::fft2 fft::ifft2 fft::rfft2 "
                "fft::irfft2 fft::fftn fft::ifftn fft::rfftn fft::irfftn fft::fftfreq fft::rfftfreq fft::fftshift "
                "fft::ifftshift image::scale_and_translate image::resize"),
            45);
}
TEST(SciPyNames, NumbersAreSciPys) {
  auto n = driver().each(Takes::values, [](auto& name, auto& f, auto& g) {
    close(f(g.in), g.out, steps_in_time(name) ? 1e-11 : 1e-12, name);
  });
  EXPECT_GT(n, 500);
}
TEST(SciPyNames, StagedIsEager) { driver().staged_is_eager(1e-14); }
TEST(SciPyNames, MappedIsALoop) {
  auto other = [](const Array& x) {
    return x * (floating(x) ? array(0.75, f64) : array(2)).astype(real_dtype(x.dtype()));
  };
  driver().mapped_is_a_loop(other, [](auto&) { return 1e-12; });
}
TEST(SciPyNames, DerivativesEqualDifferences) {
  auto n = driver().derivatives_equal_differences([](auto& name) { return steps_in_time(name) ? 1e-5 : 1e-6; });
  EXPECT_GT(n, 300);
}
}  // namespace
}  // namespace bora::laws::names_test
