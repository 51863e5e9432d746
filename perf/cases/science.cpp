// science.cpp -- programs of scientists: simulations, samplers, filters, small networks, linear algebra.
#include <cmath>
#include "bora/bora.h"
#include "bora/shard/linalg.h"
#include "cases.h"
#include "../../examples/nuts.h"
#include "bora/ops/contractions.h"

namespace cases {
namespace {
using namespace bora;
Array wide(std::uint32_t seed, const Shape& shape, float scale = 1) { return uniform(seed, shape, scale).astype(f64); }
/// The last carry of n steps.
Array steps(std::int64_t n, const Array& init, const std::function<Array(const Array&)>& f) {
  auto step = [&](const Array& x, std::nullopt_t) { return std::pair{f(x), none}; };
  return scan(step, init, none, {.length = n}).first;
}

/// Sum of squares of neighbours' differences, and a quartic well: 16 coordinates of each of 64 chains.
Array energy(const Array& q) {
  auto d = slice(q, {1}, {16}) - slice(q, {0}, {15});
  return sum(d * d) * 2 + sum(q * q * q * q) * 0.25;
}
Arrays hmc(const Arrays& in) {
  auto slope = vmap(grad(energy));
  auto step = [&](const Array& q, const Array& key) {
    auto [k1, k2] = random::split<2>(key);
    auto p0 = random::normal(k1, {64, 16}, f64);
    auto leap = [&](const std::pair<Array, Array>& s, std::nullopt_t) {
      auto p = s.second - 0.05 * slope(s.first);
      auto x = s.first + 0.1 * p;
      return std::pair{std::pair{x, p - 0.05 * slope(x)}, none};
    };
    auto [x, p] = scan(leap, std::pair{q, p0}, none, {.length = 10}).first;
    auto before = vmap(energy)(q) + 0.5 * sum(p0 * p0, -1), after = vmap(energy)(x) + 0.5 * sum(p * p, -1);
    auto accepted = log(random::uniform(k2, {64}, f64)) < before - after;
    auto next = where(reshape(accepted, {64, 1}), x, q);
    return std::pair{next, mean(next)};
  };
  auto [q, means] = scan(step, in[0], random::split(random::key(0), 50));
  return {q, means};
}
/// 50 draws of 64 chains by the No-U-Turn Sampler, and the doublings of each.
Arrays no_u_turn(const Arrays& in) {
  auto chain = [&](const Array& key) {
    auto step = [](const Array& x, const Array& k) {
      auto [next, level] = nuts::drawn(x, k);
      return std::pair{next, std::pair{next, level}};
    };
    return scan(step, in[0], random::split(key, 50)).second;
  };
  auto [draws, levels] = vmap(chain)(in[1]);
  return {draws, levels};
}
/// The log-likelihood of observations [1000, 2] under a linear system of 4 states.
Arrays kalman(const Arrays& in) {
  auto &a = in[0], &h = in[1];
  auto q = eye(4, f64) * 0.01, r = eye(2, f64) * 0.1;
  struct State {
    Array x, p, total;
  };
  auto step = [&](const State& s, const Array& z) {
    auto x = matmul(a, s.x), p = matmul(matmul(a, s.p), transpose(a)) + q;
    auto e = z - matmul(h, x), c = matmul(matmul(h, p), transpose(h)) + r;
    auto gain = transpose(linalg::solve(c, matmul(h, p)));
    auto solved = linalg::solve(c, reshape(e, {2, 1}));
    auto at = [&](std::int64_t i, std::int64_t j) { return reshape(slice(c, {i, j}, {i + 1, j + 1}), Shape{}); };
    auto det = at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
    auto loss = 0.5 * (sum(e * reshape(solved, {2})) + log(det));
    return std::pair{State{x + matmul(gain, e), p - matmul(matmul(gain, h), p), s.total + loss}, none};
  };
  auto last = scan(step, State{zeros({4}, f64), eye(4, f64), zeros({}, f64)}, in[2]).first;
  return {last.total, last.x};
}
/// The gradient of a loss over 100 steps of an LSTM, 128 inputs and cells, batch 32.
Arrays lstm(const Arrays& in) {
  auto loss = [&](const Arrays& w) {
    auto step = [&](const std::pair<Array, Array>& s, const Array& x) {
      auto g = matmul(x, w[0]) + matmul(s.first, w[1]) + w[2];
      auto part = [&](std::int64_t i) { return slice(g, {0, 128 * i}, {32, 128 * (i + 1)}); };
      auto c = sigmoid(part(0)) * s.second + sigmoid(part(1)) * tanh(part(2));
      auto h = sigmoid(part(3)) * tanh(c);
      return std::pair{std::pair{h, c}, none};
    };
    auto h = scan(step, std::pair{zeros({32, 128}), zeros({32, 128})}, in[3]).first.first;
    return sum(h * h);
  };
  auto [value, slopes] = value_and_grad(loss)(Arrays{in[0], in[1], in[2]});
  return {value, slopes[0], slopes[1], slopes[2]};
}
/// The gradient of the log marginal likelihood of a Gaussian process in its length, scale and noise, 256 points.
Arrays gaussian_process(const Arrays& in) {
  auto loss = [&](const Array& theta) {
    auto at = [&](std::int64_t i) { return exp(reshape(slice(theta, {i}, {i + 1}), Shape{})); };
    auto d = reshape(in[1], {256, 1}) - reshape(in[1], {1, 256});
    auto k = at(1) * exp(-0.5 * d * d / (at(0) * at(0))) + (at(2) + 1e-6) * eye(256, f64);
    auto l = linalg::cholesky(k);
    auto a = linalg::triangular_solve(l, reshape(in[2], {256, 1}));
    return 0.5 * sum(a * a) + sum(log(sum(l * eye(256, f64), -1)));
  };
  auto [value, slope] = value_and_grad(loss)(in[0]);
  return {value, slope};
}
/// A leapfrog step of 1024 bodies, softened.
Arrays bodies(const Arrays& in) {
  auto &x = in[0], &v = in[1];
  auto d = reshape(x, {1, 1024, 3}) - reshape(x, {1024, 1, 3});
  auto near = rsqrt(sum(d * d, -1) + 1e-2);
  auto force = sum(d * reshape(near * near * near, {1024, 1024, 1}), 1);
  auto speed = v + 1e-3 * force;
  return {x + 1e-3 * speed, speed};
}
/// The gradient of a convolution of 3 x 3 by im2col, a mean pool and a linear layer: 64 images of 28 x 28.
Arrays cnn(const Arrays& in) {
  auto loss = [&](const Arrays& w) {
    Arrays parts;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) parts.push_back(slice(in[2], {0, i, j}, {64, i + 26, j + 26}));
    auto h = maximum(matmul(stack(parts, -1), w[0]), 0.0);  // [image, row, column, channel]
    auto pooled = mean(reshape(h, {64, 13, 2, 13, 2, 16}), {2, 4});
    return mean(cross_entropy(matmul(reshape(pooled, {64, 13 * 13 * 16}), w[1]), in[3]));
  };
  auto [value, slopes] = value_and_grad(loss)(Arrays{in[0], in[1]});
  return {value, slopes[0], slopes[1]};
}
/// u_t = -u u_x - u_xx - u_xxxx by finite differences on a ring of 512 points.
Arrays kuramoto(const Arrays& in) {
  auto step = [](const Array& u) {
    auto r = roll(u, -1, 0), l = roll(u, 1, 0), rr = roll(u, -2, 0), ll = roll(u, 2, 0);
    auto slope = (r * r - l * l) * 0.25, second = r - 2 * u + l, fourth = rr - 4 * r + 6 * u - 4 * l + ll;
    return u - 0.01 * (slope + second + fourth);
  };
  return {steps(1000, in[0], step)};
}
/// Ten steps of the wave equation on 128^3 points, zero outside.
Arrays wave(const Arrays& in) {
  auto laplacian = [](const Array& u) {
    auto p = pad(u, {1, 1, 1}, {1, 1, 1});
    auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      return slice(p, {i, j, k}, {i + 128, j + 128, k + 128});
    };
    return at(0, 1, 1) + at(2, 1, 1) + at(1, 0, 1) + at(1, 2, 1) + at(1, 1, 0) + at(1, 1, 2) - 6 * u;
  };
  auto step = [&](const std::pair<Array, Array>& s, std::nullopt_t) {
    auto next = 2 * s.second - s.first + 0.1F * laplacian(s.second);
    return std::pair{std::pair{s.second, next}, none};
  };
  return {scan(step, std::pair{in[0], in[0]}, none, {.length = 10}).first.second};
}
/// Symmetric and far from singular.
Array positive(std::uint32_t seed, std::int64_t n) {
  auto a = wide(seed, {n, n});
  return matmul(a, transpose(a)) / static_cast<double>(n) + eye(n, f64);
}
/// Signs of vectors are free: only their magnitudes are compared.
Arrays singular(const Arrays& in) {
  auto [u, s, vt] = linalg::svd(in[0]);
  return {s, abs(u), abs(vt)};
}
Arrays eigen(const Arrays& in) {
  auto [values, vectors] = linalg::eigh(in[0]);
  return {values, abs(vectors)};
}
Arrays orthogonal(const Arrays& in) {
  auto [q, r] = linalg::qr(in[0]);
  return {abs(q), abs(r)};
}
}  // namespace

