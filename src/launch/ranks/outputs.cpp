#include "outputs.h"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "launch/api/ranks.h"

namespace bora::launch {
namespace {
constexpr std::string_view clear_line = "\r\033[K";
constexpr std::size_t most_pending = 1 << 16;  // bytes of a line that has not ended
constexpr int most_errors = 8;                 // of a rank, kept

/// Where the line that begins at `begin` ends; npos: not yet. It has no end before `from`. With `bars`, a '\r' inside
/// of it begins another line.
std::size_t end_of_line(std::string_view text, std::size_t begin, std::size_t from, bool bars) {
  for (;; ++from) {
    from = text.find_first_of(bars ? "\r\n" : "\n", from);
    if (from == text.npos) return from;
    if (text[from] == '\n') return from + 1;
    if (from + 1 == text.size()) return text.npos;  // a '\n' may follow
    if (from > begin && text[from + 1] != '\n') return from;
  }
}
/// The bytes of `text` without those of a character in UTF-8 at its end that may go on.
std::size_t whole_characters(std::string_view text) {
  auto n = text.size();
  while (n > 0 && text.size() - n < 3 && (text[n - 1] & 0xc0) == 0x80) --n;
  return n > 0 && (text[n - 1] & 0xc0) == 0xc0 ? n - 1 : text.size();
}
}  // namespace

Outputs::Outputs(const std::string& log_dir, bool own) : log_dir_(log_dir), visible_(own && ::isatty(1) == 1) {
  std::error_code error;
  if (!log_dir.empty()) std::filesystem::create_directories(log_dir, error);
  check<ConfigError>(!error, "launch: cannot make the folder ", log_dir, ": ", error.message());
}
Outputs::~Outputs() { close_logs(); }
std::string Outputs::log_of(int rank) const { return log_dir_ + "/rank-" + std::to_string(rank) + ".log"; }
void Outputs::close_logs() {
  for (auto& rank : ranks_)
    if (rank.log >= 0) ::close(rank.log);
  ranks_.clear();
}
void Outputs::open(int ranks) {
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) finish(r);
  close_logs();
  errors_.clear();
  ranks_.resize(static_cast<std::size_t>(ranks));
  if (log_dir_.empty()) return;
  for (int r = 0; r < ranks; ++r) {
    auto path = log_of(r);
    auto log = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    check<ConfigError>(log >= 0, "cannot write ", path, ": ", std::strerror(errno));
    ranks_[static_cast<std::size_t>(r)].log = log;
  }
}
/// Rank 0's progress bar is an unfinished line on stderr: the next output replaces it.
void Outputs::print(int fd, std::string_view text) {
  bool terminal = ::isatty(2) != 0;
  if (bar_ && (terminal || fd == 2)) bar_ = false, write_all(2, terminal ? clear_line : "\n");
  bool written = fd == 1 && visible_ ? write_all(1, shown_.next(text)) : write_all(fd, text);
  if (!written && fd == 1) arrived_ = false;
}
void Outputs::show(int rank, bool errors, std::string_view text) {
  if (rank == 0 && errors) bar_ = !text.ends_with('\n') && !text.ends_with(clear_line), write_all(2, text);
  else if (rank == 0) print(1, text);
  else if (ranks_[static_cast<std::size_t>(rank)].log < 0) {
    auto from = text.starts_with(clear_line) ? clear_line.size() : std::min(text.find_first_not_of('\r'), text.size());
    auto rest = text.substr(from);
    if (from > 0 && (rest.empty() || rest == "\n")) return;  // the end of a progress bar
    print(errors ? 2 : 1,
          "[rank " + std::to_string(rank) + "] " + std::string(rest) + (rest.ends_with('\n') ? "" : "\n"));
  }
}
void Outputs::printed(int rank, bool errors, std::string_view bytes) {
  auto& r = ranks_[static_cast<std::size_t>(rank)];
  if (r.log >= 0 && !write_all(r.log, bytes)) {
    std::string why = std::strerror(errno);
    ::close(std::exchange(r.log, -1));
    print(2, "warning: cannot write " + log_of(rank) + ": " + why + "; what the rank prints is shown here\n");
  }
  auto& pending = r.pending[errors];
  auto from = pending.size() - (pending.ends_with('\r') ? 1 : 0);  // no line ends before it
  pending.append(bytes);
  std::size_t begin = 0;
  for (auto end = std::string::npos; (end = end_of_line(pending, begin, from, rank > 0)) != std::string::npos;) {
    line(rank, errors, std::string_view(pending).substr(begin, end - begin));
    begin = from = end;
  }
  pending.erase(0, begin);
  // A progress bar is an unfinished line: rank 0's is shown at once, unless it may become an error line.
  auto part = std::string_view(pending).substr(0, error_mark.size());
  bool at_once = rank == 0 && !part.empty() && (!errors || part != error_mark.substr(0, part.size()));
  if (!at_once && pending.size() <= most_pending) return;
  auto shown = at_once ? pending.size() : whole_characters(pending);
  show(rank, errors, std::string_view(pending).substr(0, shown));
  pending.erase(0, shown);
}
void Outputs::line(int rank, bool errors, std::string_view text) {
  auto cleared = text.rfind(clear_line);  // end of a progress bar before an error
  auto error = text.substr(cleared == std::string_view::npos ? 0 : cleared + clear_line.size());
  if (!errors || !error.starts_with(error_mark)) return show(rank, errors, text);
  if (error.size() < text.size()) show(rank, errors, text.substr(0, text.size() - error.size()));
  keep({rank, one_line(error.substr(0, error.find('\n')))});
}
/// Of a rank's first lines and the last, which is most likely why it ends. The others are shown.
void Outputs::keep(Line error) {
  auto& kept = ranks_[static_cast<std::size_t>(error.rank)].kept;
  if (kept < most_errors) {
    ++kept;
    errors_.push_back(std::move(error));
    return;
  }
  auto last = std::find_if(errors_.rbegin(), errors_.rend(), [&](auto& e) { return e.rank == error.rank; });
  show(error.rank, true, last->text + "\n");
  *last = std::move(error);
}
void Outputs::finish(int rank) {
  for (bool errors : {false, true}) {
    auto& pending = ranks_[static_cast<std::size_t>(rank)].pending[errors];
    if (!pending.empty()) line(rank, errors, pending + "\n");
    pending.clear();
  }
}
}  // namespace bora::launch
