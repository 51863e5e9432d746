// moves.cpp -- indexing, order and random numbers: work that is mostly memory.
#include <memory>
#include "bora/bora.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
constexpr std::int64_t kTokens = 8192, kWidth = 768, kVocabulary = 50257, kNormals = std::int64_t{1} << 26;

/// Mean, standard deviation (for peers with other bits) and digest (for those with the same).
Values of_normals(const Array& x) {
  auto* p = x.data<float>();
  double sum = 0, squares = 0, n = static_cast<double>(x.size());
  for (std::int64_t i = 0; i < x.size(); ++i) {
    auto v = static_cast<double>(p[i]);
    sum += v;
    squares += v * v;
  }
  return {{"moments", {1 + sum / n, squares / n}}, {"out0", digest(x)}};
}
}  // namespace

void add_moves(Cases& to) {
  to["embedding_in_place"] = [] {
    auto add = jit([](const Array& table, const Array& at, const Array& d) { return scatter_add(table, at, d); });
    auto at = integers(1, {kTokens}, kVocabulary), d = uniform(2, {kTokens, kWidth});
    auto table = std::make_shared<Array>(zeros({kVocabulary, kWidth}));
    auto run = [=] { *table = add(std::move(*table), at, d); };
    return Case{run, [=] {
                  *table = zeros({kVocabulary, kWidth});
                  run();
                  return Values{{"out0", digest(*table)}};
                }};
  };
  to["embedding_new"] = [] {
    return compiled(
        [](const Arrays& a) {
          auto [y, pull] = vjp([&](const Array& table) { return take(table, a[1]); }, a[0]);
          return Arrays{pull(a[2])};
        },
        {uniform(1, {kVocabulary, kWidth}), integers(1, {kTokens}, kVocabulary), uniform(2, {kTokens, kWidth})});
  };
  to["normals"] = [] {
    auto draw = jit([](const Array& key) { return random::normal(key, {kNormals}); });
    auto key = random::key(0);
    return Case{[=] { Array x = draw(key); }, [=] { return of_normals(draw(key)); }};
  };
  to["sharded_init"] = [] {  // eight ranks, each of which draws its part
    auto draw = jit([](const Array& key) { return random::normal(key, {kNormals}, f32, {.spec = {{"data"}}}); });
    auto all = [=](bool read) {
      Values r;
      local_mesh({{"data", 8}}, [&](const Mesh& mesh) {
        auto x = draw(random::key(0));
        if (!read) return;
        auto whole = x.concrete();
        if (mesh.rank() == 0) r = of_normals(whole);
      });
      return r;
    };
    return Case{[=] { all(false); }, [=] { return all(true); }};
  };
  // Against NumPy and PyTorch, in memory and far above the caches.
  auto big = [] { return uniform(1, {4096, 4096}); };
  to["transpose"] = [=] { return compiled([](const Arrays& a) { return Arrays{transpose(a[0])}; }, {big()}); };
  to["transpose_heads"] = [] {
    return compiled([](const Arrays& a) { return Arrays{transpose(a[0], {0, 2, 1, 3})}; },
                    {uniform(1, {4, 1024, 12, 64})});
  };
  to["concatenate"] = [=] {
    return compiled([](const Arrays& a) { return Arrays{concatenate({a[0], a[1]}, 1)}; },
                    {big(), uniform(2, {4096, 1024})});
  };
  to["pad"] = [=] { return compiled([](const Arrays& a) { return Arrays{pad(a[0], {1, 8}, {1, 8})}; }, {big()}); };
  to["gather_rows"] = [] {
    return compiled([](const Arrays& a) { return Arrays{take(a[0], a[1])}; },
                    {uniform(1, {kVocabulary, kWidth}), integers(2, {kTokens}, kVocabulary)});
  };
  to["gather_elements"] = [] {
    return compiled([](const Arrays& a) { return Arrays{take(a[0], a[1])}; },
                    {uniform(1, {1 << 20}), integers(2, {1 << 22}, 1 << 20)});
  };
  to["scatter_elements"] = [] {
    return compiled([](const Arrays& a) { return Arrays{scatter_add(a[0], a[1], a[2])}; },
                    {uniform(1, {1 << 20}), integers(2, {1 << 22}, 1 << 20), uniform(3, {1 << 22})});
  };
  to["sort"] = [] { return compiled([](const Arrays& a) { return Arrays{sort(a[0])}; }, {uniform(1, {1 << 22})}); };
  to["sort_rows"] = [] {
    return compiled([](const Arrays& a) { return Arrays{sort(a[0])}; }, {uniform(1, {4096, 1024})});
  };
  to["argsort"] = [] {
    return compiled([](const Arrays& a) { return Arrays{argsort(a[0]).astype(f32)}; }, {uniform(1, {1 << 22})});
  };
  to["top_k"] = [] {
    return compiled([](const Arrays& a) { return Arrays{top_k(a[0], 40).values}; }, {uniform(1, {64, 50304})});
  };
  to["cumsum"] = [=] {
    return compiled([](const Arrays& a) { return Arrays{cumsum(a[0], -1)}; }, {uniform(1, {1 << 24}, 0x1p-10F)});
  };
  to["cumsum_rows"] = [=] { return compiled([](const Arrays& a) { return Arrays{cumsum(a[0], -1)}; }, {big()}); };
  to["argmax"] = [=] {
    return compiled([](const Arrays& a) { return Arrays{argmax(a[0], -1).astype(f32)}; }, {big()});
  };
  to["sum_columns"] = [=] { return compiled([](const Arrays& a) { return Arrays{sum(a[0], 0)}; }, {big()}); };
}
}  // namespace cases
