// programs.cpp -- a program written as one word, drawn by perf/race: "program:f32;in,64,100;sin,v0;mean,v1,0;out,v2".
// Steps follow the dtype of the floating inputs. Arguments of a step are values of earlier steps (v0, v1, ..) and
// integers. A second head word "gradient" asks for the gradient of the results' sum with respect to the inputs.
// perf/peers/programs.py has the same table.
#include <cmath>
#include <sstream>
#include "bora/bora.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
struct Step {
  std::string op;
  std::vector<std::size_t> of;  // of the values so far
  Dims numbers;
};
struct Program {
  Dtype dtype = f32;
  bool gradient = false;
  Arrays inputs;
  std::vector<Step> steps;
  std::vector<std::size_t> results;
};
using Operation = Array (*)(const Arrays&, const Dims&);

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> r;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) r.push_back(part);
  return r;
}
Dims part(const Dims& n, std::size_t from, std::size_t to) {
  return {n.begin() + static_cast<long>(from), n.begin() + static_cast<long>(to)};
}

Shape without_first(const Shape& s) {
  auto d = s.dims();
  d.erase(d.begin());
  return Shape(d);
}
double last(const Array& x) { return static_cast<double>(x.shape(-1)); }
Array bytes_of(const Array& x) {
  auto u = clip(x * 64 + 128, 0, 255).astype(u8);
  return where(u > 100, u >> 1, 255 - u);
}

