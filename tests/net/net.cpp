// net.cpp -- bora_net: a command on every host of an emulated Ethernet (network.h).
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>
#include "network.h"

namespace {
constexpr const char* kHelp = R"(usage: bora_net HOSTS [options] -- COMMAND ...
Runs COMMAND once on each host of an emulated Ethernet, with BORA_RANK, BORA_SIZE, BORA_ROOT (the first host) and
BORA_INSECURE_PRIVATE_NETWORK=1 set (and BORA_CALIBRATE=on, if it is not set), and ends with the first exit code that is not 0. Hosts are network namespaces of this machine:
10.77.0.1 (fd77::1, node0), 10.77.0.2, ... Needs root, /dev/net/tun and iproute2. The switch is a thread that needs CPU time.
  --mbit R      rate of every port, each way (1000)
  --delay US    one way (100)
  --loss P      percent of packets (0)
  --queue KB    in front of every host (1024)
  --mtu N       (1500)
  --slots L     ranks on each host (1)
  --ipv6        BORA_ROOT is the first host's IPv6 address
  --first       COMMAND runs on the first host only. There `bora_net --on ADDRESS COMMAND ...`, also given as $BORA_NET_AGENT for mpirun's
                plm_rsh_agent, runs a command on another host
signals: SIGUSR1 cuts the last host's cable, or mends it. SIGUSR2 does so for what it sends only.
)";
constexpr int kFirstDescriptor = 200;  // where --on finds the hosts' namespaces: network, name, network, name, ...

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr, "bora_net: %s\n%s", why.c_str(), kHelp);
  std::exit(2);
}
/// Becomes a process of another host.
int on(int argc, char** argv) {
  const char* owner = std::getenv("BORA_NET");
  if (!owner || argc < 4) usage("--on works inside of bora_net --first: --on ADDRESS COMMAND ...");
  std::string host = argv[2];
  int index = std::atoi(host.substr(host.rfind('.') + 1).c_str()) - 1;
  for (int k : {0, 1}) {
    auto path = "/proc/" + std::string(owner) + "/fd/" + std::to_string(kFirstDescriptor + 2 * index + k);
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, 0) != 0) usage("no host " + host + ": " + std::strerror(errno));
  }
  std::string command;  // as ssh does
  for (int i = 3; i < argc; ++i) command += (i > 3 ? " " : "") + std::string(argv[i]);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  return 127;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--on") return on(argc, argv);
  if (argc < 2 || std::string(argv[1]) == "--help") return std::fputs(kHelp, stdout), argc < 2 ? 2 : 0;
  bora::net::Wire wire;
  int hosts = std::atoi(argv[1]), slots = 1, i = 2;
  bool first = false, ipv6 = false;
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    std::string option = argv[i];
    if (option == "--first") first = true;
    else if (option == "--ipv6") ipv6 = true;
    else if (i + 1 == argc) usage("unknown option or no value: " + option);
    else if (option == "--mbit") wire.mbit = std::atof(argv[++i]);
    else if (option == "--delay") wire.delay_us = std::atoi(argv[++i]);
    else if (option == "--loss") wire.loss_percent = std::atof(argv[++i]);
    else if (option == "--queue") wire.queue_kb = std::atoi(argv[++i]);
    else if (option == "--mtu") wire.mtu = std::atoi(argv[++i]);
    else if (option == "--slots") slots = std::atoi(argv[++i]);
    else usage("unknown option " + option);
  }
  if (hosts < 1 || hosts > 200 || slots < 1 || wire.mbit <= 0 || wire.mtu < 576 || wire.mtu > 65000)
    usage("that is no network");
  if (i + 1 >= argc) usage("no command");
  if (auto why = bora::net::missing(); !why.empty()) return std::fprintf(stderr, "bora_net: %s\n", why.c_str()), 2;
  sigset_t signals;
  sigemptyset(&signals);
  for (int s : {SIGUSR1, SIGUSR2, SIGINT, SIGTERM, SIGCHLD}) sigaddset(&signals, s);
  sigprocmask(SIG_BLOCK, &signals, nullptr);  // also in the switch's thread
  try {
    bora::net::Network network(hosts, wire);
    if (first) network.publish(kFirstDescriptor);
    std::set<pid_t> ranks;
    auto parent = getpid();
    for (int r = 0; r < (first ? 1 : hosts * slots); ++r) {
      auto pid = fork();
      if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
      if (pid == 0) {
        sigprocmask(SIG_UNBLOCK, &signals, nullptr);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        network.enter(r / slots);
        auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
        if (!first) {
          set("BORA_RANK", std::to_string(r));
          set("BORA_SIZE", std::to_string(hosts * slots));
          set("BORA_ROOT", (ipv6 ? "[" + network.address6(0) + "]" : network.address(0)) + ":29650");
          set("BORA_INSECURE_PRIVATE_NETWORK", "1");
          setenv("BORA_CALIBRATE", "on", 0);  // hosts of the same names may have had another wire before
        }
        set("BORA_NET", std::to_string(parent));
        char self[4096] = "";
        if (readlink("/proc/self/exe", self, sizeof self - 1) > 0) set("BORA_NET_AGENT", std::string(self) + " --on");
        execvp(argv[i + 1], argv + i + 1);
        std::fprintf(stderr, "bora_net: %s: %s\n", argv[i + 1], std::strerror(errno));
        _exit(127);
      }
      ranks.insert(pid);
    }
    int code = 0;
    for (bool both = false, sending = false; !ranks.empty();) {
      int what = 0;
      sigwait(&signals, &what);
      if (what == SIGUSR1) both = !both;
      if (what == SIGUSR2) sending = !sending;
      network.cut(hosts - 1, both || sending, both);
      if (what == SIGINT || what == SIGTERM)
        for (auto pid : ranks) kill(pid, SIGKILL);
      int status = 0;
      for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0; ranks.erase(pid))
        if (code == 0) code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (network.dropped() > 0)
      std::fprintf(stderr, "bora_net: the switch dropped %llu packets\n",
                   static_cast<unsigned long long>(network.dropped()));
    return code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bora_net: %s\n", e.what());
    return 1;
  }
}
