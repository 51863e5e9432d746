#include <algorithm>
#include <filesystem>
#include <sstream>
#include "base/api/file.h"
#include "bora/track/metrics.h"

namespace bora::track {
namespace {
/// At most `n` points: means of runs of neighbours, so that a long run remains a small picture.
std::vector<Point> thinned(const std::vector<Point>& all, std::size_t n) {
  if (all.size() <= n) return all;
  std::vector<Point> r;
  for (std::size_t i = 0; i < n; ++i) {
    auto begin = all.size() * i / n, end = all.size() * (i + 1) / n;
    Point mean{0, 0};
    for (auto k = begin; k < end; ++k) mean.x += all[k].x, mean.y += all[k].y;
    r.push_back({mean.x / static_cast<double>(end - begin), mean.y / static_cast<double>(end - begin)});
  }
  return r;
}
void add_marks(Scale& scale, double least) {
  for (auto value : round_marks(scale.low, scale.high, least)) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << value;
    scale.marks.emplace_back(value, text.str());
  }
}
}  // namespace

void write_loss_plot(const std::string& metrics_path, const std::string& svg_path) {
  if (std::error_code error; !std::filesystem::exists(metrics_path, error)) return;
  auto train = read_curve(metrics_path, "train/loss"), eval = read_curve(metrics_path, "eval/loss");
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
  Chart chart{.x = steps,
              .y = losses,
              .curves = {{"train/loss", "#1f77b4", thinned(train, 600)}, {"eval/loss", "#d62728", eval, true}},
              .caption = "step"};
  write_file(svg_path, svg(chart));
}
}  // namespace bora::track
