#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include "base/api/bytes.h"
#include "base/api/paths.h"
#include "files.h"
#include "io/api/boxes.h"
#include "io/api/jobs.h"
#include "io/api/stores.h"
#include "shard/api/agree.h"

namespace bora::io {
namespace {
constexpr std::int64_t kPieceBytes = 32 << 20;  // that one thread reads: neighbours both verify the chunk between them

bool below(const std::string& subtree, const std::string& path) {
  return subtree.empty() || path.starts_with(subtree + ".");
}

using Numbers = std::set<std::int64_t>;  // of files
/// Lists the pieces of a box, each a job; but those of files that are elsewhere. `leaf` has the box's memory.
void restore_leaf(Files& files, const std::string& folder, const StoredLeaf& stored, const Leaf& leaf,
                  const Box& wanted, const Numbers& elsewhere, std::vector<Job>& jobs) {
  std::int64_t filled = 0;
  auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
  for (auto& block : stored.blocks) {
    auto part = overlap(block.box, wanted);
    if (!part) continue;
    filled += elements(*part);
    if (elsewhere.contains(block.file)) continue;
    auto reader = files.reader(stored, block);
    for (auto& piece : pieces(*part, kPieceBytes / item))
      jobs.push_back({elements(piece) * item, [&leaf, wanted, piece, reader] {
                        BlockReader(reader).copy_part(leaf, wanted, piece);
                      }});
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

namespace {
/// The files that this rank needs and that are not in the folder; none where nobody could send them.
Numbers lacking(const std::string& folder, const Manifest& m, const std::vector<Leaf>& leaves, const Place& place) {
  Numbers needed;
  if (!place.trade) return needed;
  for (auto& leaf : leaves) {
    auto box = block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank);
    if (elements(box) == 0) continue;
    for (auto& block : m.find(leaf.path)->blocks)
      if (!needed.contains(block.file) && overlap(block.box, box)) needed.insert(block.file);
  }
  std::erase_if(needed, [&](auto number) { return is_there(rank_file(folder, number)); });
  return needed;
}
void read_boxes(Files& files, const std::string& folder, const std::vector<BoxToRead>& boxes,
                const Numbers& elsewhere) {
  std::vector<Leaf> memory;  // of the boxes
  for (auto& b : boxes) memory.push_back({b.from->path, b.from->type, {}, b.to});
  run_jobs([&](std::vector<Job>& jobs) {
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (elements(boxes[i].box) > 0)
        restore_leaf(files, folder, *boxes[i].from, memory[i], boxes[i].box, elsewhere, jobs);
  });
}
std::string text_of(const Numbers& numbers) {
  ByteWriter text;
  for (auto n : numbers) text.num(n);
  return text.take();
}
Numbers numbers_of(const std::string& text) {
  Numbers r;
  for (ByteReader rest(text); !rest.empty();) r.insert(rest.num<std::int64_t>());
  return r;
}
/// Fills what ranks lack from ranks that have it. lacks: of each rank. All ranks.
void restore_from_others(Files& files, const std::string& folder, const Manifest& m, const std::vector<Leaf>& leaves,
                         const Place& place, const std::vector<Numbers>& lacks) {
  std::map<std::int64_t, std::vector<int>> owners;
  auto have = place.exchange(text_of(files_in(folder, m)), "checkpoint: which files each rank has");
  for (int r = 0; r < std::ssize(have); ++r)
    for (auto number : numbers_of(have[static_cast<std::size_t>(r)])) owners[number].push_back(r);
  agree<CheckpointError>(place, "checkpoint: files that no rank has", [&] {
    for (auto& leaf : m.leaves)
      for (auto& block : leaf.blocks)
        if (lacks[static_cast<std::size_t>(place.rank)].contains(block.file) && !owners.contains(block.file))
          (void)files.reader(leaf, block);  // says so
  });
  Trade trade(place);
  for (auto& leaf : leaves) {
    auto& stored = *m.find(leaf.path);
    auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    auto mine = block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank);
    for (std::size_t to = 0; to < lacks.size(); ++to) {
      if (lacks[to].empty()) continue;
      auto wanted = block_of_rank(leaf.type, leaf.spec, place.mesh, static_cast<int>(to));
      if (elements(wanted) == 0) continue;
      for (auto& block : stored.blocks) {
        if (!lacks[to].contains(block.file)) continue;
        auto part = overlap(block.box, wanted);
        if (!part) continue;
        auto& by = owners.at(block.file);
        auto from = by[to % by.size()];
        for (auto& piece : pieces(*part, Trade::kPiece / item))
          trade.add(from, static_cast<int>(to), elements(piece) * item,
                    [&files, &stored, &leaf, &block, piece](char* out) {
                      files.reader(stored, block).copy_part({leaf.path, leaf.type, {}, out}, piece, piece);
                    },
                    [&leaf, mine, piece, item](const char* in) {
                      each_run(piece, mine, piece, [&](std::int64_t at, std::int64_t place_here, std::int64_t n) {
                        std::memcpy(static_cast<char*>(leaf.data) + place_here * item, in + at * item,
                                    static_cast<std::size_t>(n * item));
                      });
                    });
      }
    }
  }
  auto problem = trade.finish();
  agree<CheckpointError>(place, "checkpoint: restore from other hosts",
                         [&] { check<CheckpointError>(problem.empty(), problem); });
}
}  // namespace

void read_boxes(const std::string& folder, const std::vector<BoxToRead>& boxes) {
  Files files(folder);
  read_boxes(files, folder, boxes, {});
}
void restore_checkpoint(const std::string& folder, const std::vector<Leaf>& leaves, const Place& place,
                        const std::string& subtree) {
  Manifest m;
  std::optional<Files> files;
  auto texts = agree<CheckpointError>(place, "checkpoint: restore", [&] {
    m = read_manifest(folder);
    check_leaves(folder, m, leaves, subtree);
    files.emplace(folder, where_others_are(m));
    auto elsewhere = lacking(folder, m, leaves, place);
    std::vector<BoxToRead> boxes;
    for (auto& leaf : leaves)
      boxes.push_back({m.find(leaf.path), block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank), leaf.data});
    read_boxes(*files, folder, boxes, elsewhere);
    return text_of(elsewhere);
  });
  std::vector<Numbers> lacks;
  for (auto& text : texts) lacks.push_back(numbers_of(text));
  if (std::any_of(lacks.begin(), lacks.end(), [](auto& l) { return !l.empty(); }))
    restore_from_others(*files, folder, m, leaves, place, lacks);
}
}  // namespace bora::io
