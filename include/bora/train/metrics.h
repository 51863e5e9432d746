// metrics.h -- what a run writes about itself: metrics.jsonl, loss.svg, progress on a terminal.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bora {
/// OUT/metrics.jsonl: one JSON object a line, on disk when write() returns.
class Metrics {
 public:
  /// Continues `path` after `step`: lines of later steps, and a line that a crash cut off, are removed. -1: a new file. IoError.
  Metrics(const std::string& path, std::int64_t step);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  /// {"step": 12, "train/loss": 2.31, ...}. Numbers that are f32 come back as the same f32; what is not finite is null.
  void write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);
  /// Step of the last line with eval/loss; -1: there is none.
  std::int64_t evaluated() const { return evaluated_; }

 private:
  std::string path_;
  int fd_;
  std::int64_t evaluated_ = -1;
};
/// The shortest decimal text that reads back as the same number (as f32 if x is one).
std::string number_text(double x);
/// The value of "name" in one line of metrics.jsonl; false if it has none.
bool metric_of(const std::string& line, const std::string& name, double& value);

/// Curves of train/loss and eval/loss over the steps, as an SVG picture. IoError.
void write_loss_plot(const std::string& metrics_path, const std::string& svg_path);

/// How far a run is: a bar that redraws itself on a terminal (stderr), else plain lines on stdout every `every` steps.
class Progress {
 public:
  struct Options {
    std::int64_t first = 0, total = 0;  // steps done before, steps in all
    std::int64_t every = 10;
    int columns = 0;     // of the terminal; 0: none
    bool quiet = false;  // not rank 0
  };
  explicit Progress(Options options);
  ~Progress() { end(); }  // also when an error passes: its line begins a line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// After step `step` (counted from 1).
  void step(std::int64_t step, double loss, double tokens_per_second);
  /// A line on stdout, whatever is drawn.
  void line(const std::string& text);
  void end();  // takes the bar away

 private:
  Options options_;
  std::chrono::steady_clock::time_point begin_, drawn_ = {};
  bool shown_ = false;
};
/// Columns of the terminal that stderr goes to, also through the launcher; 0 if there is none.
int terminal_columns();

/// Resident memory of this process in bytes: now, and the largest so far.
std::int64_t resident_bytes();
std::int64_t peak_rss();

/// While it lives the first SIGTERM or SIGINT, and any SIGHUP unless it is ignored, asks for an orderly stop instead of ending the process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool requested();
};
}  // namespace bora
