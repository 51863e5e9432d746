// A pipelined scan gives the bits of one whose collectives run in turn: random bodies, any length, any mesh; and FSDP
// with checkpoints.
#include <array>
#include <cstring>
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

namespace bora::laws::pipeline_test {
namespace {
using compile_tests::numbers;
using compile_tests::same_bits;
const MeshAxes kData{"data"};

/// Bodies over three kinds of values: whole, split by rows, split by columns. Equal on every rank but for the sizes of
/// blocks.
class Bodies {
 public:
  Bodies(std::uint64_t seed, int ranks, int rank) : random_(seed), ranks_(ranks), rank_(rank) {
    of_ = below(2) ? Shape{kRows, kColumns} : Shape{1 << 20};  // small ones are packed together
  }
  std::size_t below(std::size_t n) { return random_() % n; }
  Types carries() const { return {whole(), rows(), columns()}; }
  Types scanned() const { return {whole(), rows(), rows(), columns()}; }
  Types consts() const { return {whole(), rows()}; }
  Arrays values(const Types& types, std::int64_t length = -1) {
    Arrays r;
    for (auto& t : types) {
      auto s = t.shape;
      if (length >= 0) s.insert(0, length);
      r.push_back(numbers(s, random_() + (t == whole() ? 0 : static_cast<std::uint64_t>(rank_))));
    }
    return r;
  }
  ops::Scan scan(int depth) {
    Types in = consts();
    for (auto& t : carries()) in.push_back(t);
    for (auto& t : scanned()) in.push_back(t);
    auto p = std::make_shared<Program>(*stage([&](const Arrays& a) { return body(a, depth); }, in).program);
    p->local = true;
    return {p, 2, 3, depth == 0 ? static_cast<std::int64_t>(below(6)) : 2, below(2) == 1};
  }

 private:
  static constexpr std::int64_t kRows = 7, kColumns = 5;
  Dims parts(std::int64_t n) const {
    Dims d;
    for (int r = 0; r < ranks_; ++r) d.push_back(equal_block(n, ranks_, r).size());
    return d;
  }
  Type whole() const { return {{kRows, kColumns}, f32}; }
  Type rows() const { return {{equal_block(kRows, ranks_, rank_).size(), kColumns}, f32}; }
  Type columns() const { return {{kRows, equal_block(kColumns, ranks_, rank_).size()}, f32}; }
  Arrays body(const Arrays& in, int depth) {
    std::array<Arrays, 3> pool;  // whole, rows, columns
    pool[0] = {in[0], in[2], in[5]};
    pool[1] = {in[1], in[3], in[6], in[7]};
    pool[2] = {in[4], in[8]};
    auto any = [&](std::size_t k) { return pool[k][below(pool[k].size())]; };
    for (auto n = 6 + below(9); n > 0; --n) {
      auto k = below(3);
      switch (below(depth == 0 ? 9 : 8)) {
        case 0: pool[k].push_back(tanh(any(k) + any(k) * 0.5)); break;
        case 1: pool[k].push_back(any(k) * 0.5); break;
        case 2: {
          auto x = any(k);
          pool[k].push_back(reshape(exp(ravel(x)) * 0.25, x.shape()));
          break;
        }
        case 3:
        case 4: pool[0].push_back(ops::all_gather(any(1), kData, 0, parts(kRows), of_)); break;
        case 5: pool[0].push_back(ops::all_gather(any(2), kData, 1, parts(kColumns), of_)); break;
        case 6:
          if (below(2)) pool[1].push_back(ops::reduce_scatter(any(0), kData, 0, parts(kRows), of_));
          else pool[2].push_back(ops::reduce_scatter(any(0), kData, 1, parts(kColumns), of_));
          break;
        case 7:
          pool[0].push_back(ops::all_reduce(any(0), kData, below(2) ? Reduction::sum : Reduction::max, of_));
          break;
        default: {
          auto inner = scan(depth + 1);
          auto xs = [&](std::size_t kind) { return stack({any(kind), any(kind)}); };
          auto y = call(inner, {any(0), any(1), any(0), any(1), any(2), xs(0), xs(1), xs(1), xs(2)});
          for (std::size_t i = 0; i < 3; ++i) pool[i].push_back(y[i]);
        }
      }
    }
    // Carries stay small; stacked outputs may be any value, also an input, or the same value twice.
    Arrays out{tanh(any(0)), tanh(any(1)), any(2)};
    for (auto n = 1 + below(5); n > 0; --n) {
      auto k = below(3);
      auto y = pool[k].back();
      out.push_back(below(3) == 0 ? y * 2.0 : below(4) == 0 ? y * any(k) : below(4) == 0 ? any(k) : y);
    }
    return out;
  }
  std::mt19937_64 random_;
  int ranks_, rank_;
  Shape of_;
};

/// A scan over a random body, as a Program with its arguments.
struct Case {
  ProgramPtr program;
  Arrays in;
};
Case random_case(std::uint64_t seed, int ranks, int rank, bool in_turn) {
  Bodies bodies(seed, ranks, rank);
  auto s = bodies.scan(0);
  auto in = bodies.values(bodies.consts());
  for (auto& x : bodies.values(bodies.carries())) in.push_back(x);
  for (auto& x : bodies.values(bodies.scanned(), s.length)) in.push_back(x);
  auto p = std::make_shared<Program>(*stage([&](const Arrays& a) { return call(s, a); }, types_of(in)).program);
  p->local = true;
  p->compile.pipeline = !in_turn;
  return {p, in};
}
using test::has;

TEST(Pipeline, GivesTheBitsOfCollectivesInTurn) {
  const std::uint64_t seeds = effort() == Effort::full ? 60 : 25;
  std::size_t early = 0, late = 0;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::vector<std::vector<Arrays>> want(static_cast<std::size_t>(ranks));
    for (bool in_turn : {true, false}) {
      local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
        auto& mine = want[static_cast<std::size_t>(mesh.rank())];
        Within blocks(eval_interpreter());
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          auto [p, in] = random_case(seed * 7919 + static_cast<std::uint64_t>(ranks), ranks, mesh.rank(), in_turn);
          auto e = executable(p);
          auto got = e->run(in);
          if (in_turn) {
            mine.push_back(got);
            continue;
          }
          auto text = e->explain();
          same_bits(got, mine[seed], "seed " + std::to_string(seed) + "\n" + text);
          same_bits(e->run(in), got, text);  // in used memory
          if (mesh.rank() > 0) continue;
          early += has(text, "(next iteration) start");
          late += has(text, "(iteration before) wait");
        }
      });
    }
  }
  EXPECT_GT(early, seeds);
  EXPECT_GT(late, seeds / 2);
}

