// jsonl.cpp -- OUT/metrics.jsonl: one JSON object a line, {"step": 12, "time": 1790000000, "train/loss": 2.31, ...},
// with the time in seconds (UTC). f32 numbers read back as the same f32; numbers that are not finite are null.
#include <charconv>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>
#include "base/api/json.h"
#include "bora/track/metrics.h"
#include "bora/track/tracker.h"
#include "json/api/value.h"
#include "log.h"

namespace bora::track {
namespace {
/// Calls f(name, number) for the members of an object in the form of this file; null is NaN. False: it is no such line.
template <class F> bool flat(std::string_view line, const F& f) {
  auto take = [&](std::string_view what) {
    bool there = line.starts_with(what);
    if (there) line.remove_prefix(what.size());
    return there;
  };
  if (!take("{")) return false;
  do {
    auto end = line.find_first_of("\"\\", 1);
    if (end == line.npos || line[0] != '"') return false;
    auto name = line.substr(1, end - 1);
    line.remove_prefix(end);
    if (!take("\": ")) return false;
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!take("null")) {
      auto digit = line.substr(line.starts_with("-") ? 1 : 0, 1);
      auto [next, error] = std::from_chars(line.data(), line.data() + line.size(), value);
      if (error != std::errc() || digit < "0" || digit > "9") return false;
      line.remove_prefix(static_cast<std::size_t>(next - line.data()));
    }
    f(name, value);
  } while (take(", "));
  return line == "}";
}
/// The step of an object, and its number `name`; NaN where it has none. None: the line is no object, or was cut off.
std::optional<Point> read(const std::string& line, std::string_view name) {
  Point p{std::nan(""), std::nan("")};
  auto see = [&](std::string_view member, double value) {
    if (member == "step") p.x = value;
    if (member == name) p.y = value;
  };
  if (flat(line, see)) return p;
  auto object = json::parse_or_null(line);
  if (!object.is_object()) return std::nullopt;
  p = {std::nan(""), std::nan("")};
  for (std::string member : {std::string("step"), std::string(name)})
    if (auto found = object.find(member); found && found->is_number()) see(member, found->number());
  return p;
}
/// Calls f(line) for each line; a file of any length needs the memory of a line and a piece.
template <class F> void each_line(const std::string& path, const F& f) {
  constexpr std::int64_t kPiece = 1 << 20;
  auto file = File::open(path);
  std::string rest;
  const auto size = file.size();
  for (std::int64_t at = 0; at < size; at += kPiece) {
    auto n = std::min(kPiece, size - at);
    auto before = rest.size();
    rest.resize(before + static_cast<std::size_t>(n));
    if (!file.read(at, rest.data() + before, n)) break;  // it was cut meanwhile
    std::size_t begin = 0;
    for (auto end = rest.find('\n', before); end != rest.npos; begin = end + 1, end = rest.find('\n', begin))
      f(rest.substr(begin, end - begin));
    rest.erase(0, begin);
  }
  if (!rest.empty()) f(rest);
}

class JsonLines final : public Tracker {
 public:
  JsonLines(const std::string& path, std::int64_t step) : log_(continued(path, step)) {}
  bool follow() override { return log_.follow(); }
  void write(std::int64_t step, const Values& values) override {
    JsonWriter w(JsonWriter::Style::spaced);
    w.object()("step", step)("time", static_cast<std::int64_t>(std::time(nullptr)));
    for (auto& [name, value] : values) w(name, value);
    log_.write(w.end().take());
  }

 private:
  /// The path, after its lines of later steps, and broken ones, have been removed.
  static std::string continued(const std::string& path, std::int64_t step) {
    std::error_code error;
    const bool goes_on = step >= 0 && (std::filesystem::exists(path, error) || error);
    write_file(path, [&](File& file, const std::string&) {
      std::string kept;
      auto flush = [&] {
        file.write(kept.data(), static_cast<std::int64_t>(kept.size()));
        kept.clear();
      };
      if (goes_on)
        each_line(path, [&](const std::string& line) {
          auto p = read(line, "");
          if (!p || !(p->x <= static_cast<double>(step))) return;
          kept.append(line).push_back('\n');
          if (kept.size() > 1 << 20) flush();
        });
      flush();
    });
    return path;
  }
  Log log_;
};
struct Jsonl {
  static constexpr std::string_view type = "jsonl", file = "metrics.jsonl";
  std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const {
    return std::make_unique<JsonLines>(folder + "/" + std::string(file), step);
  }
};
}  // namespace

std::vector<Point> read_curve(const std::string& metrics_path, const std::string& name) {
  std::vector<Point> points;
  const auto quoted = "\"" + name + "\"";
  each_line(metrics_path, [&](const std::string& line) {
    if (line.find(quoted) == line.npos) return;
    if (auto p = read(line, name); p && !std::isnan(p->x) && !std::isnan(p->y)) points.push_back(*p);
  });
  return points;
}
}  // namespace bora::track
template const bool bora::config::added<bora::track::TrackerOf<bora::track::Jsonl>>;
