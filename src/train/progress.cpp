#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include "bora/train/progress.h"

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
  bool line = step % options_.every == 0 || last || step == options_.first + 1;
  bool bar = options_.columns > 0;
  std::lock_guard lock(mutex_);
  bool drawn = bar && (last || now - drawn_ >= std::chrono::milliseconds(100));
  if (!drawn && !(line && (options_.log || !bar))) return;
  auto seconds = std::chrono::duration<double>(now - begin_).count();
  auto left = seconds / static_cast<double>(step - options_.first) * static_cast<double>(options_.total - step);
  char loss_text[32];
  std::snprintf(loss_text, sizeof loss_text, "%.4f", loss);
  auto words = "step " + std::to_string(step) + "/" + std::to_string(options_.total) + "  loss " + loss_text + "  " +
               rate_text(tokens_per_second) + " tokens/s  " +
               (last ? "in " + time_text(seconds) : "ETA " + time_text(left));
  if (!bar) return print(words);
  if (line && options_.log) options_.log(words);
  if (!drawn) return;
  drawn_ = now;
  auto room = std::clamp(options_.columns - static_cast<int>(words.size()) - 6, 0, 40);
  auto full = static_cast<int>(room * step / std::max<std::int64_t>(1, options_.total));
  auto part = room < 5 ? std::string()
                       : "[" + std::string(static_cast<std::size_t>(full), '#') +
                             std::string(static_cast<std::size_t>(room - full), '.') + "] ";
  std::fprintf(stderr, "\r\033[K%s%s", part.c_str(), words.c_str());
  std::fflush(stderr);
  shown_ = true;
}
void Progress::line(const std::string& text) {
  if (options_.quiet) return;
  std::lock_guard lock(mutex_);
  print(text);
}
void Progress::print(const std::string& text) {
  erase();
  std::fprintf(stdout, "%s\n", text.c_str());
  std::fflush(stdout);
  if (options_.log) options_.log(text);
}
void Progress::end() {
  std::lock_guard lock(mutex_);
  erase();
}
void Progress::erase() {
  if (shown_) std::fprintf(stderr, "\r\033[K"), std::fflush(stderr);
  shown_ = false;
}

int terminal_columns() {
  if (auto given = std::getenv("BORA_TERMINAL")) return std::max(0, std::atoi(given));
  ::winsize window{};
  return ::isatty(2) && ::ioctl(2, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}
}  // namespace bora
