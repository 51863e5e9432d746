// progress.h -- how far a run is: a bar on a terminal, or lines.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace bora {
/// How far a run is: a bar that redraws itself on a terminal (stderr), else plain lines on stdout every `every` steps.
/// From any thread.
class Progress {
 public:
  struct Options {
    std::int64_t first = 0, total = 0;  // steps done before, steps in all
    std::int64_t every = 10;
    int columns = 0;     // of the terminal; 0: none
    bool quiet = false;  // not rank 0
    /// Gets every line, also the plain ones of steps where a bar is drawn in their place.
    std::function<void(const std::string&)> log = {};
  };
  explicit Progress(Options options);
  ~Progress() { end(); }  // also on an error, whose message then begins a line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// After step `step` (counted from 1).
  void step(std::int64_t step, double loss, double tokens_per_second);
  /// A line on stdout, also while a bar is drawn.
  void line(const std::string& text);
  void end();  // removes the bar

 private:
  void print(const std::string& text);
  void erase();
  Options options_;
  std::mutex mutex_ = {};  // of what follows, and of the two streams
  std::chrono::steady_clock::time_point begin_, drawn_ = {};
  bool shown_ = false;
};
/// Columns of the terminal that stderr goes to, also through the launcher; 0 if there is none.
int terminal_columns();
}  // namespace bora
