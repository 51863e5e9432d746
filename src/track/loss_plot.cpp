#include "track/api/loss_plot.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include "base/api/file.h"
#include "bora/track/metrics.h"

namespace bora::track {
namespace {
constexpr const char *kTrain = "train/loss", *kEval = "eval/loss";
void add_marks(Scale& scale, double least) {
  for (auto value : round_marks(scale.low, scale.high, least)) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << value;
    scale.marks.emplace_back(value, text.str());
  }
}
}  // namespace

void Sketch::add(Point p) {
  sum_.x += p.x, sum_.y += p.y;
  if (++count_ < each_) return;
  auto n = static_cast<double>(each_);
  means_.push_back({sum_.x / n, sum_.y / n});
  sum_ = {}, count_ = 0;
  if (means_.size() < most_) return;
  for (std::size_t k = 0; k < means_.size() / 2; ++k) {
    auto &a = means_[2 * k], &b = means_[2 * k + 1];
    means_[k] = {(a.x + b.x) / 2, (a.y + b.y) / 2};
  }
  means_.resize(means_.size() / 2);
  each_ *= 2;
}
std::vector<Point> Sketch::points() const {
  auto r = means_;
  auto n = static_cast<double>(count_);
  if (count_ > 0) r.push_back({sum_.x / n, sum_.y / n});
  return r;
}
void LossPlot::read(const std::string& metrics_path) {
  *this = LossPlot();
  if (std::error_code error; !std::filesystem::exists(metrics_path, error)) return;
  each_point(metrics_path, {kTrain, kEval}, [&](std::size_t which, Point p) { (which == 0 ? train_ : eval_).add(p); });
}
void LossPlot::add(std::int64_t step, const std::string& name, double value) {
  if ((name != kTrain && name != kEval) || std::isnan(value)) return;
  (name == kTrain ? train_ : eval_).add({static_cast<double>(step), value});
}
std::string LossPlot::svg() const {
  auto train = train_.points(), eval = eval_.points();
  Scale steps{0, 1}, losses{1e300, -1e300};
  for (auto curve : {&train, &eval})
    for (auto& p : *curve)
      steps.high = std::max(steps.high, p.x), losses.low = std::min(losses.low, p.y),
      losses.high = std::max(losses.high, p.y);
  if (losses.low > losses.high) losses = {0, 1};
  auto margin = std::max(1e-3, (losses.high - losses.low) * 0.05);
  losses.low -= margin, losses.high += margin;
  add_marks(steps, 1);
  add_marks(losses, 0);
  return track::svg({.x = steps,
                     .y = losses,
                     .curves = {{kTrain, "#1f77b4", train}, {kEval, "#d62728", eval, true}},
                     .caption = "step"});
}
void write_loss_plot(const std::string& metrics_path, const std::string& svg_path) {
  if (std::error_code error; !std::filesystem::exists(metrics_path, error)) return;
  LossPlot plot;
  plot.read(metrics_path);
  write_file(svg_path, plot.svg());
}
}  // namespace bora::track
