// log.h -- a file that grows by whole records.
#pragma once
#include <filesystem>
#include "bora/base/file.h"

namespace bora::track {
/// Appends records. A file that is removed meanwhile is begun anew with `head`, if its folder exists.
class Log {
 public:
  Log(std::string path, std::string head = {})
      : path_(std::move(path)), head_(std::move(head)), file_(File::append(path_)) {
    append(head_);
  }
  void write(const std::string& record) {
    if (file_.removed()) try {
        file_ = File::append(path_);
        append(head_);
      } catch (const IoError&) {}  // its folder is gone as well
    append(record);
  }

 private:
  void append(const std::string& record) {
    auto before = file_.size();
    try {
      file_.write(record.data(), static_cast<std::int64_t>(record.size()));
    } catch (const IoError&) {  // a part of a record would spoil the next one
      std::error_code ignored;
      std::filesystem::resize_file(path_, static_cast<std::uintmax_t>(before), ignored);
      throw;
    }
  }
  std::string path_, head_;
  File file_;
};
}  // namespace bora::track
