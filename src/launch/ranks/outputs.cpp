#include "outputs.h"
#include <fcntl.h>
#include <unistd.h>
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
  else if (ranks_[static_cast<std::size_t>(rank)].log < 0)
    print(errors ? 2 : 1, "[rank " + std::to_string(rank) + "] " + std::string(text));
}
void Outputs::printed(int rank, bool errors, std::string_view bytes) {
  auto& r = ranks_[static_cast<std::size_t>(rank)];
  if (r.log >= 0 && !write_all(r.log, bytes)) {
    std::string why = std::strerror(errno);
    ::close(std::exchange(r.log, -1));
    print(2, "warning: cannot write " + log_of(rank) + ": " + why + "; what the rank prints is shown here\n");
  }
  r.pending[errors].append(bytes);
  split(rank, errors);
}
void Outputs::split(int rank, bool errors) {
  auto& pending = ranks_[static_cast<std::size_t>(rank)].pending[errors];
  std::size_t begin = 0;
  for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
    line(rank, errors, std::string_view(pending).substr(begin, end + 1 - begin));
    begin = end + 1;
  }
  pending.erase(0, begin);
  // A progress bar is an unfinished line: rank 0's is shown at once, unless it may become an error line.
  auto part = std::string_view(pending).substr(0, error_mark.size());
  if (rank == 0 && !part.empty() && (!errors || part != error_mark.substr(0, part.size()))) {
    show(rank, errors, pending);
    pending.clear();
  }
}
void Outputs::line(int rank, bool errors, std::string_view text) {
  auto cleared = text.rfind(clear_line);  // end of a progress bar before an error
  auto error = text.substr(cleared == std::string_view::npos ? 0 : cleared + clear_line.size());
  if (!errors || !error.starts_with(error_mark)) return show(rank, errors, text);
  if (error.size() < text.size()) show(rank, errors, text.substr(0, text.size() - error.size()));
  errors_.push_back({rank, one_line(error.substr(0, error.find('\n')))});
}
void Outputs::finish(int rank) {
  for (bool errors : {false, true}) {
    auto& pending = ranks_[static_cast<std::size_t>(rank)].pending[errors];
    if (!pending.empty()) line(rank, errors, pending + "\n");
    pending.clear();
  }
}
}  // namespace bora::launch
