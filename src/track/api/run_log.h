// run_log.h -- OUT/run.log: every line that a run prints, with its time.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace bora {
class File;
}
namespace bora::track {
/// Lines "2026-11-30T20:53:01Z text" at the end of the file, from any thread. A file that would grow beyond `most`
/// bytes gets the name run.log.1, in place of the one that has it. A line that cannot be written is left out; stderr
/// says so at the first one.
class RunLog {
 public:
  static constexpr std::string_view file = "run.log", older = "run.log.1";
  explicit RunLog(std::int64_t most = std::int64_t{64} << 20) : most_(most) {}
  /// Lines go into this folder from now on; those that came before the first folder, too.
  void open(const std::string& folder);
  void line(const std::string& text);

 private:
  void write(const std::string& bytes);
  std::mutex mutex_ = {};
  std::int64_t most_;
  std::string folder_ = {};
  std::string early_ = {};  // lines before there is a folder
  std::shared_ptr<File> out_ = {};
  bool failed_ = false;
};
}  // namespace bora::track
