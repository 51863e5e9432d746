// history.h -- all that metrics.jsonl says of a run, in a form that a page can have in small pieces, whatever the
// length of the run.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "base/api/file.h"
#include "base/api/json.h"
#include "json/api/value.h"
#include "track/page/rank_map.h"
#include "track/page/series.h"

namespace bora::track::page {
/// Not for two threads at the same time.
class History {
 public:
  static constexpr std::size_t kSeries = 512, kName = 200, kEvents = 100, kText = 240, kLine = 1 << 20;
  /// The place in a history up to which a reader has seen it, as text "generation.since.series.until". Of an answer in
  /// pieces `until` is the last change that it has, and `series` counts those that were sent, from 1.
  struct Cursor {
    std::uint64_t generation = 0, since = 0, series = 0, until = 0;
    static std::optional<Cursor> parse(std::string_view);
    std::string text() const;
  };
  explicit History(std::string path) : path_(std::move(path)) {}
  /// Reads what was added to the file, at most so many bytes; true: there may be more. A file that was replaced, or is
  /// shorter than before, is read anew. A file that is not there, or cannot be read, is tried again the next time.
  bool read(std::int64_t most);
  /// See RankMap::add.
  void add_ranks(double time, std::span<const double> seconds) { ranks_.add(time, seconds, ++now_); }
  /// The map that an earlier process wrote, as JSON, where this one adds nothing.
  void keep_ranks(std::string json) { kept_ranks_ = std::move(json); }
  /// Members of an object: what has changed since, of which at most about `bytes`: "reset" (forget what came before),
  /// "series", "marks" (with "events", "time", "ranks"; in the first piece of an answer), "left_out", "next" (a cursor)
  /// and "more" (ask again at once).
  void write(JsonWriter&, const Cursor& since, std::size_t bytes) const;
  /// The last value of each series, by name.
  void each_last(const std::function<void(const std::string& name, double value)>&) const;
  std::int64_t last_step() const { return last_step_; }  // -1: none
  double last_time() const { return last_time_; }        // of a step, in seconds (UTC); 0: none
  /// Bytes that were read, and that the file had then.
  std::int64_t position() const { return position_; }
  std::int64_t size() const { return size_; }

 private:
  struct Named {
    std::string name;
    Series series = {};
  };
  struct Event {
    std::int64_t step = 0;
    double time = 0;
    std::string kind, text;
    std::uint64_t number = 0;
  };
  void take(std::string_view line);
  void take_event(const json::Value&);
  Series* series_of(std::string_view name);
  void begin_anew();
  std::string path_;
  std::optional<File> file_ = {};
  std::string rest_ = {};     // a line without its end
  bool skips_ = false;        // it is longer than any line of ours
  std::int64_t position_ = 0, size_ = 0;
  std::uint64_t now_ = 0, generation_ = 1;
  std::vector<std::unique_ptr<Named>> series_ = {};
  std::map<std::string, std::size_t, std::less<>> index_ = {};
  std::size_t next_ = 0;      // the series that comes next if a line is like the one before
  std::int64_t left_out_ = 0;  // numbers of series beyond kSeries
  std::vector<std::pair<std::string_view, double>> members_ = {};  // of a line
  Series times_ = {};
  std::deque<Event> events_ = {};
  RankMap ranks_ = {};
  std::string kept_ranks_ = {};
  std::int64_t last_step_ = -1;
  double last_time_ = 0;
};
}  // namespace bora::track::page
