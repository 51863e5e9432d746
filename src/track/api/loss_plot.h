// loss_plot.h -- OUT/loss.svg of a run of any length, in a memory of fixed size.
#pragma once
#include <cstdint>
#include <string>
#include <vector>
#include "bora/track/chart.h"

namespace bora::track {
/// A curve as means of neighbours: of each point while there are few, of twice as many whenever there are too many.
class Sketch {
 public:
  explicit Sketch(std::size_t most = 1200) : most_(most) {}
  void add(Point);
  std::vector<Point> points() const;  // at most `most`

 private:
  std::size_t most_;
  std::int64_t each_ = 1;              // points of a mean
  std::vector<Point> means_ = {};
  Point sum_ = {};                     // of the next mean
  std::int64_t count_ = 0;
};
/// Curves of train/loss and eval/loss over the steps.
class LossPlot {
 public:
  /// Those of a metrics.jsonl, if there is one, in place of what was added. IoError.
  void read(const std::string& metrics_path);
  /// A number of a step; others than the two losses are passed over.
  void add(std::int64_t step, const std::string& name, double value);
  std::string svg() const;

 private:
  Sketch train_ = Sketch(), eval_ = Sketch();
};
}  // namespace bora::track
