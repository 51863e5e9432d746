#include "epoch.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>
#include "bora/base/text.h"
#include "ranks.h"
#include "silence.h"

namespace bora::launch {
namespace {
constexpr auto between_steps = std::chrono::milliseconds(100);
constexpr auto silence_holds = std::chrono::milliseconds(2500);  // the launcher says so each second

int epochs = 0;  // behind this process
void enter(const Place& p) {
  auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  set("BORA_RANK", std::to_string(p.rank));
  set("BORA_SIZE", std::to_string(p.size));
  set("BORA_ROOT", p.root);
  set("BORA_LOCAL_RANK", std::to_string(p.local_rank));
  set("BORA_LOCAL_SIZE", std::to_string(p.local_size));
  set("BORA_JOB", p.job);
  ::unsetenv("BORA_ROOT_FD");
  ::unsetenv("BORA_TERMINAL");
  if (p.rank == 0 && p.columns > 0) set("BORA_TERMINAL", std::to_string(p.columns));
  if (auto old = std::getenv("BORA_SECRET_FD")) ::close(std::atoi(old));
  ::unsetenv("BORA_SECRET_FD");
  if (!p.secret.empty()) set("BORA_SECRET_FD", std::to_string(secret_file(p.secret)));
}
/// To the launcher. All of it is of the thread that trains; what the launcher says while a mesh lives any thread reads.
struct Channel {
  std::mutex reading = {};
  int fd = -1;
  bool first = true;  // this process was started with its job
  std::string received = {}, heirs = {};
  bool meet_again = false, over = false;  // in this epoch
  std::map<int, Clock::time_point> silent = {};  // ranks whose host is: when the launcher said so
  std::int64_t step = -1;                 // made, and not yet told
  Clock::time_point told = {};

  Channel() {
    auto variable = std::getenv(kEpochVariable);
    if (!variable) return;
    std::istringstream words(variable);
    int epoch = 0;
    char colon = 0;
    words >> fd >> colon >> epoch >> colon >> heirs;
    first = epoch == 0;
    if (fd <= 2 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) fd = -1;
    ::unsetenv(kEpochVariable);
  }
  bool send(Message type, std::string_view payload) const {
    auto message = frame(type, payload);
    for (std::string_view rest = message; !rest.empty();) {
      auto n = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Reads what there is, or with `wait` until there is something. False: the launcher has no place for this process.
  bool receive(bool wait) {
    char buffer[4096];
    for (;;) {
      auto n = ::recv(fd, buffer, sizeof buffer, wait ? 0 : MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      received.append(buffer, static_cast<std::size_t>(n));
      return true;
    }
  }
  /// Takes what the launcher says while this process is in an epoch.
  void listen() {
    if (fd < 0 || !receive(false)) return;
    while (auto f = next_frame(received)) {
      if (f->type == Message::silent) {
        auto fields = f->fields();
        auto first = count(fields, 1 << 20);
        for (int r = first + count(fields, 1 << 20); r-- > first;) silent[r] = Clock::now();
      }
      meet_again = meet_again || f->type == Message::meet_again;
      over = over || f->type == Message::over;
    }
  }
};
Channel& channel() {
  static Channel c;
  return c;
}
}  // namespace

std::string packed(const Place& p) {
  ByteWriter w;
  for (int n : {p.rank, p.size, p.local_rank, p.local_size, p.columns}) w.num<std::int64_t>(n);
  return w.text(p.root).text(p.job).text(p.secret).text(p.heirs).take();
}
Place unpacked_place(ByteReader& fields) {
  Place p;
  for (int* n : {&p.rank, &p.size, &p.local_rank, &p.local_size, &p.columns}) *n = count(fields, 1 << 20);
  for (auto* s : {&p.root, &p.job, &p.secret, &p.heirs}) *s = fields.text();
  return p;
}
bool next_epoch(const std::string& why, int lost) {
  auto& c = channel();
  if (c.fd < 0) return false;
  std::lock_guard lock(c.reading);
  if (c.step >= 0 && !c.send(Message::reached, ByteWriter().num(c.step).take())) return false;
  c.step = -1;
  if (!c.send(Message::left, ByteWriter().num<std::int64_t>(lost + 1).take() + one_line(why))) return false;
  for (;;) {
    while (auto f = next_frame(c.received)) {  // before it are words about the epoch that has ended
      if (f->type != Message::place) continue;
      auto fields = f->fields();
      auto place = unpacked_place(fields);
      c.heirs = place.heirs;
      enter(place);
      c.meet_again = c.over = false;
      c.silent.clear();
      ++epochs;
      return true;
    }
    if (!c.receive(true)) return false;
  }
}
bool can_go_on() { return channel().fd >= 0; }
int epochs_behind() { return epochs; }
bool in_first_epoch() { return epochs == 0 && channel().first; }
std::vector<int> heirs() {
  std::istringstream words(channel().heirs);
  std::vector<int> r;
  for (std::string one; std::getline(words, one, ',');) r.push_back(std::atoi(one.c_str()));
  return r;
}
void reached(std::int64_t step) {
  auto& c = channel();
  if (c.fd < 0) return;
  c.step = step;
  if (Clock::now() - c.told < between_steps) return;
  c.told = Clock::now();
  c.send(Message::reached, ByteWriter().num(std::exchange(c.step, -1)).take());
}
bool asked_to_meet_again() {
  std::lock_guard lock(channel().reading);
  channel().listen();
  return channel().meet_again;
}
bool host_is_silent(int rank) {
  std::unique_lock lock(channel().reading, std::try_to_lock);
  if (!lock) return false;
  channel().listen();
  auto said = channel().silent.find(rank);
  return said != channel().silent.end() && Clock::now() - said->second < silence_holds;
}
std::string epoch_is_over() {
  std::lock_guard lock(channel().reading);
  channel().listen();
  return channel().over ? "the launcher has lost a rank that was to come" : "";
}
}  // namespace bora::launch
