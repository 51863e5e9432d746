// The resources of this machine.
#include <cstdio>
#include <fstream>
#include "app/commands.h"
#include "bora/base/parallel.h"
#include "base/api/threads.h"
#include "bora/transport/transport.h"
#include "launch/api/ranks.h"

namespace bora::app {
namespace {
/// The first value of a "name : value" line of a file below /proc.
std::string line_of(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    auto at = line.find_first_not_of(" \t:", name.size());
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "unknown";
}
bool has_flag(const std::string& flags, const std::string& flag) {
  return (" " + flags + " ").find(" " + flag + " ") != std::string::npos;
}

/// Two ranks, as threads over real sockets, compute a sum.
std::string check_sockets() {
  std::string problems[2];
  auto root = launch::RootSocket("").address();
  auto rank = [&](int r) {
    try {
      auto context = transport::join({.rank = r, .size = 2, .root = root, .join_timeout_s = 5, .job = "doctor"});
      float one = 1, sum = 0;
      context->run({{0, 1}, "doctor"},
                   {.kind = CollectiveKind::all_reduce, .dtype = f32, .in = &one, .out = &sum, .send_counts = {1}});
      if (sum != 2) problems[r] = "the sum of two ones is " + std::to_string(sum);
      context->leave();
    } catch (const std::exception& e) { problems[r] = e.what(); }
  };
  auto other = start_thread("the second rank", [&] { rank(1); });
  rank(0);
  other.join();
  for (auto& p : problems)
    if (!p.empty()) return p;
  return "two ranks over loopback sockets agree";
}
/// The job and rank that `bora train` would have here.
std::string launcher_here() {
  try {
    auto c = transport::config_from_environment();
    if (c.size == 1)
      return "none: one process; for more: bora launch -n N, bora launch --hosts FILE, srun, mpirun "
             "(docs/transport.md)";
    return c.launcher + ": rank " + std::to_string(c.rank) + " of " + std::to_string(c.size) + ", rank 0 at " + c.root +
           (c.secret.empty() ? ", no secret (BORA_SECRET_FILE): loopback only" : ", with a secret");
  } catch (const Error& e) { return e.text(); }
}

struct Doctor {
  static constexpr std::string_view name = "doctor", help = "what this machine offers";
  static constexpr Row row{.place = 90, .prints = true};
  void declare(Flags&) {}
  int run() const {
    auto flags = line_of("/proc/cpuinfo", "flags");
    std::string isa;
    for (auto flag : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"})
      isa += has_flag(flags, flag) ? std::string(isa.empty() ? "" : " ") + flag : "";
    bool ok = has_flag(flags, "avx2") && has_flag(flags, "fma");
    std::printf("bora      " BORA_VERSION "\ncpu       %s\nisa       %s%s\n",
                line_of("/proc/cpuinfo", "model name").c_str(), isa.c_str(), ok ? "" : "  (AVX2 and FMA are needed)");
    set_thread_count(0);
    std::printf("cores     %d for this process\nmemory    %s, %s available\n", thread_count(),
                line_of("/proc/meminfo", "MemTotal").c_str(), line_of("/proc/meminfo", "MemAvailable").c_str());
    std::printf("launcher  %s\n", launcher_here().c_str());
    auto sockets = check_sockets();
    std::printf("sockets   %s\n", sockets.c_str());
    return ok && sockets.starts_with("two ranks") ? 0 : 2;
  }
};
}  // namespace
template const bool added<Doctor>;
}  // namespace bora::app
