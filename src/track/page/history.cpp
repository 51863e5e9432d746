#include "history.h"
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include "bora/base/text.h"
#include "track/flat_line.h"

namespace bora::track::page {
namespace {
constexpr double kMostStep = 9e15;  // f64 counts so far
/// The step that a number says; none: it is no step.
std::optional<std::int64_t> step_of(double x) {
  if (!(x >= 0 && x <= kMostStep)) return std::nullopt;
  return static_cast<std::int64_t>(x);
}
}  // namespace

std::optional<History::Cursor> History::Cursor::parse(std::string_view text) {
  Cursor c;
  std::array<std::uint64_t*, 4> fields{&c.generation, &c.since, &c.series, &c.until};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *fields[i]);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (i + 1 == fields.size()) break;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  return text.empty() ? std::optional(c) : std::nullopt;
}
std::string History::Cursor::text() const {
  return std::to_string(generation) + "." + std::to_string(since) + "." + std::to_string(series) + "." +
         std::to_string(until);
}
void History::begin_anew() {
  file_.reset();
  rest_.clear();
  skips_ = false;
  position_ = size_ = 0;
  ++generation_;
  series_.clear();
  index_.clear();
  next_ = 0;
  left_out_ = 0;
  times_ = {};
  events_.clear();
  last_step_ = -1;
  last_time_ = 0;
}
bool History::read(std::int64_t most) {
  try {
    if (!file_ || !file_->has(path_)) {
      auto other = File::open(path_);
      if (file_) begin_anew();
      file_ = std::move(other);
    }
    size_ = file_->size();
    if (size_ < position_) begin_anew(), file_ = File::open(path_), size_ = file_->size();
    auto n = std::min(most, size_ - position_);
    if (n <= 0) return false;
    auto before = rest_.size();
    rest_.resize(before + static_cast<std::size_t>(n));
    if (!file_->read(position_, rest_.data() + before, n)) return rest_.resize(before), false;  // it is cut just now
    position_ += n;
    std::size_t begin = 0;
    for (auto end = rest_.find('\n', before); end != rest_.npos; begin = end + 1, end = rest_.find('\n', begin))
      if (!std::exchange(skips_, false)) take(std::string_view(rest_).substr(begin, end - begin));
    rest_.erase(0, begin);
    if (rest_.size() > kLine) rest_.clear(), skips_ = true;
    return position_ < size_;
  } catch (const IoError&) {
    return false;
  }
}
Series* History::series_of(std::string_view name) {
  if (next_ < series_.size() && series_[next_]->name == name) return &series_[next_++]->series;
  auto found = index_.find(name);
  if (found == index_.end()) {
    if (series_.size() >= kSeries || name.size() > kName) return ++left_out_, nullptr;
    found = index_.emplace(name, series_.size()).first;
    series_.push_back(std::make_unique<Named>(Named{std::string(name)}));
  }
  next_ = found->second + 1;
  return &series_[found->second]->series;
}
void History::take(std::string_view line) {
  json::Value object;
  members_.clear();
  if (!flat(line, [this](std::string_view name, double value) { members_.emplace_back(name, value); })) {
    object = json::parse_or_null(line);  // an event, or names with signs that JSON escapes
    if (!object.is_object()) return;
    if (object.find("event")) return take_event(object);
    members_.clear();
    for (auto& [name, value] : object.members())
      if (value.is_number()) members_.emplace_back(name, value.number());
  }
  std::optional<std::int64_t> step;
  double time = 0;
  for (auto& [name, value] : members_) {
    if (name == "step") step = step_of(value);
    if (name == "time" && std::isfinite(value)) time = value;
  }
  if (!step) return;
  ++now_;
  last_step_ = std::max(last_step_, *step);
  if (time > 0) times_.add(*step, last_time_ = time, now_);
  next_ = 0;
  for (auto& [name, value] : members_)
    if (name != "step" && name != "time" && std::isfinite(value))
      if (auto* s = series_of(name)) s->add(*step, value, now_);
}
void History::take_event(const json::Value& object) {
  auto kind = object.find("event"), step = object.find("step");
  if (!kind->is_text() || !step || !step->is_number()) return;
  auto at = step_of(step->number());
  if (!at) return;
  auto text = object.find("text"), time = object.find("time");
  auto cut = [](const json::Value* v, std::size_t most) {
    auto words = v && v->is_text() ? one_line(v->text()) : std::string();
    if (words.size() <= most) return words;
    while (most > 0 && (static_cast<unsigned char>(words[most]) & 0xc0) == 0x80) --most;  // not within a character
    return words.substr(0, most) + "...";
  };
  events_.push_back({*at, time && time->is_number() ? time->number() : 0, cut(kind, 40), cut(text, kText), ++now_});
  if (events_.size() > kEvents) events_.pop_front();
}
void History::write(JsonWriter& w, const Cursor& asked, std::size_t bytes) const {
  bool reset = asked.generation != generation_;
  Cursor c = reset ? Cursor{.generation = generation_} : asked;
  // Of an answer in pieces all are of the changes up to its first one; later changes are in the next answer.
  auto until = c.until > 0 ? c.until : now_;
  JsonWriter parts;  // of the first piece
  if (c.series == 0) {
    parts.object()("events").list();
    for (auto& e : events_)
      if (e.number > c.since) parts.list().add(e.step).add(e.time).add(e.kind).add(e.text).end();
    parts.end();
    if (times_.changed_since(c.since)) {
      parts("time").object();
      times_.write(parts, c.since);
      parts.end();
    }
    if (ranks_.changed_since(c.since)) {
      parts("ranks");
      ranks_.write(parts, c.since);
    } else if (c.since == 0 && !kept_ranks_.empty()) {
      parts("ranks", JsonWriter::Json{kept_ranks_});
    }
    parts.end();
  }
  auto first = parts.take();
  auto k = static_cast<std::size_t>(std::min<std::uint64_t>(c.series == 0 ? 0 : c.series - 1, series_.size()));
  auto used = first.size();
  w("generation", generation_)("reset", reset)("left_out", left_out_)("series").list();
  for (; k < series_.size() && used < bytes; ++k) {
    auto& [name, series] = *series_[k];
    if (!series.changed_since(c.since)) continue;
    JsonWriter one;
    one.object()("name", name);
    series.write(one, c.since);
    auto text = one.end().take();
    text.pop_back();  // its newline
    used += text.size();
    w.add(JsonWriter::Json{text});
  }
  w.end();
  if (!first.empty()) w("marks", JsonWriter::Json{std::string_view(first).substr(0, first.size() - 1)});
  bool more = k < series_.size();
  Cursor next{.generation = generation_, .since = until};
  if (more) next = {.generation = generation_, .since = c.since, .series = k + 1, .until = until};
  w("more", more)("next", next.text());
}
void History::each_last(const std::function<void(const std::string&, double)>& f) const {
  for (auto& one : series_) f(one->name, one->series.last());
}
}  // namespace bora::track::page
