#include "bora/train/process.h"
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include "bora/train/membership.h"

namespace bora {
namespace {
std::int64_t status_bytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::atoll(line.c_str() + field.size()) * 1024;
  return 0;
}
}  // namespace
std::int64_t resident_bytes() { return status_bytes("VmRSS:"); }
std::int64_t peak_rss() { return status_bytes("VmHWM:"); }

namespace {
using Clock = std::chrono::steady_clock;
std::atomic<bool> stop_requested{false};   // by a signal other than SIGTERM
std::atomic<Clock::rep> terminated_at{0};  // when the first SIGTERM came; 0: none did
std::atomic<bool> end_requested{false};    // by SIGTERM or SIGINT
std::atomic<bool> second_ends{false};      // another one of these two ends the process at once
std::atomic<int> saves_requested{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Clock::rep>::is_always_lock_free);
void note(int signal) {
  Clock::rep none = 0;
  if (signal == SIGUSR1) return void(++saves_requested);
  if ((signal == SIGTERM || signal == SIGINT) && end_requested.exchange(true) && second_ends) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // takes effect once this handler has returned
  }
  if (signal != SIGTERM) stop_requested = true;
  else terminated_at.compare_exchange_strong(none, Clock::now().time_since_epoch().count());
}
/// Runs of one process (ranks as threads) share the handlers: the first installs them, the last restores the old ones.
std::mutex stop_mutex;
int stop_users = 0;
constexpr int noted[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1};
struct ::sigaction before_stop[std::size(noted)];
}  // namespace
StopSignals::StopSignals() {
  std::lock_guard lock(stop_mutex);
  if (stop_users++ > 0) return;
  // A launcher passes on what its ranks may have got as well (pkill, systemd), and ends them itself. A closing terminal
  // may send SIGHUP twice, and nohup ignores it. Above its limit of CPU time (ulimit -S -t) a process gets SIGXCPU
  // every second.
  second_ends = std::getenv("BORA_LOCAL_RANK") == nullptr;
  struct ::sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < std::size(noted); ++i) {
    ::sigaction(noted[i], nullptr, &before_stop[i]);
    if (noted[i] != SIGHUP || before_stop[i].sa_handler != SIG_IGN) ::sigaction(noted[i], &action, nullptr);
  }
}
StopSignals::~StopSignals() {
  std::lock_guard lock(stop_mutex);
  if (--stop_users > 0) return;
  for (std::size_t i = 0; i < std::size(noted); ++i) ::sigaction(noted[i], &before_stop[i], nullptr);
  stop_requested = end_requested = false;
  terminated_at = 0;
  saves_requested = 0;
}
bool StopSignals::requested() { return stop_requested || terminated_at != 0; }
int StopSignals::saves() { return saves_requested; }
bool training::Membership::drained(std::chrono::seconds ago) const {
  auto came = terminated_at.load();
  return came != 0 && !stop_requested && Clock::now().time_since_epoch() - Clock::duration(came) >= ago;
}
}  // namespace bora
