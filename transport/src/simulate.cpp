#include "simulate.h"
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <tuple>

namespace bora::transport {
namespace {
using Kind = Step::Kind;
struct Message {
  std::vector<std::int64_t> data;
  int depth;  // hops so far
};
struct Rank {
  std::vector<bool> done;
  std::vector<int> depth;
};
bool receives(const Step& s) { return s.kind == Kind::receive || s.kind == Kind::sum; }
}  // namespace

Simulation simulate(const std::vector<Schedule>& all, const std::vector<std::vector<std::int64_t>>& in,
                    const std::vector<std::int64_t>& out_sizes, unsigned seed) {
  auto P = static_cast<int>(all.size());
  auto at = [](int i) { return static_cast<std::size_t>(i); };
  Simulation result;
  result.messages.assign(at(P), 0);
  result.sent.assign(at(P), 0);
  result.reduced.assign(at(P), 0);
  for (auto n : out_sizes) result.out.emplace_back(static_cast<std::size_t>(n), -1);
  std::map<std::tuple<int, int, int>, std::deque<Message>> wire;  // (from, to, tag)
  std::vector<Rank> ranks(at(P));
  std::vector<std::pair<int, int>> open;  // (rank, step)
  for (int r = 0; r < P; ++r) {
    auto n = all[at(r)].steps.size();
    ranks[at(r)] = {std::vector<bool>(n, false), std::vector<int>(n, 0)};
    for (int i = 0; i < static_cast<int>(n); ++i) open.emplace_back(r, i);
  }
  auto run = [&](int r, int i) {
    auto& steps = all[at(r)].steps;
    const Step& s = steps[at(i)];
    auto& mine = ranks[at(r)];
    auto& out = result.out[at(r)];
    auto put = [&](const std::vector<std::int64_t>& data) {
      check<TransportError>(static_cast<std::int64_t>(data.size()) == s.to.size(), "rank ", r, " step ", i,
                            ": a message of ", data.size(), " elements for a range of ", s.to.size());
      std::copy(data.begin(), data.end(), out.begin() + s.to.begin);
    };
    auto cut = [&](const std::vector<std::int64_t>& v, Range g) {
      return std::vector<std::int64_t>(v.begin() + g.begin, v.begin() + g.end);
    };
    int depth = 0;
    if (s.kind == Kind::copy) put(cut(in[at(r)], s.from));
    if (s.kind == Kind::zero) put(std::vector<std::int64_t>(static_cast<std::size_t>(s.to.size()), 0));
    if (s.kind == Kind::send) {
      for (int k = 0; k <= s.needs; ++k) {
        if (!(k == s.needs || receives(steps[at(k)]))) continue;
        if (!mine.done[at(k)]) return false;
        depth = std::max(depth, mine.depth[at(k)]);
      }
      wire[{r, s.peer, s.tag}].push_back({cut(s.from_out ? out : in[at(r)], s.from), depth + 1});
      ++result.messages[at(r)];
      result.sent[at(r)] += s.from.size();
    }
    if (s.kind == Kind::receive) {
      auto& queue = wire[{s.peer, r, s.tag}];
      if (queue.empty()) return false;
      put(queue.front().data);
      depth = queue.front().depth;
      queue.pop_front();
    }
    if (s.kind == Kind::sum) {
      for (int p = 0; p < P; ++p)
        if (p != r && wire[{p, r, s.tag}].empty()) return false;
      std::vector<std::int64_t> acc;
      for (int p = 0; p < P; ++p) {
        std::vector<std::int64_t> part;
        if (p == r) {
          part = cut(in[at(r)], s.from);
        } else {
          auto& queue = wire[{p, r, s.tag}];
          part = queue.front().data;
          depth = std::max(depth, queue.front().depth);
          queue.pop_front();
        }
        check<TransportError>(static_cast<std::int64_t>(part.size()) == s.to.size(), "rank ", r, ": member ", p,
                              " sent ", part.size(), " elements for a sum of ", s.to.size());
        if (p == 0) acc = part;
        else
          for (std::size_t k = 0; k < acc.size(); ++k) acc[k] = fold_in(acc[k], part[k]);
      }
      result.reduced[at(r)] += s.to.size() * (P - 1);
      put(acc);
    }
    mine.done[at(i)] = true;
    mine.depth[at(i)] = depth;
    result.hops = std::max(result.hops, depth);
    return true;
  };
  std::mt19937 order(seed);
  while (!open.empty()) {
    if (seed != 0) std::shuffle(open.begin(), open.end(), order);
    auto before = open.size();
    open.erase(std::remove_if(open.begin(), open.end(), [&](auto& s) { return run(s.first, s.second); }), open.end());
    check<TransportError>(open.size() < before, "the schedules wait for each other: rank ", open.front().first,
                          " step ", open.front().second);
  }
  for (auto& [key, queue] : wire)
    check<TransportError>(queue.empty(), "a message from ", std::get<0>(key), " to ", std::get<1>(key),
                          " is never received");
  return result;
}
double cost(const Simulation& s, std::size_t element_bytes, const LinkCost& c) {
  double slowest = 0;
  for (std::size_t r = 0; r < s.sent.size(); ++r) {
    auto e = static_cast<double>(element_bytes);
    slowest =
        std::max(slowest, c.message * static_cast<double>(s.messages[r]) + c.beta * e * static_cast<double>(s.sent[r]) +
                              c.gamma * e * static_cast<double>(s.reduced[r]));
  }
  return c.alpha * s.hops + slowest;
}
}  // namespace bora::transport
