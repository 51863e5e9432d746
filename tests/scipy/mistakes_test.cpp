// Errors of the functions with SciPy's names for bad input: one line that names the function and the values.
#include "bora/fx/krylov.h"
#include "bora/fx/ode.h"
#include "bora/fx/optimize.h"
#include "bora/ops/fft.h"
#include "bora/ops/integrate.h"
#include "bora/ops/interpolate.h"
#include "bora/ops/ndimage.h"
#include "bora/ops/signal.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::mistakes_test {
namespace {
using bora::test::says_line;
TEST(SciPyMistakes, AreNamed) {
  auto v = ones({3}), x = ones({2, 3}), e = zeros({0});
  namespace s = signal;
  says_line<ShapeError>([&] { return s::convolve(e, v); },
                        "convolve: signals must not be empty, got f32[0] and f32[3]");
  says_line<ShapeError>([&] { return s::correlate(x, v); }, "have different numbers of dimensions");
  says_line<ShapeError>([&] { return s::convolve(x, ones({3, 1}), {.mode = Overlap::valid}); },
                   "convolve: mode valid needs one signal that is the larger in every dimension, got [2, 3] and [3, ");
  says_line<ShapeError>([&] { return s::convolve2d(v, v); }, "convolve2d: needs matrices");
  says_line<ShapeError>([&] { return s::fftconvolve(x, ones({2, 2}), Overlap::full, 0); },
                        "fftconvolve: dimension 1 of [2, 3] and [2, 2] is not transformed and does not broadcast");
  says_line<ValueError>([&] { return s::detrend(v, {.breakpoints = {4}}); },
                        "detrend: breakpoint 4 does not lie in [0, 3]");
  says_line<ShapeError>([&] { return s::detrend(e); }, "detrend: the signal must not be empty");
  says_line<ValueError>([&] { return s::windows::hann(-1); }, "hann: n = -1 must not be negative");
  says_line<ValueError>([&] { return s::windows::gaussian(3, 0); }, "gaussian: sigma = 0 must be positive");
  says_line<ValueError>([&] { return s::get_window("hahn", 3); },
                        "get_window: there is no window hahn; there are boxcar,");
  says_line<ValueError>([&] { return s::get_window("kaiser", 3); }, "get_window: kaiser has 0 parameters; it takes 1");
  says_line<ShapeError>([&] { return s::get_window(v, 4); },
                        "get_window: the window is f32[3], and 4 elements are needed");
  says_line<ValueError>([&] { return s::welch(v, {.nperseg = 4}); }, "welch: nperseg = 4 does not lie in [1, 3]");
  says_line<ValueError>([&] { return s::welch(v, {.noverlap = 3}); }, "welch: noverlap = 3 does not lie in [0, 3)");
  says_line<ValueError>([&] { return s::stft(v, {.nfft = 2}); }, "stft: nfft = 2 is less than nperseg = 3");
  says_line<ValueError>([&] { return s::csd(v, v, {.fs = 0}); }, "csd: fs = 0 must be positive");
  says_line<ShapeError>([&] { return s::periodogram(e); }, "periodogram: the signal must not be empty");
  says_line<ShapeError>([&] { return s::istft(x, {.nfft = 8}); }, "f32[2, 3] has 2 frequencies, and nfft = 8 gives 5");
  says_line<ValueError>([&] { return s::istft(x, {.nperseg = 5}); }, "istft: nfft = 2 is less than nperseg = 5");
  says_line<ValueError>([&] { return s::istft(x, {.time_axis = 0}); },
                        "istft: time_axis and frequency_axis are both 0");
  says_line<DtypeError>([&] { return s::hilbert(complex(v, v)); }, "hilbert: takes real numbers");
  says_line<ValueError>([&] { return fft::dct(v, {.type = 5}); }, "dct: there is no type 5");
  says_line<ValueError>([&] { return fft::idct(ones({1}), {.type = 1}); },
                        "idct: the length must be at least 2, got 1");
  says_line<ValueError>([&] { return fft::dctn(x, {.axes = Dims{0, 0}}); }, "dctn: axis 0 is given twice");
  says_line<ValueError>([&] { return ndimage::map_coordinates(x, ones({2, 1}), {.order = 3}); },
                        "map_coordinates: order = 3; there are 0 and 1");
  says_line<ValueError>([&] { return ndimage::map_coordinates(array({1, 2}), ones({1, 1}), {.cval = 0.5}); },
                        "map_coordinates: cval = 0.5 is no number of i32");
  says_line<ShapeError>([&] { return ndimage::map_coordinates(x, v); }, "do not give a position for each dimension");
  says_line<ShapeError>([&] { return integrate::simpson(e); },
                        "simpson: there are no samples along dimension 0 of [0]");
  says_line<ShapeError>([&] { return integrate::cumulative_trapezoid(x, ones({2})); },
                        "cumulative_trapezoid: coordinates f32[2] are neither of y's shape [2, 3]");
  says_line<ShapeError>([&] { return (interpolate::RegularGridInterpolator{{v}, ones({2})}(ones({1}))); },
                        "RegularGridInterpolator: axis 0 has 3 points, values are f32[2]");
  says_line<ShapeError>([&] { return (interpolate::CubicSpline{ones({1}), ones({1})}(v)); },
                        "are not two points or more");
  says_line<ValueError>([&] { return (interpolate::CubicSpline{v, v}(v, 4)); }, "nu = 4 does not lie in [0, 3]");
}
TEST(SciPyMistakes, OfSolversAreNamed) {
  auto v = ones({3}), x = ones({2, 3});
  namespace l = sparse::linalg;
  says_line<ShapeError>([&] { return l::cg(eye(2), v); }, "matmul");
  says_line<ShapeError>([&] { return l::cg(x, v); }, "cg: A gives f32[2] for b f32[3]; they must have one shape");
  says_line<DtypeError>([&] { return l::cg(eye(3), array({1, 2, 3})); }, "cg: b is i32[3], which is not floating");
  says_line<DtypeError>([&] { return l::cg(eye(3, f64), v); }, "cg: A gives f64[3] for b f32[3]; say b.astype(f64)");
  says_line<ValueError>([&] { return l::gmres(eye(3), v, {.restart = 0}); }, "gmres: restart = 0 must be positive");
  says_line<ShapeError>([&] { return l::bicgstab(eye(3), v, {.x0 = ones({2})}); }, "x0 must be like b");
  sparse::BCOO m{v, zeros({3, 2}, i32), {4, 3}};
  says_line<ShapeError>([&] { return sparse::matmul(m, ones({4})); },
                        "matmul: a sparse matrix [4, 3] does not fit f32[4]");
  says_line<ShapeError>([&] { return (sparse::BCOO{v, zeros({2, 2}, i32), {4, 3}}.todense()); },
                        "todense: data f32[3] and indices i32[2, 2] do not fit the shape [4, 3]");
  says_line<DtypeError>([&] { return (sparse::BCOO{v, zeros({3, 2}), {4, 3}}.todense()); },
                        "indices are integers, not f32");
  says_line<TraceError>([&] { return jit([](const Array& y) { return sparse::fromdense(y); })(x); },
                        "depends on values");
  auto square_sum = [](const Array& y) { return sum(square(y)); };
  says_line<ShapeError>([&] { return optimize::minimize(square_sum, x); },
                        "minimize: x0 must be a vector, got f32[2, 3]");
  says_line<DtypeError>([&] { return optimize::minimize(square_sum, array({1})); }, "minimize: x0 must be f32 or f64");
  says_line<ShapeError>([&] { return optimize::minimize([](const Array& y) { return y; }, v); },
                        "minimize: fun must give a scalar, got f32[3]");
  says_line<ValueError>([&] { return optimize::minimize(square_sum, v, {.gtol = -1}); }, "minimize: gtol = -1");
  says_line<ShapeError>([&] { return optimize::root(square_sum, v); },
                        "root: f gives f32[] for f32[3]; they must be equal");
  says_line<ShapeError>([&] { return optimize::bisect(square_sum, v, x); }, "bisect: a is f32[3], b is f32[2, 3]");
  auto decay = [](const Array& y, const Array&) { return -y; };
  says_line<ShapeError>([&] { return integrate::odeint(decay, v, x); },
                        "odeint: the times must be a vector, got f32[2, 3]");
  says_line<DtypeError>([&] { return integrate::odeint(decay, array({1}), v); }, "y0 must be f32 or f64, got i32[1]");
  says_line<ValueError>([&] { return integrate::odeint(decay, v, v, {.rtol = 0, .atol = 0}); }, "nor both 0");
  says_line<ShapeError>([&] { return integrate::odeint([](const Array& y, const Array&) { return sum(y); }, v, v); },
                        "odeint: f");
}
}  // namespace
}  // namespace bora::laws::mistakes_test
