// Stencils on a mesh: the bits of one rank, whatever is overwritten, and the interior beside the halos.
#include "bora/fx/control.h"
#include "bora/ops/fft.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/transform.h"
#include "compile/api/executable.h"
#include "laws/laws.h"

namespace bora::laws::stencil_test {
namespace {
using Fields = std::pair<Array, Array>;
struct Stencil {
  std::string name;
  std::function<Fields(const Fields&)> f;
};
Array sides(const Array& f, std::int64_t dim) { return roll(f, 1, dim) + roll(f, -1, dim); }
/// Shifted by one, zeros outside.
Array shifted(const Array& f, std::int64_t by) {
  return pad(f, {std::max<std::int64_t>(by, 0), 0}, {std::max<std::int64_t>(-by, 0), 0});
}
Array inside(const Array& f, std::int64_t by, std::int64_t n) { return slice_in_dim(f, 0, by, by + n); }
std::vector<Stencil> stencils() {
  auto n = [](const Fields& u) { return u.first.shape(0); };
  return {
      {"heat", [](const Fields& u) {
         return Fields{u.first + 0.1 * (sides(u.first, 0) + sides(u.first, 1) - 4 * u.first), u.second};
       }},
      // Read at the places that are written: its memory is taken.
      {"wave", [](const Fields& u) { return Fields{2 * u.first - u.second + 0.1 * sides(u.first, 0), u.first}; }},
      {"both overwritten", [](const Fields& u) {
         auto d = 0.1 * (sides(u.first, 0) * sides(u.second, 1));
         return Fields{u.first + d, u.second * 0.5 - d};
       }},
      {"a field that is returned as it is", [](const Fields& u) {
         return Fields{u.second - 0.1 * sides(u.first, 0), u.second};
       }},
      {"far", [](const Fields& u) { return Fields{roll(u.first, 3, 0) * u.second - roll(u.first, -2, 0), u.first}; }},
      {"columns", [](const Fields& u) { return Fields{u.second - sides(u.first, 1) * 0.25, u.first}; }},
      {"zeros outside", [n](const Fields& u) {
         auto before = inside(shifted(u.first, 1), 0, n(u)), after = inside(shifted(u.first, -1), 1, n(u));
         return Fields{u.second + 0.25 * (before - after), u.first};
       }},
      {"two stages", [](const Fields& u) {
         auto v = tanh(u.first + 0.1 * sides(u.first, 0));
         return Fields{v - 0.1 * sides(v, 0) * u.second, v};
       }},
      {"in a scan", [](const Fields& u) {
         return fori_loop(0, 3, [](const Array&, const Fields& s) {
           return Fields{2 * s.first - s.second + 0.1 * sides(s.first, 0), s.first};
         }, u);
       }},
  };
}
TEST(Stencils, HaveTheBitsOfOneRank) {
  for (Shape shape : {Shape{8, 8}, {24, 40}, {37, 9}, {3, 64}}) {
    Fields start{rnd(shape, 1), rnd(shape, 2)};
    for (auto& s : stencils()) {
      auto alone = jit(s.f);
      std::vector<Fields> want{start};
      for (int k = 0; k < 3; ++k) want.push_back(alone(want.back()));
      for (auto& axes : meshes())
        local_mesh(axes, [&](const Mesh& mesh) {
          auto specs = all_specs(mesh.shape(), 2);
          for (std::size_t k = 0; k < specs.size(); k += 1 + specs.size() / combinations()) {
            auto what = s.name + " " + to_string(shape) + " " + name(axes) + to_string(specs[k]);
            auto placed = [&](const Array& x) { return with_sharding_constraint(x + 0, specs[k]); };
            auto step = jit(s.f);
            Fields u{placed(start.first), placed(start.second)}, given = u, v;
            for (int t = 1; t <= 3; ++t) {
              u = step(u);
              v = t == 1 ? step(Fields{placed(start.first), placed(start.second)}) : step(std::move(v));  // donated
              auto& w = want[static_cast<std::size_t>(t)];
              close(gathered({u.first, u.second, v.first, v.second}), {w.first, w.second, w.first, w.second}, 0,
                    what + " after step " + std::to_string(t));
            }
            close(gathered({given.first, given.second}), {start.first, start.second}, 0, what + " given");
          }
        });
    }
  }
}
TEST(Stencils, AreComputedInsideWhileTheirHalosTravel) {
  for (auto& s : stencils()) {
    if (s.name == "in a scan" || s.name == "columns" || s.name == "two stages") continue;
    local_mesh({{"data", 2}}, [&](const Mesh&) {
      auto x = with_sharding_constraint(rnd({64, 64}, 1), Spec{"data"}), y = x + 1;
      auto text = explain(jit(s.f), Fields{x, y});
      auto start = text.find(" = start exchange"), wait = text.find("\nwait exchange");
      ASSERT_NE(start, text.npos) << s.name << text;
      ASSERT_NE(wait, text.npos) << s.name << text;
      EXPECT_LT(text.find(" over ", start), wait) << s.name << ": nothing is computed before the wait\n" << text;
      EXPECT_NE(text.find(" over ", wait), text.npos) << s.name << ": nothing is computed after it\n" << text;
    });
  }
}
/// A field that is read where it is written leaves its memory to the result, also if edges are computed later.
TEST(Stencils, NeedNoMoreMemory) {
  auto wave = stencils()[1].f;
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto field = [](int seed) { return with_sharding_constraint(rnd({512, 64}, seed), Spec{"data"}); };
    auto twice = [&](const Fields& u) { return wave(wave(u)); };
    auto p = fx::local_program(program_of(twice, Fields{field(1), field(2)}), {field(1), field(2)});
    auto block = static_cast<std::size_t>(256 * 64) * sizeof(double);
    EXPECT_LT(executable(p, Mask(p->in.size(), true))->info().slab_bytes, block / 2);
  });
}
/// The real part is taken before the way back, and a cast before a gather.
TEST(Moves, CarryTheSmallerElements) {
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(rnd({32, 32}, 1), Spec{"data"});
    auto bytes = [&](auto f) {
      std::vector<std::size_t> r;
      auto p = fx::local_program(program_of(f, x), {x});
      for (auto& u : executable(p)->info().collective_uses) r.insert(r.end(), u.times, u.received);
      return r;
    };
    auto there_and_back = bytes([](const Array& a) { return real(fft::fft(a, {.axis = 0})); });
    EXPECT_EQ(there_and_back, (std::vector<std::size_t>{16 * 16 * 16, 16 * 16 * 8}));
    auto both = bytes([](const Array& a) {
      auto y = fft::fft(a, {.axis = 0});
      return std::pair{y, real(y)};
    });
    EXPECT_EQ(both, (std::vector<std::size_t>{16 * 16 * 16, 16 * 16 * 16}));
    auto cast = [](const Array& a) { return sin(with_sharding_constraint(a, Spec{}).astype(f32)); };
    EXPECT_EQ(bytes(cast), std::vector<std::size_t>{16 * 32 * 4});
    close(gathered({jit(cast)(x)}), {cast(gather(x))}, 0, "cast");
  });
}
}  // namespace
}  // namespace bora::laws::stencil_test
