// One rank of a measurement; perf/transport/compare starts it as it starts its peers. Prints "op bytes seconds" lines on rank 0.
#include <cstdio>
#include <numeric>
#include "bora/transport/measure.h"

using namespace bora::transport;
int main(int argc, char** argv) {
  auto context = join(config_from_environment());
  Group all{.ranks = std::vector<int>(static_cast<std::size_t>(context->size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  std::vector<std::int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  for (auto op : {Op::all_reduce, Op::reduce_scatter, Op::all_gather, Op::broadcast})
    for (auto& m : measure(*context, all, op, sizes))
      if (context->rank() == 0)
        std::printf("%s %lld %.9f\n", std::string(op_name(op)).c_str(), static_cast<long long>(m.bytes), m.seconds);
  context->leave();
}
