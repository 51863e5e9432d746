// One rank of a measurement; perf/transport/compare starts it as it starts its peers. Prints "op bytes seconds" lines
// on rank 0; "op.bf16" is measured on half of the bytes: as many elements as the peers' f32; "op.registered" on buffers
// that peers of the host read.
#include <cstdio>
#include <map>
#include <numeric>
#include "bora/transport/measure.h"
#include "loop.h"

using namespace bora::transport;
using bora::CollectiveKind;
int main(int argc, char** argv) {
  Asked asked(argc, argv);
  auto context = join(config_from_environment());
  Group all{.ranks = std::vector<int>(static_cast<std::size_t>(context->size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  const std::map<std::string, CollectiveKind> ops{{"all_reduce", CollectiveKind::all_reduce},
                                                  {"reduce_scatter", CollectiveKind::reduce_scatter},
                                                  {"all_gather", CollectiveKind::all_gather},
                                                  {"broadcast", CollectiveKind::broadcast},
                                                  {"all_to_all", CollectiveKind::all_to_all}};
  for (auto& name : asked.ops) {
    auto dot = name.find('.');
    auto kind = name.substr(std::min(dot, name.size()));
    bool half = kind == ".bf16";
    for (long bytes : asked.sizes) {
      auto found = measure(*context, all, ops.at(name.substr(0, dot)), {half ? bytes / 2 : bytes}, asked.repetitions,
                           half ? bora::Dtype::bf16 : bora::Dtype::f32, kind == ".registered");
      if (context->rank() == 0) std::printf("%s %ld %.9f\n", name.c_str(), bytes, found.front().seconds);
    }
  }
  context->leave();
}
