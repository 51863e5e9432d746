// Ranks with shares of a mesh axis: how dimensions are cut, and what is an error.
#include "bora/array/mesh_sizes.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::shares_test {
namespace {
MeshShape shape(const std::vector<MeshAxis>& axes) {
  std::int64_t n = 1;
  for (auto& a : axes) n *= a.size;
  return mesh_shape(axes, static_cast<int>(n));
}
std::vector<std::int64_t> sizes(const MeshShape& mesh, std::int64_t n, const MeshAxes& axes) {
  std::vector<std::int64_t> r;
  for (int p = 0; p < mesh.parts(axes); ++p) r.push_back(mesh.block(n, axes, p).size());
  return r;
}
using Sizes = std::vector<std::int64_t>;
TEST(Shares, CutDimensionsInProportion) {
  auto m = shape({{"data", 4, {3, 3, 2, 1}}});
  EXPECT_EQ(to_string(m), "data=4(3:3:2:1)");
  EXPECT_EQ(sizes(m, 4096, "data"), (Sizes{1365, 1365, 910, 456}));
  EXPECT_EQ(sizes(m, 8, "data"), (Sizes{2, 3, 2, 1}));
  EXPECT_EQ(sizes(m, 4, "data"), (Sizes{1, 1, 1, 1}));
  EXPECT_EQ(sizes(shape({{"data", 2, {1, 3}}}), 2, "data"), (Sizes{0, 2}));
  EXPECT_EQ(sizes(shape({{"data", 2, {1 << 30, 1}}}), std::int64_t{1} << 61, "data"),
            (Sizes{(std::int64_t{1} << 61) - (std::int64_t{1} << 31) + 1, (std::int64_t{1} << 31) - 1}));
  EXPECT_EQ(shape({{"data", 3, {5, 5, 5}}}), shape({{"data", 3}})) << "equal shares are none";
  EXPECT_EQ(shape({{"data", 2, {2, 6}}}), shape({{"data", 2, {1, 3}}})) << "up to a common factor";
  EXPECT_NE(shape({{"data", 2, {3, 1}}}), shape({{"data", 2, {1, 3}}}));
}
/// Blocks tile a dimension, and those over more axes tile those over fewer, in every order of the axes; each lies
/// within one element of its share.
TEST(Shares, BlocksTileAndNest) {
  std::vector<std::vector<MeshAxis>> all{{{"a", 5, {1, 7, 2, 2, 9}}},
                                         {{"a", 3}, {"b", 2, {1, 4}}},
                                         {{"a", 2, {3, 1}}, {"b", 3, {1, 2, 4}}},
                                         {{"a", 2, {1, 6}}, {"b", 2}, {"c", 3, {5, 1, 1}}}};
  for (auto& axes : meshes()) all.push_back(axes);
  for (auto& axes : all) {
    auto m = shape(axes);
    std::vector<std::size_t> order(axes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      MeshAxes over;
      for (auto i : order) over.push_back(AxisName(axes[i].name));
      for (std::int64_t n : {0, 1, 2, 3, 5, 7, 24, 97, 4096, 1 << 30}) {
        std::int64_t end = 0;
        auto parts = m.parts(over);
        for (int p = 0; p < parts; ++p) {
          auto b = m.block(n, over, p);
          EXPECT_EQ(b.begin, end);
          EXPECT_LE(b.begin, b.end);
          EXPECT_LE(b.size(), m.most(n, over));
          end = b.end;
          double share = 1;
          for (std::size_t k = over.size(), rest = static_cast<std::size_t>(p); k-- > 0;) {
            auto each = m.shares_of(over[k]);
            double all = 0;
            for (auto s : each) all += static_cast<double>(s);
            share *= static_cast<double>(each[rest % each.size()]) / all;
            rest /= each.size();
          }
          EXPECT_LT(std::abs(static_cast<double>(b.size()) - share * static_cast<double>(n)), 1 + 1e-6);
          for (auto row : {b.begin, b.end - 1})
            if (b.size() > 0) { EXPECT_EQ(m.owner(n, over, row), p) << to_string(m) << " " << n; }
        }
        EXPECT_EQ(end, n);
        for (std::size_t k = 1; k < over.size(); ++k) {
          auto outer = over.head(k);
          auto inner = parts / m.parts(outer);
          for (int p = 0; p < m.parts(outer); ++p) {
            EXPECT_EQ(m.block(n, outer, p).begin, m.block(n, over, p * inner).begin);
            EXPECT_EQ(m.block(n, outer, p).end, m.block(n, over, (p + 1) * inner - 1).end);
          }
        }
        if (m.equal(over))
          for (int p = 0; p < parts; ++p) { EXPECT_EQ(m.block(n, over, p), equal_block(n, parts, p)); }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}
TEST(Shares, BadOnesAreErrorsWhereTheMeshIsAskedFor) {
  auto says = [](const MeshAxis& axis, const std::string& words) {
    test::says_line<ConfigError>([&] { local_mesh({axis}, [](const Mesh&) {}); }, words);
    test::says_line<ConfigError>([&] { (void)Mesh::abstract({axis}); }, words);
  };
  says({"data", 4, {3, 3, 2}}, "axis 'data' has 4 ranks, but 3 shares (3:3:2); give one for each of its ranks");
  says({"data", 2, {3, 3, 2}}, "axis 'data' has 2 ranks, but 3 shares (3:3:2)");
  says({"data", 3, {3, 0, 2}}, "the shares of axis 'data' are 3:0:2; each must be 1 or more");
  says({"data", 2, {3, -1}}, "the shares of axis 'data' are 3:-1; each must be 1 or more");
  std::vector<MeshAxis> large{{"a", 2, {1 << 30, 1}}, {"b", 2, {1, 1 << 30}}, {"c", 2, {1 << 30, 1}}};
  test::says_line<ConfigError>([&] { (void)shape(large); }, "multiply to more than 2^62");
}
/// What needs equal blocks says so where the user calls it.
TEST(Shares, EqualBlocksAreAskedForByName) {
  local_mesh({{"data", 2, {1, 3}}}, [](const Mesh& mesh) {
    auto x = shard(rnd({8, 2}, 1), Spec{"data"});
    test::says<ShardError>([&] { (void)terms_of_sum(sum(x), "data"); }, "by the shares of mesh data=2(1:3)");
    auto f = [&](const Array& a) {
      return vmap([&](const Array& row) { return shard_map([](const Array& r) { return r * 2; }, mesh, {Spec{}},
                                                           Spec{})(row); }, {.axis_name = "data"})(a);
    };
    test::says<ShardError>([&] { (void)f(x); }, "cannot be spread evenly over the 2 ranks");
    auto gathered_rows = [&] {
      return shard_map([](const Array& a) { return all_gather(a, "data", {.tiled = true}); }, mesh, {Spec{"data"}},
                       Spec{})(x);
    };
    EXPECT_THROW((void)gather(gathered_rows()), Error) << "collectives of shard_map take equal blocks";
  });
}
/// A pending sum's complete terms are counted once, also where the first ranks' shares of few elements are empty.
TEST(Shares, CompleteValuesAreCountedOnce) {
  local_mesh({{"data", 4, {1, 1, 1, 9}}}, [](const Mesh&) {
    auto x = rnd({3, 2}, 1), rows = rnd({8, 2}, 2);
    auto f = [](const Array& a, const Array& b) {
      return scatter_add(a, array({0, 2, 1, 1, 0, 2, 2, 0}), b);
    };
    close(gathered({f(x, shard(rows, Spec{"data"})), jit(f)(x, shard(rows, Spec{"data"}))}),
          {f(x, rows), f(x, rows)}, 1e-14, "scatter_add");
  });
}
/// A mean of ranks is no mean of elements where blocks differ in size.
TEST(Shares, ExplainWarnsOfMeansOfRanks) {
  auto x = rnd({8}, 1);
  auto warned = [&](const MeshAxis& axis, auto f) {
    bool found = false;
    local_mesh({axis}, [&](const Mesh& mesh) {
      auto g = jit([&](const Array& a) { return shard_map(f, mesh, {Spec{"data"}}, Spec{})(a); });
      auto in = shard(x, Spec{"data"});
      auto text = explain(g, in);
      if (mesh.rank() == 0) found = text.find("warning: a mean of the ranks along data") != text.npos;
    });
    return found;
  };
  auto mean_of_ranks = [](const Array& a) { return pmean(mean(a), "data"); };
  auto by_hand = [](const Array& a) { return psum(sum(a), "data") * 0.5; };
  auto of_elements = [](const Array& a) { return psum(sum(a), "data") / psum(sum(ones_like(a)), "data"); };
  MeshAxis shares{"data", 2, {1, 3}}, equal{"data", 2};
  EXPECT_TRUE(warned(shares, mean_of_ranks));
  EXPECT_TRUE(warned(shares, by_hand));
  EXPECT_TRUE(warned(shares, [](const Array& a) { return sum(pmean(a * 1, "data")); }));
  EXPECT_FALSE(warned(shares, of_elements));
  EXPECT_FALSE(warned(equal, mean_of_ranks));
}
/// Programs staged for one mesh are not run on another one with the same sizes.
TEST(Shares, AreInJitsKey) {
  auto f = jit([](const Array& x) { return sum(x * 2) + flip(x, {0}); });
  auto x = rnd({9}, 1);
  for (auto& axis : std::vector<MeshAxis>{{"data", 2}, {"data", 2, {1, 3}}, {"data", 2, {3, 1}}, {"data", 2}})
    local_mesh({axis}, [&](const Mesh&) {
      close(gathered({f(shard(x, Spec{"data"}))}), {sum(x * 2) + flip(x, {0})}, 1e-14, name({axis}));
    });
}
/// Shares may leave blocks without rows although there are more rows than ranks.
TEST(Shares, BlocksWithoutRowsAreNoTrouble) {
  std::vector<std::pair<std::string, std::function<Array(const Array&)>>> all{
      {"argmax", [](const Array& a) { return argmax(a, 0); }},
      {"argmin", [](const Array& a) { return argmin(a, 0); }},
      {"amax", [](const Array& a) { return amax(a, {0}); }},
      {"cumsum", [](const Array& a) { return cumsum(a, 0); }},
      {"cumprod", [](const Array& a) { return cumprod(a, 0); }},
      {"sort", [](const Array& a) { return sort(a, 0); }},
      {"argsort", [](const Array& a) { return argsort(a, 0); }},
      {"top_k", [](const Array& a) { return top_k(transpose(a), 2).values; }},
      {"roll", [](const Array& a) { return roll(a, 1, 0); }},
      {"take", [](const Array& a) { return take(a, array({3, 0, 4}), 0); }},
      {"fft", [](const Array& a) { return real(fft::fft(a, {.axis = 0})); }},
      {"x - mean", [](const Array& a) { return a - mean(a, {0}); }}};
  for (int columns : {1, 40})
    for (auto& [name, f] : all) {
      auto x = rnd({5, columns}, 3);
      auto want = f(x);
      local_mesh({{"data", 4, {100, 1, 1, 1}}}, [&, f = f, name = name](const Mesh&) {
        auto y = shard(x, Spec{"data"});
        close(gathered({f(y), jit(f)(y)}), {want, want}, 1e-12, name);
      });
    }
}
}  // namespace
}  // namespace bora::laws::shares_test
