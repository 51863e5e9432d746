#include "bora/train/deadline.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include "base/api/command.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/config/duration.h"

namespace bora::training {
namespace {
using Wall = std::chrono::system_clock;
/// Reads digits of a text, one field after the other.
struct Digits {
  std::string_view rest;
  bool ok = true;
  int number(std::size_t width) {
    int n = 0;
    ok = ok && rest.size() >= width;
    for (std::size_t i = 0; ok && i < width; ++i) {
      ok = rest[i] >= '0' && rest[i] <= '9';
      n = 10 * n + (rest[i] - '0');
    }
    if (ok) rest.remove_prefix(width);
    return n;
  }
  bool next(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void need(char c) { ok = next(c) && ok; }
};
/// Seconds since 1970 of "2026-12-01T06:00", with seconds and a zone if they are given; none for another form, or a day
/// that no calendar has.
std::optional<double> point_in_time(const std::string& text) {
  Digits d{text};
  std::tm t{};
  t.tm_year = d.number(4) - 1900, d.need('-');
  t.tm_mon = d.number(2) - 1, d.need('-');
  t.tm_mday = d.number(2), d.need('T');
  t.tm_hour = d.number(2), d.need(':');
  t.tm_min = d.number(2);
  if (d.ok && d.next(':')) t.tm_sec = d.number(2);
  auto as_utc = t;
  auto utc = ::timegm(&as_utc);
  bool exists = as_utc.tm_mday == t.tm_mday && as_utc.tm_mon == t.tm_mon && as_utc.tm_hour == t.tm_hour &&
                as_utc.tm_min == t.tm_min && as_utc.tm_sec == t.tm_sec;
  if (!d.ok || !exists) return {};
  if (d.rest.empty()) {
    t.tm_isdst = -1;
    return static_cast<double>(std::mktime(&t));
  }
  if (d.rest == "Z") return static_cast<double>(utc);
  bool east = d.next('+');
  if (!east) d.need('-');
  auto hours = d.number(2);
  d.need(':');
  auto minutes = d.number(2);
  if (!d.ok || !d.rest.empty() || hours > 14 || minutes > 59) return {};
  return static_cast<double>(utc) + (east ? -1 : 1) * (3600.0 * hours + 60.0 * minutes);
}
Wall::time_point at(double seconds) {
  return Wall::time_point(std::chrono::duration_cast<Wall::duration>(std::chrono::duration<double>(seconds)));
}
double seconds_now() { return std::chrono::duration<double>(Wall::now().time_since_epoch()).count(); }
std::optional<double> number_in(const char* variable) {
  auto text = std::getenv(variable);
  auto seconds = text ? parse_as<double>(text) : std::nullopt;
  return seconds && std::isfinite(*seconds) && *seconds > 0 && *seconds < 1e11 ? seconds : std::nullopt;
}
std::optional<EndOfJob> end_of_slurm_job(std::string& problem) {
  auto job = std::getenv("SLURM_JOB_ID");
  if (!job) return {};
  if (auto seconds = number_in("SLURM_JOB_END_TIME")) return EndOfJob{at(*seconds), "SLURM_JOB_END_TIME"};
  auto unknown = "deadline: the end of Slurm's job " + std::string(job) + " is not known (SLURM_JOB_END_TIME is not "
                 "set, and squeue does not say it); deadline=12h would say it";
  // Its format follows a variable that users set.
  auto said = output_of({"env", "SLURM_TIME_FORMAT=standard", "squeue", "-h", "-j", job, "-o", "%e"}, 10);
  if (!said) return problem = unknown, std::nullopt;
  while (!said->empty() && (said->back() == '\n' || said->back() == ' ')) said->pop_back();
  if (*said == "UNLIMITED" || *said == "N/A" || *said == "NONE") return {};  // a job without a limit
  auto seconds = point_in_time(*said);
  if (!seconds) return problem = unknown, std::nullopt;
  return EndOfJob{at(*seconds), "squeue"};
}
}  // namespace

Deadline Deadline::parse(const std::string& text) {
  Deadline d;
  d.text_ = text;
  if (text == "auto") return d;
  if (text == "off") return d.kind_ = Kind::off, d;
  if (auto seconds = point_in_time(text)) return d.kind_ = Kind::at, d.seconds_ = *seconds, d;
  try {
    d.seconds_ = config::Duration::parse(text).seconds;
  } catch (const ConfigError&) {
    fail<ConfigError>("must be auto, off, a length of time such as 12h, or a point in time such as 2026-12-01T06:00, "
                      "got '", text, "'");
  }
  check<ConfigError>(d.seconds_ > 0, "must be above 0, got '", text, "'; off is without a deadline");
  d.kind_ = Kind::after;
  return d;
}
double EndOfJob::seconds_left() const { return std::chrono::duration<double>(at - Wall::now()).count(); }
std::string EndOfJob::text() const {
  auto time = Wall::to_time_t(at);
  std::tm local{};
  char words[64];
  if (!::localtime_r(&time, &local)) return std::to_string(time);
  return {words, std::strftime(words, sizeof words, "%F %T %Z", &local)};
}
std::optional<EndOfJob> end_of_job(const Deadline& d, std::string& problem) {
  using Kind = Deadline::Kind;
  if (d.kind() == Kind::off) return {};
  if (auto seconds = number_in(kDeadlineVariable)) return EndOfJob{at(*seconds), "the launcher"};
  if (d.kind() == Kind::automatic) return end_of_slurm_job(problem);
  auto said_by = "deadline=" + to_string(d);
  if (d.kind() == Kind::after)
    return EndOfJob{at(seconds_now() + d.seconds()), said_by};
  EndOfJob end{at(d.seconds()), said_by};
  check<ConfigError>(end.seconds_left() > 0, "deadline: ", to_string(d), " has passed; name a later one, or off");
  return end;
}
}  // namespace bora::training
