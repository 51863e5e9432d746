#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include "bora/train/metrics.h"

namespace bora {
namespace {
std::string rate_text(double x) {
  char text[32];
  if (x >= 1e6) std::snprintf(text, sizeof text, "%.2fM", x / 1e6);
  else if (x >= 1e4) std::snprintf(text, sizeof text, "%.1fk", x / 1e3);
  else std::snprintf(text, sizeof text, "%.0f", x);
  return text;
}
std::string time_text(double seconds) {
  auto s = static_cast<std::int64_t>(std::ceil(std::max(0.0, seconds)));
  char text[32];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(s / 3600), static_cast<int>(s / 60 % 60),
                  static_cast<int>(s % 60));
  else std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(s / 60), static_cast<int>(s % 60));
  return text;
}
}  // namespace

Progress::Progress(Options options) : options_(options), begin_(std::chrono::steady_clock::now()) {}

void Progress::step(std::int64_t step, double loss, double tokens_per_second) {
  if (options_.quiet) return;
  auto now = std::chrono::steady_clock::now();
  bool last = step == options_.total;
  if (options_.columns > 0 ? !last && now - drawn_ < std::chrono::milliseconds(100)
                           : step % options_.every != 0 && !last && step != options_.first + 1)
    return;
  drawn_ = now;
  auto seconds = std::chrono::duration<double>(now - begin_).count();
  auto left = seconds / static_cast<double>(step - options_.first) * static_cast<double>(options_.total - step);
  char loss_text[32];
  std::snprintf(loss_text, sizeof loss_text, "%.4f", loss);
  auto words = "step " + std::to_string(step) + "/" + std::to_string(options_.total) + "  loss " + loss_text + "  " +
               rate_text(tokens_per_second) + " tokens/s  " +
               (last ? "in " + time_text(seconds) : "ETA " + time_text(left));
  if (options_.columns == 0) return line(words);
  auto room = std::clamp(options_.columns - static_cast<int>(words.size()) - 6, 0, 40);
  auto full = static_cast<int>(room * step / std::max<std::int64_t>(1, options_.total));
  auto bar = room < 5 ? std::string()
                      : "[" + std::string(static_cast<std::size_t>(full), '#') +
                            std::string(static_cast<std::size_t>(room - full), '.') + "] ";
  std::fprintf(stderr, "\r\033[K%s%s", bar.c_str(), words.c_str());
  std::fflush(stderr);
  shown_ = true;
}
void Progress::line(const std::string& text) {
  if (options_.quiet) return;
  end();
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
}
void Progress::end() {
  if (shown_) std::fprintf(stderr, "\r\033[K"), std::fflush(stderr);
  shown_ = false;
}

int terminal_columns() {
  if (auto given = std::getenv("BORA_TERMINAL")) return std::max(0, std::atoi(given));
  ::winsize window{};
  return ::isatty(2) && ::ioctl(2, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

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
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);
/// Runs of one process (ranks as threads) share the handlers: the first installs them, the last restores what was.
std::mutex stop_mutex;
int stop_users = 0;
constexpr int stopping[] = {SIGTERM, SIGINT, SIGHUP};
struct ::sigaction before_stop[std::size(stopping)];
}  // namespace
StopSignals::StopSignals() {
  std::lock_guard lock(stop_mutex);
  if (stop_users++ > 0) return;
  struct ::sigaction action {};
  action.sa_handler = [](int) { stop_requested = true; };
  for (std::size_t i = 0; i < std::size(stopping); ++i) {
    // A terminal that goes away may say so twice, and nohup says not at all.
    action.sa_flags = SA_RESTART | (stopping[i] == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND));
    ::sigaction(stopping[i], nullptr, &before_stop[i]);
    if (stopping[i] != SIGHUP || before_stop[i].sa_handler != SIG_IGN) ::sigaction(stopping[i], &action, nullptr);
  }
}
StopSignals::~StopSignals() {
  std::lock_guard lock(stop_mutex);
  if (--stop_users > 0) return;
  for (std::size_t i = 0; i < std::size(stopping); ++i) ::sigaction(stopping[i], &before_stop[i], nullptr);
  stop_requested = false;
}
bool StopSignals::requested() { return stop_requested; }
}  // namespace bora
