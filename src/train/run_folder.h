// run_folder.h -- the folder of a run, in the hands of one run at a time.
#pragma once
#include <string>

namespace bora {
class RunFolder {
 public:
  /// Makes the folder if it is missing and takes its lock, a file that goes away with this. The kernel releases the
  /// lock of a process that was killed. ConfigError if the folder cannot be written, or another run has it.
  explicit RunFolder(const std::string& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

 private:
  bool take();  // false: a run that ended just now removed the file
  std::string path_, lock_;
  int fd_ = -1;
};
}  // namespace bora
