// Masked functions of neural networks: softmax, norms, losses, attention, dropout.
#include "bora/nn/dropout.h"
#include "bora/nn/functions.h"
#include "bora/nn/loss.h"
#include "laws/mask_table.h"

namespace bora::laws::mask_nn_test {
namespace {
void add_softmax(MaskedCases& cases) {
  auto x = rnd({3, 4}, 1);
  auto m = holes({3, 4}, {0, 5, 6, 8, 9, 10, 11});  // nothing of the last row
  cases.push_back({"softmax", {x}, {m}, [=](const Arrays& in) { return nn::softmax(in[0], -1, m); }});
  cases.push_back({"log_softmax", {x}, {m}, [=](const Arrays& in) {
                     return where(m, nn::log_softmax(in[0], -1, m), 0);
                   }});
  auto some = holes({3, 4}, {0, 5, 6});
  auto of = [=](const Array& v) {
    const Axes axes{Axis{"a", 3}, Axis{"b", 4}};
    return nn::standardize(named(v, axes), "b", {.where = named(some, axes)});
  };
  cases.push_back({"standardize", {x}, {some}, [=](const Arrays& in) { return where(some, of(in[0]).array(), 0); }});
}
void add_losses(MaskedCases& cases) {
  const Axis batch{"batch", 3}, label{"label", 4};
  auto x = rnd({3, 4}, 2), y = softmax(rnd({3, 4}, 3));
  auto row = holes({3}, {1});
  auto rows = broadcast_in_dim(row, {3, 4}, {0});
  for (auto how : {nn::Reduction::mean, nn::Reduction::sum, nn::Reduction::none}) {
    nn::LossOptions o{.reduction = how, .where = named(row, {batch})};
    auto at = " " + std::to_string(static_cast<int>(how));
    cases.push_back({"cross_entropy_loss" + at, {x, y}, {rows, rows}, [=](const Arrays& in) {
                       return nn::cross_entropy_loss(named(in[0], {batch, label}), "label",
                                                     named(in[1], {batch, label}), o).array();
                     }});
    cases.push_back({"reduce_loss" + at, {rnd({3}, 4)}, {row}, [=](const Arrays& in) {
                       return nn::reduce_loss(named(in[0], {batch}), o).array();
                     }});
    nn::LossOptions each{.reduction = how, .where = named(rows, {batch, label})};
    cases.push_back({"binary_cross_entropy_loss" + at, {x, y}, {rows, rows}, [=](const Arrays& in) {
                       return nn::binary_cross_entropy_loss(named(in[0], {batch, label}), named(in[1], {batch, label}),
                                                            each).array();
                     }});
  }
  // Of positions without weight neither the vectors nor the labels, which may be no labels, count.
  const Axis position{"position", 5}, embed{"embed", 3}, vocab{"vocab", 6};
  auto v = rnd({5, 3}, 5), h = rnd({3, 6}, 6);
  auto weights = named(array({1., 0., 0.5, 0., 2.}, f64).astype(f32), {position});
  auto targets = named(array({1, -100, 3, 9, 0}), {position});
  for (std::int64_t bytes : {128 << 20, 60})
    cases.push_back({"linear_cross_entropy in blocks of " + std::to_string(bytes),
                     {v, h},
                     {broadcast_in_dim(holes({5}, {1, 3}), {5, 3}, {0}), holes({3, 6}, {})},
                     [=](const Arrays& in) {
                       return nn::linear_cross_entropy({named(in[1], {embed, vocab})}, named(in[0], {position, embed}),
                                                       targets, weights, {.block_bytes = bytes}).array();
                     }});
}
/// Attention of S queries and T keys. Queries with keys and keys with queries count; the law of pairs is below.
void add_attention(MaskedCases& cases) {
  auto q = rnd({2, 5, 2, 3}, 7), k = rnd({2, 6, 2, 3}, 8), v = rnd({2, 6, 2, 4}, 9);
  auto key_counts = holes({2, 6}, {4, 5, 11}), query_counts = holes({2, 5}, {3, 9});
  auto over = [](const Array& c, const Shape& s) { return broadcast_in_dim(c, s, {0, 1}); };
  Arrays counts{over(query_counts, q.shape()), over(key_counts, k.shape()), over(key_counts, v.shape())};
  const Shape every{2, 1, 5, 6};
  auto pairs = broadcast_in_dim(query_counts, every, {0, 2}) && broadcast_in_dim(key_counts, every, {0, 3});
  auto one = [&](const std::string& name, const AttentionOptions& o) {
    cases.push_back({"attention, " + name, {q, k, v}, counts, [=](const Arrays& in) {
                       return attention(in[0], in[1], in[2], o);
                     }});
  };
  one("mask", {.mask = pairs});
  one("mask and cap", {.mask = pairs, .soft_cap = 2.});
  one("mask and bias", {.mask = pairs, .bias = rnd({2, 2, 5, 6}, 10)});
  one("segments", {.query_segments = where(query_counts, 1, array(5)).astype(i32),
                   .key_segments = where(key_counts, 1, array(3)).astype(i32)});
  auto first = holes({2, 6}, {5, 11});  // the last key is behind every query
  auto all_queries = holes(q.shape(), {});
  cases.push_back({"attention, causal", {q, k, v}, {all_queries, over(first, k.shape()), over(first, v.shape())},
                   [](const Arrays& in) { return attention(in[0], in[1], in[2], {.causal = true}); }});
  auto two = holes({2, 6}, {0, 1, 6, 7});
  cases.push_back({"attention, a window", {q, k, v}, {all_queries, over(two, k.shape()), over(two, v.shape())},
                   [](const Arrays& in) { return attention(in[0], in[1], in[2], {.left = -2}); }});
  const Axis s{"s", 5}, t{"t", 6}, d{"d", 3}, e{"e", 4};
  auto flat = [](const Array& x) { return index_in_dim(index_in_dim(x, 2, 0), 0, 0); };
  auto m = named(index_in_dim(squeeze(pairs, 1), 0, 0), {s, t});
  Arrays c{flat(counts[0]), flat(counts[1]), flat(counts[2])};
  cases.push_back({"dot_product_attention", {flat(q), flat(k), flat(v)}, c, [=](const Arrays& in) {
                     return nn::dot_product_attention("t", "d", named(in[0], {s, d}), named(in[1], {t, d}),
                                                      named(in[2], {t, e}), {.mask = m}).array();
                   }});
  cases.push_back({"dot_product_attention_weights", {flat(q), flat(k)}, {c[0], c[1]}, [=](const Arrays& in) {
                     return nn::dot_product_attention_weights("d", "t", named(in[0], {s, d}), named(in[1], {t, d}),
                                                              {.mask = m}).array();
                   }});
}
void add_dropout(MaskedCases& cases) {
  auto key = random::key(3);
  auto x = rnd({4, 6}, 11);
  auto kept = dropout(key, ones({4, 6}, f64), 0.4) != 0;
  cases.push_back({"dropout", {x}, {kept}, [=](const Arrays& in) { return dropout(key, in[0], 0.4); }});
  const Axis a{"a", 4}, b{"b", 6};
  nn::Dropout layer{0.4F};
  auto whole = layer.along(named(ones({4, 6}, f64), {a, b}), "a", key).array() != 0;
  cases.push_back({"Dropout::along", {x}, {whole}, [=](const Arrays& in) {
                     return layer.along(named(in[0], {a, b}), "a", key).array();
                   }});
}
}  // namespace
void add_nn(MaskedCases& cases) {
  add_softmax(cases);
  add_losses(cases);
  add_attention(cases);
  add_dropout(cases);
}
namespace {
/// Of masked pairs: what a query must not see does not reach it, though others see it. Causal, in every dtype and
/// beyond a tile.
TEST(MaskedNn, ALaterTokenChangesNothingEarlier) {
  for (auto dtype : {f32, f64, bf16})
    for (std::int64_t n : {5, 70, 150}) {
      auto x = [&](int seed) { return rnd({1, n, 1, 4}, seed).astype(dtype); };
      auto q = x(1), k = x(2), v = x(3);
      auto at = n - 2;
      auto later = broadcast_in_dim(iota({n}, 0, i32) >= at, {1, n, 1, 4}, {1});
      auto earlier = !later;
      auto f = [&](const Array& a, const Array& b, const Array& c) { return attention(a, b, c, {.causal = true}); };
      // The loss of each query by itself: those after `at` have none.
      auto loss = [&](const Array& a, const Array& b, const Array& c) {
        return sum(where(earlier, f(a, b, c), 0).astype(f64) * rnd({1, n, 1, 4}, 4));
      };
      auto spoiled = [&](const Array& y) { return where(later, NAN, y); };
      auto want = where(earlier, f(q, k, v), 0), got = where(earlier, f(q, spoiled(k), spoiled(v)), 0);
      EXPECT_EQ(worst(got, want), 0) << n;
      auto g = [&](const Array& b, const Array& c) { return grad([&](const Array& a) { return loss(a, b, c); })(q); };
      EXPECT_EQ(worst(where(earlier, g(spoiled(k), v), 0), where(earlier, g(k, v), 0)), 0) << n;
      EXPECT_EQ(worst(where(earlier, g(k, spoiled(v)), 0), where(earlier, g(k, v), 0)), 0) << n;
    }
}
}  // namespace
}  // namespace bora::laws::mask_nn_test
