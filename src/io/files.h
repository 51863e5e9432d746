// files.h -- the files of blocks of one checkpoint in a folder, which may have some of them only.
#pragma once
#include <map>
#include <set>
#include <string>
#include "base/api/file.h"
#include "blocks.h"

namespace bora::io {
inline std::string rank_file(const std::string& folder, std::int64_t rank) {
  return folder + "/rank-" + std::to_string(rank);
}
/// Files of a checkpoint, opened when first needed. CheckpointError.
class Files {
 public:
  /// others: where_others_are, for errors.
  explicit Files(std::string folder, std::string others = {})
      : folder_(std::move(folder)), others_(std::move(others)) {}
  BlockReader reader(const StoredLeaf&, const StoredBlock&);
  /// Call after all blocks were read: checks that the files hold nothing else.
  void check_sizes() const;

 private:
  std::string folder_, others_;
  std::map<std::int64_t, File> open_ = {};
  std::map<std::int64_t, std::int64_t> ends_ = {};
};
/// The bytes of each file of blocks.
std::map<std::int64_t, std::int64_t> file_sizes(const Manifest&);
/// The files of this length in the folder.
std::set<std::int64_t> files_in(const std::string& folder, const Manifest&);
/// Reads these files and compares every checksum. Throws CheckpointError. Returns the bytes read.
std::int64_t verify_files(const std::string& folder, const Manifest&, const std::set<std::int64_t>& files);
/// Where the files are of which a folder has some only, as its manifest says: "; ..". Empty: it should have all.
std::string where_others_are(const Manifest&);
}  // namespace bora::io
