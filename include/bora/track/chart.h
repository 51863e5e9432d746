// chart.h -- curves as an SVG picture.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bora::track {
struct Point {  // of a curve
  double x = 0, y = 0;
};
struct Curve {               // points, joined by a line
  std::string name, colour;  // "#1f77b4"
  std::vector<Point> points = {};
  bool dots = false;  // marks every point
};
struct Scale {  // of an axis
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<std::pair<double, std::string>> marks = {};  // text at values
};
struct Chart {  // curves over two axes
  Scale x, y;
  std::vector<Curve> curves = {};
  std::string caption = {};                                  // below
  std::optional<std::pair<double, std::string>> level = {};  // a dashed line at this y, and its name
};
/// The picture; points outside of the scales are not cut off.
std::string svg(const Chart&);
/// Round numbers from low to high, about five of them, at least `least` apart.
std::vector<double> round_marks(double low, double high, double least = 0);
/// 1, 2 and 5 times the powers of ten from low to high.
std::vector<double> logarithmic_marks(double low, double high);
}  // namespace bora::track
