// Whether this machine, and other hosts, their network and a run's folder are fit for a run.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "app/commands.h"
#include "app/doctor/findings.h"
#include "app/doctor/fleet.h"
#include "app/doctor/folder.h"
#include "app/doctor/host.h"
#include "base/api/cores.h"
#include "base/api/threads.h"
#include "bora/base/parallel.h"
#include "bora/transport/transport.h"
#include "launch/api/allocation.h"
#include "launch/api/launch.h"
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
  static constexpr std::string_view name = "doctor";
  static constexpr std::string_view help = "what this machine, or the hosts of a job, offer, and what is wrong there";
  static constexpr Row row{.place = 90, .launched = true, .prints = true};
  std::string hosts = {}, ssh = {}, out = {};
  bool json = false;

  void declare(Flags& flags) {
    flags.add("--hosts", hosts, "a file of hosts, as launch takes it, or slurm: look at them and between them")
        .names(Names::input);
    flags.add("--ssh", ssh, "command and options instead of ssh").names(Names::nothing);
    flags.add("--out", out, "the folder of a run: look at its disk too").names(Names::nothing);
    flags.add("--json", json, "the findings as JSON");
  }
  void settle() {
    check<ConfigError>(ssh.empty() || (!hosts.empty() && hosts != "slurm"),
                       "--ssh: it is for other hosts; give --hosts FILE");
    check<ConfigError>(hosts != "kubernetes", "--hosts kubernetes: in a pod this is bora launch --hosts kubernetes -- "
                       "doctor");
    if (!out.empty()) out = std::filesystem::absolute(out).string();
  }
  int run() const {
    if (!hosts.empty()) return run_on_hosts();
    // A job that other launchers have started may have one process of this command alone.
    bool in_job = std::getenv("BORA_LOCAL_SIZE") != nullptr;
    auto config = in_job ? transport::config_from_environment() : transport::Config();
    bool first = config.rank == 0;
    auto report = look_here(first);
    doctor::Fleet fleet{.hosts = {report}};
    if (config.size > 1) fleet = look_together(config, report);
    if (!first) return 0;
    auto text = json ? json_of(fleet.hosts, fleet.job)
                     : (config.size > 1 ? lines_of(fleet.hosts, fleet.job) : lines_of(report)) + "verdict   " +
                           verdict(fleet.hosts, fleet.job) + "\n";
    std::printf("%s", text.c_str());
    auto problems = problems_of(fleet.hosts, fleet.job);
    check<ConfigError>(problems.empty(), "doctor: there are problems: ", problems);
    return 0;
  }
  int run_on_hosts() const;
  doctor::HostReport look_here(bool first) const;
  doctor::Fleet look_together(transport::Config, const doctor::HostReport&) const;
};
/// One rank on each host, each of which is this command.
int Doctor::run_on_hosts() const {
  auto bora = std::filesystem::read_symlink("/proc/self/exe").string();
  launch::Options l{.command = {bora, "doctor"},
                    .root = std::getenv("BORA_ROOT") ? std::getenv("BORA_ROOT") : "",
                    .ssh = ssh,
                    .agent = bora};
  auto among = launch::allocation(hosts, bora);
  if (among) l.reach = among->reach, l.connect_s = among->connect_s;
  l.hosts = among ? among->hosts : launch::read_hosts(hosts);
  for (auto& host : l.hosts) host.slots = 1;
  l.ranks = static_cast<int>(l.hosts.size());
  if (!out.empty()) l.command.insert(l.command.end(), {"--out", out});
  if (json) l.command.emplace_back("--json");
  return launch::run(l);
}
/// Prints what it reads here, of the first rank, and returns the rest.
doctor::HostReport Doctor::look_here(bool first) const {
  doctor::HostReport r;
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  r.host = host;
  auto flags = line_of("/proc/cpuinfo", "flags");
  auto& isa = r.facts["isa"];
  for (auto flag : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"})
    isa += has_flag(flags, flag) ? std::string(isa.empty() ? "" : " ") + flag : "";
  bool enough = has_flag(flags, "avx2") && has_flag(flags, "fma");
  if (!enough) r.problem("isa", "AVX2 and FMA are needed", "another machine (x86-64-v3), or pass its CPU on to guests");
  set_thread_count(0);
  r.facts["version"] = BORA_VERSION;
  r.facts["cpu"] = line_of("/proc/cpuinfo", "model name");
  r.facts["cores"] = std::to_string(thread_count());
  if (first && !json) {
    std::printf("bora      " BORA_VERSION "\ncpu       %s\nisa       %s%s\n", r.facts["cpu"].c_str(), isa.c_str(),
                enough ? "" : "  (AVX2 and FMA are needed)");
    std::printf("cores     %d for this process\nmemory    %s, %s available\n", thread_count(),
                line_of("/proc/meminfo", "MemTotal").c_str(), line_of("/proc/meminfo", "MemAvailable").c_str());
    std::printf("launcher  %s\n", launcher_here().c_str());
  }
  auto sockets = check_sockets();
  if (first && !json) std::printf("sockets   %s\n", sockets.c_str());
  if (!sockets.starts_with("two ranks"))
    r.problem("sockets", sockets, "allow connections on the loopback interface: sudo ip link set lo up");
  std::fflush(stdout);
  doctor::look_at_host("", allowed_cpus(), r);
  doctor::look_at_clock_setting(r);
  auto before = host_counters();
  auto begin = std::chrono::steady_clock::now();
  if (enough) doctor::measure_rates(r);
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  doctor::look_at_counters(before, host_counters(), seconds, r);
  for (auto& [rate, value] : r.measured)
    r.ok(rate == doctor::kProducts ? "products" : "copies",
         doctor::digits(value) + (rate == doctor::kProducts ? " GF/s, f32" : " GB/s of memory read and written"));
  if (!out.empty()) doctor::look_at_folder(out, r);
  return r;
}
doctor::Fleet Doctor::look_together(transport::Config config, const doctor::HostReport& report) const {
  config.calibrate = "off";  // links are measured here
  config.build = "version of bora\t" BORA_VERSION "\ncommand\tdoctor\n--out\t" + out;
  try {
    auto context = transport::join(config);
    auto fleet = doctor::look_at_fleet(*context, config, out, report);
    context->leave();
    return fleet;
  } catch (const Error&) {  // what is wrong here may be the reason
    std::printf("%s", lines_of(report).c_str());
    throw;
  }
}
}  // namespace
template const bool added<Doctor>;
}  // namespace bora::app
