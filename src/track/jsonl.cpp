// jsonl.cpp -- OUT/metrics.jsonl: one JSON object a line, {"step": 12, "time": 1790000000, "train/loss": 2.31, ...},
// with the time in seconds (UTC). f32 numbers read back as the same f32; numbers that are not finite are null.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include "base/api/json.h"
#include "bora/track/metrics.h"
#include "bora/track/tracker.h"
#include "json/api/value.h"
#include "flat_line.h"
#include "log.h"

namespace bora::track {
namespace {
/// The step of an object, and its number `name`; NaN where it has none. None: the line is no object, or was cut off.
std::optional<Point> read(std::string_view line, std::string_view name) {
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
/// Calls f(line), a string_view, for each line; a file of any length needs the memory of a line and a piece.
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
      f(std::string_view(rest).substr(begin, end - begin));
    rest.erase(0, begin);
  }
  if (!rest.empty()) f(std::string_view(rest));
}
std::size_t place_of(std::string_view letters, std::string_view line) {
  auto found = ::memmem(line.data(), line.size(), letters.data(), letters.size());
  return found ? static_cast<std::size_t>(static_cast<const char*>(found) - line.data()) : line.npos;
}
/// The number behind these letters, which are a member's name as this file writes it.
std::optional<double> number_behind(std::string_view line, std::string_view letters) {
  auto at = place_of(letters, line);
  if (at == line.npos) return std::nullopt;
  double value = 0;
  auto begin = line.data() + at + letters.size();
  auto [end, error] = std::from_chars(begin, line.data() + line.size(), value);
  bool whole = error == std::errc() && end < line.data() + line.size() && (*end == ',' || *end == '}');
  return whole ? std::optional(value) : std::nullopt;
}

/// The step of a line, as the tracker writes it: only one number is read. None: it is no whole line.
std::optional<double> step_of(std::string_view line) {
  constexpr std::string_view first = "{\"step\": ";
  double x = 0;
  auto last = line.substr(0, line.size() - std::min<std::size_t>(line.size(), 1));  // ends with a number or null
  bool usual = !last.empty() && ((last.back() >= '0' && last.back() <= '9') || last.back() == 'l');
  if (usual && line.starts_with(first) && line.ends_with('}') && line.find('{', 1) == line.npos) {
    auto begin = line.data() + first.size();
    auto [end, error] = std::from_chars(begin, line.data() + line.size(), x);
    if (error == std::errc() && (*end == ',' || *end == '}')) return x;
  }
  auto p = read(line, "");
  return p ? std::optional(p->x) : std::nullopt;
}
/// Cuts the file there, if no other process of this machine has it open and none of another machine can. False: it may
/// be somebody's, and is as it was.
bool cut_if_alone(const std::string& path, std::int64_t end) {
  int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return false;
  struct ::stat s {};
  bool regular = ::fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size >= end;
  // A lease is given where nobody else has the file open; network file systems give none. Whoever opens it meanwhile
  // waits, and this process gets a signal that it ignores.
  bool done = regular && ::fcntl(fd, F_SETSIG, SIGURG) == 0 && ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0 &&
              ::ftruncate(fd, static_cast<::off_t>(end)) == 0;
  ::close(fd);  // gives the lease back
  return done;
}

class JsonLines final : public Tracker {
 public:
  JsonLines(const std::string& path, std::int64_t step) : log_(continued(path, step)) {}
  bool follow() override { return log_.follow(); }
  std::size_t waiting() const override { return log_.waiting(); }
  void flush() override { log_.flush(); }
  void event(std::int64_t step, double time, const std::string& kind, const std::string& text) override {
    JsonWriter w(JsonWriter::Style::spaced);
    w.object()("step", step)("time", static_cast<std::int64_t>(time))("event", kind)("text", text);
    log_.write(w.end().take());
  }
  void write(std::int64_t step, const Values& values) override {
    JsonWriter w(JsonWriter::Style::spaced);
    w.object()("step", step)("time", static_cast<std::int64_t>(std::time(nullptr)));
    for (auto& [name, value] : values) w(name, value);
    log_.write(w.end().take());
  }

 private:
  /// The path, after its lines of later steps, and broken ones, have been removed. Where they are the file's end, as
  /// they are but after a damage, and nobody else writes into it, it is cut; else it is begun anew: a lost rank that
  /// wakes up writes into a file without a name then.
  static std::string continued(const std::string& path, std::int64_t step) {
    std::error_code error;
    const bool goes_on = step >= 0 && (std::filesystem::exists(path, error) || error);
    if (goes_on)
      if (auto end = end_of_kept(path, step); end && cut_if_alone(path, *end)) return path;
    write_file(path, [&](File& file, const std::string&) {
      std::string kept;
      auto flush = [&] {
        file.write(kept.data(), static_cast<std::int64_t>(kept.size()));
        kept.clear();
      };
      if (goes_on)
        each_line(path, [&](std::string_view line) {
          auto p = read(line, "");
          if (!p || !(p->x <= static_cast<double>(step))) return;
          kept.append(line).push_back('\n');
          if (kept.size() > 1 << 20) flush();
        });
      flush();
    });
    return path;
  }
  /// Where the lines that stay end, if none of them is behind one that goes.
  static std::optional<std::int64_t> end_of_kept(const std::string& path, std::int64_t step) {
    std::int64_t at = 0, end = 0;
    bool gone = false, behind = false;
    each_line(path, [&](std::string_view line) {
      at += static_cast<std::int64_t>(line.size()) + 1;
      auto x = step_of(line);
      bool stays = x && *x <= static_cast<double>(step);
      behind = behind || (stays && gone);
      gone = gone || !stays;
      if (!gone) end = at;
    });
    return behind ? std::nullopt : std::optional(end);
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

void each_point(const std::string& metrics_path, const std::vector<std::string>& names,
                const std::function<void(std::size_t which, Point)>& f) {
  std::vector<std::string> quoted;
  for (auto& name : names) quoted.push_back("\"" + name + "\"");
  each_line(metrics_path, [&](std::string_view line) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (place_of(quoted[i], line) == line.npos) continue;
      // As the tracker writes it: only two numbers of the line are read.
      constexpr std::string_view first = "{\"step\": ";
      auto x = line.starts_with(first) && line.ends_with('}') ? number_behind(line, first) : std::nullopt;
      auto y = x ? number_behind(line, quoted[i] + ": ") : std::nullopt;
      auto p = y ? Point{*x, *y} : read(line, names[i]).value_or(Point{std::nan(""), 0});
      if (!std::isnan(p.x) && !std::isnan(p.y)) f(i, p);
    }
  });
}
std::vector<Point> read_curve(const std::string& metrics_path, const std::string& name) {
  std::vector<Point> points;
  each_point(metrics_path, {name}, [&](std::size_t, Point p) { points.push_back(p); });
  return points;
}
}  // namespace bora::track
template const bool bora::config::added<bora::track::TrackerOf<bora::track::Jsonl>>;
