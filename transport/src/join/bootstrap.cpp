// bootstrap.cpp -- which rank of which job this process is, as its launcher says in the environment.
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>
#include "base/api/file.h"
#include "base/api/most_ranks.h"
#include "join/options.h"

namespace bora::transport {
namespace {
constexpr std::string_view kPort = ":29650";  // below the range from which kernels assign ports

template <class T> T number(const char* name, std::string_view s) {
  T x{};
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), x);
  check<ConfigError>(error == std::errc{} && end == s.data() + s.size(), name, ": expected a number, got '", s, "'");
  return x;
}
std::string text(const Environment& env, const char* name) {
  auto t = env(name);
  return t ? t : "";
}
/// "r[1-2]n[001-003,7],gpu5" -> "r1n001".
std::string first_of_nodelist(std::string_view list) {
  std::string host;
  while (!list.empty() && list[0] != ',') {
    auto end = list.find_first_of(",[");
    host += list.substr(0, end);
    if (end == std::string_view::npos || list[end] == ',') break;
    auto inside = list.substr(end + 1), first = inside.substr(0, inside.find_first_of(",-]"));
    host += first;
    auto close = inside.find(']');
    list = close == std::string_view::npos ? std::string_view() : inside.substr(close + 1);
  }
  return host;
}
/// The address in "2034.0;tcp://10.0.0.1,192.168.0.1:45213" (Open MPI's launcher).
std::string host_of_uri(std::string_view uri) {
  auto at = uri.find("tcp://");
  if (at == std::string_view::npos) return {};
  auto rest = uri.substr(at + 6);
  return std::string(rest.substr(0, rest.find_first_of(",:")));
}

/// The job's secret from a file that only its owner can read, or from a descriptor the launcher left open.
std::string read_secret(const Environment& env) {
  auto path = text(env, "BORA_SECRET_FILE"), inherited = text(env, "BORA_SECRET_FD");
  if (path.empty() && inherited.empty()) return {};
  const char* name = path.empty() ? "BORA_SECRET_FD" : "BORA_SECRET_FILE";
  std::string problem;
  int fd = path.empty() ? number<int>(name, inherited) : open_file(path, problem);
  check<ConfigError>(fd >= 0, name, ": cannot read ", path, ": ", problem);
  struct ::stat s {};
  char bytes[4096];
  auto n = ::fstat(fd, &s) == 0 ? ::pread(fd, bytes, sizeof bytes, 0) : -1;
  auto error = errno;
  if (path.empty()) ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // not for children of this process
  else ::close(fd);
  check<ConfigError>(n >= 0, name, ": cannot read ", path.empty() ? inherited : path, ": ", std::strerror(error));
  check<ConfigError>(path.empty() || (s.st_mode & 077) == 0, name, ": others can read ", path, "; chmod 600 it");
  while (n > 0 && (bytes[n - 1] == '\n' || bytes[n - 1] == '\r')) --n;
  check<ConfigError>(n >= 16, name, ": a secret has 16 bytes or more, this one has ", n,
                     "; make one: head -c 32 /dev/urandom | base64 > FILE");
  return {bytes, static_cast<std::size_t>(n)};
}

/// The socket that the launcher has bound to rank 0's address and left open. -1 if there is none, or if this process
/// has used it already.
int read_root_socket(const Environment& env, const std::string& root) {
  auto inherited = text(env, "BORA_ROOT_FD");
  if (inherited.empty()) return -1;
  int fd = number<int>("BORA_ROOT_FD", inherited), listens = 0;
  ::sockaddr_storage bound{};
  ::socklen_t size = sizeof bound, length = sizeof listens;
  bool untouched = ::getsockname(fd, reinterpret_cast<::sockaddr*>(&bound), &size) == 0 &&
                   ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens == 0;
  char port[NI_MAXSERV] = "";
  if (!untouched ||
      ::getnameinfo(reinterpret_cast<::sockaddr*>(&bound), size, nullptr, 0, port, sizeof port, NI_NUMERICSERV) != 0 ||
      !root.ends_with(":" + std::string(port)))
    return -1;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

/// One kind of launcher and the variables it sets.
struct Launcher {
  const char *key, *name, *rank, *size;
  std::string (*root)(const Environment&);  // host:port of rank 0, empty if unknown
  std::string (*job)(const Environment&);   // identifies the job, empty if unknown
};
std::string nothing(const Environment&) { return {}; }
const Launcher launchers[] = {
    {"torchrun", "torchrun", "RANK", "WORLD_SIZE",
     [](const Environment& env) {
       auto host = text(env, "MASTER_ADDR"), port = text(env, "MASTER_PORT");
       return host.empty() || port.empty() ? std::string() : host + ":" + port;
     },
     [](const Environment& env) { return text(env, "TORCHELASTIC_RUN_ID"); }},
    // The rank in a step, started by srun: the script of a batch job has a SLURM_PROCID too.
    {"slurm", "Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     [](const Environment& env) {
       auto list = text(env, "SLURM_STEP_NODELIST");
       if (list.empty()) list = text(env, "SLURM_JOB_NODELIST");
       return list.empty() ? std::string() : first_of_nodelist(list) + std::string(kPort);
     },
     [](const Environment& env) {
       auto job = text(env, "SLURM_JOB_ID");
       return job.empty() ? job : job + "." + text(env, "SLURM_STEP_ID");
     }},
    {"ompi", "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     [](const Environment& env) {
       auto size = text(env, "OMPI_COMM_WORLD_SIZE");
       if (size == text(env, "OMPI_COMM_WORLD_LOCAL_SIZE")) return "127.0.0.1" + std::string(kPort);
       auto host = host_of_uri(text(env, "OMPI_MCA_orte_hnp_uri"));
       return host.empty() ? host : host + std::string(kPort);
     },
     [](const Environment& env) { return text(env, "PMIX_NAMESPACE"); }},
    {"pmi", "PMI", "PMI_RANK", "PMI_SIZE", nothing, nothing},
    {"kubernetes", "Kubernetes", "JOB_COMPLETION_INDEX", "BORA_SIZE",
     [](const Environment& env) {
       // Pods of an indexed Job are called <job>-<index>, and found below the headless service.
       auto host = text(env, "HOSTNAME"), service = text(env, "BORA_SERVICE"),
            index = "-" + text(env, "JOB_COMPLETION_INDEX");
       if (service.empty() || !host.ends_with(index)) return std::string();
       return host.substr(0, host.size() - index.size()) + "-0." + service + std::string(kPort);
     },
     nothing},
};

