#include "epoch.h"
#include <sys/socket.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include "bora/base/text.h"
#include "ranks.h"

namespace bora::launch {
namespace {
int epochs = 0;
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
}  // namespace

std::string packed(const Place& p) {
  ByteWriter w;
  for (int n : {p.rank, p.size, p.local_rank, p.local_size, p.columns}) w.num<std::int64_t>(n);
  return w.text(p.root).text(p.job).text(p.secret).take();
}
Place unpacked_place(ByteReader& fields) {
  Place p;
  for (int* n : {&p.rank, &p.size, &p.local_rank, &p.local_size, &p.columns}) *n = count(fields, 1 << 20);
  for (auto* s : {&p.root, &p.job, &p.secret}) *s = fields.text();
  return p;
}
bool next_epoch(const std::string& why) {
  auto variable = std::getenv(kEpochVariable);
  if (!variable) return false;
  int channel = std::atoi(variable);
  auto asked = frame(Message::left, one_line(why));
  for (std::string_view rest = asked; !rest.empty();) {
    auto n = ::send(channel, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  std::string received;
  for (;;) {
    if (auto f = next_frame(received)) {
      if (f->type != Message::place) return false;
      auto fields = f->fields();
      enter(unpacked_place(fields));
      ++epochs;
      return true;
    }
    char buffer[4096];
    auto n = ::read(channel, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;  // the launcher has no place for it
    received.append(buffer, static_cast<std::size_t>(n));
  }
}
bool can_go_on() { return std::getenv(kEpochVariable) != nullptr; }
int epochs_behind() { return epochs; }
}  // namespace bora::launch
