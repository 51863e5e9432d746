#include "everything.h"
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>

namespace bora::transport {
namespace {
/// Element i of rank r's input: whole numbers, so that any order of sums is exact.
float given(int r, std::int64_t i) { return static_cast<float>((r + 1) * (i % 97 + 1)); }
/// A hash of sums that every order of their terms rounds differently.
std::uint64_t bits_of_sums(Context& c, const Group& all) {
  auto P = static_cast<std::int64_t>(all.ranks.size());
  std::vector<float> in(static_cast<std::size_t>(40000 * P)), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = std::ldexp(1 + static_cast<float>(i % 1013) / 1013,
                       static_cast<int>(i * 7 + static_cast<std::size_t>(c.rank()) * 11) % 24);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  auto run = [&](CollectiveCall x, std::int64_t got) {
    x.in = in.data();
    x.out = out.data();
    c.run(all, x);
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      hash = (hash ^ std::bit_cast<std::uint32_t>(out[i])) * 0x100000001b3ull;
  };
  for (Reduction how : {Reduction::sum, Reduction::mean}) {
    run({.kind = CollectiveKind::all_reduce, .reduce = how, .send_counts = {40000 * P}}, 40000 * P);
    run({.kind = CollectiveKind::reduce_scatter,
         .reduce = how,
         .recv_counts = std::vector<std::int64_t>(all.ranks.size(), 40000)},
        40000);
  }
  run({.kind = CollectiveKind::all_reduce, .wire = Wire::bf16(), .send_counts = {40000}}, 40000);
  return hash;
}
}  // namespace

int everything(Context& c, const Group& all) {
  auto P = static_cast<std::int64_t>(all.ranks.size());
  int me = c.rank(), ranks = static_cast<int>(P);
  for (std::int64_t n : {1, 1000, 70001}) {
    std::vector<float> in, out;
    std::vector<std::int64_t> each(all.ranks.size(), n);
    const char* what = "";
    /// Inputs `giving` elements; expects out[i] == expected(i) for `got` elements.
    auto run = [&](const char* name, CollectiveCall x, std::int64_t giving, std::int64_t got,
                   const std::function<float(std::int64_t)>& expected) {
      what = name;
      in.resize(static_cast<std::size_t>(giving));
      for (std::int64_t i = 0; i < giving; ++i) in[static_cast<std::size_t>(i)] = given(me, i);
      out.assign(static_cast<std::size_t>(got), -1);
      x.in = in.data();
      x.out = out.data();
      c.run(all, x);
      for (std::int64_t i = 0; i < got; ++i)
        if (out[static_cast<std::size_t>(i)] != expected(i))
          return std::printf("%s of %lld: element %lld is %g instead of %g\n", what, static_cast<long long>(n),
                             static_cast<long long>(i), static_cast<double>(out[static_cast<std::size_t>(i)]),
                             static_cast<double>(expected(i))),
                 false;
      return true;
    };
    float all_ranks = static_cast<float>(P * (P + 1) / 2);  // sum of r + 1
    auto sum = [&](std::int64_t i) { return all_ranks * given(0, i); };
    int last = ranks - 1, left = (me + ranks - 1) % ranks, right = (me + 1) % ranks;
    bool ok = run("all_reduce", {.kind = CollectiveKind::all_reduce, .send_counts = {n}}, n, n, sum) &&
              run("maximum", {.kind = CollectiveKind::all_reduce, .reduce = Reduction::max, .send_counts = {n}}, n, n,
                  [&](auto i) { return given(last, i); }) &&
              run("reduce_scatter", {.kind = CollectiveKind::reduce_scatter, .recv_counts = each}, n * P, n,
                  [&](auto i) { return sum(me * n + i); }) &&
              run("all_gather", {.kind = CollectiveKind::all_gather, .recv_counts = each}, n, n * P,
                  [&](auto i) { return given(static_cast<int>(i / n), i % n); }) &&
              run("broadcast", {.kind = CollectiveKind::broadcast, .send_counts = {n}, .root = last}, n, n,
                  [&](auto i) { return given(last, i); }) &&
              run("gather", {.kind = CollectiveKind::gather, .recv_counts = each, .root = last}, n,
                  me == last ? n * P : 0, [&](auto i) { return given(static_cast<int>(i / n), i % n); }) &&
              run("scatter", {.kind = CollectiveKind::scatter, .recv_counts = each, .root = last},
                  me == last ? n * P : 0, n, [&](auto i) { return given(last, me * n + i); }) &&
              run("all_to_all", {.kind = CollectiveKind::all_to_all, .send_counts = each, .recv_counts = each}, n * P,
                  n * P, [&](auto i) { return given(static_cast<int>(i / n), me * n + i % n); }) &&
              run("permute", {.kind = CollectiveKind::permute, .send_counts = {n}, .source = left, .target = right}, n,
                  n, [&](auto i) { return given(left, i); });
    if (!ok) return 1;
    c.barrier(all);
  }
  std::printf("rank %d: bits of sums %016llx\neverything is right\n", me,
              static_cast<unsigned long long>(bits_of_sums(c, all)));
  return 0;
}
}  // namespace bora::transport
