// Sums over ranks of stacked results give the same bits behind a scan and in its body, whatever lies between.
#include <random>
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "compile/api/program.h"
#include "ops/api/collective_primitives.h"
#include "bora/ops/sharding.h"
#include "compile/testing.h"
#include "laws/laws.h"
#include "support/text.h"
#include "bora/ops/contractions.h"

namespace bora::laws::sums_into_scans_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;
const MeshAxes kData{"data"};
constexpr std::int64_t kRows = 4, kColumns = 96;
using test::has;

/// A scan with four stacked results, and random work on each of them up to a sum over ranks.
class Sums {
 public:
  Sums(std::uint64_t seed, int ranks) : random_(seed), ranks_(ranks), length_(static_cast<std::int64_t>(below(5))) {
    reverse_ = below(2) == 1;
  }
  /// A scalar, a row, a stacked array, the scan's constant and carry, and what it runs over.
  Types in() const {
    return {{{}, f32}, {{kColumns}, f32}, stacked(), {{kRows, kColumns}, f32}, {{kRows, kColumns}, f32}, stacked()};
  }
  Arrays operator()(const Arrays& a) {
    auto body = std::make_shared<Program>(
        *stage([](const Arrays& b) {
           auto h = tanh(b[0] * b[1] + b[2]);
           return Arrays{h, h * b[2], h - b[2], h * 0.5, b[2] * b[2]};
         }, {a[3].type(), a[4].type(), slice_type()}).program);
    body->local = true;
    auto y = call(ops::Scan{body, 1, 1, length_, reverse_}, {a[3], a[4], a[5]});
    Arrays out{y[0]};
    for (std::size_t k = 1; k < y.size(); ++k) {
      auto x = between(a, y, k);
      if (below(8) == 0) out.push_back(x);  // read by others too
      out.push_back(summed(x));
    }
    if (below(3) == 0) out.push_back(y[1]);
    return out;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  Type stacked() const { return {{length_, kRows, kColumns}, f32}; }
  static Type slice_type() { return {{kRows, kColumns}, f32}; }
  Array between(const Arrays& a, const Arrays& y, std::size_t k) {
    auto x = y[k];
    for (auto n = below(4); n > 0; --n) switch (below(9)) {
        case 0: x = x * a[0]; break;
        case 1: x = a[1] - x; break;
        case 2: x = accumulate(a[2], x); break;
        case 3: x = tanh(x); break;
        case 4: x = x.astype(f64).astype(f32); break;
        case 5: x = x / (a[0] * a[0] + 1.0); break;                               // computed behind the scan
        case 6: x = x * ops::all_reduce(a[0], kData, Reduction::sum, {}); break;  // cannot be moved
        case 7: x = x * y[1 + below(4)]; break;                                   // two stacked results
        default: x = x + broadcast_to(reshape(a[1], {1, 1, kColumns}), x.shape()) * 2.0; break;
      }
    return x;
  }
  Array summed(const Array& x) {
    if (below(4) == 0) {
      Dims parts;
      for (int r = 0; r < ranks_; ++r) parts.push_back(equal_block(kColumns, ranks_, r).size());
      return ops::reduce_scatter(x, kData, 2, parts, {length_, 1 << 17});
    }
    auto kind = below(4) == 0 ? Reduction::max : Reduction::sum;
    if (kind == Reduction::max || below(2)) return ops::all_reduce(x, kData, kind, {length_, 1 << 17});
    Wire wires[] = {{}, {Codec::bf16}, {Codec::int8, 64}, {Codec::int4, 128}, {Codec::int8, 256}};
    return ops::all_reduce(x, kData, kind, {length_, 1 << 17}, wires[below(5)]);
  }
  std::mt19937_64 random_;
  int ranks_;
  std::int64_t length_;
  bool reverse_;
};

TEST(Sink, GivesTheBitsOfSumsBehindTheScan) {
  const std::uint64_t seeds = effort() == Effort::full ? 150 : 50;
  std::size_t moved = 0, stayed = 0;
  for (int ranks = 1; ranks <= 3; ++ranks) {
    std::vector<std::vector<Arrays>> want(static_cast<std::size_t>(ranks));
    for (bool in_turn : {true, false})
      local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
        auto& mine = want[static_cast<std::size_t>(mesh.rank())];
        Within blocks(eval_interpreter());
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          Sums sums(seed * 7919 + static_cast<std::uint64_t>(ranks), ranks);
          Arrays in;
          for (auto& t : sums.in())
            in.push_back(numbers(t.shape, seed * 31 + in.size() + static_cast<std::uint64_t>(mesh.rank())));
          auto p = std::make_shared<Program>(*stage([&](const Arrays& a) { return sums(a); }, types_of(in)).program);
          p->local = true;
          p->compile.pipeline = !in_turn;
          auto e = executable(p);
          auto got = e->run(in);
          if (in_turn) {
            mine.push_back(got);
            continue;
          }
          auto text = e->explain();
          same_bits(got, mine[seed], "seed " + std::to_string(seed) + "\n" + text);
          if (mesh.rank() > 0) continue;
          ++(has(text, "(iteration before) wait") ? moved : stayed);
        }
      });
  }
  EXPECT_GT(moved, seeds);
  EXPECT_GT(stayed, seeds / 10);
}

/// The gradients of layers that every rank holds whole, as data parallelism has them: over any wire, with parts of the
/// batch added up before, and in halves.
TEST(Sink, GradientsOfLayersAreSummedWhileOthersCompute) {
  struct Layers {
    Array w, b;
  };
  constexpr std::int64_t length = 3, n = 192;
  auto loss = [](const Layers& p, const Array& x) {
    auto layer = [](const Array& h, const Layers& l) {
      return std::pair{tanh(matmul(h, l.w.astype(f32)) + l.b.astype(f32)), none};
    };
    return sum(scan(layer, x, p).first);
  };
  for (auto dtype : {f32, bf16})
    for (auto wire : {Wire{}, Wire{Codec::bf16}, Wire{Codec::int8, 64}})
      for (bool parts : {false, true}) {
        std::vector<Arrays> want(2);
        for (bool in_turn : {true, false})
          local_mesh({{"data", 2}}, [&](const Mesh& mesh) {
            auto step = jit(
                [&](const Layers& p, const Array& x, const Array& scale) {
                  auto g = grad(loss)(p, x);
                  if (parts) {
                    auto other = grad(loss)(p, x * 0.5);
                    g = tree::map([](const Array& a, const Array& b) { return accumulate(a, b); }, other, g);
                  }
                  return tree::map(
                      [&](const Array& d, const Array& like) {
                        return complete_gradient_like(d.astype(f32) / scale, like, {wire, kData});
                      },
                      g, p);
                },
                {.compile = {.pipeline = !in_turn}});
            Layers p{numbers({length, n, n}, 1).astype(dtype), numbers({length, n}, 2).astype(dtype)};
            auto x = with_sharding_constraint(numbers({6, n}, 3), Spec{"data"});
            auto g = step(p, x, full_of({{}, f32}, 3));
            Arrays got{local_block(g.w).block, local_block(g.b).block};
            auto text = explain(step, p, x, full_of({{}, f32}, 3));
            auto& mine = want[static_cast<std::size_t>(mesh.rank())];
            if (in_turn) mine = got;
            else same_bits(got, mine, text);
            EXPECT_EQ(has(text, "(iteration before) wait all_reduce"), !in_turn) << text;
          });
      }
}
}  // namespace
}  // namespace bora::laws::sums_into_scans_test
