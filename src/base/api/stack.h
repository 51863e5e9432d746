// stack.h -- the stack that a process has.
#pragma once
#include <sys/resource.h>
#include "bora/base/error.h"

namespace bora {
/// Throws ConfigError for a stack in which kernels and parsers would end the process by a signal: threads have one of
/// the same size.
inline void check_stack() {
  constexpr ::rlim_t least = 256 << 10;
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  check<ConfigError>(limit.rlim_cur >= least, "this process has a stack of ", limit.rlim_cur >> 10,
                     " KB, and needs one of ", least >> 10, "; allow it more: ulimit -s 8192");
}
}  // namespace bora
