#include "join/needs.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <algorithm>
#include <filesystem>
#include "base/api/stack.h"
#include "base/api/threads.h"

namespace bora::transport {
namespace {
/// Beside the threads' stacks, of which glibc keeps 40 MiB.
void check_memory() {
  constexpr std::size_t bytes = 40 << 20;
  auto* space = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check<Error>(space != MAP_FAILED, "no ", bytes >> 20, " MiB of address space are left for meeting the other ranks; "
               "allow this process more memory (ulimit -v)");
  ::munmap(space, bytes);
}
}  // namespace
std::size_t check_limits(const Config& c) {
  constexpr std::uint64_t kMost = 64, kFewest = 2;  // strangers on a port
  constexpr std::uint64_t kFiles = 4;  // files of each: three at the gate of ZeroMQ's port, one at the data port
  check_stack();
  // ZeroMQ's two, the authenticator, the gate, progress. Rank 0 tries as a stranger whether it is refused, before
  // progress begins: ZeroMQ's two once more, and the thread that starts them.
  check_threads(c.rank == 0 ? 7 : 5, "meeting the other ranks");
  check_memory();
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return kMost;
  std::error_code error;
  auto open =
      static_cast<std::uint64_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd", error), {}));
  auto each = c.rank > 0 ? 4u : c.carrier == "zmq" ? 7u : 5u;  // rank 0's gate forwards the others' connections
  auto wanted = open + 32 + each * static_cast<std::uint64_t>(c.size - 1) + kFewest * kFiles;
  check<ConfigError>(limit.rlim_cur >= wanted, "this process may have ", limit.rlim_cur, " files open, and a rank of ",
                     c.size, " needs ", wanted, "; allow it more: ulimit -n ", wanted);
  return static_cast<std::size_t>(std::clamp((limit.rlim_cur - wanted) / (2 * kFiles), kFewest, kMost));
}
}  // namespace bora::transport