/// One rank that communicates with itself as late as possible: nothing happens before the wait, and results hold
/// garbage until then.
struct LastMoment final : Communicator {
  struct Pending final : Handle {
    CollectiveCall call;
    std::size_t bytes;
    Pending(const CollectiveCall& c, std::size_t n) : call(c), bytes(n) {}
    void wait() override { std::memmove(call.out, call.in, bytes); }
  };
  std::shared_ptr<Handle> start(const MeshAxes&, const CollectiveCall& c) override {
    auto n = static_cast<std::size_t>(c.kind == CollectiveKind::all_reduce ? c.send_counts[0] : c.recv_counts[0]) *
             dtype_size(c.dtype);
    std::memset(c.out, 0xff, n);
    return std::make_shared<Pending>(c, n);
  }
  std::vector<std::string> exchange(const std::string& mine, std::string_view) override { return {mine}; }
};
TEST(Pipeline, OperandsAndResultsAreLeftAloneFromStartToWait) {
  MeshShape mesh{{{AxisName("data"), 1}}};
  LastMoment communicator;
  auto saved = here();
  here() = {&mesh, 0, &communicator};
  const std::uint64_t seeds = effort() == Effort::full ? 1500 : 400;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Arrays want, got;
    for (bool in_turn : {true, false}) {
      auto [p, in] = random_case(seed, 1, 0, in_turn);
      auto e = executable(p);
      (in_turn ? want : got) = e->run(in);
      if (!in_turn) same_bits(got, want, "seed " + std::to_string(seed) + "\n" + e->explain());
    }
  }
  here() = saved;
}

