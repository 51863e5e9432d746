#include "schedule/simulate.h"
#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace bora::transport {
namespace {
using Kind = Step::Kind;
using Values = std::vector<std::int64_t>;
struct Message {
  Values data;
  int depth;  // hops so far
};
struct Rank {
  std::vector<bool> done;
  std::vector<int> depth;
  Values work;
};
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

class Run {
 public:
  Run(const std::vector<Schedule>& all, const std::vector<Values>& in, const Values& out_sizes)
      : all_(all), in_(in), size_(static_cast<int>(all.size())) {
    for (auto* v : {&result.messages, &result.sent, &result.reduced}) v->assign(all.size(), 0);
    for (auto n : out_sizes) result.out.emplace_back(at(n), -1);
    for (auto& s : all)
      ranks_.push_back(
          {std::vector<bool>(s.steps.size(), false), std::vector<int>(s.steps.size(), 0), Values(at(s.work), -1)});
  }
  /// False if the step's inputs are not there yet.
  bool step(int r, int i) {
    auto& steps = all_[at(r)].steps;
    const Step& s = steps[at(i)];
    auto& mine = ranks_[at(r)];
    int depth = 0;
    for (int k = 0; k < static_cast<int>(steps.size()); ++k) {
      if (k != s.needs && (k > s.after || steps[at(k)].kind == Kind::send)) continue;
      if (!mine.done[at(k)]) return false;
      depth = std::max(depth, mine.depth[at(k)]);
    }
    if (s.needs >= 0)
      check<TransportError>(steps[at(s.needs)].to == s.from && steps[at(s.needs)].target == s.source, "rank ", r,
                            " step ", i, " needs another range than step ", s.needs, " makes");
    switch (s.kind) {
      case Kind::copy: put(r, i, cut_of(r, s.source, s.from)); break;
      case Kind::zero: put(r, i, Values(at(s.to.size()), 0)); break;
      case Kind::send: send(r, s.peer, s.tag, cut_of(r, s.source, s.from), depth); break;
      case Kind::receive:
        if (!there(s.peer, r, s.tag)) return false;
        put(r, i, take(s.peer, r, s.tag, depth));
        break;
      case Kind::sum:
        if (s.peer >= 0 && !there(s.peer, r, s.tag)) return false;
        for (int p = s.first; p < s.last; ++p)
          if (p != r && !there(p, r, s.tag)) return false;
        sum(r, i, depth);
        break;
      case Kind::fold: {
        auto n = s.to.size();
        auto block = [&](int p) {
          auto begin = s.from.begin + n * ((p - s.first + size_) % size_);
          return cut(mine.work, {begin, begin + n});
        };
        auto acc = block(0);
        for (int p = 1; p < size_; ++p) add(r, acc, block(p));
        put(r, i, acc);
        break;
      }
    }
    mine.done[at(i)] = true;
    mine.depth[at(i)] = depth;
    result.hops = std::max(result.hops, depth);
    return true;
  }
  void nothing_left() const {
    for (auto& [key, m] : wire_)
      fail<TransportError>("a message from ", std::get<0>(key), " to ", std::get<1>(key), " is never received");
  }
  Simulation result;

 private:
  Values& memory(int r, Place p) { return p == Place::out ? result.out[at(r)] : ranks_[at(r)].work; }
  static Values cut(const Values& v, Range g) { return Values(v.begin() + g.begin, v.begin() + g.end); }
  Values cut_of(int r, Place p, Range g) { return cut(p == Place::in ? in_[at(r)] : memory(r, p), g); }
  void put(int r, int i, const Values& data) {
    auto& s = all_[at(r)].steps[at(i)];
    check<TransportError>(static_cast<std::int64_t>(data.size()) == s.to.size(), "rank ", r, " step ", i,
                          ": a message of ", data.size(), " elements for a range of ", s.to.size());
    if (s.kind == Kind::receive && s.target == Place::out) {
      // A rank may be sending on data that it has received, from where they lie.
      auto& received = received_[r];
      received.resize(memory(r, s.target).size());
      for (auto k = s.to.begin; k < s.to.end; ++k) {
        check<TransportError>(!received[at(k)], "rank ", r, " step ", i, " receives element ", k, " a second time");
        received[at(k)] = true;
      }
    }
    std::copy(data.begin(), data.end(), memory(r, s.target).begin() + s.to.begin);
  }
  void add(int r, Values& acc, const Values& part) {
    check<TransportError>(acc.size() == part.size(), "rank ", r, " sums ", acc.size(), " and ", part.size(),
                          " elements");
    for (std::size_t k = 0; k < acc.size(); ++k) acc[k] = fold_in(acc[k], part[k]);
    result.reduced[at(r)] += static_cast<std::int64_t>(acc.size());
  }
  bool there(int from, int to, int tag) const { return wire_.count({from, to, tag}) > 0; }
  void send(int r, int peer, int tag, Values data, int depth) {
    check<TransportError>(used_.emplace(r, peer, tag).second, "rank ", r, ": two streams to ", peer, " with tag ", tag);
    auto n = static_cast<std::int64_t>(data.size());
    ++result.messages[at(r)];
    result.sent[at(r)] += n;
    result.between[{r, peer}] += n;
    wire_[{r, peer, tag}] = {std::move(data), depth + 1};
  }
  Values take(int from, int to, int tag, int& depth) {
    auto found = wire_.find({from, to, tag});
    auto m = std::move(found->second);
    wire_.erase(found);
    depth = std::max(depth, m.depth);
    return std::move(m.data);
  }
  void sum(int r, int i, int& depth) {
    auto& s = all_[at(r)].steps[at(i)];
    Values acc;
    bool any = s.peer >= 0;
    if (any) acc = take(s.peer, r, s.tag, depth);
    for (int p = s.first; p < s.last; ++p) {
      auto part = p == r ? cut(in_[at(r)], s.from) : take(p, r, s.tag, depth);
      if (any) add(r, acc, part);
      else acc = part;
      any = true;
    }
    if (s.next >= 0) send(r, s.next, s.tag, acc, depth);
    else put(r, i, acc);
  }

  const std::vector<Schedule>& all_;
  const std::vector<Values>& in_;
  int size_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<int, int, int>, Message> wire_;  // (from, to, tag)
  std::set<std::tuple<int, int, int>> used_;
  std::map<int, std::vector<bool>> received_;  // elements of a rank's output
};
}  // namespace

Simulation simulate(const std::vector<Schedule>& all, const std::vector<Values>& in, const Values& out_sizes,
                    unsigned seed) {
  Run run(all, in, out_sizes);
  std::vector<std::pair<int, int>> open;  // (rank, step)
  for (int r = 0; r < static_cast<int>(all.size()); ++r)
    for (int i = 0; i < static_cast<int>(all[at(r)].steps.size()); ++i) open.emplace_back(r, i);
  std::mt19937 order(seed);
  while (!open.empty()) {
    if (seed != 0) std::shuffle(open.begin(), open.end(), order);
    auto before = open.size();
    open.erase(std::remove_if(open.begin(), open.end(), [&](auto& s) { return run.step(s.first, s.second); }),
               open.end());
    check<TransportError>(open.size() < before, "the schedules wait for each other: rank ", open.front().first,
                          " step ", open.front().second);
  }
  run.nothing_left();
  return std::move(run.result);
}
}  // namespace bora::transport
