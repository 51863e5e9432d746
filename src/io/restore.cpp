#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include "bora/base/crc32c.h"
#include "bora/base/file.h"
#include "blocks.h"
#include "manifest.h"

namespace bora::io {
namespace {
bool below(const std::string& subtree, const std::string& path) {
  return subtree.empty() || path.starts_with(subtree + ".");
}

/// Bytes of one stored block, verified chunk by chunk; reading forwards loads each chunk once.
class BlockReader {
 public:
  BlockReader(const File& file, const StoredBlock& block, std::string name)
      : file_(file), block_(block), name_(std::move(name)) {}
  void read(std::int64_t at, std::int64_t n, char* out) {
    while (n > 0) {
      load(at / kChunk);
      auto inside = at % kChunk, take = std::min(n, kChunk - inside);
      std::memcpy(out, buffer_.data() + inside, static_cast<std::size_t>(take));
      at += take;
      out += take;
      n -= take;
    }
  }
  void load(std::int64_t chunk) {
    if (chunk == loaded_) return;
    auto begin = chunk * kChunk, n = std::min(kChunk, block_.bytes - begin);
    buffer_.resize(static_cast<std::size_t>(n));
    check<CheckpointError>(file_.read(block_.offset + begin, buffer_.data(), n), name_,
                           " became shorter while it was read");
    check<CheckpointError>(crc32c(buffer_.data(), buffer_.size()) == block_.crc.at(static_cast<std::size_t>(chunk)),
                           name_, " is damaged: ", n, " bytes from ", block_.offset + begin,
                           " do not match their checksum");
    loaded_ = chunk;
  }

 private:
  const File& file_;
  const StoredBlock& block_;
  std::string name_;
  std::vector<char> buffer_ = {};
  std::int64_t loaded_ = -1;
};

/// Files of a checkpoint, opened when first needed.
class Files {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {}
  BlockReader reader(const StoredLeaf& leaf, const StoredBlock& block) {
    auto name = "rank-" + std::to_string(block.file);
    auto text = "checkpoint " + folder_ + ": leaf '" + leaf.path + "': file " + name;
    auto it = open_.find(block.file);
    try {
      if (it == open_.end()) it = open_.emplace(block.file, File::open(folder_ + "/" + name)).first;
    } catch (const IoError& e) {
      fail<CheckpointError>("checkpoint ", folder_, ": leaf '", leaf.path, "': ", e.text());
    }
    auto end = block.offset + block.bytes, size = it->second.size();
    check<CheckpointError>(size >= end, text, " is truncated: it has ", size, " bytes, this block needs ", end);
    ends_[block.file] = std::max(ends_[block.file], end);
    return {it->second, block, text};
  }
  /// Call after all blocks were read: checks that the files hold nothing else.
  void check_sizes() const {
    for (auto& [number, file] : open_)
      check<CheckpointError>(file.size() == ends_.at(number), "checkpoint ", folder_, ": file rank-", number, " has ",
                             file.size(), " bytes, the manifest lists ", ends_.at(number));
  }

 private:
  std::string folder_;
  std::map<std::int64_t, File> open_ = {};
  std::map<std::int64_t, std::int64_t> ends_ = {};
};

void restore_leaf(Files& files, const std::string& folder, const StoredLeaf& stored, const Leaf& leaf,
                  const Box& wanted) {
  std::int64_t filled = 0;
  for (auto& block : stored.blocks) {
    auto part = overlap(block.box, wanted);
    if (!part) continue;
    auto reader = files.reader(stored, block);
    auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    each_run(block.box, wanted, *part, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
      reader.read(from * item, n * item, static_cast<char*>(leaf.data) + to * item);
    });
    filled += elements(*part);
  }
  check<CheckpointError>(filled == elements(wanted), "checkpoint ", folder, ": leaf '", leaf.path,
                         "': the manifest lists ", filled, " of ", elements(wanted), " elements that this rank needs");
}

/// A wanted path is never renamed: its leaf is of today.
void give_names(Manifest& m, const std::vector<Leaf>& wanted, const Rename& rename) {
  std::set<std::string_view> today;
  for (auto& leaf : wanted) today.insert(leaf.path);
  std::vector<std::string> stored;
  for (auto& leaf : m.leaves) stored.push_back(leaf.path);
  auto names = rename(stored);
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (!today.contains(stored[i])) m.leaves[i].path = names.at(i);
}
}  // namespace

void check_leaves(const std::string& folder, const Manifest& m, const std::vector<Leaf>& wanted,
                  const std::string& subtree) {
  auto differs = [&](const std::string& path, auto&... words) {
    // As every training state has it, and that of replicas.
    bool state = path.starts_with("optimizer.") || path.starts_with("replicas.optimizer.");
    bool outer = path.starts_with("outer.");
    fail<CheckpointError>("checkpoint ", folder, " is of ", outer ? "other meetings of replicas: "
                          : state ? "another optimizer: " : "another model: ", words...,
                          outer ? "; keep its settings of local, or begin another run"
                          : state ? "; keep its settings of optimizer, freeze and loss_scale, or begin another run"
                          : "");
  };
  for (auto& leaf : wanted) {
    auto stored = m.find(leaf.path);
    if (!stored) differs(leaf.path, "it has no leaf '", leaf.path, "' (", leaf.type, " is wanted)");
    else if (stored->type != leaf.type)
      differs(leaf.path, "leaf '", leaf.path, "' is ", stored->type, " there, ", leaf.type, " is wanted");
  }
  for (auto& stored : m.leaves)
    if (below(subtree, stored.path) &&
        std::none_of(wanted.begin(), wanted.end(), [&](auto& l) { return l.path == stored.path; }))
      differs(stored.path, "it has a leaf '", stored.path, "' (", stored.type, ") that is not wanted");
}

void restore_checkpoint(const std::string& folder, const std::vector<Leaf>& leaves, const Place& place,
                        const std::string& subtree, const Rename& rename) {
  std::string problem;
  try {
    auto m = read_manifest(folder);
    if (rename) give_names(m, leaves, rename);
    check_leaves(folder, m, leaves, subtree);
    Files files(folder);
    for (auto& leaf : leaves) {
      auto box = block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank);
      if (elements(box) > 0) restore_leaf(files, folder, *m.find(leaf.path), leaf, box);
    }
  } catch (const Error& e) { problem = e.text(); }
  agree<CheckpointError>(place, problem, "checkpoint: restore");
}

std::int64_t verify_checkpoint(const std::string& folder) {
  auto m = read_manifest(folder);
  Files files(folder);
  std::int64_t bytes = 0;
  for (auto& leaf : m.leaves)
    for (auto& block : leaf.blocks) {
      auto reader = files.reader(leaf, block);
      for (std::int64_t chunk = 0; chunk * kChunk < block.bytes; ++chunk) reader.load(chunk);
      bytes += block.bytes;
    }
  files.check_sizes();
  return bytes;
}
}  // namespace bora::io
