#include "app/launcher_channel.h"
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
#include "launch/api/ranks.h"

namespace bora::app {
namespace {
using namespace launch;
using Clock = std::chrono::steady_clock;
constexpr auto between_steps = std::chrono::milliseconds(100);
constexpr auto silence_holds = std::chrono::milliseconds(2500);  // the launcher says so each second

/// Describes the rank in the environment, where the transport looks for it.
void enter(const RankAssignment& p) {
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
/// The thread that trains sends; any thread reads what the launcher says while a mesh lives.
class LauncherChannel final : public training::Membership {
 public:
  LauncherChannel(int fd, std::int64_t generation, std::string heirs)
      : fd_(fd), generation_(generation), heirs_(std::move(heirs)) {
    if (auto job = std::getenv("BORA_ELASTIC_JOB")) job_ = job;
    listen();  // the first words were there before this process
    is_new_ = waits_ || !ground_.empty();
  }
  std::int64_t generation() const override { return generation_; }
  std::string job() const override { return job_; }
  std::vector<int> heirs() const override {
    std::istringstream words(heirs_);
    std::vector<int> r;
    for (std::string one; std::getline(words, one, ',');) r.push_back(std::atoi(one.c_str()));
    return r;
  }
  std::string ground() const override { return ground_; }
  bool is_new() const override { return is_new_; }
  bool waits() const override { return waits_; }
  void stands_on(const std::string& ground) override {
    if (std::exchange(told_ground_, ground) != ground) send(Message::ground, ground);
  }
  void reached(std::int64_t step) override {
    step_ = step;
    is_new_ = false;
    if (Clock::now() - told_ < between_steps) return;
    told_ = Clock::now();
    send(Message::reached, ByteWriter().num(std::exchange(step_, -1)).take());
  }
  bool must_leave(std::int64_t) override {
    std::lock_guard lock(reading_);
    listen();
    return meet_again_;
  }
  std::string lost() override {
    std::lock_guard lock(reading_);
    listen();
    return over_ ? "the launcher has lost a rank that was to come" : "";
  }
  bool host_is_silent(int rank) override {
    std::unique_lock lock(reading_, std::try_to_lock);
    if (!lock) return false;
    listen();
    auto said = silent_.find(rank);
    return said != silent_.end() && Clock::now() - said->second < silence_holds;
  }
  bool next_generation(const std::string& reason, int missed) override {
    std::lock_guard lock(reading_);
    if (step_ >= 0 && !send(Message::reached, ByteWriter().num(step_).take())) return false;
    step_ = -1;
    auto who = ByteWriter().num<std::int64_t>(missed + 1).take();
    if (!send(Message::left, who + one_line(reason))) return false;
    for (;;) {
      while (auto f = next_frame(received_)) {  // before it are words about the generation that has ended
        if (f->type != Message::assign) continue;
        auto fields = f->fields();
        auto assigned = unpacked_assignment(fields);
        heirs_ = assigned.heirs;
        enter(assigned);
        meet_again_ = over_ = waits_ = false;
        silent_.clear();
        ++generation_;
        return true;
      }
      if (!receive(true)) return false;
    }
  }

 private:
  bool send(Message type, std::string_view payload) const {
    auto message = frame(type, payload);
    for (std::string_view rest = message; !rest.empty();) {
      auto n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Reads what there is, or with `wait` until there is something. False: the launcher has no rank for this process.
  bool receive(bool wait) {
    char buffer[4096];
    for (bool any = false;;) {
      auto n = ::recv(fd_, buffer, sizeof buffer, wait && !any ? 0 : MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return any || errno == EAGAIN;
      if (n == 0) return any;
      received_.append(buffer, static_cast<std::size_t>(n));
      any = true;
    }
  }
  /// Takes what the launcher says while this process is in a generation.
  void listen() {
    if (!receive(false)) return;
    while (auto f = next_frame(received_)) {
      if (f->type == Message::silent) {
        auto fields = f->fields();
        auto first = count(fields, 1 << 20);
        for (int r = first + count(fields, 1 << 20); r-- > first;) silent_[r] = Clock::now();
      }
      if (f->type == Message::ground) ground_ = f->payload;
      waits_ = waits_ || f->type == Message::wait;
      meet_again_ = meet_again_ || f->type == Message::meet_again;
      over_ = over_ || f->type == Message::over;
    }
  }

  std::mutex reading_ = {};
  int fd_;
  std::int64_t generation_;
  std::string job_ = {}, heirs_, received_ = {}, ground_ = {}, told_ground_ = {};
  bool waits_ = false, is_new_ = false;
  bool meet_again_ = false, over_ = false;        // in this generation
  std::map<int, Clock::time_point> silent_ = {};  // ranks whose host is: when the launcher said so
  std::int64_t step_ = -1;                        // made, and not yet told
  Clock::time_point told_ = {};
};
}  // namespace

std::unique_ptr<training::Membership> membership_from_environment() {
  auto variable = std::getenv(kGenerationVariable);
  if (!variable) return nullptr;
  std::istringstream words(variable);
  int fd = -1;
  std::int64_t generation = 0;
  char colon = 0;
  std::string heirs;
  words >> fd >> colon >> generation >> colon >> heirs;
  ::unsetenv(kGenerationVariable);
  if (fd <= 2 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return nullptr;
  return std::make_unique<LauncherChannel>(fd, generation, heirs);
}
}  // namespace bora::app
