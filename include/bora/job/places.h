// places.h -- the files and folders that a command or a run reads and writes, compared: no output destroys an input.
//   Places().reads("--ids", ids).writes("--out", out).check();
#pragma once
#include <string>
#include <vector>
#include "bora/job/forward.h"

namespace bora::job {
/// What a command or a run reads and writes.
class Places {
 public:
  /// A file, a run, a checkpoint, or a folder with files of a model or tokenizer. `what` is its name in messages. A
  /// path may be empty, and need not exist.
  Places& reads(const std::string& what, const std::string& path);
  /// Files of data: one, those of a folder, or those of a pattern.
  Places& reads_texts(const std::string& what, const std::string& pattern);
  /// A file that is replaced.
  Places& writes(const std::string& what, const std::string& path);
  /// A folder that is made, or is empty.
  Places& writes_folder(const std::string& what, const std::string& folder);
  /// The folder of a run: its numbers, its checkpoints.
  Places& writes_run(const std::string& what, const std::string& folder);
  /// The folder of a run that is made of another folder, whose files are copied too.
  Places& writes_imported(const std::string& what, const std::string& folder);
  /// A folder of rank-0.log and its like.
  Places& writes_ranks(const std::string& what, const std::string& folder);
  /// A folder with a folder of its own for each source of data.
  Places& writes_cache(const std::string& what, const std::string& folder);
  /// All places of a run with these settings.
  Places& add(const Settings&);
  bool has_outputs() const { return !outputs_.empty(); }
  /// Throws ConfigError that names both, if an output is an input or another output, would replace or remove one, or
  /// would become text of a source. Files are compared by device and inode: a name does not matter, nor links.
  void check() const;

 private:
  struct Place {
    std::string what;
    std::vector<std::string> files = {};  // some are there already
    std::vector<std::string> trees = {};  // folders, with all that is in them
    std::string folder = {};              // must be no other place's, whatever is in it
    std::string pattern = {};             // of texts
  };
  static Place run(const std::string& what, const std::string& folder);
  static void check_outside_text(const Place& out, const Place& texts);
  std::vector<Place> inputs_ = {}, outputs_ = {};
};
}  // namespace bora::job
