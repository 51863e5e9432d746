// log.h -- a file that grows by whole records.
#pragma once
#include "base/api/file.h"

namespace bora::track {
/// Appends records to the file that was there when it began, or followed last.
class Log {
 public:
  Log(std::string path, std::string head = {})
      : path_(std::move(path)), head_(std::move(head)), file_(File::append(path_)) {
    append(head_);
  }
  /// A file that is removed or renamed meanwhile is begun anew with `head`, if its folder exists. True: that was so.
  bool follow() {
    if (file_.has(path_)) return false;
    try {
      file_ = File::append(path_);
      bool anew = file_.size() == 0;
      if (anew) append(head_);
      return anew;
    } catch (const IoError&) { return false; }  // its folder is gone as well
  }
  /// Where the disk has no room the record waits in memory, and comes before the next one.
  void write(const std::string& record) { append(record); }
  std::size_t waiting() const { return waiting_.size(); }  // bytes
  /// Writes what waits. IoError.
  void flush() {
    if (waiting_.empty()) return;
    write_whole(waiting_);
    waiting_.clear();
  }

 private:
  static constexpr std::size_t kMostWaiting = 16 << 20;
  void append(const std::string& record) {
    try {
      if (waiting_.empty()) return write_whole(record);
      write_whole(waiting_ + record);
      waiting_.clear();
    } catch (const NoRoom&) {
      if (waiting_.size() + record.size() > kMostWaiting) throw;
      waiting_ += record;
    }
  }
  void write_whole(const std::string& records) {
    auto before = file_.size();
    try {
      file_.write(records.data(), static_cast<std::int64_t>(records.size()));
    } catch (const IoError&) {  // a part of a record would spoil the next one
      file_.cut(before);
      throw;
    }
  }
  std::string path_, head_, waiting_ = {};
  File file_;
};
}  // namespace bora::track