const std::map<std::string, Operation>& table() {
  using A = const Arrays&;
  using N = const Dims&;
  static const std::map<std::string, Operation> all{
      {"sin", [](A x, N) { return sin(x[0]); }},
      {"cos", [](A x, N) { return cos(x[0]); }},
      {"tanh", [](A x, N) { return tanh(x[0]); }},
      {"erf", [](A x, N) { return erf(x[0]); }},
      {"abs", [](A x, N) { return abs(x[0]); }},
      {"negative", [](A x, N) { return -x[0]; }},
      {"square", [](A x, N) { return square(x[0]); }},
      {"sigmoid", [](A x, N) { return sigmoid(x[0]); }},
      {"relu", [](A x, N) { return maximum(x[0], 0); }},
      {"silu", [](A x, N) { return silu(x[0]); }},
      {"floor", [](A x, N) { return floor(x[0] * 8); }},
      {"root", [](A x, N) { return sqrt(abs(x[0]) + 1); }},
      {"decay", [](A x, N) { return exp(-abs(x[0])); }},
      {"log", [](A x, N) { return log(abs(x[0]) + 1); }},
      {"inverse", [](A x, N) { return 1 / (x[0] * x[0] + 1); }},
      {"affine", [](A x, N) { return x[0] * 0.75 + 0.25; }},
      {"clip", [](A x, N) { return clip(x[0], -0.5, 0.5); }},
      {"add", [](A x, N) { return x[0] + x[1]; }},
      {"subtract", [](A x, N) { return x[0] - x[1]; }},
      {"multiply", [](A x, N) { return x[0] * x[1]; }},
      {"maximum", [](A x, N) { return maximum(x[0], x[1]); }},
      {"minimum", [](A x, N) { return minimum(x[0], x[1]); }},
      {"divide", [](A x, N) { return x[0] / (abs(x[1]) + 1); }},
      {"hypot", [](A x, N) { return sqrt(x[0] * x[0] + x[1] * x[1] + 1); }},
      {"where", [](A x, N) { return where(x[0] < x[1], x[0], x[2]); }},
      {"less", [](A x, N) { return (x[0] < x[1]).astype(x[0].dtype()); }},
      {"mean", [](A x, N n) { return mean(x[0], n); }},
      {"mean_keep", [](A x, N n) { return mean(x[0], n, {.keepdims = true}); }},
      {"amax", [](A x, N n) { return amax(x[0], n); }},
      {"amax_keep", [](A x, N n) { return amax(x[0], n, {.keepdims = true}); }},
      {"var", [](A x, N n) { return var(x[0], n); }},
      {"logsumexp", [](A x, N n) { return logsumexp(x[0], n); }},
      {"softmax", [](A x, N n) { return softmax(x[0], n); }},
      {"cumsum", [](A x, N n) { return cumsum(x[0], n[0]) / static_cast<double>(x[0].shape(n[0])); }},
      {"sort", [](A x, N n) { return sort(x[0], n[0]); }},
      {"argmax", [](A x, N n) { return argmax(x[0], n[0]); }},
      {"argsort", [](A x, N n) { return argsort(x[0], n[0]); }},
      {"transpose", [](A x, N n) { return transpose(x[0], n); }},
      {"reshape", [](A x, N n) { return reshape(x[0], n); }},
      {"broadcast", [](A x, N n) { return broadcast_to(x[0], n); }},
      {"slice", [](A x, N n) { return slice_in_dim(x[0], n[0], n[1], n[2], n[3]); }},
      {"pad", [](A x, N n) {
         return pad(x[0], part(n, 0, n.size() / 2), part(n, n.size() / 2, n.size()), 0.5);
       }},
      {"concatenate", [](A x, N n) { return concatenate({x[0], x[1]}, n[0]); }},
      {"stack", [](A x, N n) { return stack({x[0], x[1]}, n[0]); }},
      {"roll", [](A x, N n) { return roll(x[0], n[0], n[1]); }},
      {"flip", [](A x, N n) { return flip(x[0], n); }},
      {"repeat", [](A x, N n) { return repeat(x[0], n[0], n[1]); }},
      {"diff", [](A x, N n) { return diff(x[0], 1, n[0]); }},
      {"take", [](A x, N n) { return take(x[0], abs(x[1]), n[0], IndexMode::clamp); }},
      {"segment_sum", [](A x, N n) {
         Shape shape = x[0].shape();
         shape[0] = n[0];
         auto to = remainder(x[1], static_cast<int>(n[0]));
         return scatter_add(zeros(shape, x[0].dtype()), to, x[0]) * (static_cast<double>(n[0]) / 1e3);
       }},
      {"set", [](A x, N n) {
         Arrays starts;
         for (auto s : n) starts.push_back(array(static_cast<std::int32_t>(s)));
         return dynamic_update_slice(x[0], x[1].astype(x[0].dtype()), starts);
       }},
      {"matmul", [](A x, N) { return matmul(x[0], x[1]) / static_cast<double>(x[0].shape(-1)); }},
      {"gram", [](A x, N) { return matmul(transpose(x[0]), x[0]) / static_cast<double>(x[0].shape(0)); }},
      {"outer", [](A x, N) { return outer(x[0], x[1]); }},
      {"narrow", [](A x, N) { return x[0].astype(f32); }},
      {"float", [](A x, N n) { return x[0].astype(f32) / static_cast<double>(n[0]); }},
      {"integer", [](A x, N) { return floor(x[0] * 100).astype(i32); }},
      {"integer_add", [](A x, N) { return x[0] + x[1]; }},
      {"integer_mix", [](A x, N) { return (x[0] * 3) ^ (x[0] >> 2); }},
      {"integer_modulo", [](A x, N n) { return remainder(x[0], static_cast<int>(n[0])); }},
      {"recurrence", [](A x, N) {
         auto step = [](const Array& c, const Array& row) {
           auto next = tanh(c * 0.5 + row);
           return std::pair{next, next};
         };
         return scan(step, zeros(without_first(x[0].shape()), x[0].dtype()), x[0]).second;
       }},
      {"iterate", [](A x, N n) {
         return fori_loop(0, n[0], [](const Array&, const Array& v) { return v * 0.9 + 0.1 * cos(v); }, x[0]);
       }},
      {"relax", [](A x, N n) {
         auto step = [&](const Array&, const Array& v) { return (roll(v, 1, n[1]) + roll(v, -1, n[1])) * 0.5; };
         return fori_loop(0, n[0], step, x[0]);
       }},
      {"halved", [](A x, N) {
         auto large = [](const Array& v) { return amax(abs(v)) > 0.1; };
         return while_loop(large, [](const Array& v) { return v * 0.5; }, stop_gradient(x[0]));
       }},
      {"branch", [](A x, N) {
         return cond(
             mean(x[0]) > mean(x[1]), [](const Array& a, const Array& b) { return a * 2 + b; },
             [](const Array& a, const Array& b) { return b - a; }, x[0], x[1]);
       }},
      {"uniform", [](A x, N n) { return x[0] + random::uniform(random::key(n[0]), x[0].shape(), x[0].dtype()); }},
      {"normal", [](A x, N n) { return x[0] + 0.1 * random::normal(random::key(n[0]), x[0].shape(), x[0].dtype()); }},
      {"dropout", [](A x, N n) {
         return where(random::bernoulli(random::key(n[0]), 0.5, x[0].shape()), x[0] * 2, 0);
       }},
      {"brief", [](A x, N) {
         return (clip(floor(x[0] * 8), -100, 100).astype(bf16) * 0.5 + 1).astype(x[0].dtype());
       }},
      {"bytes", [](A x, N) { return bytes_of(x[0]).astype(x[0].dtype()) / 256; }},
      {"byte_mean", [](A x, N n) { return mean(bytes_of(x[0]).astype(x[0].dtype()), n) / 256; }},
      {"norm", [](A x, N n) {
         auto k = Dims{n[0]};
         return (x[0] - mean(x[0], k, {.keepdims = true})) / sqrt(var(x[0], k, {.keepdims = true}) + 1e-2);
       }},
      {"length", [](A x, N n) { return sqrt(sum(x[0] * x[0], n) + 1); }},
      {"any", [](A x, N n) { return any(x[0] > 0.9, n).astype(x[0].dtype()); }},
      {"cummax", [](A x, N n) { return lax::cummax(x[0], n[0]); }},
      {"pick", [](A x, N n) { return take_along_axis(x[0], expand_dims(argmax(x[0], n[0]), n[0]), n[0]); }},
      {"top", [](A x, N n) { return top_k(x[0], n[0]).values; }},
      {"search", [](A x, N) {
         return searchsorted(sort(x[0]), x[1]).astype(x[1].dtype()) / static_cast<double>(x[0].size());
       }},
      {"tril", [](A x, N) { return tril(x[0]); }},
      {"turn", [](A x, N) {
         auto n = x[0].shape(-1);
         return concatenate({-slice_in_dim(x[0], -1, n / 2, n), slice_in_dim(x[0], -1, 0, n / 2)}, -1);
       }},
      {"smooth", [](A x, N) {
         auto kernel = asarray(std::vector<double>{0.25, 0.5, 0.25}, {3}).astype(x[0].dtype());
         return convolve(x[0], kernel, Overlap::same);
       }},
      {"product_rows", [](A x, N) {
         return matmul(x[0], swapaxes(x[1], -1, -2)) / static_cast<double>(x[0].shape(-1));
       }},
      {"segment_max", [](A x, N n) {
         return maximum(segment_max(x[0], remainder(x[1], static_cast<int>(n[0])), n[0]), -1);
       }},
      {"one_hot", [](A x, N n) { return one_hot(remainder(x[0], static_cast<int>(n[0])), n[0]); }},
      {"count", [](A x, N n) { return bincount(remainder(x[0], static_cast<int>(n[0])), {.length = n[0]}); }},
      {"integer_sum", [](A x, N n) { return sum(x[0], n); }},
      {"integer_max", [](A x, N n) { return amax(x[0], n); }},
      {"threshold", [](A x, N n) { return where(x[0] > static_cast<int>(n[0]), x[0], 0); }},
      {"contract", [](A x, N) { return einsum("...i,...i->...", x[0], x[1]) / last(x[0]); }},
      {"weigh", [](A x, N) { return einsum("bij,bj->bi", x[0], x[1]) / last(x[0]); }},
      {"small_gram", [](A x, N) { return matmul(x[0], swapaxes(x[0], -1, -2)) / last(x[0]); }},
      {"mask", [](A x, N n) { return where(x[0] > mean(x[0], {n[0]}, {.keepdims = true}), x[0], 0); }},
      {"masked_softmax", [](A x, N) {
         auto before = tri(x[0].shape(-2), x[0].shape(-1)) > 0.5;
         return softmax(where(before, x[0], -1e9), -1);
       }},
      {"along", [](A x, N n) {
         auto to = remainder(floor(abs(x[0]) * 1000).astype(i32), static_cast<int>(x[0].shape(n[0])));
         return take_along_axis(x[0], to, n[0]);
       }},
      {"unit", [](A x, N n) { return x[0] / (linalg::norm(x[0], none, {n[0]}, true) + 1); }},
      {"cov", [](A x, N) { return cov(x[0], {.rowvar = false}); }},
      {"spectrum", [](A x, N) { return abs(fft::rfft(x[0])) / last(x[0]); }},
      {"polyval", [](A x, N) {
         return polyval(asarray(std::vector<double>{0.1, -0.3, 0.5, 0.25}, {4}).astype(x[0].dtype()), x[0]);
       }},
      {"interp", [](A x, N) {
         auto grid = linspace(-1, 1, 17, x[0].dtype());
         return interp(x[0], grid, cos(3 * grid));
       }},
      {"segment_mean", [](A x, N n) {
         auto to = remainder(x[1], static_cast<int>(n[0]));
         return segment_sum(x[0], to, n[0]) / maximum(segment_sum(ones_like(x[0]), to, n[0]), 1);
       }},
      {"median", [](A x, N n) { return median(x[0], {n[0]}); }},
      {"ridge", [](A x, N) {
         auto a = expand_dims(x[0], -1) * expand_dims(x[0], -2) + eye(x[0].shape(-1), x[0].dtype());
         return squeeze(linalg::solve(a, expand_dims(x[0], -1)), {-1});
       }},
      {"newton", [](A x, N) {
         auto a = stop_gradient(abs(x[0]) + 1);
         auto step = [&](const std::pair<Array, Array>& c) {
           return std::pair{c.first + 1, 0.5 * (c.second + a / c.second)};
         };
         return while_loop([](const std::pair<Array, Array>& c) { return c.first < 8; }, step,
                           std::pair{array(0), ones_like(x[0])}).second;
       }},
      {"power", [](A x, N) {
         auto step = [&](const Array&, const Array& v) {
           auto u = matmul(transpose(x[0]), matmul(x[0], v));
           return u / (linalg::norm(u) + 1e-3);
         };
         return fori_loop(0, 10, step, ones({x[0].shape(1)}, x[0].dtype()));
       }},
      {"distances", [](A x, N) {
         return sqrt(sum(square(expand_dims(x[0], 1) - expand_dims(x[0], 0)), {-1}) + 1);
       }},
      {"attend", [](A x, N) { return matmul(softmax(matmul(x[0], swapaxes(x[1], -1, -2)) / last(x[0]), -1), x[2]); }},
      {"gelu", [](A x, N) { return gelu(x[0]); }},
      {"pool", [](A x, N) {
         auto shape = x[0].shape().dims();
         shape.back() /= 2;
         shape.push_back(2);
         return amax(reshape(x[0], shape), {-1});
       }},
      {"moving", [](A x, N n) {
         Array total;
         for (std::int64_t j = 0; j < 4; ++j) {
           auto part = slice_in_dim(x[0], n[0], j, x[0].shape(n[0]) - 3 + j);
           total = j == 0 ? part : total + part;
         }
         return total / 4;
       }},
      {"differences", [](A x, N) { return (expand_dims(x[0], -1) - expand_dims(x[0], -2)) * 0.5; }},
      {"cumprod", [](A x, N n) { return cumprod(1 + 0.1 * x[0] / static_cast<double>(x[0].shape(n[0])), n[0]); }},
      {"diagonal", [](A x, N) { return diagonal(x[0], 0, -2, -1); }},
      {"rms", [](A x, N) { return x[0] / sqrt(mean(x[0] * x[0], {-1}, {.keepdims = true}) + 1e-2); }},
  };
  return all;
}
Program parse(const std::string& text) {
  Program p;
  auto lines = split(text, ';');
  for (auto& word : split(lines.at(0), ',')) {
    if (word == "f64") p.dtype = f64;
    p.gradient |= word == "gradient";
  }
  for (std::size_t k = 1; k < lines.size(); ++k) {
    Step s;
    for (auto& word : split(lines[k], ',')) {
      if (s.op.empty()) s.op = word;
      else if (word[0] == 'v') s.of.push_back(std::stoul(word.substr(1)));
      else s.numbers.push_back(std::stol(word));
    }
    auto seed = static_cast<std::uint32_t>(k);
    auto& n = s.numbers;
    if (s.op == "in") p.inputs.push_back(uniform(seed, n).astype(p.dtype));
    else if (s.op == "integers")
      p.inputs.push_back(integers(seed, part(n, 1, n.size()), static_cast<std::uint32_t>(n[0])));
    else if (s.op == "out") {
      p.results = s.of;
      continue;
    }
    p.steps.push_back(std::move(s));
  }
  return p;
}
Arrays evaluate(const Program& p, const Arrays& inputs) {
  Arrays values;
  std::size_t next = 0;
  for (auto& s : p.steps) {
    if (s.op == "in" || s.op == "integers") {
      values.push_back(inputs.at(next++));
      continue;
    }
    Arrays of;
    for (auto k : s.of) of.push_back(values.at(k));
    values.push_back(table().at(s.op)(of, s.numbers));
  }
  Arrays r;
  for (auto k : p.results) r.push_back(values.at(k));
  return r;
}
}  // namespace

Case program(const std::string& text) {
  auto p = std::make_shared<const Program>(parse(text));
  if (!p->gradient) return compiled([=](const Arrays& in) { return evaluate(*p, in); }, p->inputs);
  auto loss = [=](const Arrays& in) {
    Array total = zeros({}, p->dtype);
    for (auto& y : evaluate(*p, in))
      if (is_float(y.dtype())) total = total + mean(y);
    return total;
  };
  return compiled(
      [=](const Arrays& in) {
        Arrays r;
        for (auto& g : grad(loss)(in))
          if (g.defined()) r.push_back(g * 1e3);
        return r;
      },
      p->inputs);
}
}  // namespace cases
