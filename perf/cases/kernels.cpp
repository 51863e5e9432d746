// kernels.cpp -- products, attention, fused loops over rows and arrays.
#include <memory>
#include "bora/bora.h"
#include "bora/ops/contractions.h"
#include "bora/optim/optim.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;

/// Forward, input gradient and weight gradient of the GPT-2 layers' products for T tokens.
Case layer_products(Dtype dtype) {
  constexpr std::int64_t T = 1024;
  Arrays in;
  std::uint32_t seed = 0;
  for (auto [k, n] : {std::pair{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}) {
    in.push_back(uniform(++seed, {T, k}).astype(dtype));
    in.push_back(uniform(++seed, {k, n}).astype(dtype));
    in.push_back(uniform(++seed, {T, n}).astype(dtype));
  }
  return compiled(
      [](const Arrays& a) {
        Arrays out;
        for (std::size_t i = 0; i < a.size(); i += 3) {
          out.push_back(matmul(a[i], a[i + 1]));
          out.push_back(matmul(a[i + 2], transpose(a[i + 1])));
          out.push_back(matmul(transpose(a[i]), a[i + 2]));
        }
        return out;
      },
      in);
}
Case gelu_chain(std::int64_t n) {
  return compiled([](const Arrays& a) { return Arrays{gelu(a[0] * a[1] + a[2]) * a[3]}; },
                  {uniform(1, {n}), uniform(2, {n}), uniform(3, {n}), uniform(4, {n})});
}
Case softmax_rows(std::int64_t rows, std::int64_t columns) {
  return compiled([](const Arrays& a) { return Arrays{softmax(a[0])}; }, {uniform(1, {rows, columns}, 4)});
}
struct Adam {
  Array p, g;
  optim::State state;
};
Case adamw_64m() {
  static constexpr std::int64_t n = std::int64_t{1} << 26;
  auto tx = optim::adamw({.learning_rate = 1e-3, .weight_decay = 0.01});
  auto step = jit([tx](const Array& p, const optim::State& s, const Array& g) {
    auto [updates, next] = tx.update(g, s, p);
    return std::pair{optim::apply_updates(p, updates), next};
  });
  auto a = std::make_shared<Adam>();
  auto begin = [a, tx] {
    *a = {};
    a->p = uniform(1, {n});
    a->g = uniform(2, {n}, 0.01F);
    a->state = tx.init(a->p);
  };
  auto run = [a, step] {
    auto [p, s] = step(std::move(a->p), std::move(a->state), a->g);
    a->p = p;
    a->state = s;
  };
  begin();
  return {run, [=] {
            begin();
            for (int i = 0; i < 3; ++i) run();
            return Values{{"parameters", digest(a->p)}};
          }};
}
}  // namespace

void add_kernels(Cases& to) {
  to["products"] = [] { return layer_products(f32); };
  to["products_bf16"] = [] { return layer_products(bf16); };
  to["vocabulary_product"] = [] {
    return compiled([](const Arrays& a) { return Arrays{matmul(a[0], a[1])}; },
                    {uniform(1, {1024, 768}), uniform(2, {768, 50304})});
  };
  for (auto dtype : {f32, bf16}) {
    auto heads = [dtype](std::uint32_t seed) { return uniform(seed, {4, 1024, 12, 64}).astype(dtype); };
    std::string end = dtype == bf16 ? "_bf16" : "";
    to["attention_forward" + end] = [heads] {
      return compiled([](const Arrays& a) { return Arrays{attention(a[0], a[1], a[2], {.causal = true})}; },
                      {heads(1), heads(2), heads(3)});
    };
    to["attention_backward" + end] = [heads] {
      return compiled(
          [](const Arrays& a) {
            auto f = [](const Array& q, const Array& k, const Array& v) {
              return attention(q, k, v, {.causal = true});
            };
            auto [y, pull] = vjp(f, a[0], a[1], a[2]);
            auto [dq, dk, dv] = pull(a[3]);
            return Arrays{y, dq, dk, dv};
          },
          {heads(1), heads(2), heads(3), heads(4)});
    };
  }
  to["gelu_16k"] = [] { return gelu_chain(4096); };
  to["gelu_256k"] = [] { return gelu_chain(65536); };
  to["gelu_64m"] = [] { return gelu_chain(std::int64_t{1} << 24); };
  to["softmax_1024"] = [] { return softmax_rows(4096, 1024); };
  to["softmax_50304"] = [] { return softmax_rows(512, 50304); };
  to["layer_norm"] = [] {
    return compiled(
        [](const Arrays& a) {
          auto f = [](const Array& x, const Array& w, const Array& b) { return layer_norm(x, w, b); };
          auto [y, pull] = vjp(f, a[0], a[1], a[2]);
          auto [dx, dw, db] = pull(a[3]);
          return Arrays{y, dx, dw, db};
        },
        {uniform(1, {4096, 768}), uniform(2, {768}), uniform(3, {768}), uniform(4, {4096, 768})});
  };
  to["cross_entropy"] = [] {
    return compiled(
        [](const Arrays& a) {
          auto [loss, d] = value_and_grad([&](const Array& x) { return mean(cross_entropy(x, a[1])); })(a[0]);
          return Arrays{loss, d};
        },
        {uniform(1, {1024, 50304}, 4), integers(2, {1024}, 50304)});
  };
  to["adamw"] = adamw_64m;
}
}  // namespace cases
