// jsonl.cpp -- OUT/metrics.jsonl: one JSON object a line, {"step": 12, "train/loss": 2.31, ...}. f32 numbers read back
// as the same f32; numbers that are not finite are null.
#include <filesystem>
#include <sstream>
#include "base/api/json.h"
#include "bora/track/metrics.h"
#include "bora/track/tracker.h"
#include "json/api/value.h"
#include "log.h"

namespace bora::track {
namespace {
/// Calls f(line, object) for each whole line with a member of this name.
template <class F> void each_line(const std::string& path, const std::string& name, const F& f) {
  std::istringstream lines(read_file(path));
  auto quoted = "\"" + name + "\"";
  for (std::string line; std::getline(lines, line);) {
    if (line.find(quoted) == line.npos) continue;  // 5 us saved
    if (auto object = json::parse_or_null(line); object.is_object()) f(line, object);
  }
}
/// Whether the object has a number of this name.
bool find(const json::Value& object, const std::string& name, double& value) {
  auto found = object.find(name);
  if (!found || !found->is_number()) return false;
  value = found->number();
  return true;
}

class JsonLines final : public Tracker {
 public:
  JsonLines(const std::string& path, std::int64_t step) : log_(continued(path, step)) {}
  void follow() override { log_.follow(); }
  void write(std::int64_t step, const Values& values) override {
    JsonWriter w(JsonWriter::Style::spaced);
    w.object()("step", step);
    for (auto& [name, value] : values) w(name, value);
    log_.write(w.end().take());
  }

 private:
  /// The path, after its lines of later steps, and broken ones, have been removed.
  static std::string continued(const std::string& path, std::int64_t step) {
    std::string kept;
    std::error_code error;
    if (step >= 0 && (std::filesystem::exists(path, error) || error))
      each_line(path, "step", [&](const std::string& line, const json::Value& object) {
        double at = 0;
        if (find(object, "step", at) && at <= static_cast<double>(step)) kept += line + "\n";
      });
    write_file(path, kept);
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
  each_line(metrics_path, name, [&](const std::string&, const json::Value& object) {
    Point p;
    if (find(object, "step", p.x) && find(object, name, p.y)) points.push_back(p);
  });
  return points;
}
}  // namespace bora::track
template const bool bora::config::added<bora::track::TrackerOf<bora::track::Jsonl>>;
