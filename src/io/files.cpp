#include "files.h"
#include <sys/stat.h>
#include <algorithm>
#include "bora/base/text.h"
#include "io/api/jobs.h"
#include "io/api/stores.h"

namespace bora::io {
namespace {
constexpr std::int64_t kVerifiedBytes = 32 << 20;  // that one thread reads
}
BlockReader Files::reader(const StoredLeaf& leaf, const StoredBlock& block) {
  auto name = "rank-" + std::to_string(block.file);
  auto text = "checkpoint " + folder_ + ": leaf '" + leaf.path + "': file " + name;
  auto it = open_.find(block.file);
  try {
    if (it == open_.end()) it = open_.emplace(block.file, File::open(folder_ + "/" + name)).first;
  } catch (const IoError& e) {
    fail<CheckpointError>("checkpoint ", folder_, ": leaf '", leaf.path, "': ", e.text(), others_);
  }
  auto end = block.offset + block.bytes, size = it->second.size();
  check<CheckpointError>(size >= end, text, " is truncated: it has ", size, " bytes, this block needs ", end);
  ends_[block.file] = std::max(ends_[block.file], end);
  return {block, text, [&file = it->second, text, first = block.offset, buffer = std::vector<char>()](
                           std::int64_t begin, std::int64_t n) mutable -> const char* {
            buffer.resize(static_cast<std::size_t>(n));
            check<CheckpointError>(file.read(first + begin, buffer.data(), n), text,
                                   " became shorter while it was read");
            return buffer.data();
          }};
}
void Files::check_sizes() const {
  for (auto& [number, file] : open_)
    check<CheckpointError>(file.size() == ends_.at(number), "checkpoint ", folder_, ": file rank-", number, " has ",
                           file.size(), " bytes, the manifest lists ", ends_.at(number));
}

std::map<std::int64_t, std::int64_t> file_sizes(const Manifest& m) {
  std::map<std::int64_t, std::int64_t> sizes;
  for (auto& leaf : m.leaves)
    for (auto& block : leaf.blocks) sizes[block.file] += block.bytes;
  return sizes;
}
std::set<std::int64_t> files_in(const std::string& folder, const Manifest& m) {
  std::set<std::int64_t> found;
  for (auto& [number, bytes] : file_sizes(m)) {
    struct ::stat s {};
    if (::stat(rank_file(folder, number).c_str(), &s) == 0 && S_ISREG(s.st_mode) && s.st_size == bytes)
      found.insert(number);
  }
  return found;
}
std::int64_t verify_files(const std::string& folder, const Manifest& m, const std::set<std::int64_t>& wanted) {
  Files files(folder, where_others_are(m));
  std::int64_t bytes = 0;
  run_jobs([&](std::vector<Job>& jobs) {
    for (auto& leaf : m.leaves)
      for (auto& block : leaf.blocks) {
        if (!wanted.contains(block.file)) continue;
        auto reader = files.reader(leaf, block);
        for (std::int64_t begin = 0; begin < block.bytes; begin += kVerifiedBytes) {
          auto end = std::min(begin + kVerifiedBytes, block.bytes);
          jobs.push_back({end - begin, [=] { BlockReader(reader).verify(begin, end); }});
        }
        bytes += block.bytes;
      }
  });
  files.check_sizes();
  return bytes;
}
std::int64_t verify_checkpoint(const std::string& folder) {
  auto m = read_manifest(folder);
  std::set<std::int64_t> all;
  for (auto& [number, bytes] : file_sizes(m)) all.insert(number);
  return verify_files(folder, m, all);
}
std::string where_others_are(const Manifest& m) {
  auto kept = m.notes.find(std::string(kLocalNote));
  if (kept == m.notes.end()) return {};
  return "; each host keeps a part of this checkpoint on its own disk: " + one_line(kept->second) +
         "; `bora launch .. checkpoints RUN gather --to DIR` makes one folder of them";
}
}  // namespace bora::io
