// Every form of control and of derivative, by one table: staged = eager, every lane of a vmap = the function of the
// lane, derivatives = finite differences, and over every split the same numbers.
#include "bora/ops/contractions.h"
#include "laws/laws.h"

namespace bora::laws::forms_test {
namespace {
using V = Arrays;
struct Form {
  const char* name;
  std::function<V(const V&)> f;  // of {f64[6, 3], f64[3]}
};
/// a linear recurrence h' = d h + x as pairs (d, x): composition is associative and does not commute
struct Step {
  Array decay, add;
};
Array heron(const Array& a) {  // the square root, by a loop without a derivative
  return custom_root([&](const Array& x) { return x * x - a; }, ones_like(a),
                     [](const auto& f, const Array& guess) {
                       auto far = [&](const std::pair<Array, Array>& s) { return s.first < 40; };
                       auto step = [&](const std::pair<Array, Array>& s) {
                         auto x = s.second;
                         return std::pair{s.first + 1, x - f(x) / (2 * x)};
                       };
                       return while_loop(far, step, std::pair{array(0), guess}).second;
                     },
                     [](const auto& g, const Array& y) { return y / g(ones_like(y)); });
}
const std::vector<Form>& forms() {
  auto branches = std::tuple{[](const Array& x, const Array& b) { return x * b; },
                             [](const Array& x, const Array& b) { return sin(x) + b; },
                             [](const Array& x, const Array& b) { return x * x * b; }};
  static const std::vector<Form> all{
      {"switch_",
       [branches](const V& v) {
         V r;
         for (int i : {-5, 0, 1, 2, 9}) r.push_back(switch_(array(i), branches, v[0], v[1]));
         return r;
       }},
      {"vmap(switch_)",
       [branches](const V& v) {
         return V{vmap([&](const Array& i, const Array& x) { return switch_(i, branches, x, v[1]); })(
             array({0, 2, 1, 7, -1, 1}), v[0])};
       }},
      {"map", [](const V& v) { return V{fx::map([&](const Array& x) { return tanh(x) * v[1]; }, v[0])}; }},
      {"map(.batch_size = 4)",
       [](const V& v) {
         return V{fx::map([&](const Array& x) { return outer(x, v[1]) + sum(x); }, v[0], {.batch_size = 4})};
       }},
      {"associative_scan",
       [](const V& v) {
         V r;
         for (bool reverse : {false, true}) {
           auto s = associative_scan(
               [](const Step& a, const Step& b) { return Step{a.decay * b.decay, a.add * b.decay + b.add}; },
               Step{tanh(v[0]), v[0] * v[1]}, {.reverse = reverse});
           r.push_back(s.decay);
           r.push_back(s.add);
         }
         auto across = [](const Array& a, const Array& b) { return a * b + a + b; };
         r.push_back(associative_scan(across, v[0] * 0.5, {.axis = -1}));
         return r;
       }},
      {"fori_loop",
       [](const V& v) {
         return V{fori_loop(1, 4, [&](const Array& i, const Array& x) { return sin(x * v[1]) + i.astype(f64); }, v[0])};
       }},
      {"linearize",
       [](const V& v) {
         auto [y, push] = linearize([](const Array& x, const Array& b) { return tanh(x * b); }, v[0], v[1]);
         return V{y, push(v[0] * 2, v[1]), push(v[0], Array())};
       }},
      {"linear_transpose",
       [](const V& v) {
         auto back =
             linear_transpose([&](const Array& x) { return cumsum(matmul(x, outer(exp(v[1]), v[1])), 0); }, v[0]);
         return V{back(v[0] + 1)};
       }},
      {"custom_jvp",
       [](const V& v) {
         auto f = custom_jvp([](const Array& x, const Array& b) { return sin(x) * b; },
                             [](const std::tuple<Array, Array>& x, const std::tuple<Array, Array>& dx) {
                               auto& [a, b] = x;
                               auto& [da, db] = dx;
                               return std::pair{sin(a) * b, cos(a) * b * da + sin(a) * db};
                             });
         return V{f(v[0], v[1]), jvp([&](const Array& x) { return f(x, v[1]); }, v[0], v[0] + 1).second};
       }},
      {"custom_root", [](const V& v) { return V{heron(v[0] * v[0] * exp(v[1]) + 1)}; }},
      {"custom_linear_solve",
       [](const V& v) {
         auto m = outer(v[1], view(v[0], 0)) * 0.1 + diag(array({2., 3., 4.}, f64));
         auto iterate = [](const auto& apply, const Array& b) {  // Richardson's, in a loop without a derivative
           auto more = [](const std::pair<Array, Array>& s) { return s.first < 120; };
           auto step = [&](const std::pair<Array, Array>& s) {
             return std::pair{s.first + 1, s.second + (b - apply(s.second)) * 0.3};
           };
           return while_loop(more, step, std::pair{array(0), b}).second;
         };
         auto x = custom_linear_solve([&](const Array& x) { return matmul(m, x); }, view(v[0], 1), iterate, iterate);
         return V{x, matmul(m, x)};
       }},
      {"jacrev",
       [](const V& v) {
         auto f = [&](const Array& b) { return tanh(v[0] * b); };
         return V{jacrev(f)(v[1]), jacfwd(f)(v[1])};
       }},
      {"hvp",
       [](const V& v) {
         auto loss = [](const Array& b, const Array& x) { return sum(sin(x * b)); };
         return V{hvp(loss, v[1], v[1] + 1, v[0]), hessian<0>(loss)(v[1], v[0])};
       }},
      {"grad<1>",
       [](const V& v) {
         auto [a, b] = grad<1, 0>([](const Array& x, const Array& y) { return sum(exp(x * y)); })(v[0], v[1]);
         return V{a, b};
       }},
  };
  return all;
}
V inputs() { return {rnd({6, 3}, 1), rnd({3}, 2)}; }
class Forms : public testing::TestWithParam<std::size_t> {
 protected:
  const Form& form() const { return forms()[GetParam()]; }
};
TEST_P(Forms, StagedEqualsEager) {
  auto in = inputs();
  close(jit(form().f)(in), form().f(in), 1e-14, form().name);
}
TEST_P(Forms, LanesOfAVmap) {
  auto a = inputs();
  V b{a[0] * 0.5 + 0.1, a[1] - 0.2};
  V both{stack({a[0], b[0]}), stack({a[1], b[1]})};
  auto x = form().f(a), y = form().f(b);
  for (auto& got : {vmap(form().f)(both), jit(vmap(form().f))(both)})
    for (std::size_t k = 0; k < got.size(); ++k)
      close({view(got[k], 0), view(got[k], 1)}, {x[k], y[k]}, 1e-13, form().name);
}
TEST_P(Forms, DerivativesAreFiniteDifferences) {
  auto in = inputs();
  auto outs = form().f(in);
  auto loss = [&](const V& v) {
    auto y = form().f(v);
    Array s = array(0., f64);
    for (std::size_t k = 0; k < y.size(); ++k) s = s + sum(y[k] * rnd(outs[k].shape(), 10 + static_cast<int>(k)));
    return s;
  };
  V d{rnd({6, 3}, 31), rnd({3}, 32)};
  auto moved = [&](double h) { return loss({in[0] + d[0] * h, in[1] + d[1] * h}).item<double>(); };
  auto g = grad(loss)(in);
  auto want = (moved(1e-6) - moved(-1e-6)) / 2e-6;
  EXPECT_NEAR(inner(g, d), want, 1e-7 * std::max(1.0, std::abs(want)));
  close(jit(grad(loss))(in), g, 1e-13, "staged");
  auto along = jvp(loss, in, d).second.item<double>();
  EXPECT_NEAR(along, want, 1e-7 * std::max(1.0, std::abs(want)));
}
TEST_P(Forms, SplitEqualsWhole) {
  auto in = inputs();
  auto& f = form().f;
  auto loss = [&](const V& v) {
    Array s = array(0., f64);
    for (auto& y : f(v)) s = s + sum(sin(y));
    return s;
  };
  auto want = f(in), gradients = grad(loss)(in);
  for (auto& axes : meshes())
    local_mesh(axes, [&](const Mesh& mesh) {
      auto sa = all_specs(mesh.shape(), 2), sb = all_specs(mesh.shape(), 1);
      for (std::size_t k = 0; k < sa.size(); k += 1 + sa.size() / 5) {
        V v{with_sharding_constraint(in[0], sa[k]), with_sharding_constraint(in[1], sb[k % sb.size()])};
        auto what = std::string(form().name) + " " + name(axes) + " " + to_string(sa[k]);
        close(gathered(f(v)), want, 1e-12, what);
        close(gathered(jit(f)(v)), want, 1e-12, "jit " + what);
        close(gathered(jit(grad(loss))(v)), gradients, 1e-11, "jit(grad) " + what);
      }
    });
}
std::string title(const testing::TestParamInfo<std::size_t>& i) {
  std::string s = forms()[i.param].name;
  for (auto& c : s)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return s;
}
INSTANTIATE_TEST_SUITE_P(All, Forms, testing::Range(std::size_t{0}, forms().size()), title);
}  // namespace
}  // namespace bora::laws::forms_test
