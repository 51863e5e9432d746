// Cases of integrate.h, ndimage.h, interpolate.h and ode.h.
#include "bora/fx/ode.h"
#include "bora/ops/integrate.h"
#include "bora/ops/interpolate.h"
#include "bora/ops/ndimage.h"
#include "scipy/cases.h"

namespace bora::laws::sample_cases {
void add_samples(NamedCases& cases) {
  using namespace integrate;
  for (auto n : {"1", "2", "3", "4", "5", "6", "7"}) {
    std::string simpsons = "integrate::simpson/", running = "integrate::cumulative_trapezoid/";
    BORA_CASE(smooth, simpsons + n, simpson(a, 0.5));
    BORA_CASE(smooth, simpsons + "at_" + n, simpson(a, b));
    BORA_CASE(smooth, simpsons + "axis_" + n, simpson(a, b, 0));
    BORA_CASE(smooth, running + n, cumulative_trapezoid(a, 0.5));
    BORA_CASE(smooth, running + "at_" + n, cumulative_trapezoid(a, b, -1, 0.));
    BORA_CASE(smooth, std::string("integrate::trapezoid/") + n, integrate::trapezoid(a, b));
  }
  BORA_CASE(steps, "integrate::simpson/nan", simpson(a));
  auto pendulum = [](const Array& y, const Array&) {
    return stack({view(y, 1), -0.25 * view(y, 1) - 9.8 * sin(view(y, 0))});
  };
  BORA_CASE(steps, "integrate::odeint/pendulum", odeint(pendulum, a, b));
  BORA_CASE(steps, "integrate::odeint/time", odeint([](const Array& y, const Array& t) { return -y * t; }, a, b,
                                                    {.rtol = 1e-5, .atol = 1e-6, .hmax = 0.1}));
  BORA_CASE(steps, "integrate::odeint/one", odeint([](const Array& y, const Array&) { return y; }, a, b));

  using ndimage::Outside;
  for (auto [name, m] : std::initializer_list<std::pair<std::string, Outside>>{{"constant", Outside::constant},
                                                                               {"nearest", Outside::nearest},
                                                                               {"wrap", Outside::wrap},
                                                                               {"mirror", Outside::mirror},
                                                                               {"reflect", Outside::reflect}})
    for (int o : {0, 1})
      for (std::string rest : {"", "/vector", "/integers"}) {
        auto mode = m;
        auto order = o;
        auto all = "ndimage::map_coordinates/" + name + "_" + std::to_string(order) + rest;
        auto outside = rest == "/integers" ? 1 : 0.5;
        BORA_CASE(smooth, all, ndimage::map_coordinates(a, b, {order, mode, outside}));
        if (rest == "/integers") cases[all].takes = Takes::steps;
      }
  BORA_CASE(steps, "ndimage::map_coordinates/complex", ndimage::map_coordinates(a, b));

  using interpolate::Method;
  for (auto [name, m] :
       std::initializer_list<std::pair<std::string, Method>>{{"linear", Method::linear},
                                                             {"nearest", Method::nearest}}) {
    auto all = "interpolate::RegularGridInterpolator/" + name;
    for (auto [word, v] : std::initializer_list<std::pair<std::string, std::optional<double>>>{
             {"_nan", std::nan("")}, {"_zero", 0.}, {"_on", none}, {"/rest", none}}) {
      auto method = m;
      auto fill = v;
      cases[all + word] = {Takes::steps, [method, fill](const Arrays& in) -> Arrays {
                             return {interpolate::RegularGridInterpolator{{in[0], in[1]}, in[2], method, fill}(in[3])};
                           }};
    }
  }
  using interpolate::Ends;
  for (auto [name, e] : std::initializer_list<std::pair<std::string, Ends>>{
           {"not-a-knot", Ends::not_a_knot}, {"natural", Ends::natural}, {"clamped", Ends::clamped}}) {
    auto ends = e;
    auto all = "interpolate::CubicSpline/" + name;
    for (auto n : {"2", "3", "4", "6"})
      for (int k : {0, 1, 2, 3}) {
        auto nu = k;
        BORA_CASE(steps, all + "_" + n + "_" + std::to_string(nu), (interpolate::CubicSpline{a, b, ends}(c, nu)));
        if (nu == 0) cases[all + "_" + n + "_0"].takes = Takes::smooth;
      }
    BORA_CASE(steps, all + "/rest", (interpolate::CubicSpline{a, b, ends}(c)));
  }
}
}  // namespace bora::laws::sample_cases
