// Elementwise work that makes elements smaller is done before they travel, also in bodies of loops and branches: the
// same bits, and no more bytes than the small elements have.
#include "bora/fx/control.h"
#include "bora/ops/complex.h"
#include "bora/ops/reductions.h"
#include "bora/ops/sharding.h"
#include "bora/ops/transform.h"
#include "laws/work.h"

namespace bora::laws::narrow_moves_test {
namespace {
using Map = std::function<Array(const Array&)>;
struct Narrowing {
  std::string name;
  Map f;
  Dtype from;
};
std::vector<Narrowing> narrowings() {
  return {{"astype(bf16)", [](const Array& x) { return x.astype(bf16); }, f32},
          {"astype(f32)", [](const Array& x) { return x.astype(f32); }, f64},
          {"astype(i8)", [](const Array& x) { return x.astype(i8); }, i32},
          {"real", [](const Array& x) { return real(x); }, complex64},
          {"abs", [](const Array& x) { return abs(x); }, complex128},
          {"isnan", [](const Array& x) { return isnan(x); }, f32},
          {"twice", [](const Array& x) { return x.astype(f32).astype(bf16); }, f64}};
}
/// Where the move and the work on it stand: f(x, move and work).
struct Place {
  std::string name;
  std::function<Array(const Array& x, const Map& step)> f;
};
std::vector<Place> places() {
  return {{"outside", [](const Array& x, const Map& step) { return step(x); }},
          {"in a jit", [](const Array& x, const Map& step) { return jit([&](const Array& y) { return step(y); })(x); }},
          {"in a scan", [](const Array& x, const Map& step) {
             return scan([&](const Array& c, const Array& row) { return std::pair{c, step(row)}; }, zeros({1}),
                         stack({x, x})).second;
           }},
          {"in a scan of scans", [](const Array& x, const Map& step) {
             return scan([&](const Array& c, const Array& rows) {
                      return scan([&](const Array& d, const Array& row) { return std::pair{d, step(row)}; }, c, rows);
                    }, zeros({1}), stack({stack({x, x}), stack({x, x})})).second;
           }},
          {"in a branch", [](const Array& x, const Map& step) {
             return cond(sum(abs(x)) >= 0, [&](const Array& y) { return step(y); },
                         [&](const Array& y) { return step(y * 2); }, x);
           }}};
}
/// The elements that a rank is sent.
double elements(const std::function<Array(const Array&)>& f, const Array& x, std::size_t size) {
  return work_of(fx::local_program(program_of(f, x), {x})).received / static_cast<double>(size);
}
TEST(NarrowMoves, SmallElementsTravel) {
  for (auto& n : narrowings()) {
    auto x = (rnd({6, 4}, 1) * 20).astype(n.from);
    auto small = n.f(x).dtype();
    for (auto& place : places())
      for (auto& [to, want] : std::vector<std::pair<std::string, Spec>>{{"gathered", Spec{none, none}},
                                                                          {"turned", Spec{none, "data"}}}) {
        auto f = [&, w = want](const Array& a) {
          return place.f(a, [&](const Array& y) { return n.f(with_sharding_constraint(y, w)); });
        };
        auto sends_small = [&, w = want](const Array& a) {
          return place.f(a, [&](const Array& y) { return with_sharding_constraint(n.f(y), w); });
        };
        auto alone = f(x);
        for (auto& axes : {std::vector<MeshAxis>{{"data", 2}}, {{"data", 3}}, {{"data", 4}}, {{"data", 8}}})
          local_mesh(axes, [&](const Mesh&) {
            auto what = n.name + " " + place.name + ", " + to + " on " + laws::name(axes);
            auto in = shard(x, Spec{"data", none});
            EXPECT_EQ(elements(f, in, dtype_size(small)), elements(sends_small, in, dtype_size(small))) << what;
            close(gathered({jit(f)(in)}), {alone}, 0, what);
          });
      }
  }
}
/// What somebody else reads in full is moved in full, once.
TEST(NarrowMoves, ValuesWithOtherReadersTravelOnce) {
  auto x = rnd({6, 4}, 1).astype(f32);
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto in = shard(x, Spec{"data", none});
    auto f = [](const Array& a) {
      auto whole = with_sharding_constraint(a, Spec{none, none});
      return sum(whole.astype(bf16).astype(f32) * whole);
    };
    EXPECT_EQ(elements(f, in, sizeof(float)), 12) << "the block of the other rank";
    close(gathered({jit(f)(in)}), {f(x)}, 1e-6, "two readers");
  });
}
}  // namespace
}  // namespace bora::laws::narrow_moves_test