/// Nested loops, each with more collectives to overlap than it may, together more than the transport takes at once.
TEST(Pipeline, MoreCollectivesThanAreTaken) {
  constexpr int ranks = 3, many = 30;
  std::array<Arrays, ranks> want;
  for (bool in_turn : {true, false}) {
    local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
      Within blocks(eval_interpreter());
      Dims parts{2, 2, 3};
      Type block{{parts[static_cast<std::size_t>(mesh.rank())], 5}, f32}, whole{{7, 5}, f32};
      auto local = [](const FlatFn& f, const Types& in) {
        auto p = std::make_shared<Program>(*stage(f, in).program);
        p->local = true;
        return p;
      };
      auto gathers = [&](const Array& x, Arrays& out) {
        for (int i = 0; i < many; ++i) out.push_back(ops::all_gather(x * (i + 1.0), kData, 0, parts, {1 << 20}));
      };
      auto scatters = [&](const Arrays& x, Arrays& out) {
        for (auto& y : x) out.push_back(ops::reduce_scatter(y, kData, 0, parts, {1 << 20}));
      };
      auto inner = local(
          [&](const Arrays& a) {
            Arrays gathered, out{tanh(a[0])};
            gathers(a[1], gathered);
            for (auto& g : gathered) out[0] = out[0] + g * 0.125;
            for (auto& g : gathered) g = g * out[0];
            scatters(gathered, out);
            return out;
          },
          {whole, block});
      auto outer = local(
          [&](const Arrays& a) {
            Arrays gathered, out;
            gathers(a[1], gathered);
            auto y = call(ops::Scan{inner, 0, 1, 3, false}, {a[0], stack({a[1], a[1] * 2.0, a[1]})});
            out.push_back(tanh(y[0]));
            for (auto& g : gathered) g = g + y[0];
            scatters(gathered, out);
            out.insert(out.end(), y.begin() + 1, y.end());
            return out;
          },
          {whole, block});
      auto scanned = block;
      scanned.shape.insert(0, 4);
      auto p = local([&](const Arrays& a) { return call(ops::Scan{outer, 0, 1, 4, true}, a); }, {whole, scanned});
      p->compile.pipeline = !in_turn;
      auto e = executable(p);
      auto got = e->run({numbers(whole.shape, 1), numbers(scanned.shape, 2)});
      auto& mine = want[static_cast<std::size_t>(mesh.rank())];
      if (in_turn) mine = got;
      else same_bits(got, mine);
    });
  }
}

TEST(Pipeline, LayersShardedOverTheBatchAxisWithCheckpoints) {
  struct Layers {
    Array w, b;
  };
  auto loss = [](const Layers& p, const Array& x) {
    auto layer = checkpoint([](const Array& h, const Layers& l) {
      return tanh(matmul(h, with_sharding_constraint(l.w, Spec{})) + with_sharding_constraint(l.b, Spec{}));
    });
    return sum(scan([&](const Array& h, const Layers& l) { return std::pair{layer(h, l), none}; }, x, p).first);
  };
  for (int length : {1, 2, 5})
    for (int ranks : {2, 3}) {
      std::vector<Arrays> want(static_cast<std::size_t>(ranks));
      for (bool in_turn : {true, false}) {
          local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
          auto step = jit(
              [&](const Layers& p, const Array& x) {
                return tree::map([](const Array& g) { return with_sharding_constraint(g, Spec{none, "data"}); },
                                 grad(loss)(p, x));
              },
              {.compile = {.pipeline = !in_turn}});
          Spec rows{none, "data"};
          Layers p{with_sharding_constraint(numbers({length, 7, 7}, 1), rows),
                   with_sharding_constraint(numbers({length, 7}, 2), rows)};
          auto x = with_sharding_constraint(numbers({6, 7}, 3), Spec{"data"});
          auto g = step(p, x);
          Arrays got{local_block(g.w).block, local_block(g.b).block};
          auto& mine = want[static_cast<std::size_t>(mesh.rank())];
          auto text = explain(step, p, x);
          if (in_turn) mine = got;
          else same_bits(got, mine, text);
          if (mesh.rank() > 0) return;
          bool pipelined = !in_turn && length > 1;
          EXPECT_EQ(has(text, "(next iteration) start all_gather"), pipelined) << text;
          EXPECT_EQ(has(text, "(iteration before) wait reduce_scatter"), pipelined) << text;
        });
      }
    }
}
}  // namespace
}  // namespace bora::laws::pipeline_test
