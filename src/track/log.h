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
  /// A file that is removed meanwhile is begun anew with `head`, if its folder exists.
  void follow() {
    if (file_.removed()) try {
        file_ = File::append(path_);
        if (file_.size() == 0) append(head_);
      } catch (const IoError&) {}  // its folder is gone as well
  }
  void write(const std::string& record) { append(record); }

 private:
  void append(const std::string& record) {
    auto before = file_.size();
    try {
      file_.write(record.data(), static_cast<std::int64_t>(record.size()));
    } catch (const IoError&) {  // a part of a record would spoil the next one
      file_.cut(before);
      throw;
    }
  }
  std::string path_, head_;
  File file_;
};
}  // namespace bora::track
