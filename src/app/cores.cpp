#include "cores.h"
#include <sched.h>
#include <vector>

namespace bora::app {
int bind_to_share(int part, int parts) {
  cpu_set_t may;
  if (sched_getaffinity(0, sizeof may, &may) != 0) return 1;
  std::vector<int> cores;
  for (int c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(c, &may)) cores.push_back(c);
  int n = static_cast<int>(cores.size());
  if (part < 0 || part >= parts || n < parts) return 1;
  cpu_set_t share;
  CPU_ZERO(&share);
  int begin = n * part / parts, end = n * (part + 1) / parts;
  for (int i = begin; i < end; ++i) CPU_SET(cores[static_cast<std::size_t>(i)], &share);
  sched_setaffinity(0, sizeof share, &share);  // a refusal changes speed only
  return end - begin;
}
}  // namespace bora::app
