// metrics.h -- a run's own record: metrics.jsonl and loss.svg.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bora {
/// OUT/metrics.jsonl: one JSON object a line, on disk when write() returns.
class Metrics {
 public:
  /// Continues `path` after `step`: lines of later steps, and a line that a crash cut off, are removed. -1: a new file.
  /// IoError.
  Metrics(const std::string& path, std::int64_t step);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  /// {"step": 12, "train/loss": 2.31, ...}. f32 numbers read back as the same f32; numbers that are not finite are
  /// null.
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
}  // namespace bora
