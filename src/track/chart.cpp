#include "bora/track/chart.h"
#include <algorithm>
#include <cmath>
#include <sstream>
#include "bora/base/visible.h"

namespace bora::track {
namespace {
constexpr double kWidth = 720, kHeight = 400, kLeft = 80, kRight = 40, kTop = 30, kBottom = 45;
constexpr double kInnerWidth = kWidth - kLeft - kRight, kInnerHeight = kHeight - kTop - kBottom;
/// The place of v, as a part of the scale.
double part(const Scale& s, double v) {
  if (!(s.high > s.low)) return 0.5;
  return s.logarithmic ? std::log(v / s.low) / std::log(s.high / s.low) : (v - s.low) / (s.high - s.low);
}
/// Text of an SVG: without what its reader would take for a mark, and without characters that XML lacks.
std::string marked(const std::string& words) {
  Visible visible;
  auto text = visible.next(words);
  text += visible.finish();
  for (auto none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (auto at = text.find(none); at != text.npos; at = text.find(none)) text.replace(at, 3, "\xef\xbf\xbd");
  std::string r;
  for (char c : text)
    if (c == '&') r += "&amp;";
    else if (c == '<') r += "&lt;";
    else if (c == '>') r += "&gt;";
    else if (c == '"') r += "&quot;";
    else r += c;
  return r;
}
}  // namespace

std::string svg(const Chart& c) {
  auto x = [&](double v) { return kLeft + kInnerWidth * part(c.x, v); };
  auto y = [&](double v) { return kHeight - kBottom - kInnerHeight * part(c.y, v); };
  std::ostringstream o;
  o.imbue(std::locale::classic());
  auto text = [&](double px, double py, const char* anchor, const std::string& colour, const std::string& words) {
    o << "<text x=\"" << px << "\" y=\"" << py << "\" text-anchor=\"" << anchor << "\" fill=\"" << marked(colour)
      << "\">" << marked(words) << "</text>\n";
  };
  auto line = [&](double v, const char* stroke) {
    o << "<path d=\"M" << kLeft << ' ' << y(v) << 'H' << kWidth - kRight << "\" stroke=" << stroke << "/>\n";
  };
  o << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
    << "\" viewBox=\"0 0 " << kWidth << ' ' << kHeight
    << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (auto& [value, words] : c.y.marks) {
    line(value, "\"#ddd\"");
    text(kLeft - 8, y(value) + 4, "end", "#444", words);
  }
  for (auto& [value, words] : c.x.marks) text(x(value), kHeight - kBottom + 18, "middle", "#444", words);
  o << "<path d=\"M" << kLeft << ' ' << kTop << 'V' << kHeight - kBottom << 'H' << kWidth - kRight
    << "\" fill=\"none\" stroke=\"#444\"/>\n";
  if (c.level) line(c.level->first, "\"#444\" stroke-dasharray=\"4 3\"");
  double at = kLeft;
  for (auto& curve : c.curves) {
    if (!curve.points.empty()) {
      o << "<polyline fill=\"none\" stroke=\"" << marked(curve.colour) << "\" stroke-width=\"1.5\" points=\"";
      for (auto& p : curve.points) o << x(p.x) << ',' << y(p.y) << ' ';
      o << "\"/>\n";
    }
    for (auto& p : curve.points)
      if (curve.dots)
        o << "<circle cx=\"" << x(p.x) << "\" cy=\"" << y(p.y) << "\" r=\"3\" fill=\"" << marked(curve.colour)
          << "\"/>\n";
    text(at, 20, "start", curve.colour, curve.name);
    at += std::min(100.0, kInnerWidth / static_cast<double>(c.curves.size()));
  }
  if (c.level) {
    o << "<g paint-order=\"stroke\" stroke=\"white\" stroke-width=\"4\">";  // readable over the curves
    text(kLeft + 4, y(c.level->first) - 4, "start", "#444", c.level->second);
    o << "</g>\n";
  }
  text(kWidth / 2, kHeight - 8, "middle", "#444", c.caption);
  o << "</svg>\n";
  return o.str();
}
std::vector<double> round_marks(double low, double high, double least) {
  auto power = std::pow(10.0, std::floor(std::log10((high - low) / 4))), distance = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if ((high - low) / (power * factor) <= 6) distance = power * factor;
  distance = std::max(distance, least);
  std::vector<double> marks;
  for (auto k = std::ceil(low / distance); k * distance <= high; ++k) marks.push_back(k * distance);
  return marks;
}
std::vector<double> logarithmic_marks(double low, double high) {
  std::vector<double> marks;
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (double mark : {power, 2 * power, 5 * power})
      if (mark >= low && mark <= high) marks.push_back(mark);
  return marks;
}
}  // namespace bora::track
