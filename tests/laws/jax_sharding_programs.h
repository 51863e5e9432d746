// jax_sharding_programs.h -- the programs of tests/golden/jax_sharding_programs.py, and the random ones of
// make_jax_sharding.py by their steps.
#pragma once
#include "bora/models/gpt2.h"
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "bora/ops/convolution.h"
#include "bora/ops/creation.h"
#include "bora/ops/fft.h"
#include "bora/ops/linalg.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"
#include "support/golden.h"

namespace bora::laws::jax_sharding {
using A = Arrays;
using Dim = std::int64_t;

/// All axes of the mesh, for programs with constraints inside.
struct Axes {
  MeshAxes all, data, model;
};
inline Array swapped(const Array& a) { return transpose(a, {0, 2, 1}); }
inline Array distances(const Array& x) { return sum(square(expand_dims(x, 1) - expand_dims(x, 0)), {2}); }
inline Array laplace(const Array& u) {
  return roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u;
}
inline Array heat_walls(const Array& u) {
  auto w = pad(u, {1, 1}, {1, 1});
  auto n = u.shape(0) + 2, m = u.shape(1) + 2;
  return u + 0.1 * (slice(w, {0, 1}, {n - 2, m - 1}) + slice(w, {2, 1}, {n, m - 1}) + slice(w, {1, 0}, {n - 1, m - 2}) +
                    slice(w, {1, 2}, {n - 1, m}) - 4 * u);
}
inline Array same_conv(const Array& x, const Array& w, Dim stride = 1, Dim groups = 1) {
  return conv(x, w, {.stride = {stride, stride}, .padding = Padding::same, .groups = groups});
}
inline Array pooled(const Array& x) { return max_pool(x, {.window = {2, 2}}); }
inline Array picked(const Array& scores, const Array& label) {
  return take_along_axis(scores, expand_dims(label, -1), -1, IndexMode::clamp);
}
inline A joined(const Array& value, const A& slopes) { return laws::joined({value}, slopes); }
inline A convnet(const A& in) {
  auto loss = [&](const A& p) {
    auto h = relu(same_conv(in[3], p[0]));
    h = pooled(h + relu(same_conv(h, p[1])));
    return -mean(picked(log_softmax(matmul(mean(h, {1, 2}), p[2])), in[4]));
  };
  auto [value, slopes] = value_and_grad(loss)(A{in[0], in[1], in[2]});
  return joined(value, slopes);
}
inline Array normalized(const Array& x, Dim axis) {
  return (x - mean(x, {axis}, {.keepdims = true})) * rsqrt(var(x, {axis}, {.keepdims = true}) + 1e-5);
}
inline Array poisson(const Array& f, const Axes& axes) {
  Spec planes{axes.all}, columns{none, axes.all};
  auto k = square(fft::fftfreq(16, 1. / 16));
  auto squares = reshape(k, {16, 1, 1}) + reshape(k, {16, 1}) + k;
  auto turned = with_sharding_constraint(fft::fft2(with_sharding_constraint(f, planes), {.axes = {1, 2}}), planes);
  auto waves = fft::fft(with_sharding_constraint(turned, columns), {.axis = 0});
  auto u = with_sharding_constraint(where(squares == 0, 0.0, waves / where(squares == 0, 1.0, squares)), columns);
  auto back = with_sharding_constraint(fft::ifft(u, {.axis = 0}), planes);
  return real(fft::ifft2(back, {.axes = {1, 2}}));
}
/// A loss's value and slopes for two matrices, which stand first.
inline A mlp(const A& in, bool gathered) {
  auto loss = [&](const A& p) {
    auto whole = [&](const Array& w) { return gathered ? with_sharding_constraint(w, Spec{}) : w; };
    return mean(square(matmul(tanh(matmul(in[2], whole(p[0]))), whole(p[1])) - in[3]));
  };
  auto [value, slopes] = value_and_grad(loss)(A{in[0], in[1]});
  return joined(value, slopes);
}
inline A recurrent(const A& in) {
  auto loss = [&](const Array& w) {
    auto c = scan([&](const Array& h, const Array& x) { return std::pair{tanh(matmul(h, w) + x), none}; }, in[1], in[2])
                 .first;
    return mean(square(c));
  };
  auto [value, slope] = value_and_grad(loss)(in[0]);
  return {value, slope};
}
/// Tokens, labels, then the leaves of the model in their order.
inline A gpt2(const A& in, const AxisMapping& compute) {
  models::Gpt2Config config{.layers = 2, .embed = 16, .heads = 4, .positions = 8};
  auto leaves = A(in.begin() + 2, in.end());
  auto model = eval_shape([&](const Array& k) { return models::Gpt2::init(config, 32, k); }, random::key(0));
  tree::replace(tree::node(model), leaves.data(), leaves.size());
  UseMapping scope(compute);
  Axis batch{"batch", in[0].shape(0)};
  auto x = named(in[0], {batch, config.position_axis()}), y = named(in[1], {batch, config.position_axis()});
  auto loss = [&](const models::Gpt2& m) { return mean(nn::cross_entropy(m(x), "vocab", y)).array(); };
  auto [value, slopes] = value_and_grad(loss)(model);
  return joined(value, tree::leaves(slopes));
}
/// One step of a random program.
inline Array step(const Array& x, const std::string& text, const A& in) {
  auto words = test::parts(text, ':');
  auto& name = words[0];
  std::vector<Dim> n;
  for (std::size_t k = 1; k < words.size(); ++k) n.push_back(std::stoll(words[k]));
  auto d = n.empty() ? 0 : n[0];
  if (name == "sin") return sin(x);
  if (name == "tanh") return tanh(x);
  if (name == "transpose") return transpose(x);
  if (name == "roll") return roll(x, n[1], d);
  if (name == "flip") return flip(x, {d});
  if (name == "softmax") return softmax(x, {d});
  if (name == "center") return x - mean(x, {d}, {.keepdims = true});
  if (name == "sum") return sum(x, {d});
  if (name == "max") return amax(x, {d});
  if (name == "matmul") return matmul(x, in[1]);
  if (name == "reshape") return reshape(x, Shape(Dims(n.begin(), n.end())));
  if (name == "twice") return concatenate({x, x * 2}, d);
  if (name == "first") return x + slice_in_dim(x, d, 0, 1);
  if (name == "slice") return slice_in_dim(x, d, n[1], n[2], n[3]);
  if (name == "pad") {
    Dims low(static_cast<std::size_t>(x.ndim())), high = low;
    low[static_cast<std::size_t>(d)] = n[1], high[static_cast<std::size_t>(d)] = n[2];
    return pad(x, low, high);
  }
  ADD_FAILURE() << "no step " << text;
  return x;
}
inline FlatFn of_steps(std::vector<std::string> steps) {
  bool slope = steps.back() == "grad";
  if (slope) steps.pop_back();
  return [=](const A& in) {
    auto f = [&](Array x) {
      for (auto& s : steps) x = step(x, s, in);
      return x;
    };
    if (!slope) return A{f(in[0])};
    return A{grad([&](const Array& x) { return sum(sin(f(x))); })(in[0])};
  };
}
/// The program of this name on a mesh with these axes; empty if there is none.
inline FlatFn named_program(const std::string& name, const Axes& axes) {
  auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  auto of = [](auto f) { return [f](const A& a) { return A{f(a)}; }; };
  auto spd = [](const Array& a) { return matmul(a, swapped(a)) + 8 * eye(8); };
  if (name.starts_with("own_transpose")) return of([](auto& a) { return matmul(a[0], transpose(a[0])); });
  if (name.starts_with("matmul")) return of([](auto& a) { return matmul(a[0], a[1]); });
  if (name.starts_with("megatron"))
    return of([](auto& a) { return tanh(matmul(tanh(matmul(a[0], a[1])), a[2])); });
  if (name.starts_with("kernel_matrix")) return of([](auto& a) { return exp(-distances(a[0])); });
  if (name == "zeros") return of([](auto& a) { return exp(zeros({64, 32}) + 1) * a[0]; });
  if (name == "arange") return of([](auto& a) { return exp(arange(4096.) * 0.001) * a[0]; });
  if (is({"draw", "draw_tiles"})) return of([](auto& a) { return random::normal(a[0], {64, 32}) * 0.02; });
  if (name == "noise") return of([](auto& a) { return a[0] + random::normal(a[1], a[0].shape()); });
  if (name == "dropout")
    return of([](auto& a) { return where(random::bernoulli(a[1], 0.5, a[0].shape()), a[0] * 2, 0.0); });
  if (name.starts_with("causal_mask"))
    return of([](auto& a) { return where(expand_dims(arange(48), 1) >= arange(48), a[0], -1e9); });
  if (name == "vmap_constraint")
    return of([](auto& a) {
      return vmap([](const Array& r) { return with_sharding_constraint(sin(r), Spec{none}); })(a[0]);
    });
  if (name == "per_example_gradients")
    return of([](auto& a) {
      return vmap([&](const Array& r) {
        return grad([&](const Array& w) { return sum(tanh(matmul(r, w))); })(a[0]);
      })(a[1]);
    });
  if (name == "cholesky") return of([=](auto& a) { return linalg::cholesky(spd(a[0])); });
  if (name == "inv") return of([=](auto& a) { return linalg::inv(spd(a[0])); });
  if (name == "det") return of([=](auto& a) { return linalg::det(spd(a[0])); });
  if (name == "slogdet") return of([=](auto& a) { return linalg::slogdet(spd(a[0])).logabsdet; });
  if (name == "qr") return of([=](auto& a) { return linalg::qr(spd(a[0])).r; });
  if (name == "svd") return of([=](auto& a) { return linalg::svdvals(spd(a[0])); });
  if (name == "eigh") return of([=](auto& a) { return linalg::eigh(spd(a[0])).values; });
  if (name == "solve") return of([](auto& a) { return linalg::solve(a[0] + 8 * eye(8), a[1]); });
  if (name.starts_with("triangular_solve"))
    return of([](auto& a) { return linalg::triangular_solve(a[0] + 8 * eye(a[0].shape(-1)), a[1]); });
  if (name == "fft_batch") return of([](auto& a) { return real(fft::fft(a[0])); });
  if (name == "fft2_batch") return of([](auto& a) { return real(fft::fft2(a[0])); });
  if (name == "fft_split") return of([](auto& a) { return real(fft::fft(a[0], {.axis = 0})); });
  if (name == "poisson") return of([=](auto& a) { return poisson(a[0], axes); });
  if (name == "slice") return of([](auto& a) { return slice_in_dim(a[0], 0, 8, 40) * 2; });
  if (name == "every_other") return of([](auto& a) { return slice_in_dim(a[0], 0, 0, 64, 2) * 2; });
  if (name == "flip") return of([](auto& a) { return flip(a[0], {0}); });
  if (name == "roll") return of([](auto& a) { return roll(a[0], 1, 0) * 2; });
  if (name == "roll_both") return of([](auto& a) { return roll(a[0], Dims{5, -3}, Dims{0, 1}) * 2; });
  if (name == "concatenate") return of([](auto& a) { return concatenate({a[0], a[1] * 2}); });
  if (name == "pad") return of([](auto& a) { return pad(sin(a[0]), {3, 0}, {5, 0}); });
  if (name == "diff") return of([](auto& a) { return pad(diff(a[0], 1, 0), {0, 0}, {1, 0}); });
  if (name == "first_row") return of([](auto& a) { return slice_in_dim(a[0], 0, 0, 1) + a[0]; });
  if (name == "column") return of([](auto& a) { return reshape(slice_in_dim(a[0], 1, 5, 6), {64}) * 2; });
  if (name == "one_row") return of([](auto& a) { return reshape(slice_in_dim(a[0], 0, 17, 18), {16}) * 2; });
  if (name == "cumsum") return of([](auto& a) { return cumsum(a[0], 0); });
  if (name == "microbatches") return of([](auto& a) { return reshape(a[0], {4, 16, 16}) * 2; });
  if (name == "merge") return of([](auto& a) { return reshape(a[0], {64, 8}) * 2; });
  if (name == "split") return of([](auto& a) { return reshape(a[0], {16, 4, 8}) * 2; });
  if (is({"transpose", "transpose_kept"})) return of([](auto& a) { return transpose(a[0]) * 2; });
  if (is({"dynamic_slice", "dynamic_slice_columns"}))
    return of([](auto& a) { return dynamic_slice(a[0], {a[1], array(0)}, {16, 16}) * 2; });
  if (name == "dynamic_update_slice")
    return of([](auto& a) { return dynamic_update_slice(a[0], a[1], {a[2], array(0)}) * 2; });
  if (is({"heat", "heat_columns", "heat_tiles"})) return of([](auto& a) { return a[0] + 0.1 * laplace(a[0]); });
  if (is({"wave", "wave_tiles"})) return of([](auto& a) { return 2 * a[0] - a[1] + 0.1 * laplace(a[0]); });
  if (name == "heat_walls") return of([](auto& a) { return heat_walls(a[0]); });
  if (name.starts_with("conv_kernel_gradient"))
    return of([](auto& a) { return grad([&](const Array& w) { return sum(sin(same_conv(a[1], w))); })(a[0]); });
  if (name == "conv_stride") return of([](auto& a) { return same_conv(a[0], a[1], 2); });
  if (name == "conv_groups") return of([](auto& a) { return same_conv(a[0], a[1], 1, 4); });
  if (name.starts_with("conv_")) return of([](auto& a) { return same_conv(a[0], a[1]); });
  if (name.starts_with("max_pool")) return of([](auto& a) { return pooled(a[0]); });
  if (name == "convnet") return convnet;
  if (name == "sum_split") return of([](auto& a) { return sum(sin(a[0]), {0}); });
  if (name == "max_split") return of([](auto& a) { return amax(a[0], {0}); });
  if (name == "argmax_split") return of([](auto& a) { return argmax(a[0], 0); });
  if (name == "argmax_rows") return of([](auto& a) { return argmax(a[0], 1); });
  if (name.starts_with("softmax")) return of([](auto& a) { return softmax(a[0], 1); });
  if (name == "logsumexp_split") return of([](auto& a) { return logsumexp(a[0], 1, ReduceOptions{}); });
  if (name.starts_with("layer_norm")) return of([](auto& a) { return normalized(a[0], 1); });
  if (name == "batch_norm") return of([](auto& a) { return normalized(a[0], 0); });
  if (name.starts_with("sort")) return of([](auto& a) { return sort(a[0]); });
  if (name == "argsort") return of([](auto& a) { return argsort(a[0]); });
  if (name.starts_with("top_k")) return of([](auto& a) { return top_k(a[0], 4).values; });
  if (name.starts_with("take_along"))
    return of([](auto& a) { return reshape(take_along_axis(a[0], expand_dims(a[1], 1), 1), {64}); });
  if (name.starts_with("take_")) return of([](auto& a) { return take(a[0], a[1], 0, IndexMode::clamp); });
  if (name.starts_with("scatter_add")) return of([](auto& a) { return scatter_add(a[0], a[1], a[2]); });
  if (name.starts_with("attention")) return of([](auto& a) { return attention(a[0], a[1], a[2]); });
  if (name == "mlp_fsdp") return [](const A& a) { return mlp(a, true); };
  if (name.starts_with("mlp_")) return [](const A& a) { return mlp(a, false); };
  if (name == "recurrent") return recurrent;
  if (name == "cross_entropy_vocabulary")
    return of([](auto& a) {
      auto x = concatenate({a[0], a[0] * 2});
      return -mean(picked(log_softmax(tanh(x)), a[1]));
    });
  auto mapped = [](const MeshAxes& batch, const MeshAxes& model) {
    AxisMapping m{{"batch", batch}, {"heads", model}, {"mlp", model}, {"vocab", model}};
    return [m](const A& a) { return gpt2(a, m); };
  };
  if (is({"gpt2_data", "gpt2_fsdp"})) return mapped(axes.all, none);
  if (name == "gpt2_tensor") return mapped(none, axes.all);
  if (name == "gpt2_both") return mapped(axes.data, axes.model);
  return {};
}
}  // namespace bora::laws::jax_sharding
