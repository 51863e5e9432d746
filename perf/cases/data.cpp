// data.cpp -- a pass of a data pipeline: two sources by weight, shuffled, packed into rows with segments and positions,
// in batches.
#include "bora/data/sequence.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora::data;
/// Documents in memory, which perf/peers/grain_peer.py has as well.
struct Documents {
  Documents(std::int64_t n, std::int64_t step) {
    for (std::int64_t d = 0; d < n; ++d) {
      all.emplace_back(static_cast<std::size_t>(1 + d * step % 601));
      for (std::size_t i = 0; i < all.back().size(); ++i)
        all.back()[i] = static_cast<std::int32_t>((d + 3 * i) % 50000);
    }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(all.size()); }
  const std::vector<std::int32_t>& at(std::int64_t i) const { return all[static_cast<std::size_t>(i)]; }
  std::vector<std::vector<std::int32_t>> all = {};
};
}  // namespace

void add_data(Cases& to) {
  to["data_pipeline"] = [] {
    auto a = sequence(Documents(6000, 7919)), b = sequence(Documents(3000, 104729));
    auto pass = [=](auto use) {
      auto documents =
          mix<std::vector<std::int32_t>>({a.shuffle({.seed = 3}), b.shuffle({.seed = 4})}, Mix::of({3, 1}));
      auto rows = pack(documents, {.capacity = 640, .open_rows = 64}).batch(8);
      for (auto it = rows.iterate({.ahead = 4}); auto batch = it.next();) use(*batch);
    };
    auto sums = [=] {
      std::vector<double> sums(4);
      pass([&](const std::vector<TokenRow>& batch) {
        for (auto& row : batch) {
          sums[0] += 1;
          for (std::size_t i = 0; i < row.tokens.size(); ++i) {
            sums[1] += row.tokens[i];
            sums[2] += row.segments[i] * (row.tokens[i] + 1.0);
            sums[3] += row.positions[i];
          }
        }
      });
      return Values{{"sums", sums}};
    };
    return Case{[=] { pass([](auto&) {}); }, sums};
  };
}
}  // namespace cases
