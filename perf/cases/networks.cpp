// networks.cpp -- convolutions, a step of a small network of them, eigenvalues, and a scan of an associative function.
#include "bora/bora.h"
#include "bora/fx/associative.h"
#include "bora/ops/contractions.h"
#include "bora/ops/convolution.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
/// A convolution of 3 x 3 as ResNet has it, forward and backward: 8 images of n x n.
Case conv2d(std::int64_t n, std::int64_t in, std::int64_t out, std::int64_t stride) {
  auto f = [stride](const Arrays& a) {
    return conv(a[0], a[1], {.stride = {stride, stride}, .padding = Padding::Pairs{{1, 1}, {1, 1}}});
  };
  auto both = [f](const Arrays& a) {
    auto [y, pull] = vjp(f, Arrays{a[0], a[1]});
    auto slopes = pull(a[2]);
    return Arrays{y, slopes[0], slopes[1]};
  };
  return compiled(both, {uniform(1, {8, n, n, in}), uniform(2, {3, 3, in, out}, 0.1F),
                         uniform(3, {8, n / stride, n / stride, out})});
}
/// A step of gradient descent of three convolutions and a linear layer: 64 images of 32 x 32 in three colours.
Arrays cnn3(const Arrays& in) {
  auto loss = [&](const Arrays& w) {
    auto h = in[4];
    for (std::size_t i = 0; i < 3; ++i) {
      h = relu(conv(h, w[i], {.padding = Padding::same}));
      h = i < 2 ? max_pool(h, {.window = {2, 2}}) : mean(h, {1, 2});
    }
    return mean(cross_entropy(matmul(h, w[3]), in[5]));
  };
  auto [value, slopes] = value_and_grad(loss)(Arrays(in.begin(), in.begin() + 4));
  Arrays r{value};
  for (std::size_t i = 0; i < 4; ++i) r.push_back(in[i] - 0.1 * slopes[i]);
  return r;
}
/// Eigenvalues and eigenvectors in a form that depends neither on their order nor on the phases of vectors.
Arrays general_eigen(const Arrays& in) {
  auto [values, vectors] = linalg::eig(in[0]);
  return {sort(real(values)), sort(abs(imag(values))), sort(sum(square(square(abs(vectors))), 0))};
}
/// Products of rotations, cosine and sine.
Arrays rotations(const Arrays& in) {
  auto f = [](const Arrays& a, const Arrays& b) {
    return Arrays{a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
  };
  return associative_scan(f, in);
}
}  // namespace

void add_networks(Cases& to) {
  to["conv2d_56"] = [] { return conv2d(56, 64, 64, 1); };
  to["conv2d_56_stride"] = [] { return conv2d(56, 64, 128, 2); };
  to["conv2d_14"] = [] { return conv2d(14, 256, 256, 1); };
  to["conv2d_7"] = [] { return conv2d(7, 512, 512, 1); };
  to["cnn3"] = [] {
    return compiled(cnn3, {uniform(1, {3, 3, 3, 32}, 0.2F), uniform(2, {3, 3, 32, 64}, 0.1F),
                           uniform(3, {3, 3, 64, 128}, 0.1F), uniform(4, {128, 10}, 0.1F),
                           uniform(5, {64, 32, 32, 3}), integers(6, {64}, 10)});
  };
  to["eig_500"] = [] { return compiled(general_eigen, {uniform(1, {500, 500}).astype(f64)}); };
  to["associative_scan"] = [] {
    auto t = uniform(1, {1 << 24}), square = t * t;
    return compiled(rotations, {(1 - square) / (1 + square), 2 * t / (1 + square)});
  };
}
}  // namespace cases
