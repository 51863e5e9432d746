// The law of NaN: a function of a NaN argument is NaN, and so are its first and second derivative by that argument, but
// for the functions listed here, each with the reason.
#include <map>
#include <set>
#include "laws/laws.h"
#include "named/api/registry.h"

namespace bora::laws::nan_test {
namespace {
using Reasons = std::map<std::string, std::string>;
/// "name argument": the value for NaN is a number, and the slope that of the number.
const Reasons& numbers() {
  static const Reasons r{{"fmax 0", "NumPy: the other operand"},
                         {"fmax 1", "NumPy: the other operand"},
                         {"fmin 0", "NumPy: the other operand"},
                         {"fmin 1", "NumPy: the other operand"},
                         {"copysign 1", "NumPy: NaN has a sign bit"},
                         {"heaviside 1", "NumPy: it counts where x is 0 only"},
                         {"imag 0", "of every real number it is 0"}};
  return r;
}
/// "name argument": the value is NaN; the slope does not depend on the argument, so it is a number.
const Reasons& straight() {
  static const Reasons r = [] {
    Reasons all{{"divide 0", "linear"},
                {"fmod 0", "steps of slope 1"},
                {"remainder 0", "steps of slope 1"},
                {"cumprod 0", "linear in each element"},
                {"prod 0", "linear in each element"},
                {"sort 0", "elements move"},
                {"stop_gradient 0", "it has none"}};
    for (auto* name : {"add", "subtract", "multiply"})
      for (auto* k : {" 0", " 1"}) all[std::string(name) + k] = "linear in each operand";
    for (auto* name : {"conj", "conjugate", "real", "negative", "positive", "deg2rad", "rad2deg", "degrees", "radians",
                       "sum", "mean", "cumsum"})
      all[std::string(name) + " 0"] = "linear";
    for (auto* name : {"floor", "ceil", "round", "rint", "trunc", "fix", "sign", "heaviside", "floor_divide"})
      all[std::string(name) + " 0"] = "a step";
    all["floor_divide 1"] = "a step";
    return all;
  }();
  return r;
}
/// "name argument", the whole name: the slope is NaN; its own slope does not depend on the argument, so it is a number.
const Reasons& bent() {
  static const Reasons r = [] {
    Reasons all{{"nn sparse_plus 0", "pieces of lines and of a parabola"}};
    for (auto* name : {"square", "power with 2", "pow with 2", "float_power with 2", "var", "var of all"})
      all[std::string(name) + " 0"] = "quadratic";
    for (auto* name : {"abs", "fabs", "copysign", "copysign with 2", "relu", "nn relu6", "nn leaky_relu",
                       "nn hard_tanh", "nn hard_sigmoid", "2 with fmod", "2 with remainder", "amax", "amax of all",
                       "amin", "amin of all", "ptp", "ptp of all"})
      all[std::string(name) + " 0"] = "pieces of lines";
    for (auto* name : {"fmod 1", "remainder 1"}) all[name] = "pieces of lines";
    return all;
  }();
  return r;
}
/// Argument k of a named function as the lists call it: "f with 2" has the number behind, "2 with f" in front.
std::string key(const bora::NamedFunction& f, std::size_t k) {
  auto name = f.name.starts_with("nn ") ? f.name.substr(3) : f.name;
  if (name.starts_with("2 with ")) return name.substr(7) + " 1";
  return name.substr(0, name.find(' ')) + " " + std::to_string(k);
}
bool listed(const Reasons& r, const std::string& key) { return r.count(key) > 0 || key.starts_with("nan"); }
bool any_nan(const Array& x) { return any(isnan(x)).item<bool>(); }
Array total(const Arrays& out) {
  auto t = array(0., f64);
  for (auto& y : out)
    if (floating(y)) t = t + sum(real(y)) + (is_complex(y.dtype()) ? sum(imag(y)) : array(0., f64));
  return t;
}

// ---- elementwise functions and reductions: the registry of named functions ------------------------------------------
struct Sample {
  Arrays x;
  Array place;  // where NaN is
};
Sample sample(const bora::NamedFunction& f, std::size_t k, Dtype dtype) {
  Sample s;
  Shape shape{4, 3};
  s.x.push_back(values(shape, f.lo, f.hi, 1).astype(dtype));
  if (f.kind == NamedKind::binary) s.x.push_back(values(shape, f.lo, f.hi, 2).astype(dtype));
  s.place = reshape(iota({12}, 0) == 4, shape);
  s.x[k] = where(s.place, NAN, s.x[k]);
  return s;
}
bool elementwise(const bora::NamedFunction& f) { return f.kind == NamedKind::unary || f.kind == NamedKind::binary; }
TEST(Nan, GivesNan) {
  for (auto& f : named_functions())
    for (auto dtype : {f32, f64, bf16, f16})
      for (std::size_t k = 0; k < (f.kind == NamedKind::binary ? 2U : 1U); ++k) {
        if (!is_float(f.dtype)) continue;
        auto name = key(f, k), say = f.name + ", argument " + std::to_string(k) + ", " + std::string(info(dtype).name);
        auto s = sample(f, k, dtype);
        auto y = f.positional(s.x);
        if (!floating(y) || listed(numbers(), name)) continue;
        if (elementwise(f)) {
          EXPECT_TRUE(array_equal(isnan(y), s.place)) << say << ": " << to_string(y);
        }
        else EXPECT_TRUE(any_nan(y)) << say;
        auto staged = jit([&](const Arrays& x) { return f.positional(x); })(s.x);
        EXPECT_TRUE(array_equal(isnan(staged), isnan(y))) << say;
        if (listed(straight(), name)) continue;
        auto value = [&](const Array& v) {
          auto x = s.x;
          x[k] = v;
          return total({f.positional(x)});
        };
        auto is_nan_there = [&](const Array& g, const char* how) {
          EXPECT_TRUE(all(where(s.place, isnan(g), true)).item<bool>()) << say << how;
          if (!elementwise(f)) return;
          EXPECT_FALSE(any(where(s.place, false, isnan(g))).item<bool>()) << say << how << " elsewhere";
        };
        auto slope = grad(value);
        is_nan_there(slope(s.x[k]), ": the derivative");
        is_nan_there(jit(slope)(s.x[k]), ": the staged derivative");
        if (!bent().count(f.name + " " + std::to_string(k))) {
          auto twice = grad([&](const Array& v) { return sum(slope(v)); });
          is_nan_there(twice(s.x[k]), ": the second derivative");
        }
        auto one = [&](const Array& v) {
          auto x = s.x;
          x[k] = v;
          return f.positional(x);
        };
        auto along = jvp(one, s.x[k], ones_like(s.x[k])).second;
        if (elementwise(f)) is_nan_there(along, ": the derivative forward");
        else EXPECT_TRUE(any_nan(along)) << say << ": the derivative forward";
      }
}
/// What a list says is so: nothing else hides there.
TEST(Nan, ListsAreExact) {
  std::set<std::string> seen;
  for (auto& f : named_functions())
    for (std::size_t k = 0; k < (f.kind == NamedKind::binary ? 2U : 1U); ++k) {
      auto name = key(f, k);
      auto whole = f.name + " " + std::to_string(k);
      bool twice = bent().count(whole) > 0;
      if (!is_float(f.dtype) || !(numbers().count(name) || straight().count(name) || twice)) continue;
      seen.insert(twice ? whole : name);
      auto s = sample(f, k, f64);
      auto y = f.positional(s.x);
      EXPECT_EQ(any_nan(y), !numbers().count(name)) << f.name;
      auto slope = grad([&](const Array& v) {
        auto x = s.x;
        x[k] = v;
        return total({f.positional(x)});
      });
      auto second = grad([&](const Array& v) { return sum(slope(v)); });
      auto got = twice ? second(s.x[k]) : slope(s.x[k]);
      EXPECT_FALSE(all(where(s.place, isnan(got), true)).item<bool>()) << f.name << " has a slope of NaN";
    }
  for (auto* list : {&numbers(), &straight(), &bent()})
    for (auto& [name, reason] : *list) EXPECT_TRUE(seen.count(name)) << name << " is no named function";
}
}  // namespace
}  // namespace bora::laws::nan_test
