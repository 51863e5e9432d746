#include "launch/api/agent.h"
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>
#include "base/api/reason.h"
#include "launch/ranks/messages.h"
#include "launch/api/ranks.h"
#include "liveness.h"

namespace bora::launch {
namespace {
/// An interface's address, preferably IPv4. Without a name: the address at which ssh reached this machine, or empty.
std::string own_address(const std::string& interface_name) {
  if (interface_name.empty()) {
    auto connection = std::getenv("SSH_CONNECTION");  // client's address and port, then this machine's
    std::istringstream words(connection ? connection : "");
    std::string theirs, port, mine;
    words >> theirs >> port >> mine;
    return mine;
  }
  ::ifaddrs* all = nullptr;
  check<ConfigError>(::getifaddrs(&all) == 0, "cannot list network interfaces: ", system_reason);
  std::string names, ip;
  bool is_ipv4 = false;
  for (auto* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) continue;
    bool ipv4 = i->ifa_addr->sa_family == AF_INET;
    char text[NI_MAXHOST] = "";
    ::getnameinfo(i->ifa_addr, ipv4 ? sizeof(::sockaddr_in) : sizeof(::sockaddr_in6), text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST);
    if ((" " + names + ",").find(" " + std::string(i->ifa_name) + ",") == std::string::npos)
      names += (names.empty() ? "" : ", ") + std::string(i->ifa_name);
    if (interface_name != i->ifa_name || is_ipv4 || (!ipv4 && !ip.empty() && !ip.starts_with("fe80:"))) continue;
    ip = text;
    is_ipv4 = ipv4;
  }
  ::freeifaddrs(all);
  check<ConfigError>(!ip.empty(), "no network interface '", interface_name, "' with an address; there are: ", names);
  return ip;
}
/// Reports events of ranks as messages to the launcher.
struct Reporter final : RankEvents {
  int first = 0, count = 0, starts = 0;  // starts: earlier generations here
  bool heard = true;  // the launcher still reads
  void say(Message type, std::string_view payload) { heard = heard && write_all(1, frame(type, payload)); }
  void printed(int rank, bool errors, std::string_view bytes) override {
    say(Message::printed, of(rank).num<std::int64_t>(errors).take().append(bytes));
  }
  void ended(int rank, const Ending& e) override {
    say(Message::ended, of(rank).num<std::int64_t>(e.status).take());
  }
  void left(int rank, int lost, const std::string& why) override {
    say(Message::left, of(rank).num<std::int64_t>(lost + 1).take().append(why));
  }
  void reached(std::int64_t step) override { say(Message::reached, ByteWriter().num(step).take()); }
  void stands_on(const std::string& ground) override { say(Message::ground, ground); }
  ByteWriter of(int rank) const {
    return ByteWriter().num<std::int64_t>(starts).num<std::int64_t>(rank - first);
  }
};
RanksToStart read_job(ByteReader& u, Reporter& to) {
  RanksToStart r;
  to.starts = count(u, 1 << 30);
  to.first = r.first = count(u, 1 << 20), to.count = r.count = count(u, 1 << 16), r.size = count(u, 1 << 20);
  r.command = u.texts();
  for (auto* field : {&r.root, &r.job, &r.secret, &r.interface_name}) *field = u.text();
  r.columns = count(u, 1 << 16);
  r.elastic = count(u, 2) != 0;
  r.generation = count(u, 1 << 30);
  r.heirs = u.text();
  r.ground = u.text();
  r.wait = count(u, 2) != 0;
  for (auto& variable : u.texts()) {
    auto equals = variable.find('=');
    if (equals != std::string::npos) ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  auto folder = u.text();
  check<ConfigError>(::chdir(folder.c_str()) == 0, "no folder ", folder, ": ", system_reason,
                     "; the launcher's working directory must exist on every host");
  check<ConfigError>(!r.command.empty(), "nothing to run");
  return r;
}
/// Runs until the ranks or the launcher have ended.
void run_job(const std::string& interface_name, Reporter& to) {
  auto ip = own_address(interface_name);
  ::signal(SIGPIPE, SIG_IGN);
  Signals signals;
  RootSocket socket;  // in case rank 0 is started here
  if (!ip.empty()) socket = RootSocket::at(ip);
  to.say(Message::handshake, ByteWriter().text(socket.address()).take());
  ::fcntl(0, F_SETFL, O_NONBLOCK);
  std::string received;
  std::optional<LocalRanks> ranks;
  Liveness liveness;
  bool elastic = false;  // then the launcher may start others when all ranks have ended
  bool ends = false;     // but not here: this host is drained, and the job goes on without it
  for (bool open = true; open && to.heard && (!ranks || (elastic && !ends) || ranks->running());) {
    std::vector<::pollfd> files{{0, POLLIN, 0}, {signals.file(), POLLIN, 0}};
    if (ranks) ranks->add_files(files);
    ::poll(files.data(), files.size(), 1000);
    if (liveness.tick()) to.say(Message::alive, {});
    auto asked = signals.take();
    if (!ranks && std::any_of(asked.begin(), asked.end(), ends_a_job)) return;
    if (!ranks) asked.clear();
    for (int s : asked) {
      bool ended = s == SIGTERM || s == SIGHUP;  // not by the launcher, which sends a message
      if (ended && elastic && !std::exchange(ends, true))
        to.say(Message::failed, ByteWriter().text("SIGTERM has ended it").take());
      ranks->signal(ended ? SIGTERM : s);
    }
    if (ranks) ranks->serve(to);
    if (files[0].revents != 0) open = read_some(0, received), liveness.heard();
    open = open && liveness.seconds() < kSilentLauncher;
    while (auto f = next_frame(received)) {
      if (f->type == Message::end_all) open = false;
      auto fields = f->fields();
      if (f->type == Message::signal_all && ranks) ranks->signal(count(fields, 65));
      if (f->type == Message::end_silent && ranks) ranks->end_silent();
      bool passed_on = f->type == Message::meet_again || f->type == Message::over || f->type == Message::silent;
      if (passed_on && ranks) ranks->tell(f->type, f->payload);
      if (f->type != Message::job) continue;
      auto start = read_job(fields, to);
      std::vector<int> kept(static_cast<std::size_t>(start.count));
      for (int& rank : kept) rank = count(fields, 1 << 20) - 1;
      elastic = start.elastic;
      bool here = start.root == socket.address();
      if (here) start.root_socket = socket.file();
      if (ranks) ranks->regroup(start, kept);
      else ranks.emplace(start, signals.before());
      if (ends) ranks->signal(SIGTERM);  // the launcher did not know it yet
      if (here || !elastic) socket = {};  // rank 0 listens on it now; else it may in a later generation
    }
  }
  if (!ranks) return;
  ranks->end();  // also processes that ranks started
  while (ranks->running() && to.heard) ranks->serve(to), ::poll(nullptr, 0, 1);
  ranks->serve(to);
}
}  // namespace

int serve_launcher(const std::string& interface_name) {
  Reporter to;
  write_all(1, kGreeting);
  try {
    run_job(interface_name, to);
  } catch (const Error& e) {
    if (to.count == 0) to.say(Message::failed, ByteWriter().text(e.text()).take());
    // Reported as bad input found by the ranks; in a later generation, as a loss: others had begun here before.
    char host[256] = "?";
    ::gethostname(host, sizeof host - 1);
    for (int r = to.first; r < to.first + to.count; ++r) {
      to.printed(r, true, std::string("bora: ") + host + ": " + e.text() + "\n");
      to.ended(r, {.status = (to.starts == 0 ? 2 : 86) << 8});
    }
    return 2;
  }
  return 0;
}
}  // namespace bora::launch
