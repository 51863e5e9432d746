// Pieces of bytes from rank to rank, in rounds of an all_to_all.
#include <algorithm>
#include <numeric>
#include "bora/base/collective.h"
#include "io/api/stores.h"
#include "shard/api/agree.h"

namespace bora::io {
Trade::Trade(const Place& place)
    : place_(place), out_(static_cast<std::size_t>(std::max(1, place.mesh.size()))), in_(out_) {}
std::size_t Trade::round_for(int from, int to, std::int64_t bytes) {
  auto &out = out_[static_cast<std::size_t>(from)], &in = in_[static_cast<std::size_t>(to)];
  auto round = std::max(out.round, in.round);
  auto fits = [&](const Load& l) { return l.round < round || l.bytes == 0 || l.bytes + bytes <= kMost; };
  if (!fits(out) || !fits(in)) ++round;
  for (auto* load : {&out, &in}) {
    if (load->round < round) *load = {round, 0};
    load->bytes += bytes;
  }
  rounds_ = std::max(rounds_, round + 1);
  return round;
}
void Trade::run(std::vector<Given>& given, std::vector<Taken>& taken, std::string& problem) {
  auto attempt = [&](const std::function<void()>& f) {
    auto why = error_of(f);
    if (problem.empty()) problem = why;
  };
  // Pieces of one pair keep their order.
  std::stable_sort(given.begin(), given.end(), [](auto& a, auto& b) { return a.to < b.to; });
  std::stable_sort(taken.begin(), taken.end(), [](auto& a, auto& b) { return a.from < b.from; });
  CollectiveCall call{.kind = CollectiveKind::all_to_all, .dtype = Dtype::u8};
  call.send_counts.assign(out_.size(), 0);
  call.recv_counts.assign(out_.size(), 0);
  for (auto& piece : given) call.send_counts[static_cast<std::size_t>(piece.to)] += piece.bytes;
  for (auto& piece : taken) call.recv_counts[static_cast<std::size_t>(piece.from)] += piece.bytes;
  auto all = [](auto& counts) { return static_cast<std::size_t>(std::reduce(counts.begin(), counts.end())); };
  std::string out(all(call.send_counts), '\0'), in(all(call.recv_counts), '\0');
  auto* to = out.data();
  for (auto& piece : given) attempt([&] { piece.fill(to); }), to += piece.bytes;
  call.in = out.data();
  call.out = in.data();
  call.describe = [] { return std::string("parts of a checkpoint"); };
  place_.trade(call);
  const auto* from = in.data();
  for (auto& piece : taken) attempt([&] { piece.read(from); }), from += piece.bytes;
}
std::string Trade::finish() {
  std::string problem;
  for (std::size_t round = 0; round < rounds_; ++round) {
    run(given_[round], taken_[round], problem);
    given_.erase(round);
    taken_.erase(round);
  }
  return problem;
}
}  // namespace bora::io
