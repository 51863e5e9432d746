// Arrays that every rank gives: those that differ between ranks are told apart where they are placed.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include "bora/bora.h"
#include "ops/api/same_everywhere.h"
#include "support/numbers.h"

namespace bora::placed_test {
namespace {
using test::rnd;
using F = std::function<void(const Mesh&)>;
/// The ShardError of each of n ranks; empty where f throws nothing.
std::vector<std::string> said(int n, const F& f) {
  std::vector<std::string> words(static_cast<std::size_t>(n));
  try {
    local_mesh({{"data", n}}, [&](const Mesh& m) {
      try {
        f(m);
      } catch (const ShardError& e) {
        words.at(static_cast<std::size_t>(m.rank())) = e.text();
        throw;
      }
    });
  } catch (const ShardError&) {  // kept above
  }
  return words;
}
void differ(int n, const std::string& text, const F& f) {
  for (auto& w : said(n, f)) EXPECT_NE(w.find(text), std::string::npos) << "wanted: " << text << "\nsaid: " << w;
}
void fine(int n, const F& f) { EXPECT_EQ(said(n, f), std::vector<std::string>(static_cast<std::size_t>(n))); }
/// x with another number at one place on some ranks.
Array changed(const Array& x, std::int64_t at, double to, bool here) {
  auto v = x.to_vector<double>();
  if (here) v.at(static_cast<std::size_t>(at)) = to;
  return reshape(asarray(v), x.shape()).astype(x.dtype());
}
}  // namespace

TEST(Placed, NumbersThatDifferAreFoundAndQuoted) {
  for (std::string what : {"shard", "with_sharding_constraint"}) {
    auto place = [&](const Array& x, const Spec& spec) {
      return what == "shard" ? shard(x, spec) : with_sharding_constraint(x, spec);
    };
    differ(3,
           what + ": the ranks' arrays differ: element [3, 1] of f64[5, 2]{data, -} is 0.5 on ranks 0, 2, 0.75 on "
                  "rank 1",
           [&](const Mesh& m) {
             auto x = changed(rnd({5, 2}, 1), 7, 0.5, true);
             (void)place(changed(x, 7, 0.75, m.rank() == 1), Spec{"data"});
           });
    differ(2, "from_local_block", [&](const Mesh& m) { (void)place(rnd({4}, 1 + m.rank()), Spec{"data"}); });
    differ(2, "element [] of f64[] is 0. on rank 0, 1. on rank 1",
           [&](const Mesh& m) { (void)place(array(static_cast<double>(m.rank())).astype(f64), Spec{}); });
  }
  differ(4, "on ranks 0, 1, 2", [](const Mesh& m) { (void)shard(rnd({9}, m.rank() == 3), Spec{"data"}); });
}
TEST(Placed, EveryBitCounts) {
  auto last_digit = std::nextafter(0.1, 1);
  differ(2, "is 0.1 on rank 0, 0.10000000000000002 on rank 1", [&](const Mesh& m) {
    (void)shard(asarray(std::vector<double>{1, m.rank() ? last_digit : 0.1}), Spec{});
  });
  differ(2, "element [0] of f64[64]{data} is", [](const Mesh& m) {  // signs that change in pairs
    (void)shard(rnd({64}, 1) * (m.rank() ? -1. : 1.), Spec{"data"});
  });
  differ(2, "element [70001] of i32[100003]{data}", [](const Mesh& m) {
    auto x = arange(100003);
    (void)shard(x + (x == 70001 && m.rank() == 1).astype(i32), Spec{"data"});
  });
  differ(2, "element [1] of bool[3] is", [](const Mesh& m) { (void)shard(array({1, m.rank(), 0}) != 0, Spec{}); });
  differ(2, "element [] of key[] is key(0, 0) on rank 0, key(0, 1) on rank 1",
         [](const Mesh& m) { (void)shard(random::key(m.rank()), Spec{}); });
  auto nan = std::numeric_limits<double>::quiet_NaN();
  fine(2, [&](const Mesh&) { (void)shard(asarray(std::vector<double>{1, nan}), Spec{}); });
  differ(2, "element [1] of f64[2] is 0. on rank 0, nan 0x", [&](const Mesh& m) {
    (void)shard(asarray(std::vector<double>{1, m.rank() ? nan : 0}), Spec{});
  });
}
TEST(Placed, TypesAndSpecsThatDifferAreQuoted) {
  differ(2, "f64[8]{data} on rank 0", [](const Mesh& m) { (void)shard(rnd({8 - m.rank()}, 1), Spec{"data"}); });
  differ(2, "f32[8]{data} on rank 1",
         [](const Mesh& m) { (void)shard(ones({8}, m.rank() ? f32 : f64), Spec{"data"}); });
  differ(2, "f64[4, 4]{-, data} on rank 1",
         [](const Mesh& m) { (void)shard(rnd({4, 4}, 1), m.rank() ? Spec{none, "data"} : Spec{"data"}); });
}
TEST(Placed, WhatIsNotCompared) {
  auto own = [](const Mesh& m) { return rnd({6}, 1 + m.rank()); };
  fine(2, [&](const Mesh& m) {
    (void)shard(own(m), Spec{"data"}, {.compare_up_to = 0});
    (void)shard(own(m), Spec{"data"}, {.compare_up_to = 47});
    (void)from_local_block(slice_in_dim(own(m), 0, 0, 3), {6}, Spec{"data"});
    auto x = own(m);
    (void)jit([&](const Array& a) { return with_sharding_constraint(a, Spec{"data"}); })(x);
    (void)grad([](const Array& a) { return sum(with_sharding_constraint(a, Spec{"data"})); })(x);
    (void)vmap([](const Array& a) { return with_sharding_constraint(a, Spec{}); })(x);
    auto split = shard(own(m), Spec{"data"}, {.compare_up_to = 0});
    (void)with_sharding_constraint(split, Spec{none});  // split already
  });
  differ(2, "element [0]", [&](const Mesh& m) { (void)shard(own(m), Spec{"data"}, {.compare_up_to = 48}); });
  differ(2, "f64[5]{data}", [&](const Mesh& m) {  // types are compared at any size
    (void)shard(rnd({6 - m.rank()}, 1), Spec{"data"}, {.compare_up_to = 0});
  });
  // One rank alone may do what sends nothing.
  fine(2, [&](const Mesh& m) {
    if (m.rank() == 1) return;
    UseMapping mapping(AxisMapping({{"rows", "data"}}));
    (void)auto_sharded(NamedArray(rnd({6}, 1), {{"rows", 6}}));
    (void)random::normal(random::key(1), {6}, f32, {.spec = Spec{"data"}});
  });
}
TEST(Placed, EmptyArraysAndAxesOfSizeOne) {
  fine(3, [](const Mesh&) {
    EXPECT_EQ(gather(shard(zeros({0, 4}), Spec{"data"})).shape(), (Shape{0, 4}));
    EXPECT_EQ(gather(shard(rnd({2}, 1), Spec{"data"})).shape(), Shape{2});
  });
  fine(1, [](const Mesh& m) { (void)shard(rnd({4}, 1 + m.rank()), Spec{"data"}); });
}
TEST(Placed, TheDigestDependsOnOrderLengthAndEveryByte) {
  for (std::size_t n : {0ul, 1ul, 7ul, 8ul, 63ul, 64ul, 65ul, 262143ul, 262144ul, 262145ul, 800000ul}) {
    std::vector<unsigned char> bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 31 + 7);
    auto want = ops::digest(bytes.data(), n);
    EXPECT_EQ(ops::digest(bytes.data(), n), want);
    bytes.push_back(0);
    EXPECT_NE(ops::digest(bytes.data(), n + 1), want);
    for (std::size_t i : {std::size_t{0}, n / 3, n / 2, n - 1}) {
      if (i >= n) continue;
      for (unsigned char bit : {1, 128}) {
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ bit);
        EXPECT_NE(ops::digest(bytes.data(), n), want) << n << " bytes, the one at " << i;
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ bit);
      }
    }
    if (n < 128) continue;
    std::swap_ranges(bytes.begin(), bytes.begin() + 64, bytes.begin() + 64);  // both are of one lane
    EXPECT_NE(ops::digest(bytes.data(), n), want) << n;
  }
}
}  // namespace bora::placed_test
