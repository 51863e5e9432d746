// power_loss.h -- the states in which a disk may be found after a loss of power, by the calls of a program: what was
// synced is there, and of the rest any part. A name in a folder is there once the folder was synced, the bytes of a
// file once the file was; renaming is one step.
#pragma once
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>
#include "file_calls.h"

namespace bora::faults {
/// Of bytes that were not synced.
enum class Bytes : std::uint8_t { all, none, half, zeros };
inline constexpr Bytes kBytes[] = {Bytes::all, Bytes::none, Bytes::half, Bytes::zeros};
class Disk {
 public:
  /// A disk with this folder, empty or filled by what is there now.
  explicit Disk(const std::string& folder);
  void apply(const FileCall&);
  /// Changes of names that were not synced.
  std::size_t pending() const { return names_.size(); }
  /// Files by their paths below the folder; a folder ends with a slash. chosen[i]: whether change i has come about.
  std::map<std::string, std::string> state(const std::vector<bool>& chosen, Bytes) const;

 private:
  struct Edit {
    int folder;
    std::string name;
    int node;  // -1: none has the name any more
  };
  struct Change {
    std::vector<Edit> edits;
    std::vector<int> unsynced;  // folders
  };
  struct Write {
    std::int64_t offset;  // of resize: the size
    std::string bytes;
    bool resizes = false, grows = false;
  };
  struct Node {
    bool folder = false;
    std::map<std::string, int> names = {}, durable = {};
    std::string bytes = {};             // that are synced
    std::vector<Write> writes = {};     // that are not
  };
  int find(const std::string& path) const;
  std::pair<int, std::string> place(const std::string& path) const;
  void change(const std::vector<Edit>&);
  int fill(const std::string& path);
  static void write(std::string& bytes, const Write&);
  std::string top_;
  std::vector<Node> nodes_ = {};
  std::vector<Change> names_ = {};
};
/// All subsets of n changes if there are at most `most`; else some: beginnings, all but one, one alone, random ones.
std::vector<std::vector<bool>> subsets(std::size_t n, std::size_t most, std::mt19937&);
}  // namespace bora::faults
