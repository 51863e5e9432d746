// run_folder.h -- the folder of a run: locked by one run at a time, and no file of another writer in it is overwritten.
#pragma once
#include <atomic>
#include <string>

namespace bora {
/// An id of the process `number`, unique over time and machines; empty if there is no such process, or it has ended.
std::string process_id(const std::string& number = "self");
class RunFolder {
 public:
  /// Makes the folder if it is missing and locks it: the folder itself, so that removing a file cannot undo the lock;
  /// where folders have no locks (NFS) a file .lock in it. The kernel releases the lock of a process that was killed.
  /// ConfigError if the folder cannot be written or another run has it.
  /// job: the process_id of the launcher of an elastic job; a file .owner names the folder's owner. While that launcher
  /// is seen to live here, other jobs do not get the folder, also between two generations, when nobody holds the lock.
  /// takes_over: the holder is a lost rank of the same job (stopped, or behind a cut cable, but not ended). Then this
  /// waits for its lock only as long as a process takes to end.
  /// setting: that of the path, for errors.
  explicit RunFolder(const std::string& path, bool takes_over = false, const std::string& job = {},
                     const std::string& setting = "out");
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// False: it was moved or removed, and further writes into it are lost.
  bool there() const;
  /// False: other ranks of the job have taken it over, or another job, and this process must not write into it. From
  /// any thread.
  bool mine() const;
  /// The run has ended, and the folder is nobody's: .owner goes.
  void give_up();
  /// An id that no other RunFolder has.
  const std::string& id() const { return id_; }

 private:
  bool take(bool over);  // false: it was removed just now
  std::string path_, id_, job_, setting_;
  std::string owner_ = {};  // what .owner says while the folder is this one's; empty: no file
  int fd_ = -1, file_ = -1;
  mutable std::atomic<bool> locked_{false};  // mine() is asked beside the steps too
};
/// The path with the first number that makes it free: metrics.jsonl -> metrics.1.jsonl.
std::string numbered(const std::string& path);
/// Renames a file to the next free number, as metrics.jsonl -> metrics.1.jsonl. Returns the new name; empty if there is
/// no file, or only an empty one. IoError.
std::string put_aside(const std::string& path);
/// The path if it is free, else with the first number appended that makes it free.
std::string free_path(const std::string& path);
}  // namespace bora
