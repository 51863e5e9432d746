// One rank of perf/transport/overlap: the collectives of a step and nothing else, eight in flight at a time, as in a
// pipelined step. Arguments: op:count:times ..., count in f32 elements of the whole vector. Prints the seconds of the
// fastest round on rank 0.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <numeric>
#include "bora/transport/transport.h"
#include "loop.h"

using namespace bora::transport;
using bora::CollectiveCall, bora::CollectiveKind;
int main(int argc, char** argv) {
  auto context = join(config_from_environment());
  Group all{.ranks = std::vector<int>(static_cast<std::size_t>(context->size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  constexpr std::size_t most = 8;
  std::vector<CollectiveCall> list;
  std::int64_t longest = 1;
  for (int i = 1; i < argc; ++i) {
    char name[32];
    long count = 0, times = 0;
    if (std::sscanf(argv[i], "%31[^:]:%ld:%ld", name, &count, &times) != 3)
      return std::fprintf(stderr, "replay: what is %s?\n", argv[i]), 2;
    std::string op = name;
    std::vector<std::int64_t> parts;
    for (int r = 0; r < context->size(); ++r)
      parts.push_back(count * (r + 1) / context->size() - count * r / context->size());
    for (long k = 0; k < times; ++k)
      list.push_back(
          op == "all_reduce"
              ? CollectiveCall{.kind = CollectiveKind::all_reduce, .dtype = bora::Dtype::f32, .send_counts = {count}}
              : CollectiveCall{.kind = op == "all_gather" ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter,
                               .dtype = bora::Dtype::f32,
                               .recv_counts = parts});
    longest = std::max<std::int64_t>(longest, count);
  }
  std::vector<std::vector<float>> in(most, std::vector<float>(static_cast<std::size_t>(longest), 1.0F)), out = in;
  auto round = [&] {
    context->barrier(all);
    auto begin = std::chrono::steady_clock::now();
    std::deque<WorkPtr> started;
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (started.size() == most) started.front()->wait(), started.pop_front();
      auto c = list[k];
      c.in = in[k % most].data();
      c.out = out[k % most].data();
      started.push_back(context->start(all, c));
    }
    for (auto& s : started) s->wait();
    context->barrier(all);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  auto best = round();
  for (int k = 0; k < 5; ++k) best = std::min(best, round());
  if (context->rank() == 0) std::printf("seconds %.6f\n", best);
  context->leave();
}
