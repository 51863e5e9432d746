// outputs.h -- what the ranks of a job print, as the output of the launcher, and each rank's in a log.
#pragma once
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/visible.h"

namespace bora::launch {
inline constexpr std::string_view error_mark = "bora: ";  // begins a line on stderr that is an error

/// Rank 0's output is passed on unchanged, others' by the line, each with its rank, or to the logs alone, as long as
/// these can be written. What a '\r' begins is a line of its own there (a progress bar never ends one), and a line
/// longer than 64 KiB is several. Lines that are errors are kept, a few of each rank.
class Outputs {
 public:
  struct Line {
    int rank;
    std::string text;
  };
  /// Throws ConfigError if the folder cannot be made. `own`: the ranks run Bora's commands, whose texts are those of
  /// models and files: on a terminal they are Visible.
  explicit Outputs(const std::string& log_dir, bool own = false);
  ~Outputs();
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  /// Begins a generation with so many ranks, after all lines of the last one are finished. Throws ConfigError if a log
  /// cannot be written.
  void open(int ranks);
  void printed(int rank, bool errors, std::string_view bytes);  // in time linear in the bytes
  void finish(int rank);  // an unfinished line is one
  void print(int fd, std::string_view text);
  const std::vector<Line>& errors() const { return errors_; }  // of this generation
  bool arrived() const { return arrived_; }                    // all of stdout was written

 private:
  struct Rank {
    std::string pending[2] = {};  // of stdout and stderr: the line that has not ended
    int log = -1, kept = 0;       // kept: lines that are errors
  };
  std::string log_of(int rank) const;
  void close_logs();
  void show(int rank, bool errors, std::string_view text);
  void line(int rank, bool errors, std::string_view text);
  void keep(Line error);
  std::string log_dir_;
  std::vector<Rank> ranks_ = {};
  std::vector<Line> errors_ = {};
  bool bar_ = false, arrived_ = true;  // bar_: stderr has an unfinished line
  bool visible_;                       // control characters of stdout are
  Visible shown_ = {};
};
}  // namespace bora::launch