/// The variable that should say where rank 0 is, and its meaning.
std::pair<const char*, const char*> place_of_root(const Launcher& l, const Environment& env) {
  std::string_view by = l.key;
  if (by == "torchrun" && text(env, "MASTER_ADDR").empty())
    return {"MASTER_ADDR", "the name or address of rank 0's host"};
  if (by == "torchrun") return {"MASTER_PORT", "a free port of rank 0's host"};
  if (by == "kubernetes") return {"BORA_SERVICE", "the name of the headless service of the Job"};
  return {"BORA_ROOT", "the host:port of rank 0"};
}

struct Found {
  const Launcher* by;
  int rank, size;
};
std::optional<Found> place_given_by(const Launcher& l, const Environment& env) {
  auto rank = text(env, l.rank), size = text(env, l.size);
  if (rank.empty() || size.empty()) return std::nullopt;
  Found f{&l, number<int>(l.rank, rank), number<int>(l.size, size)};
  check<ConfigError>(f.size >= 1 && f.size <= kMostRanks, l.size, ": a job has from 1 to ", kMostRanks, " ranks, got ",
                     f.size);
  check<ConfigError>(f.rank >= 0 && f.rank < f.size, l.rank, ": must be from 0 to ", l.size, " - 1 = ", f.size - 1,
                     ", got ", f.rank);
  return f;
}
}  // namespace

Config config_from_environment(const Environment& env) {
  auto c = with_options({}, options_from(env));
  c.secret = read_secret(env);
  auto wanted = text(env, "BORA_LAUNCHER"), root = text(env, "BORA_ROOT");
  bool kubernetes = env("JOB_COMPLETION_INDEX") != nullptr;
  static const Launcher own{"bora", "bora", "BORA_RANK", "BORA_SIZE", nothing, nothing};
  check<ConfigError>((env("BORA_RANK") != nullptr) == (env("BORA_SIZE") != nullptr) || kubernetes,
                     "BORA_RANK and BORA_SIZE must be set together; only ",
                     env("BORA_RANK") ? "BORA_RANK" : "BORA_SIZE", " is");
  std::vector<Found> found;
  std::string names = "bora, ";
  if (wanted.empty() || wanted == "bora") {
    if (auto f = place_given_by(own, env)) found.push_back(*f);
  }
  for (auto& l : launchers) {
    names += std::string(l.key) + ", ";
    if (!found.empty() && found[0].by == &own) break;  // explicit: other launchers around this process do not matter
    if (!wanted.empty() && wanted != l.key) continue;
    if (auto f = place_given_by(l, env)) found.push_back(*f);
  }
  if (!wanted.empty() && wanted != "none")
    check<ConfigError>(!found.empty(), "BORA_LAUNCHER=", wanted, ": it says nothing in the environment; there are ",
                       names, "none");
  if (wanted == "none" || found.empty()) {
    c.launcher = "a single process";
    return c;
  }
  // A launcher of one process (a shell inside an allocation) contradicts no other.
  auto first = found[0];
  for (auto& f : found) {
    if (f.size == 1 || (f.rank == first.rank && f.size == first.size)) continue;
    check<ConfigError>(first.size == 1, first.by->name, " says rank ", first.rank, " of ", first.size, ", ", f.by->name,
                       " rank ", f.rank, " of ", f.size, "; say which one is right: BORA_LAUNCHER=", first.by->key,
                       " or ", f.by->key);
    first = f;
  }
  c.launcher = first.by->name;
  c.rank = first.rank;
  c.size = first.size;
  c.root_may_lag = first.by->key == std::string_view("kubernetes");
  if (auto id = first.by->job(env); c.job.empty() && !id.empty()) c.job = c.launcher + " " + id;
  if (root.empty()) root = first.by->root(env);
  if (!root.empty()) c.root = root;
  if (c.rank == 0) c.root_socket = read_root_socket(env, c.root);
  auto [variable, meaning] = place_of_root(*first.by, env);
  check<ConfigError>(!root.empty() || c.size == 1, variable, " is not set: with ", c.size, " ranks by ", c.launcher,
                     " it must be ", meaning);
  return c;
}
Config config_from_environment() {
  return config_from_environment([](const char* name) -> const char* { return std::getenv(name); });
}
}  // namespace bora::transport
