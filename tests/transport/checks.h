// checks.h -- collectives against what a loop over all ranks' inputs gives.
#pragma once
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include "bora/transport/transport.h"
#include "values.h"

namespace bora::transport {
/// n numbers of each rank, reduced in the order of ranks.
inline void check_all_reduce(Context& c, const Group& g, Reduction r, Dtype d, std::int64_t n, int salt, bool in_place,
                             const std::string& what = {}) {
  auto in = made(d, c.rank(), n, salt);
  Bytes out(in_place ? 0 : in.size());
  c.run(g, {.kind = CollectiveKind::all_reduce,
            .reduce = r,
            .dtype = d,
            .in = in.data(),
            .out = in_place ? in.data() : out.data(),
            .send_counts = {n}});
  EXPECT_TRUE((in_place ? in : out) == reduced(r, d, c.size(), n, salt))
      << what << " " << d << " n=" << n << " in place " << in_place << " rank " << c.rank();
}
/// all_gather, reduce_scatter, gather and scatter of parts of `scale`, a third of it, and nothing.
inline void check_ragged_parts(Context& c, const Group& g, Dtype d, std::int64_t scale, int root, int salt,
                               const std::string& what = {}) {
  SCOPED_TRACE(what + " of " + std::to_string(scale));
  Counts counts;
  for (int p = 0; p < c.size(); ++p) counts.push_back(p % 3 == 1 ? scale / 3 : p % 3 == 2 ? 0 : scale);
  auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  auto begin = std::accumulate(counts.begin(), counts.begin() + c.rank(), std::int64_t{0});
  auto mine = counts[at(c.rank())];
  Bytes all, in = made(d, c.rank(), mine, salt), out(at(total) * dtype_size(d)), piece(in.size()), got(in.size());
  for (int p = 0; p < c.size(); ++p) {
    auto b = made(d, p, counts[at(p)], salt);
    all.append(b);
  }
  c.run(g, {.kind = CollectiveKind::all_gather,
            .dtype = d,
            .in = in.data(),
            .out = out.data(),
            .recv_counts = counts});
  EXPECT_TRUE(out == all) << d << " all_gather";
  auto whole = made(d, c.rank(), total, salt);
  c.run(g, {.kind = CollectiveKind::reduce_scatter,
            .dtype = d,
            .in = whole.data(),
            .out = piece.data(),
            .recv_counts = counts});
  EXPECT_TRUE(piece == part(reduced(Reduction::sum, d, c.size(), total, salt), begin, mine, d))
      << d << " reduce_scatter";
  bool is_root = c.rank() == root;
  Bytes gathered(is_root ? all.size() : 0);
  c.run(g, {.kind = CollectiveKind::gather,
            .dtype = d,
            .in = in.data(),
            .out = gathered.data(),
            .recv_counts = counts,
            .root = root});
  EXPECT_TRUE(!is_root || gathered == all) << d << " gather";
  c.run(g, {.kind = CollectiveKind::scatter,
            .dtype = d,
            .in = is_root ? all.data() : nullptr,
            .out = got.data(),
            .recv_counts = counts,
            .root = root});
  EXPECT_TRUE(got == in) << d << " scatter";
}
inline void check_broadcast(Context& c, const Group& g, std::int64_t n, int root, const std::string& what = {}) {
  auto expected = made(f32, root, n, 5), buffer = c.rank() == root ? expected : Bytes(expected.size());
  c.run(g, {.kind = CollectiveKind::broadcast,
            .in = buffer.data(),
            .out = buffer.data(),
            .send_counts = {n},
            .root = root});
  EXPECT_TRUE(buffer == expected) << what << " broadcast " << n << " from " << root;
}
}  // namespace bora::transport
