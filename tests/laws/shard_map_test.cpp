// shard_map: values declared the same on all ranks must be so, as far as the operations show.
#include "laws/laws.h"
#include "support/throws.h"

namespace bora::laws::shard_map_test {
namespace {
using Axes = std::vector<MeshAxis>;
const Axes kBoth{{"data", 2}, {"model", 2}};

/// The error text of shard_map(f, .., out) on a 2 x 2 mesh; empty if there is none.
template <class F> std::string refusal(const F& f, const Spec& out, const Spec& in = Spec{"data"}) {
  std::string said;
  std::mutex m;
  local_mesh(kBoth, [&](const Mesh& mesh) {
    std::string mine;
    try {
      (void)shard_map(f, mesh, {in}, out)(rnd({4, 4}, 1));
    } catch (const ShardError& e) { mine = e.what(); }
    std::lock_guard l(m);
    EXPECT_TRUE(said.empty() || said == mine) << said << "\n" << mine;
    said = mine;
  });
  return said;
}
template <class F>
void refused(const std::string& what, const F& f, const std::string& axes, const Spec& out = Spec{}) {
  auto said = refusal(f, out);
  for (auto& part : {std::string("may differ between the ranks of ") + axes + ",", std::string("psum"),
                     std::string(".check = false"), "out Spec" + to_string(out)})
    EXPECT_NE(said.find(part), std::string::npos) << what << ": " << said;
}
template <class F> void taken(const std::string& what, const F& f, const Spec& out = Spec{}) {
  EXPECT_EQ(refusal(f, out), "") << what;
}

TEST(Replicated, AResultThatDiffersByRankIsRefused) {
  refused("a block's sum", [](const Array& l) { return sum(l); }, "axis data");
  refused("the rank", [](const Array&) { return axis_index("data") * 2; }, "axis data");
  refused("the rank over both", [](const Array&) { return axis_index({"data", "model"}); }, "axes data*model");
  refused("over the other axis", [](const Array& l) { return psum(sum(l), "model"); }, "axis data");
  refused("a part", [](const Array& l) { return psum_scatter(l, "data", {.tiled = true}); }, "axis data");
  refused("neighbours", [](const Array& l) { return ppermute(psum(l, "data"), "data", {{0, 1}}); }, "axis data");
  refused("exchanged", [](const Array& l) { return all_to_all(l, "data", 0, 1); }, "axis data");
  refused("half said", [](const Array& l) { return l + axis_index("model").astype(f64); }, "axis model", Spec{"data"});
  refused("mixed", [](const Array& l) { return psum(sum(l), "data") * sum(l); }, "axis data");
}
TEST(Replicated, WhatIsTheSameIsTaken) {
  taken("psum", [](const Array& l) { return psum(l, "data"); });
  taken("pmean, pmax", [](const Array& l) { return pmean(sum(l), "data") + pmax(amax(l), "data"); });
  taken("all_gather", [](const Array& l) { return all_gather(l, "data", {.tiled = true}) * 2; });
  taken("constants", [](const Array&) { return arange(3) * 2; });
  taken("a draw", [](const Array&) { return random::normal(random::key(3), {3}); });
  taken("split and said so", [](const Array& l) { return l * 2; }, Spec{"data"});
  taken("both", [](const Array&) { return reshape(axis_index({"data", "model"}), {1}); }, Spec{{"data", "model"}});
}
TEST(Replicated, InsideOfHeldPrograms) {
  auto half = [](const Array& l) { return sum(l) * 0.5; };
  auto whole = [](const Array& l) { return psum(sum(l), "data"); };
  refused("jit", jit(half), "axis data");
  taken("jit", jit(whole));
  refused("checkpoint", checkpoint(half), "axis data");
  taken("checkpoint", checkpoint(whole));
  auto scanned = [](auto f) {
    return [f](const Array& l) {
      auto body = [&](const std::pair<Array, Array>& c, const Array&) {
        // The second carry is the first carry of the iteration before.
        return std::pair{std::pair{c.first + f(l), c.first}, c.second};
      };
      return scan(body, std::pair{zeros({}, f64), zeros({}, f64)}, arange(3)).first.second;
    };
  };
  refused("scan: a carry that another carry reaches", scanned(half), "axis data");
  taken("scan", scanned(whole));
  auto looped = [](auto f, auto limit) {
    return [f, limit](const Array& l) {
      return while_loop([&](const Array& c) { return c < limit(l); }, [&](const Array& c) { return c + 1 + abs(f(l)); },
                        zeros({}, f64));
    };
  };
  auto three = [](const Array&) { return constant(3., f64); };
  refused("while: the carry", looped(half, three), "axis data");
  refused("while: the number of rounds", looped(whole, [](const Array& l) { return sum(l); }), "axis data");
  taken("while", looped(whole, three));
  auto branched = [](auto pred, auto f) {
    return [pred, f](const Array& l) {
      return cond(pred(l) > 0, [](const Array& x) { return x; }, [](const Array& x) { return x * 2; }, f(l));
    };
  };
  refused("cond: the operand", branched(whole, half), "axis data");
  refused("cond: the predicate", branched(half, whole), "axis data");
  taken("cond", branched(whole, whole));
}
TEST(Replicated, UnderTransformsAndByName) {
  struct Out {
    Array loss, rows;
  };
  auto x = rnd({4, 4}, 1);
  local_mesh(kBoth, [&](const Mesh& mesh) {
    auto map = [&](auto f) {
      return shard_map(f, mesh, {Spec{"data"}}, {{"loss", Spec{}}, {"rows", Spec{"data"}}});
    };
    auto bad = map([](const Array& l) { return Out{sum(l * l), l}; });
    auto good = map([](const Array& l) { return Out{psum(sum(l * l), "data"), l}; });
    auto named = [&](auto run) { test::says<ShardError>(run, "result 'loss' (f64[])"); };
    named([&] { (void)bad(x); });
    named([&] { (void)jit([&](const Array& a) { return bad(a).loss; })(x); });
    named([&] { (void)grad([&](const Array& a) { return bad(a).loss; })(x); });
    auto loss = [&](const Array& a) { return good(a).loss; };
    close(gathered({grad(loss)(x), jit(grad(loss))(x)}), {x * 2, x * 2}, 1e-14, "grad");
    auto summed = [](const Array& l) { return view(all_gather(l, "data"), 0) + sum(l) * 0; };
    auto unchecked = shard_map(summed, mesh, {Spec{"data"}}, Spec{}, {.check = false});
    close({unchecked(x)}, {view(x, range(0, 2))}, 0, ".check = false");
  });
}
}  // namespace
}  // namespace bora::laws::shard_map_test
