#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include "bora/train/metrics.h"
#include "io/files.h"

namespace bora {
namespace {
struct Point {
  double step, value;
};
/// At most `n` points: means of runs of neighbours, so that a long run remains a small picture.
std::vector<Point> thinned(const std::vector<Point>& all, std::size_t n) {
  if (all.size() <= n) return all;
  std::vector<Point> r;
  for (std::size_t i = 0; i < n; ++i) {
    auto begin = all.size() * i / n, end = all.size() * (i + 1) / n;
    Point mean{0, 0};
    for (auto k = begin; k < end; ++k) mean.step += all[k].step, mean.value += all[k].value;
    r.push_back({mean.step / static_cast<double>(end - begin), mean.value / static_cast<double>(end - begin)});
  }
  return r;
}
/// A round distance between marks, so that there are about five.
double mark_distance(double range) {
  auto power = std::pow(10.0, std::floor(std::log10(range / 4)));
  for (double factor : {1.0, 2.0, 5.0})
    if (range / (power * factor) <= 6) return power * factor;
  return 10 * power;
}
}  // namespace

void write_loss_plot(const std::string& metrics_path, const std::string& svg_path) {
  std::vector<Point> train, eval;
  std::ifstream file(metrics_path);
  for (std::string line; std::getline(file, line);) {
    Point p{};
    if (!metric_of(line, "step", p.step)) continue;
    if (metric_of(line, "train/loss", p.value)) train.push_back(p);
    if (metric_of(line, "eval/loss", p.value)) eval.push_back(p);
  }
  double last = 1, low = 1e300, high = -1e300;
  for (auto curve : {&train, &eval})
    for (auto& p : *curve) last = std::max(last, p.step), low = std::min(low, p.value), high = std::max(high, p.value);
  if (low > high) low = 0, high = 1;
  auto margin = std::max(1e-3, (high - low) * 0.05);
  low -= margin, high += margin;

  constexpr double width = 720, height = 400, left = 60, right = 30, top = 30, bottom = 45;
  auto x = [&](double step) { return left + (width - left - right) * step / last; };
  auto y = [&](double value) { return top + (height - top - bottom) * (high - value) / (high - low); };
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
      << "\" viewBox=\"0 0 " << width << ' ' << height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  auto mark = [&](double px, double py, const char* anchor, double value) {
    out << "<text x=\"" << px << "\" y=\"" << py << "\" text-anchor=\"" << anchor << "\" fill=\"#444\">" << value
        << "</text>\n";
  };
  for (double d = mark_distance(high - low), v = std::ceil(low / d) * d; v <= high; v += d) {
    out << "<path d=\"M" << left << ' ' << y(v) << 'H' << width - right << "\" stroke=\"#ddd\"/>\n";
    mark(left - 8, y(v) + 4, "end", std::round(v / d) * d);
  }
  for (double d = std::max(1.0, mark_distance(last)), s = 0; s <= last; s += d)
    mark(x(s), height - bottom + 18, "middle", s);
  out << "<path d=\"M" << left << ' ' << top << 'V' << height - bottom << 'H' << width - right
      << "\" fill=\"none\" stroke=\"#444\"/>\n";
  auto curve = [&](const std::vector<Point>& points, const char* colour) {
    if (points.empty()) return;
    out << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"1.5\" points=\"";
    for (auto& p : points) out << x(p.step) << ',' << y(p.value) << ' ';
    out << "\"/>\n";
  };
  curve(thinned(train, 600), "#1f77b4");
  curve(eval, "#d62728");
  for (auto& p : eval)
    out << "<circle cx=\"" << x(p.step) << "\" cy=\"" << y(p.value) << "\" r=\"3\" fill=\"#d62728\"/>\n";
  out << "<text x=\"" << left + 10 << "\" y=\"20\" fill=\"#1f77b4\">train/loss</text>\n<text x=\"" << left + 90
      << "\" y=\"20\" fill=\"#d62728\">eval/loss</text>\n<text x=\"" << width / 2 << "\" y=\"" << height - 8
      << "\" text-anchor=\"middle\" fill=\"#444\">step</text>\n</svg>\n";
  io::write_file(svg_path, out.str());
}
}  // namespace bora
