// Functions compiled ahead of their calls and in files, checks and callbacks of the host, checkpoints by exclusion and
// of scans.
#include <fstream>
#include "base/api/file.h"
#include "compile/api/program.h"
#include "bora/fx/callback.h"
#include "bora/fx/debug.h"
#include "bora/fx/lower.h"
#include "bora/fx/transforms.h"
#include "bora/ops/creation.h"
#include "bora/ops/ops.h"
#include "bora/shard/mesh.h"
#include "bora/shard/shard.h"
#include "fx/forms.h"
#include "support/temp_folder.h"
#include "support/throws.h"
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"

namespace ahead_test {
namespace {
using namespace bora;
using forms_tests::close;
using test::says_with_line;
struct Model {
  Array w, b;
  int power = 2;
};
Array apply(const Model& m, const Array& x) { return m.power == 2 ? square(matmul(x, m.w) + m.b) : matmul(x, m.w); }
Model model() { return {array({{1., 2.}, {3., 4.}}), array({0.5, -0.5})}; }

TEST(Lower, CompilesAheadForTypesOnly) {
  auto types = eval_shape([] { return model(); });
  auto lowered = lower(apply, types, eval_shape([] { return zeros({3, 2}); }));
  EXPECT_NE(lowered.text().find("dot_general"), std::string::npos) << lowered.text();
  auto f = lowered.compile();
  auto x = array({{1., 2.}, {0., 1.}, {-1., 0.5}});
  close(f(model(), x), apply(model(), x));
  EXPECT_GE(f.cost().flops, 24) << "3 x 2 products of length 2";
  EXPECT_EQ(f.memory().arguments, 4u * (4 + 2 + 6));
  EXPECT_EQ(f.memory().results, 4u * 6);
  EXPECT_EQ(f.memory().peak(), f.memory().arguments + f.memory().results + f.memory().temporaries);
  EXPECT_FALSE(f.text().empty());
  close(grad([&](const Model& m) { return sum(f(m, x)); })(model()).w,
        grad([&](const Model& m) { return sum(apply(m, x)); })(model()).w);
  EXPECT_MESSAGE(ShapeError, f(model(), zeros({4, 2})), "another argument 1 than it was lowered for");
  auto cubic = model();
  cubic.power = 3;
  EXPECT_MESSAGE(ShapeError, f(cubic, x), "another argument 0 than it was lowered for: 'power': 2 and 3");
  auto scale = array(3.);
  close(lower([&](const Array& v) { return v * scale; }, x).compile()(x), x * 3);
}
TEST(LoadFunction, IsTheFunctionThatWasSaved) {
  test::TempFolder folder;
  auto offset = array({10., 20.});
  auto f = [&](const Model& m, const Array& x) {
    auto [c, ys] = scan([&](const Array& a, const Array& row) { return std::pair{tanh(a + row), a * row}; }, offset,
                        apply(m, x));
    auto d = cond(sum(c) > 0, [](const Array& v) { return v * 2; }, [](const Array& v) { return -v; }, c);
    return std::pair{concatenate({d, d}), ys};
  };
  auto x = array({{1., 2.}, {0., 1.}});
  lower(f, model(), x).save(folder / "f.bora");
  auto g = load_function(folder / "f.bora");
  auto want = f(model(), x);
  auto got = g(model(), x);
  ASSERT_EQ(got.size(), 2u);
  close(got[0], want.first);
  close(got[1], want.second);
  close(g.as(eval_shape(f, model(), x), model(), x).second, want.second);
  auto loss = [](const auto& fn) { return [&fn](const Array& v) { return sum(fn(model(), v)[1]); }; };
  auto flat = [&](const Model& m, const Array& v) {
    auto r = f(m, v);
    return Arrays{r.first, r.second};
  };
  close(grad(loss(g))(x), grad(loss(flat))(x));
  auto xs = stack({x, x * 2});
  close(vmap([&](const Array& v) { return g(model(), v)[1]; })(xs),
        vmap([&](const Array& v) { return flat(model(), v)[1]; })(xs));
  close(jit([&](const Array& v) { return g(model(), v)[0]; })(x), want.first);
  EXPECT_MESSAGE(ShapeError, g(model(), zeros({3, 2})), "should be f32[2, 2], got f32[3, 2]");
  EXPECT_MESSAGE(ShapeError, g(x), "takes 3 arrays, got 1");
}
TEST(LoadFunction, RefusesWhatIsNoProgram) {
  test::TempFolder folder;
  auto path = folder / "f.bora", other = folder / "g.bora";
  lower([](const Array& x) { return sin(x) * 2; }, zeros({3})).save(path);
  auto bytes = read_file(path);
  auto with = [&](std::string b) {
    std::ofstream(other, std::ios::binary) << b;
    return other;
  };
  EXPECT_MESSAGE(IoError, load_function(folder / "nothing"), "cannot read");
  EXPECT_MESSAGE(IoError, load_function(with("hello")), "is no Program of Bora");
  for (std::size_t at : {std::size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
    auto b = bytes;
    b[at] = static_cast<char>(b[at] ^ 1);
    EXPECT_MESSAGE(IoError, load_function(with(b)), "is damaged");
  }
  EXPECT_MESSAGE(IoError, load_function(with(bytes.substr(0, bytes.size() - 3))), "is damaged");
  auto newer = bytes;
  newer[8] = 9;
  EXPECT_MESSAGE(IoError, load_function(with(newer)), "is a Program of version 9; this library reads 1");
  EXPECT_MESSAGE(ValueError, lower([](const Array& x) { return debug::print("{}", x); }, zeros({3})).save(other),
                 "debug_callback cannot be written to a file");
}
TEST(LoadFunction, HoldsEveryPrimitiveOfTheRegistry) {
  test::TempFolder folder;
  auto path = folder / "p.bora";
  int written = 0;
  for (auto& e : registry())
    for (auto& s : e.samples()) {
      Types types;
      for (auto& a : s.in) types.push_back(a.type());
      auto p = stage([&](const Arrays& a) { return call(s.primitive, a); }, types);
      try {
        write_program(path, p);
      } catch (const ValueError& error) {  // it holds a function
        EXPECT_NE(std::string(error.what()).find("holds a function"), std::string::npos) << error.what();
        continue;
      }
      ++written;
      auto q = read_program(path);
      EXPECT_EQ(print(*q.program), print(*p.program));
    }
  EXPECT_GT(written, 100);
}

TEST(DebugCheck, StopsInEveryTransform) {
  auto f = [](const Array& x) {
    debug::check(x > 0, "x must be positive, is {}", x);
    return log(x);
  };
  auto good = array({1., 2.}), bad = array({1., -2.});
  close(jit(f)(good), log(good));
  EXPECT_MESSAGE(ValueError, f(bad), "x must be positive, is [ 1., -2.]");
  says_with_line<ValueError>([&] { (void)jit(f)(bad); }, "ahead_test.cpp:");
  EXPECT_MESSAGE(ValueError, jit(f)(bad), "x must be positive, is [ 1., -2.]");
  EXPECT_MESSAGE(ValueError, vmap(f)(bad), "x must be positive, is -2. (lane 1 of vmap)");
  EXPECT_MESSAGE(ValueError, jit(vmap(f))(bad), "x must be positive, is -2. (lane 1 of vmap)");
  EXPECT_MESSAGE(ValueError, jit(grad([&](const Array& x) { return sum(f(x)); }))(bad), "x must be positive");
  EXPECT_MESSAGE(ValueError, jit([&](const Array& x) { return jvp(f, x, x).second; })(bad), "x must be positive");
  EXPECT_MESSAGE(ValueError, jit([&](const Array& x) { return sum(checkpoint(f)(x)); })(bad), "x must be positive");
  close(jit(grad([&](const Array& x) { return sum(f(x)); }))(good), 1 / good);
  auto steps = jit([](const Array& x) {
    return scan(
               [](const Array& c, const Array& e) {
                 debug::check(c < 5, "carry {} at {}", c, e);
                 return std::pair{c + 1, none};
               },
               x, arange(4, f32))
        .first;
  });
  close(steps(array(1.)), array(5.));
  EXPECT_MESSAGE(ValueError, steps(array(3.)), "carry 5. at 2.");
  auto unread = jit([](const Array& x) {
    auto checked = [](const Array& v) {
      debug::check(v < 3, "v is {}", v);
      return v;
    };
    (void)cond(
        x > 0, checked, [](const Array& v) { return v; }, x);
    return x + 1;
  });
  close(unread(array(2.)), array(3.));
  close(unread(array(-4.)), array(-3.));
  EXPECT_MESSAGE(ValueError, unread(array(4.)), "v is 4.");
  EXPECT_MESSAGE(ValueError, debug::check(bad > 0, "{}"), "debug::check: '{}' has 1 {} but is given 0 values");
  EXPECT_MESSAGE(DtypeError, debug::check(bad, "no"), "the condition must be boolean, got f32[2]");
}
TEST(DebugCheck, SeesTheWholeOnAMesh) {
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto x = with_sharding_constraint(array({1., 2., 3., -4.}), Spec{"data"});
    auto f = [](const Array& v) {
      debug::check(v > -5, "low");
      debug::check(v > 0, "is {}", v);
      return v * 2;
    };
    EXPECT_MESSAGE(ValueError, jit(f)(x), "is [ 1.,  2.,  3., -4.]");
    EXPECT_MESSAGE(ValueError, f(x), "is [ 1.,  2.,  3., -4.]");
  });
}
TEST(NamedScope, StandsInErrors) {
  auto check_low = [](const Model& m) {
    NamedScope outer("encoder");
    {
      NamedScope inner("attention");
      debug::check(sum(m.w) < 0, "too large");
    }
    debug::check(sum(m.w) < 100, "far too large");
    return sum(m.w);
  };
  says_with_line<ValueError>([&] { (void)check_low(model()); }, "too large   (encoder/attention, ahead_test.cpp:");
  says_with_line<ValueError>([&] { (void)jit(check_low)(model()); }, "(in check, encoder/attention, ahead_test.cpp:");
  auto big = model();
  big.w = big.w - 100;
  close(jit(check_low)(big), sum(big.w));
  auto wrong = [](const Model& m) {
    NamedScope s("head");
    return matmul(m.w, zeros({3}));
  };
  says_with_line<ShapeError>([&] { (void)jit(wrong)(model()); }, "head/w, ahead_test.cpp:");
}
TEST(Callbacks, PureOnesGiveSeveralResults) {
  auto host = [](const Array& x, const Array& y) {
    return std::pair{asarray(x.to_vector<float>(), x.shape()) * 2, sum(y).astype(i32)};
  };
  auto f = [&](const Array& x, const Array& y) { return pure_callback(host, std::pair{x, array(0)}, x, y); };
  auto x = array({1., 2., 3.}), y = array({4., 5.});
  for (auto& [a, b] : {f(x, y), jit(f)(x, y)}) {
    close(a, x * 2);
    close(b, array(9));
  }
  auto [a, b] = jit(vmap(f, {.in = {0, none}}))(stack({x, x + 1}), y);
  close(a, stack({x * 2, x * 2 + 2}));
  close(b, array({9, 9}));
  EXPECT_MESSAGE(ShapeError, pure_callback([](const Array& v) { return sum(v); }, x, x),
                 "callback: f must return a value like");
  auto loss = [&](const Array& v) { return sum(f(v, y).first); };
  EXPECT_MESSAGE(TraceError, grad(loss)(x), "pure_callback cannot be differentiated");
  auto square_of = custom_jvp(
      [](const Array& v) { return pure_callback([](const Array& n) { return n * n; }, v, v); },
      [](const Array& v, const Array& d) {
        return std::pair{pure_callback([](const Array& n) { return n * n; }, v, v), 2 * v * d};
      });
  close(grad([&](const Array& v) { return sum(square_of(v)); })(x), 2 * x);
  auto throws = jit([](const Array& v) {
    return pure_callback([](const Array&) -> Array { throw std::runtime_error("no reading"); }, v, v);
  });
  EXPECT_THROW((void)throws(x), std::runtime_error);
}
TEST(Callbacks, LoopsAroundThemDoNotChangeTheirOrder) {
  std::vector<int> seen;
  auto note = [&](int k, const Array& x) {
    return io_callback([&seen, k](const Array& v) { return seen.push_back(k), v; }, x, x);
  };
  auto f = jit([&](const Array& x) {
    (void)note(1, x * 2);
    (void)note(2, x);
    (void)note(3, x * 3 + 1);
    (void)note(4, x + 1);
    return x + 2;
  });
  close(f(array({1., 2., 3.})), array({3., 4., 5.}));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
}
TEST(Callbacks, AreNotRepeatedWhereANanIsLookedFor) {
  int calls = 0;
  auto count = [&calls](const Array& v) { return ++calls, v; };
  auto f = jit([&](const Array& x) {
    (void)io_callback(count, x, x);
    auto body = [&](const Array& a, const Array&) { return std::pair{io_callback(count, a, a), none}; };
    return log(scan(body, x, zeros({2})).first);
  });
  debug::nans(true);
  EXPECT_ANY_THROW((void)f(array(-1.)));
  debug::nans(false);
  EXPECT_EQ(calls, 3);
}
TEST(Check, InABranchThatIsDifferentiated) {
  auto checked = [](const Array& v) {
    debug::check(v < 5, "v is {}", v);
    return v;
  };
  auto looped = [&](const Array& v) {
    auto body = [&](const Array& c, const Array& e) { return std::pair{sin(checked(c) * e), none}; };
    return scan(body, v, ones({3})).first;
  };
  auto called = [&](const Array& v) { return sin(jit([&](const Array& a) { return checked(a) * a; })(v)); };
  auto kept = [&](const Array& v) { return sin(checkpoint([&](const Array& a) { return checked(a) * a; })(v)); };
  auto chosen = [&](const Array& v) {
    return sin(cond(v > 0, [&](const Array& a) { return checked(a) * a; }, [](const Array& a) { return a; }, v));
  };
  auto same = [&](auto branch) {
    auto f = [&](const Array& x) { return cond(x > 0, branch, [](const Array& v) { return v; }, x); };
    close(grad(f)(array(1.)), grad(branch)(array(1.)));
    close(jit(grad(f))(array(1.)), grad(branch)(array(1.)));
    EXPECT_ANY_THROW((void)grad(f)(array(7.)).template item<float>());
  };
  same(looped);
  same(called);
  same(kept);
  same(chosen);
}
TEST(Callbacks, OrderedOnesRunOnceInOrder) {
  std::vector<int> seen;
  auto note = [&](int k, const Array& x) {
    return io_callback(
        [&seen, k](const Array& v) {
          seen.push_back(k * 100 + v.item<int>());
          return v + 1;
        },
        array(0), x);
  };
  auto f = jit([&](const Array& x) {
    (void)note(1, x);
    auto y = note(2, x * 2);
    (void)note(3, x);
    auto [c, ys] = scan([&](const Array& a, const Array&) { return std::pair{note(4, a), none}; }, x, zeros({2}));
    (void)note(5, x);
    return y;
  });
  close(f(array(7)), array(15));
  EXPECT_EQ(seen, (std::vector<int>{107, 214, 307, 407, 408, 507}));
  seen.clear();
  (void)jit(vmap([&](const Array& x) { return note(1, x); }))(array({1, 2, 3}));
  EXPECT_EQ(seen, (std::vector<int>{101, 102, 103}));
  seen.clear();
  local_mesh({{"data", 2}}, [&](const Mesh&) {
    auto halves = with_sharding_constraint(array({1, 2}), Spec{"data"});
    auto y = jit([&](const Array& x) { return note(1, sum(x)); })(halves);
    close(gather(y), array(4));
  });
  EXPECT_EQ(seen, (std::vector<int>{103})) << "rank 0 runs it, all get its result";
}

TEST(Remat, EverythingExceptNames) {
  auto policy = remat::everything_except({"attn"});
  EXPECT_EQ(remat::to_string(policy), "everything_except(attn)");
  EXPECT_EQ(remat::parse("everything_except(attn)"), policy);
  EXPECT_MESSAGE(ConfigError, remat::parse("everything_but(attn)"), "everything_except(a, b)");
  auto products = [](const remat::Policy& p) {
    auto f = [p](const Array& w) {
      return sum(checkpoint(
          [](const Array& v) { return sin(matmul(sin(checkpoint_name(matmul(sin(v), v), "attn")), v)); }, p)(w));
    };
    return count(*program_of(value_and_grad(f), zeros({3, 3})), "dot_general");
  };
  auto kept = products(remat::everything);
  EXPECT_EQ(products(policy), kept + 1) << "the named product is computed again";
  EXPECT_EQ(products(remat::nothing), kept + 2);
}
TEST(Remat, NamesThatNothingHasAreErrors) {
  auto x = ones({3});
  auto f = [](const Array& v) { return checkpoint_name(sin(checkpoint_name(v * 2, "b")), "a"); };
  auto call = [&](const remat::Policy& p) { return checkpoint(f, p)(x); };
  EXPECT_NO_THROW((void)call(remat::names({"a", "b"})));
  EXPECT_MESSAGE(ConfigError, call(remat::names({"a", "c"})),
                 "checkpoint: the policy names(a, c) lists 'c', but no value of the function has that name; there are: "
                 "a, b");
  EXPECT_MESSAGE(ConfigError, call(remat::everything_except({"c"})), "there are: a, b");
  EXPECT_MESSAGE(ConfigError, checkpoint([](const Array& v) { return sin(v); }, remat::names({"c"}))(x),
                 "give it one with checkpoint_name(x, name)");
  auto loop = [](const Array& v) {
    return scan([](const Array& c, const Array&) { return std::pair{checkpoint_name(sin(c), "inside"), none}; }, v,
                arange(3)).first;
  };
  EXPECT_NO_THROW((void)checkpoint(loop, remat::names({"inside"}))(x));
}
TEST(Remat, ANameIsOfItsValueBeforeAndBehindReshapes) {
  auto w = zeros({4, 4});
  auto number_of = [&](std::string_view operation, const remat::Policy& p, const auto& f) {
    return count(*program_of(value_and_grad([=](const Array& v) { return sum(checkpoint(f, p)(v)); }), w), operation);
  };
  // The derivative of exp reads what exp gives, not what the name gives.
  auto own_result = [](const Array& v) { return square(checkpoint_name(exp(sin(v)), "y")); };
  auto reshaped = [](const Array& v) { return square(checkpoint_name(reshape(exp(sin(v)), {16}), "y")); };
  for (auto& [policy, number] : {std::pair{remat::nothing, 2u}, {remat::names({"y"}), 1u}}) {
    EXPECT_EQ(number_of("exp", policy, own_result), number);
    EXPECT_EQ(number_of("exp", policy, reshaped), number);
  }
  // Between two values that are not kept, nothing of an elementwise chain is.
  auto chain = [](const Array& v) {
    auto a = checkpoint_name(matmul(v, v), "m"), b = exp(sin(tanh(a) * 2)) * tanh(exp(a) + sin(a));
    return matmul(checkpoint_name(b, "m"), v);
  };
  auto without = remat::everything_except({"m"});
  EXPECT_LT(number_of("sin", remat::everything, chain), number_of("sin", without, chain));
  // Nor is the product of which nothing is read but what has the name.
  auto biased = [](const Array& v) { return sin(checkpoint_name(transpose(matmul(v, v) + 1) * 2, "m")); };
  EXPECT_EQ(number_of("dot_general", remat::everything, biased) + 1, number_of("dot_general", without, biased));
  auto read_twice = [](const Array& v) {
    auto y = matmul(v, v);
    return matmul(sin(checkpoint_name(y + 1, "m")), y);
  };
  EXPECT_EQ(number_of("dot_general", remat::everything, read_twice), number_of("dot_general", without, read_twice));
}
TEST(Remat, ScanInSegments) {
  auto xs = linspace(0.1, 1., 23);
  auto f = [&](const ScanOptions& o) {
    return [&xs, o](const Array& w) {
      auto [c, ys] = scan([&](const Array& a, const Array& x) {
        auto y = sin(a * w + x);
        return std::pair{y, y * x};
      }, w, xs, o);
      return sum(c) + sum(ys * ys);
    };
  };
  auto w = array({0.5, -0.3});
  for (bool reverse : {false, true}) {
    auto want = value_and_grad(f({.reverse = reverse}))(w);
    for (int every : {1, 4, 5, 22, 23, 100}) {
      auto got = value_and_grad(f({.reverse = reverse, .checkpoint_every = every}))(w);
      close(got.first, want.first);
      close(got.second, want.second);
    }
  }
  auto wide = linspace(0.1, 1., 400);
  auto memory = [&](int every) {
    auto loss = [&](const Array& w) {
      return sum(scan([&](const Array& a, const Array& x) { return std::pair{sin(a * w + x), none}; }, w, wide,
                      {.checkpoint_every = every}).first);
    };
    return lower(grad(loss), zeros({1000})).compile().memory().temporaries;
  };
  EXPECT_LT(memory(20) * 4, memory(0)) << "2 sqrt(N) carries, not N";
  EXPECT_MESSAGE(ValueError, f({.checkpoint_every = -1})(w), ".checkpoint_every must not be negative, got -1");
}
/// An io_callback runs once, whatever derivative is taken around it.
TEST(IoCallback, RunsOnceUnderDerivatives) {
  int n = 0;
  auto count = [&](const Array& v) { return v + static_cast<double>(++n); };
  auto read = [&] { return io_callback(count, array(0.), array(0.)); };
  auto f = [&](const Array& x) { return sin(x * read()); };
  auto once = [&](const auto& g, const char* what) {
    n = 0;
    EXPECT_NEAR(g(array(1.)).template item<double>(), std::cos(1.0), 1e-6) << what;
    EXPECT_EQ(n, 1) << what;
  };
  once(grad(f), "grad");
  once(grad(jit(f)), "grad of jit");
  once(jit(grad(f)), "jit of grad");
  once(grad(checkpoint(f)), "checkpoint");
  once(grad(jit(checkpoint(f))), "jit of checkpoint");
  auto in_scan = [&](const Array& x) {
    return scan([&](const Array& c, const Array&) { return std::pair{sin(c * read()), none}; }, x, zeros({3})).first;
  };
  for (int every : {0, 1}) {
    n = 0;
    auto g = every == 0 ? grad(in_scan)(array(1.)) : jit(grad(in_scan))(array(1.));
    EXPECT_EQ(n, 3);
    auto a = std::sin(1.0), b = std::sin(2 * a);
    EXPECT_NEAR(g.item<double>(), std::cos(1.0) * 2 * std::cos(2 * a) * 3 * std::cos(3 * b), 1e-6);
  }
  auto in_cond = [&](const Array& x) { return cond(x > 0.0, f, [](const Array& v) { return v; }, x); };
  EXPECT_THROW((void)jit(grad(in_cond))(array(1.)), TraceError);
  EXPECT_THROW((void)vmap(in_cond)(array({1., -1.})), TraceError);
}
}  // namespace
}  // namespace ahead_test
