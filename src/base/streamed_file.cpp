#include "base/api/streamed_file.h"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include "base/api/paths.h"

namespace bora {
namespace {
constexpr std::int64_t kPage = 4096;
bool out_of_space(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }
}  // namespace
StreamedFile::StreamedFile(const std::string& path, std::int64_t bytes)
    : path_(path), file_(File::create(path)), piece_(nullptr, &std::free) {
  size_ = std::clamp((bytes + kPage - 1) / kPage * kPage, kPage, kPiece);
  piece_.reset(static_cast<char*>(std::aligned_alloc(kPage, static_cast<std::size_t>(size_))));
  check<IoError>(piece_ != nullptr, "cannot write ", path, ": no memory for ", size_, " bytes");
  if (bytes < kPiece) return;
  direct_ = open_retried(path.c_str(), O_WRONLY | O_DIRECT);  // not every file system has it
  // Advice on most file systems, an answer on some: only "there is no space" is taken from it.
  if (direct_ >= 0 && ::fallocate(direct_, 0, 0, static_cast<off_t>(bytes)) != 0 && out_of_space(errno)) {
    auto reason = errno;
    ::close(direct_);
    direct_ = -1;
    errno = reason;
    failed();
  }
}
StreamedFile::~StreamedFile() {
  if (direct_ >= 0) ::close(direct_);
}
void StreamedFile::failed() const { fail<IoError>("cannot write ", path_, ": ", std::strerror(errno)); }
void StreamedFile::append(const char* data, std::int64_t n) {
  while (n > 0) {
    auto some = std::min(n, size_ - filled_);
    std::memcpy(piece_.get() + filled_, data, static_cast<std::size_t>(some));
    filled_ += some, data += some, n -= some;
    if (filled_ == size_) flush();
  }
}
std::int64_t StreamedFile::write_direct(std::int64_t n) {
  std::int64_t done = 0;
  while (direct_ >= 0 && n - done >= kPage) {
    auto whole = (n - done) / kPage * kPage;
    auto written = ::pwrite(direct_, piece_.get() + done, static_cast<std::size_t>(whole), at_ + done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EINVAL && errno != EOPNOTSUPP) failed();
    auto pages = written < 0 ? 0 : written / kPage * kPage;
    done += pages;
    if (pages > 0) continue;
    ::close(direct_);  // it has O_DIRECT and does not take this
    direct_ = -1;
  }
  return done;
}
void StreamedFile::write_back() {
  constexpr unsigned whole = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  auto ask = [&](std::int64_t from, std::int64_t to, unsigned what) {
    if (to > from && ::sync_file_range(file_.descriptor(), from, to - from, what) != 0 &&
        (errno == EIO || out_of_space(errno)))
      failed();  // a later sync would not tell of it again
  };
  ask(at_, at_ + filled_, SYNC_FILE_RANGE_WRITE);
  ask(from_, to_, whole);
  if (to_ > from_) (void)::posix_fadvise(file_.descriptor(), from_, to_ - from_, POSIX_FADV_DONTNEED);
  from_ = at_, to_ = at_ + filled_;
}
void StreamedFile::flush() {
  auto done = write_direct(filled_);
  if (done < filled_) {
    file_.write_at(at_ + done, piece_.get() + done, filled_ - done);
    if (size_ == kPiece) write_back();
  }
  at_ += filled_;
  filled_ = 0;
}
void StreamedFile::finish() {
  flush();
  if (direct_ >= 0) ::close(std::exchange(direct_, -1));
  file_.sync();
  if (at_ >= kPiece) file_.drop_pages();
  file_.close();
}
}  // namespace bora
