#include "cores.h"
#include <sched.h>
#include "base/cores.h"

namespace bora::launch {
int bind_to_share(int part, int parts) {
  static const auto cores = cores_of(allowed_cpus());  // before the first binding
  int n = static_cast<int>(cores.size());
  if (part < 0 || part >= parts || n < parts) return 1;
  cpu_set_t share;
  CPU_ZERO(&share);
  int begin = n * part / parts, end = n * (part + 1) / parts;
  for (int i = begin; i < end; ++i)
    for (int c : cores[static_cast<std::size_t>(i)].cpus) CPU_SET(c, &share);
  sched_setaffinity(0, sizeof share, &share);  // a refusal changes speed only
  return end - begin;
}
}  // namespace bora::launch
