#include <algorithm>
#include <map>
#include <optional>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "blocks.h"
#include "io/api/jobs.h"
#include "manifest.h"
#include "shard/api/agree.h"

namespace bora::io {
namespace {
constexpr std::int64_t kPieceBytes = 32 << 20;  // that one thread reads: neighbours both verify the chunk between them

bool below(const std::string& subtree, const std::string& path) {
  return subtree.empty() || path.starts_with(subtree + ".");
}

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
    return {block, text, [&file = it->second, text, first = block.offset, buffer = std::vector<char>()](
                             std::int64_t begin, std::int64_t n) mutable -> const char* {
              buffer.resize(static_cast<std::size_t>(n));
              check<CheckpointError>(file.read(first + begin, buffer.data(), n), text,
                                     " became shorter while it was read");
              return buffer.data();
            }};
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

/// Lists the pieces of a leaf, each a job.
void restore_leaf(Files& files, const std::string& folder, const StoredLeaf& stored, const Leaf& leaf,
                  const Box& wanted, std::vector<Job>& jobs) {
  std::int64_t filled = 0;
  auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
  for (auto& block : stored.blocks) {
    auto part = overlap(block.box, wanted);
    if (!part) continue;
    auto reader = files.reader(stored, block);
    for (auto& piece : pieces(*part, kPieceBytes / item))
      jobs.push_back({elements(piece) * item, [&leaf, wanted, piece, reader] {
                        BlockReader(reader).copy_part(leaf, wanted, piece);
                      }});
    filled += elements(*part);
  }
  check<CheckpointError>(filled == elements(wanted), "checkpoint ", folder, ": leaf '", leaf.path,
                         "': the manifest lists ", filled, " of ", elements(wanted), " elements that this rank needs");
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
                        const std::string& subtree) {
  agree<CheckpointError>(place, "checkpoint: restore", [&] {
    auto m = read_manifest(folder);
    check_leaves(folder, m, leaves, subtree);
    Files files(folder);
    run_jobs([&](std::vector<Job>& jobs) {
      for (auto& leaf : leaves) {
        auto box = block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank);
        if (elements(box) > 0) restore_leaf(files, folder, *m.find(leaf.path), leaf, box, jobs);
      }
    });
  });
}

std::int64_t verify_checkpoint(const std::string& folder) {
  auto m = read_manifest(folder);
  Files files(folder);
  std::int64_t bytes = 0;
  run_jobs([&](std::vector<Job>& jobs) {
    for (auto& leaf : m.leaves)
      for (auto& block : leaf.blocks) {
        auto reader = files.reader(leaf, block);
        for (std::int64_t begin = 0; begin < block.bytes; begin += kPieceBytes) {
          auto end = std::min(begin + kPieceBytes, block.bytes);
          jobs.push_back({end - begin, [=] { BlockReader(reader).verify(begin, end); }});
        }
        bytes += block.bytes;
      }
  });
  files.check_sizes();
  return bytes;
}
}  // namespace bora::io
