// run_folder.h -- the folder of a run: in the hands of one run at a time, and nothing in it that somebody else wrote is
// overwritten.
#pragma once
#include <string>
#include <vector>
#include "bora/train/settings.h"

namespace bora {
class RunFolder {
 public:
  /// Makes the folder if it is missing and locks it: the folder itself, which no removal of a file undoes; where
  /// folders have no locks (NFS) a file .lock in it. The kernel releases the lock of a process that was killed.
  /// ConfigError if the folder cannot be written, another run has it, or check_run_folder finds something.
  explicit RunFolder(const std::string& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// False: it was moved or removed, and what is written into it is lost.
  bool there() const;

 private:
  bool take();  // false: it was removed just now
  std::string path_;
  int fd_ = -1, file_ = -1;
};
/// Throws ConfigError if there is a config.yaml that Bora did not write: one without the first line that it writes,
/// which is also no dump of all settings, as earlier versions wrote it.
void check_run_folder(const std::string& path);
/// Writes PATH/config.yaml. If another one was there it stays as config.<n>.yaml. Returns what is to be said: a line
/// for each setting that has changed, and where the old ones are. Rank 0 calls it. IoError.
std::vector<std::string> write_config(const std::string& path, const Settings&);
/// Gives what is at a path the next free number, as metrics.jsonl -> metrics.1.jsonl. Returns the new name; empty if
/// nothing, or only an empty file, is there. IoError.
std::string put_aside(const std::string& path);
/// The path, or with the first number at its end that makes it a name of nothing.
std::string free_path(const std::string& path);
}  // namespace bora
