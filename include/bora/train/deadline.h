// deadline.h -- the time at which a run must have ended.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace bora::training {
/// As the setting `deadline` writes it: auto, off, a length of time since the run's start (12h), or a point in time
/// (2026-12-01T06:00, in this machine's time zone; with seconds, and with Z or +02:00 for another zone).
class Deadline {
 public:
  enum class Kind : std::uint8_t { automatic, off, after, at };
  Deadline() = default;
  /// Throws ConfigError for another form.
  static Deadline parse(const std::string&);
  friend std::string to_string(const Deadline& d) { return d.text_; }
  Kind kind() const { return kind_; }
  double seconds() const { return seconds_; }  // after: since the start; at: since 1970

 private:
  Kind kind_ = Kind::automatic;
  double seconds_ = 0;
  std::string text_ = "auto";
};
/// The end of a job, and who says so: "SLURM_JOB_END_TIME", "squeue", "deadline=12h", "the launcher".
struct EndOfJob {
  std::chrono::system_clock::time_point at = {};
  std::string said_by = {};
  double seconds_left() const;
  std::string text() const;  // "2026-12-01 06:00:00 CET"
};
/// The variable in which a launcher passes the end on, in seconds since 1970: ranks that it starts later have the same.
inline constexpr const char* kDeadlineVariable = "BORA_DEADLINE";
/// The end that a deadline stands for, now, at the start of a run. auto: that of Slurm's job (SLURM_JOB_END_TIME, else
/// what squeue says of it), if this runs in one. None: there is none, and `problem` says why, if it should be known.
/// Throws ConfigError for a point in time that has passed.
std::optional<EndOfJob> end_of_job(const Deadline&, std::string& problem);
}  // namespace bora::training
