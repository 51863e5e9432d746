// cache_folder.h -- one folder of a cache: its files, and who may change it.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include "data/store/cache.h"

namespace bora::data {
/// The first 16 digits of a text's SHA-256.
std::string hash_of(std::string_view text);
/// "3 files, 1200 bytes".
std::string count_text(const std::vector<SourceFile>& files);

/// A folder that one process at a time may change. While it may, it shows that it lives: a process that was stopped, or
/// that is lost with its host, keeps the lock.
class Lock {
 public:
  explicit Lock(std::string folder) : folder_(std::move(folder)) {}
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  /// Whether it is ours now. IoError.
  bool take();

 private:
  void live();
  std::string folder_;
  int fd_ = -1;
  std::thread alive_ = {};
  std::mutex ending_ = {};
  std::condition_variable ended_ = {};
  bool ends_ = false;
};
/// The signs of life of the process that has a folder's lock, as another one sees them.
class Holder {
 public:
  explicit Holder(std::string folder) : folder_(std::move(folder)) {}
  /// Throws IoError that names the holder, if it has given none for a minute.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  std::string folder_, seen_ = {};
  Clock::time_point since_ = Clock::now();
};

/// A checksum for each file of a unit, or nothing.
using Sums = std::vector<std::optional<std::uint32_t>>;
/// A cache folder for what is to be made. All its functions throw IoError.
class Folder {
 public:
  Folder(const Making& making, std::string path);
  const std::string& path() const { return path_; }
  const std::vector<Unit>& units() const { return units_; }
  std::string chunk(std::size_t unit, std::size_t number) const;
  /// Whether the folder is complete, and was made from these files at these times: it can be read as it is, by whoever
  /// may. Changes nothing. One that cannot be written is complete too if the bytes are the same; IoError if it is not.
  bool is_ready() const;
  /// Whether the folder is complete and made from these files; what does not fit is removed, and said.
  bool prepare(const Crew&) const;
  /// The cursor behind the chunks of a unit that are there, and their number. Damaged chunks are made anew, and said.
  std::pair<Cursor, std::size_t> behind(std::size_t unit, const Crew&) const;
  /// Keeps the checksums of a unit's files; those that are not `known` are computed now. Nothing, if the files changed
  /// since they were listed.
  void write_sums(std::size_t unit, const Sums& known, const Crew&) const;
  void write_done(const std::vector<std::size_t>& chunks) const;
  /// Chunks of each unit of a complete folder.
  std::vector<std::size_t> chunks() const;

 private:
  std::string sums(std::size_t unit) const;
  std::string sums_text(std::size_t unit, const Sums& known = {}) const;
  bool is_complete(const Crew&) const;
  void clear() const;
  void write_plan() const;
  bool same_bytes(const std::vector<std::int64_t>& times, const Crew&) const;
  void say_changes(const Crew&) const;
  const Making& making_;
  const std::vector<SourceFile>& files_;
  std::string path_;
  std::vector<Unit> units_;
};
}  // namespace bora::data