void add_science(Cases& to) {
  to["hmc"] = [] { return compiled(hmc, {wide(1, {64, 16})}); };
  to["nuts"] = [] { return compiled(no_u_turn, {zeros({nuts::kSize}, f64), random::split(random::key(0), 64)}); };
  to["kalman"] = [] {
    auto a = eye(4, f64) * 0.9 + wide(1, {4, 4}, 0.1F);
    return compiled(kalman, {a, wide(2, {2, 4}), wide(3, {1000, 2})});
  };
  to["lstm"] = [] {
    return compiled(lstm, {uniform(1, {128, 512}, 0.1F), uniform(2, {128, 512}, 0.1F), uniform(3, {512}, 0.1F),
                           uniform(4, {100, 32, 128})});
  };
  to["gaussian_process"] = [] {
    return compiled(gaussian_process, {wide(1, {3}), wide(2, {256}, 4), wide(3, {256})});
  };
  to["bodies"] = [] { return compiled(bodies, {uniform(1, {1024, 3}), uniform(2, {1024, 3})}); };
  to["cnn"] = [] {
    return compiled(cnn, {uniform(1, {9, 16}, 0.3F), uniform(2, {13 * 13 * 16, 10}, 0.02F), uniform(3, {64, 28, 28}),
                          integers(4, {64}, 10)});
  };
  to["kuramoto"] = [] { return compiled(kuramoto, {wide(1, {512}, 0.1F)}); };
  to["wave"] = [] { return compiled(wave, {uniform(1, {128, 128, 128})}); };
  for (std::int64_t n : {8, 64})
    to["solve_" + std::to_string(n)] = [n] {
      auto count = n == 8 ? 10000 : 1000;
      return compiled([](const Arrays& a) { return Arrays{linalg::solve(a[0], a[1])}; },
                      {wide(1, {count, n, n}) + 4 * eye(n, f64), wide(2, {count, n, 1})});
    };
  for (std::int64_t n : {512, 2000}) {
    auto name = "_" + std::to_string(n);
    to["svd" + name] = [n] { return compiled(singular, {wide(1, {n, n})}); };
    to["eigh" + name] = [n] { return compiled(eigen, {positive(1, n)}); };
    to["qr" + name] = [n] { return compiled(orthogonal, {wide(1, {n, n})}); };
    to["cholesky" + name] = [n] {
      return compiled([](const Arrays& a) { return Arrays{linalg::cholesky(a[0])}; }, {positive(1, n)});
    };
  }
  for (int ranks : {1, 4})  // one matrix over ranks, by columns
    to["sharded_cholesky_" + std::to_string(ranks)] = [ranks] {
      auto a = positive(1, 2000);
      auto all = [=](bool read) {
        Values r;
        local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
          auto split = with_sharding_constraint(a, Spec{none, "data"});
          auto l = linalg::sharded::cholesky(split, mesh, "data");
          if (!read) return;
          auto whole = gather(l);
          if (mesh.rank() == 0) r = {{"out0", digest(whole)}};
        });
        return r;
      };
      return Case{[=] { all(false); }, [=] { return all(true); }};
    };
  auto numbers = [](const Shape& s) { return complex(uniform(1, s), uniform(2, s)); };
  auto parts = [](const Array& y) { return Arrays{real(y), imag(y)}; };
  to["fft"] = [=] { return compiled([=](const Arrays& a) { return parts(fft::fft(a[0])); }, {numbers({1 << 20})}); };
  to["fft2"] = [=] {
    return compiled([=](const Arrays& a) { return parts(fft::fft2(a[0])); }, {numbers({1024, 1024})});
  };
  to["image_u8"] = [] {
    auto image = integers(1, {2048, 2048, 3}, 256).astype(u8);
    return compiled(
        [](const Arrays& a) {
          auto x = a[0].astype(i32);
          return Arrays{clip(right_shift(x * 77 + 4000, 6), 0, 255).astype(u8)};
        },
        {image});
  };
  to["transposed_chain"] = [] {
    return compiled([](const Arrays& a) { return Arrays{tanh(transpose(a[0]) * a[1] + a[2])}; },
                    {uniform(1, {2048, 2048}), uniform(2, {2048, 2048}), uniform(3, {2048, 2048})});
  };
  to["sum_middle"] = [] {
    return compiled([](const Arrays& a) { return Arrays{sum(a[0] * a[0], 1)}; }, {uniform(1, {256, 1024, 64})});
  };
  to["sum_two_axes"] = [] {
    return compiled([](const Arrays& a) { return Arrays{sum(a[0] * a[0], {0, 2, 3})}; },
                    {uniform(1, {64, 64, 56, 56})});
  };
  to["softmax_short"] = [] {
    return compiled([](const Arrays& a) { return Arrays{softmax(a[0] * 2, -1)}; }, {uniform(1, {131072, 8})});
  };
}
}  // namespace cases
