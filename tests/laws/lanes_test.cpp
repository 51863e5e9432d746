// Loops of lanes that end apart, under vmap, with lanes split over ranks: the values of one rank, and nothing is sent.
#include "bora/fx/control.h"
#include "bora/ops/contractions.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/laws.h"

namespace bora::laws::lanes_test {
namespace {
using Pair = std::pair<Array, Array>;
using Lane = std::function<Array(const Array& limit, const Array& x)>;
/// Rounds until the sum of x reaches the limit, by the lane's own data.
Array until(const Array& limit, const Array& x) {
  auto more = [&](const Pair& c) { return logical_and(sum(c.second) < limit, c.first < 40); };
  return while_loop(more, [](const Pair& c) { return Pair{c.first + 1, c.second * 1.25 + 0.1}; }, Pair{array(0), x})
      .second;
}
struct Case {
  std::string name;
  std::function<Array(const Array& limits, const Array& x)> f;
  Shape rows;        // of x, behind the lanes
  bool meets = false;  // lanes read one another
};
std::vector<Case> cases() {
  auto weights = rnd({3, 3}, 9);
  return {
      {"vmap", [](const Array& l, const Array& x) { return vmap(until)(l, x); }, {3}},
      {"vmap of vmap", [](const Array& l, const Array& x) {
         return vmap([](const Array& limit, const Array& rows) {
           return vmap([&](const Array& row) { return until(limit, row); })(rows);
         })(l, x);
       }, {2, 3}},
      {"jvp", [](const Array& l, const Array& x) {
         return vmap([](const Array& limit, const Array& row) {
           return jvp([&](const Array& a) { return until(limit, a); }, row, row * 0.5).second;
         })(l, x);
       }, {3}},
      {"a captured matrix", [weights](const Array& l, const Array& x) {
         return vmap([&](const Array& limit, const Array& row) {
           auto more = [&](const Pair& c) { return logical_and(sum(abs(c.second)) < limit, c.first < 20); };
           auto next = [&](const Pair& c) { return Pair{c.first + 1, matmul(weights, c.second) + 0.5}; };
           return while_loop(more, next, Pair{array(0), row}).second;
         })(l, x);
       }, {3}},
      {"a carry that is the same in all lanes at first", [](const Array& l, const Array& x) {
         return vmap([](const Array& limit, const Array& row) {
           auto more = [&](const Pair& c) { return c.first < limit; };
           auto next = [&](const Pair& c) { return Pair{c.first + 1., c.second + row * c.first}; };
           return while_loop(more, next, Pair{constant(0., f64), zeros({3}, f64)}).second;
         })(l, x);
       }, {3}},
      {"lanes that meet", [](const Array& l, const Array& x) {
         return vmap([](const Array& limit, const Array& row) {
           auto more = [&](const Pair& c) { return logical_and(c.first < limit, c.first < 6); };
           auto next = [&](const Pair& c) { return Pair{c.first + 1, c.second + 0.1 * psum(c.second, "lanes")}; };
           return while_loop(more, next, Pair{constant(0., f64), row}).second;
         }, {.axis_name = "lanes"})(l, x);
       }, {3}, true},
  };
}
TEST(Lanes, OfASplitLoopHaveTheValuesOfOneRank) {
  for (std::int64_t n : {1, 2, 7, 12}) {
    auto limits = rnd({n}, 1) * 10 + 5;
    for (auto& c : cases()) {
      auto shape = c.rows;
      shape.insert(0, n);
      auto x = rnd(shape, 2);
      auto want = c.f(limits, x);
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), x.ndim());
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / combinations()) {
            auto what = c.name + ", " + std::to_string(n) + " lanes on " + name(axes) + to_string(specs[k]);
            auto y = with_sharding_constraint(x, specs[k]);
            close(gathered({c.f(limits, y), jit(c.f)(limits, y)}), {want, want}, 1e-13, what);
          }
        });
    }
  }
}
TEST(Lanes, SendNothingWhereTheyAreSplit) {
  for (auto& c : cases())
    local_mesh({{"data", 2}, {"model", 2}}, [&](const Mesh& mesh) {
      auto shape = c.rows;
      shape.insert(0, 8);
      auto spec = Spec::replicated(shape.size());
      spec[0] = MeshAxes{"data", "model"};
      auto x = with_sharding_constraint(rnd(shape, 2), spec);
      auto f = jit(c.f);
      auto local = fx::local_program(f.program(rnd({8}, 1), x), f.inputs(rnd({8}, 1), x));
      same_everywhere(mesh, *local, c.name);
      EXPECT_EQ(fingerprint(*local).empty(), !c.meets) << c.name << *local;
    });
}
}  // namespace
}  // namespace bora::laws::lanes_test
