#include <gtest/gtest.h>
#include "bora/bora.h"
#include "bora/named/mapping.h"
#include "bora/named/random.h"
#include "bora/named/transforms.h"
#include "bora/ops/contractions.h"
#include "support/throws.h"

namespace bora::named_test {
namespace {
const Axis Batch{"batch", 2}, Embed{"embed", 3}, Hidden{"mlp", 4};
NamedArray x() { return named(reshape(arange(6, f32), {2, 3}), {Batch, Embed}); }
NamedArray w() { return named(reshape(arange(12, f32), {3, 4}) / 10, {Embed, Hidden}); }
std::vector<float> numbers(const NamedArray& a) { return a.to_vector<float>(); }

TEST(Named, BinaryOperationsMatchByName) {
  auto bias = named(array({10., 20., 30.}), Embed);
  auto y = x() + bias, z = bias + x();
  EXPECT_EQ(y.axes(), (std::vector<Axis>{Batch, Embed}));
  EXPECT_EQ(numbers(y), (std::vector<float>{10, 21, 32, 13, 24, 35}));
  EXPECT_EQ(numbers(z), numbers(y));
  auto turned = rearrange(x(), {"embed", "batch"});
  EXPECT_EQ(numbers(x() * turned), numbers(square(x())));
  EXPECT_EQ(numbers(2 * x() - 1), (std::vector<float>{-1, 1, 3, 5, 7, 9}));
}
TEST(Named, FunctionsOfAProgramGetNamedForms) {
  auto blend = [](const Array& a, const Array& b, Scalar t) { return a * t + b * (1 - t.value); };
  auto bias = named(array({10., 20., 30.}), Embed);
  auto mixed = by_name("blend", +blend, bias, x(), Scalar(0.5));
  EXPECT_EQ(mixed.axes(), x().axes());
  EXPECT_EQ(numbers(mixed), numbers(x() * 0.5 + bias * 0.5));
  EXPECT_EQ(by_name("stddev", stddev, x(), AxisNames{"embed"}).axes(), (std::vector<Axis>{Batch}));
  EXPECT_EQ(by_name("stddev", stddev, x(), none).ndim(), 0);
}
TEST(Named, AxesThatDoNotFitAreErrorsThatNameThem) {
  test::says<AxisError>([] { (void)(x() + w()); }, "neither operand has all axes");
  test::says<AxisError>(
      [] {
        (void)(x() + named(zeros({5}), Axis{"embed", 5}));
      },
      "axis 'embed' has size 3 on the left and 5 on the right");
  test::says<AxisError>(
      [] {
        (void)dot(x(), named(zeros({5, 4}), {Axis{"embed", 5}, Hidden}), "embed");
      },
      "dot: axis 'embed' has size 3 on the left and 5 on the right");
  test::says<AxisError>([] { (void)mean(x(), "mlp"); }, "no axis 'mlp'");
  test::says<AxisError>([] { (void)named(zeros({2, 2}), {Batch, Batch}); }, "occurs twice");
  test::says<AxisError>([] { (void)named(zeros({2, 2}), {Batch, Embed}); }, "cannot have the axes");
  EXPECT_THROW((void)(x()[{"embed", 9}]), IndexError);
}
TEST(Named, DotContractsNamedAxesAndBatchesSharedOnes) {
  auto y = dot(x(), w(), Embed);
  EXPECT_EQ(y.axes(), (std::vector<Axis>{Batch, Hidden}));
  EXPECT_TRUE(allclose(y.array(), matmul(x().array(), w().array())));
  auto scores = dot(x(), rename(x(), {{"embed", "e"}}), Batch);
  EXPECT_EQ(scores.axes(), (std::vector<Axis>{Embed, Axis{"e", 3}}));
  auto each = dot(x(), x(), Embed);
  EXPECT_EQ(each.axes(), (std::vector<Axis>{Batch}));
  EXPECT_EQ(numbers(each), (std::vector<float>{5, 50}));
}
TEST(Named, ReductionsIndexingAndUpdates) {
  EXPECT_EQ(numbers(sum(x(), Batch)), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(numbers(sum(x(), {"batch", "embed"})), (std::vector<float>{15}));
  EXPECT_EQ(sum(x()).axes().size(), 0u);
  EXPECT_EQ(argmax(x(), Embed).to_vector<int>(), (std::vector<int>{2, 2}));
  EXPECT_EQ((numbers(x()[{"batch", 1}])), (std::vector<float>{3, 4, 5}));
  EXPECT_EQ((x()[{{"batch", range(0, 1)}, {"embed", 2}}].axes()), (std::vector<Axis>{Axis{"batch", 1}}));
  EXPECT_EQ(numbers(at(x(), {Batch, 0}).set(9)), (std::vector<float>{9, 9, 9, 3, 4, 5}));
  EXPECT_EQ(numbers(at(x(), {{"batch", 0}, {Embed, 1}}).add(1)), (std::vector<float>{0, 2, 2, 3, 4, 5}));
  auto rows = take(w(), Embed, named(array({2, 0}), Axis{"pick", 2}));
  EXPECT_EQ(rows.axes(), (std::vector<Axis>{Axis{"pick", 2}, Hidden}));
  auto flat = flatten_axes(x(), {"batch", "embed"}, Axis{"all", 6});
  EXPECT_EQ(numbers(unflatten_axis(flat, "all", {Batch, Embed})), numbers(x()));
  EXPECT_NEAR(sum(softmax(x(), Embed)[{"batch", 0}]).item<float>(), 1, 1e-6);
}
TEST(Named, EachAxisIsIndexedByItself) {
  auto a = reshape(arange(40, f32), {4, 2, 5});
  auto y = named(a, {Axis{"a", 4}, Axis{"c", 2}, Axis{"b", 5}});
  auto i = array({4, 0, 2}), j = array({1, 3});
  auto same = [](const NamedArray& got, const std::vector<Axis>& axes, const Array& want) {
    EXPECT_EQ(got.axes(), axes);
    EXPECT_TRUE(array_equal(got.array(), want));
  };
  same(y[{{"a", 3}, {"b", i}}], {{"c", 2}, {"b", 3}}, take(view(a, 3), i, 1));
  same(y[{{"a", j}, {"b", i}}], {{"a", 2}, {"c", 2}, {"b", 3}}, take(take(a, j, 0), i, 2));
  same(y[{{"a", j}, {"c", range(1, 2)}, {"b", array(4)}}], {{"a", 2}, {"c", 1}},
       take(view(a, all(), range(1, 2), 4), j, 0));
  auto part = named(-reshape(arange(6, f32), {3, 2}), {Axis{"b", 3}, Axis{"c", 2}});
  auto z = at(y, {{"a", -1}, {"b", i}}).set(part);
  same(z[{{"a", 3}, {"b", i}}], {{"c", 2}, {"b", 3}}, transpose(part.array()));
  same(z[{"a", range(0, 3)}], {{"a", 3}, {"c", 2}, {"b", 5}}, view(a, range(0, 3)));
  EXPECT_EQ(numbers(at(y, {{"a", array(0)}, {"c", 1}, {"b", array(2)}}).set(-1)[{{"a", 0}, {"c", 1}, {"b", 2}}])[0],
            -1);
  auto pairs = at(y, {{"a", j}, {"b", j}}).set(0);  // every pair of their positions
  EXPECT_EQ(count_nonzero(y).item<std::int32_t>() - count_nonzero(pairs).item<std::int32_t>(), 8);
  same(pairs[{{"a", 3}, {"b", 1}}], {{"c", 2}}, zeros({2}));
  EXPECT_THROW((void)at(y, {{"a", 4}, {"b", j}}).set(0), IndexError);
}
TEST(Named, ReductionsOverNoAxisAreStillReductions) {
  const AxisNames none_of{};
  auto counts = named(array({1, 2, 0}), Embed);
  EXPECT_EQ(numbers(var(x(), none_of)), std::vector<float>(6, 0));
  EXPECT_EQ(any(counts, none_of).dtype(), boolean);
  EXPECT_EQ(all(counts, none_of).to_vector<int>(), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(mean(counts, none_of).dtype(), f32);
  EXPECT_EQ(numbers(sum(x(), none_of)), numbers(x()));
}
TEST(Named, ErfcEqualsItsPositionalTwin) {
  auto x = NamedArray(array({-1.f, 0.f, 5.f}), {Axis{"x", 3}});
  EXPECT_TRUE(array_equal(erfc(x).array(), erfc(x.array())));
  EXPECT_NEAR(erfc(x).array().to_vector<double>()[2], 1.5374597944280349e-12, 1e-18);
}
TEST(Named, ScansByAxisKeepTheirOptions) {
  auto body = [](const NamedArray& c, const NamedArray& row) { return std::pair{c + row, c}; };
  auto once = scan(body, Batch)(zeros(Embed), x()), twice = scan(body, Batch, {.unroll = 2})(zeros(Embed), x());
  EXPECT_EQ(numbers(twice.first), numbers(once.first));
  EXPECT_EQ(numbers(twice.second), numbers(once.second));
  auto p =
      program_of([&](const NamedArray& v) { return scan(body, Batch, {.unroll = 2})(zeros(Embed), v).first; }, x());
  EXPECT_EQ(count(*p, "scan"), 0u) << "it is unrolled";
  EXPECT_THROW((void)scan(body, Batch, {.length = 1})(zeros(Embed), x()), ValueError);
}
TEST(Named, VmapAndScanByAxis) {
  auto f = [](const NamedArray& row, const NamedArray& m) { return dot(row, m, Embed); };
  auto y = vmap(f, Batch)(x(), w());
  EXPECT_EQ(y.axes(), (std::vector<Axis>{Batch, Hidden}));
  EXPECT_TRUE(allclose(y.array(), dot(x(), w(), Embed).array()));
  auto turned = rearrange(x(), {"embed", "batch"});
  auto [last, ys] = scan(
      [](const NamedArray& c, const NamedArray& row) {
        return std::pair{c + row, c};
      },
      Batch)(zeros(Embed), turned);
  EXPECT_EQ(numbers(last), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(ys.axes(), (std::vector<Axis>{Batch, Embed}));
  auto g = grad([&](const NamedArray& m) {
    return sum(scan(
                   [&](const NamedArray& c, const NamedArray& row) {
                     return std::pair{c + dot(row, m, Embed), none};
                   },
                   Batch)(zeros(Hidden), x())
                   .first)
        .array();
  })(w());
  EXPECT_EQ(g.axes(), (std::vector<Axis>{Embed, Hidden}));
  EXPECT_EQ(numbers(sum(g, Hidden)), (std::vector<float>{12, 20, 28}));
}
TEST(Named, TreesSeeNamedArraysWhole) {
  struct M {
    NamedArray weight;
    std::optional<NamedArray> bias;
  };
  M m{w(), none};
  EXPECT_EQ(tree::paths(m), (std::vector<std::string>{"weight"}));
  auto g = grad([](const M& p, const NamedArray& v) { return mean(square(dot(v, p.weight, Embed))).array(); })(m, x());
  EXPECT_EQ(g.weight.axes(), m.weight.axes());
}
TEST(Mapping, FirstRuleWinsAndMeshAxesServeOnce) {
  local_mesh({{"data", 2}, {"model", 1}}, [](const Mesh&) {
    AxisMapping m{{"mlp", "data"}, {"embed", "data"}, {"batch", {"data", "model"}}};
    EXPECT_EQ(spec_for({Embed, Hidden}, m), (Spec{none, "data"}));
    EXPECT_EQ(spec_for({Batch, Embed}, m), (Spec{{"model"}, "data"}));
    EXPECT_EQ(spec_for({Embed}, AxisMapping{{"embed", none}, {"embed", "data"}}), (Spec{none}));
    EXPECT_EQ(spec_for({Embed}, AxisMapping{{"embed", "nowhere"}}), (Spec{none}));
    test::says<ShardError>(
        [&] { (void)spec_for({Embed}, AxisMapping{{"embed", "data"}, {"mlp", "model"}, {"embed", "data"}}); },
        "axis 'embed' (3) is mapped to mesh axis 'data' twice: by rule 1 and rule 3");
  });
  MeshShape mesh{{{AxisName("data"), 2}}};
  auto lines = diagnose(AxisMapping{{"embed", "data"}, {"nothing", "data"}, {"embed", "model"}},
                        {{"weight", {Embed, Hidden}}}, mesh);
  std::string all;
  for (auto& l : lines) all += l + "\n";
  EXPECT_NE(all.find("uneven"), std::string::npos) << all;
  EXPECT_NE(all.find("fits no array"), std::string::npos) << all;
  EXPECT_NE(all.find("is hidden by rule 1"), std::string::npos) << all;
}
TEST(Mapping, DiagnoseSaysWhatSpecForDoes) {
  MeshShape mesh{{{AxisName("data"), 2}}};
  // The rule of embed is hidden by one that gives it nothing: nothing is taken from mlp.
  auto lines =
      diagnose(AxisMapping{{"embed", none}, {"embed", "data"}, {"mlp", "data"}}, {{"w", {Embed, Hidden}}}, mesh);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("rule 2 (embed -> data) is hidden by rule 1"), std::string::npos) << lines[0];
  lines = diagnose(AxisMapping{{"mlp", "data"}, {"embed", "data"}}, {{"w", {Embed, Hidden}}}, mesh);
  ASSERT_EQ(lines.size(), 1u) << "what is taken does not divide anything";
  EXPECT_NE(lines[0].find("mesh axis 'data' is taken already in w"), std::string::npos) << lines[0];
}
TEST(Mapping, VectorsOfABallStayTogether) {
  auto want = random::ball(random::key(3), {Batch, Embed}, Hidden).to_vector<float>();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    UseMapping scope(AxisMapping{{"embed", "data"}});
    auto y = random::ball(random::key(3), {Batch, Embed}, Hidden);
    EXPECT_EQ(spec_of(y.array()), (Spec{none, "data", none}));
    EXPECT_EQ(y.to_vector<float>(), want);
  });
}
TEST(Mapping, CategoricalDrawsOnlyItsNoise) {
  auto logits = named(reshape(arange(12, f32), {4, 3}), {Axis{"rows", 4}, Embed});
  auto want = random::categorical(random::key(3), logits, Embed).to_vector<int>();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    UseMapping scope(AxisMapping{{"rows", "data"}});
    auto y = random::categorical(random::key(3), logits, Embed);
    EXPECT_EQ(spec_of(y.array()), (Spec{"data"}));
    EXPECT_EQ(y.to_vector<int>(), want);
  });
  // Categories in front, and more draws.
  Axis rows{"rows", 4}, draws{"draws", 5};
  auto turned = rearrange(logits, {"embed", "rows"});
  auto more = random::categorical(random::key(3), turned, Embed, {draws, rows}).to_vector<int>();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    UseMapping scope(AxisMapping{{"rows", "data"}});
    auto y = random::categorical(random::key(3), turned, Embed, {draws, rows});
    EXPECT_EQ(spec_of(y.array()), (Spec{none, "data"}));
    EXPECT_EQ(y.to_vector<int>(), more);
  });
}
TEST(Mapping, DrawsAreBornSplitAndTheSame) {
  auto want = random::normal(random::key(3), {Batch, Embed}).to_vector<float>();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    UseMapping scope(AxisMapping{{"embed", "data"}});
    auto y = random::normal(random::key(3), {Batch, Embed});
    EXPECT_EQ(spec_of(y.array()), (Spec{none, "data"}));
    EXPECT_EQ(y.to_vector<float>(), want);
  });
}
TEST(Named, BoundsOfIntegersMayLieOutsideOfTheirDtype) {
  auto low = named(array({0, 100}), Batch);
  auto y = random::randint(random::key(3), {Batch, Embed}, low, 256, u8);
  auto want = random::randint(random::key(3), Shape{2, 3}, reshape(array({0, 100}), {2, 1}), 256, u8);
  EXPECT_EQ(y.to_vector<int>(), want.to_vector<int>());
}
}  // namespace
}  // namespace bora::named_test
