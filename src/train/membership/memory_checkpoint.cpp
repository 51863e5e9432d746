#include "train/api/memory_checkpoint.h"
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>
#include "base/api/bytes.h"
#include "bora/io/tree.h"
#include "bora/shard/mesh.h"
#include "bora/train/loop.h"
#include "bora/transport/transport.h"
#include "io/api/parts.h"
#include "shard/api/agree.h"
#include "train/api/resume.h"
#include "train/api/stores.h"
#include "bora/ops/indexing.h"

namespace bora::training {
namespace {
transport::Group everyone(const Mesh& mesh) {
  std::vector<int> all(static_cast<std::size_t>(mesh.size()));
  std::iota(all.begin(), all.end(), 0);
  return {all, "snapshot"};
}
/// The parts of which this rank holds the copies: of what it has itself, too, as where nothing is split, it makes them;
/// the others are sent. Of a rank alone: its own part.
std::map<int, std::string> copies(const Mesh& mesh, const std::string& mine, const std::vector<io::Leaf>& leaves,
                                  const std::vector<int>& holders, const std::vector<std::int64_t>& sizes) {
  auto n = static_cast<std::size_t>(mesh.size()), me = static_cast<std::size_t>(mesh.rank());
  std::map<int, std::string> parts;
  CollectiveCall call{.kind = CollectiveKind::all_to_all, .dtype = Dtype::u8};
  call.send_counts.assign(n, 0);
  call.recv_counts.assign(n, 0);
  bool any = false;  // is sent, by whomever
  for (std::size_t r = 0; r < n; ++r) {
    auto holder = static_cast<std::size_t>(holders[r]);
    bool has = io::has_part_of(leaves, mesh.shape(), holders[r], static_cast<int>(r));
    any = any || !has;
    if (holder == me && has)
      parts[static_cast<int>(r)] = io::pack_part(leaves, {mesh.shape(), static_cast<int>(r)});
    if (holder == me && !has) call.recv_counts[r] = sizes[r];
    if (r == me && !has) call.send_counts[holder] = sizes[me];
  }
  if (!any) return parts;
  std::string received(static_cast<std::size_t>(std::reduce(call.recv_counts.begin(), call.recv_counts.end())), '\0');
  call.in = mine.data();
  call.out = received.data();
  mesh.context().run(everyone(mesh), call);
  std::size_t at = 0;
  for (std::size_t r = 0; r < n; ++r) {
    auto size = static_cast<std::size_t>(call.recv_counts[r]);
    if (size == received.size() && size > 0) parts[static_cast<int>(r)] = std::move(received);  // the only one: no copy
    else if (size > 0) parts[static_cast<int>(r)] = received.substr(at, size);
    at += size;
  }
  return parts;
}
bool holds(const MemoryCheckpoint::Found& found, std::size_t part, int rank) {
  auto& by = found.holders[part];
  return std::find(by.begin(), by.end(), rank) != by.end();
}
/// How many bytes each rank needs of each part, and does not hold: [part][rank]. All ranks; their owners know.
std::vector<std::vector<std::int64_t>> needs_of(const Mesh& mesh, const std::map<int, std::string>* parts,
                                                const MemoryCheckpoint::Found& found,
                                                const std::vector<io::Leaf>& leaves) {
  std::vector<std::vector<std::int64_t>> needs(found.owners.size());
  auto texts = agree<CheckpointError>(mesh, "snapshot: what each rank needs", [&] {
    ByteWriter mine;
    for (std::size_t r = 0; r < needs.size(); ++r)
      for (int to = 0; found.owners[r] == mesh.rank() && to < mesh.size(); ++to)
        mine.num(holds(found, r, to) ? 0
                                     : io::PartCut(parts->at(static_cast<int>(r)), leaves, mesh.shape(), to).size());
    return mine.take();
  });
  std::vector<ByteReader> fields;
  for (auto& text : texts) fields.emplace_back(text);
  for (std::size_t r = 0; r < needs.size(); ++r)
    for (int to = 0; to < mesh.size(); ++to)
      needs[r].push_back(fields[static_cast<std::size_t>(found.owners[r])].num<std::int64_t>());
  return needs;
}
/// Whether so many ranks need so much of a part that one broadcast of it to all is better than a cut for each.
bool most_need(const std::vector<std::int64_t>& needs, std::int64_t size) {
  auto others = static_cast<std::int64_t>(needs.size() - 1);
  return 2 * std::reduce(needs.begin(), needs.end()) > std::max<std::int64_t>(3, others) * size;
}
/// Reads what this rank needs of these parts, all at once: each rank sends and receives at the same time.
void read_cuts(const Mesh& mesh, const std::map<int, std::string>* parts, const MemoryCheckpoint::Found& found,
               const std::vector<io::Leaf>& leaves, const std::vector<std::vector<std::int64_t>>& needs,
               const std::vector<bool>& of, const std::function<void(std::string_view)>& read) {
  auto n = static_cast<std::size_t>(mesh.size()), me = static_cast<std::size_t>(mesh.rank());
  CollectiveCall call{.kind = CollectiveKind::all_to_all, .dtype = Dtype::u8};
  call.send_counts.assign(n, 0);
  call.recv_counts.assign(n, 0);
  std::string sent;
  std::int64_t to_send = 0;
  for (std::size_t r = 0; r < of.size(); ++r)
    if (of[r] && found.owners[r] == mesh.rank()) to_send += std::reduce(needs[r].begin(), needs[r].end());
  sent.reserve(static_cast<std::size_t>(to_send));
  std::vector<std::vector<std::int64_t>> received(n);  // of each rank, part by part
  bool any = false;
  for (std::size_t to = 0; to < n; ++to)
    for (std::size_t r = 0; r < of.size(); ++r) {
      auto size = of[r] ? needs[r][to] : 0;
      auto owner = static_cast<std::size_t>(found.owners[r]);
      any = any || size > 0;
      if (size == 0) continue;
      if (owner == me) {
        call.send_counts[to] += size;
        sent += io::PartCut(parts->at(static_cast<int>(r)), leaves, mesh.shape(), static_cast<int>(to)).bytes();
      }
      if (to == me) call.recv_counts[owner] += size, received[owner].push_back(size);
    }
  if (!any) return;
  std::string all(static_cast<std::size_t>(std::reduce(call.recv_counts.begin(), call.recv_counts.end())), '\0');
  call.in = sent.data();
  call.out = all.data();
  mesh.context().run(everyone(mesh), call);
  std::size_t at = 0;
  for (auto& from : received)
    for (auto size : from) {
      read(std::string_view(all).substr(at, static_cast<std::size_t>(size)));
      at += static_cast<std::size_t>(size);
    }
}
}  // namespace

std::vector<int> holders_of_copies(const std::vector<std::string>& host_of_rank) {
  std::vector<std::pair<std::string, std::vector<int>>> hosts;  // in the order of their first ranks
  for (std::size_t r = 0; r < host_of_rank.size(); ++r) {
    auto host = std::find_if(hosts.begin(), hosts.end(), [&](auto& h) { return h.first == host_of_rank[r]; });
    if (host == hosts.end()) host = hosts.insert(hosts.end(), {host_of_rank[r], {}});
    host->second.push_back(static_cast<int>(r));
  }
  std::vector<int> holders(host_of_rank.size());
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    auto& mine = hosts[h].second;
    auto& next = hosts[(h + 1) % hosts.size()].second;
    auto shift = hosts.size() == 1 ? std::size_t{1} : std::size_t{0};
    for (std::size_t i = 0; i < mine.size(); ++i)
      holders[static_cast<std::size_t>(mine[i])] = next[(i + shift) % next.size()];
  }
  return holders;
}
std::int64_t snapshot_bytes(const std::vector<io::Leaf>& state, const MeshShape& mesh, int ranks_per_host, int rank,
                            bool next) {
  auto n = mesh.size();
  auto shift = ranks_per_host == 0 || ranks_per_host == n ? 1 : ranks_per_host;  // as holders_of_copies deals them out
  auto mine = io::part_bytes(state, mesh, rank), copy = io::part_bytes(state, mesh, (rank + n - shift) % n);
  auto kept = n > 1 ? mine + copy : mine;
  return next ? kept + mine + copy : kept;
}

void MemoryCheckpoint::take(const Mesh& mesh, std::int64_t step, tree::Node state, const std::string& note) {
  Held now{.step = step, .groups = groups_of_residuals(state), .ranks = mesh.size(), .note = note};
  Arrays keep;
  auto leaves = io::leaves_of(state, "", keep);
  auto mine = io::pack_part(leaves, place_of(mesh));
  static std::atomic<int> taken{0};
  auto said = ByteWriter()
                  .text(std::to_string(::getpid()) + "@" + host_name() + " " + std::to_string(++taken))
                  .text(host_name())
                  .num(static_cast<std::int64_t>(mine.size()))
                  .take();
  std::vector<std::string> hosts;
  std::vector<std::int64_t> sizes;
  for (auto& text : mesh.exchange(said, "snapshot: its parts")) {
    ByteReader fields(text);
    auto id = fields.text();
    if (now.id.empty()) now.id = id;  // rank 0's
    hosts.push_back(fields.text());
    sizes.push_back(fields.num<std::int64_t>());
  }
  now.parts = copies(mesh, mine, leaves, holders_of_copies(hosts), sizes);
  now.parts[mesh.rank()] = std::move(mine);
  held_.push_back(std::move(now));
  // From here on each rank has both; who learns that all have forgets the one before.
  mesh.exchange({}, "snapshot: complete");
  held_.erase(held_.begin(), held_.end() - 1);
}

std::int64_t MemoryCheckpoint::bytes() const {
  std::int64_t n = 0;
  for (auto& h : held_)
    for (auto& [rank, part] : h.parts) n += static_cast<std::int64_t>(part.size());
  return n;
}
const MemoryCheckpoint::Held* MemoryCheckpoint::find(const std::string& id) const {
  auto found = std::find_if(held_.begin(), held_.end(), [&](auto& h) { return h.id == id; });
  return found == held_.end() ? nullptr : &*found;
}
MemoryCheckpoint::Found MemoryCheckpoint::find(const Mesh& mesh) const {
  ByteWriter mine;
  mine.num(static_cast<std::int64_t>(held_.size()));
  for (auto& h : held_) {
    mine.text(h.id).num(h.step).num(h.groups).num(static_cast<std::int64_t>(h.ranks));
    mine.num(static_cast<std::int64_t>(h.parts.size()));
    for (auto& [rank, part] : h.parts)
      mine.num(static_cast<std::int64_t>(rank)).num(static_cast<std::int64_t>(part.size()));
  }
  std::map<std::string, Found> all;
  auto texts = mesh.exchange(mine.take(), "snapshot: what is left");
  for (std::size_t r = 0; r < texts.size(); ++r) {
    ByteReader fields(texts[r]);
    for (auto n = fields.num<std::int64_t>(); n > 0; --n) {
      auto id = fields.text();
      auto& f = all[id];
      f.id = id;
      f.step = fields.num<std::int64_t>();
      f.groups = fields.num<std::int64_t>();
      auto ranks = static_cast<std::size_t>(fields.num<std::int64_t>());
      f.owners.resize(ranks, -1);
      f.sizes.resize(ranks, 0);
      f.holders.resize(ranks);
      for (auto parts = fields.num<std::int64_t>(); parts > 0; --parts) {
        auto rank = static_cast<std::size_t>(fields.num<std::int64_t>());
        f.sizes.at(rank) = fields.num<std::int64_t>();
        f.holders.at(rank).push_back(static_cast<int>(r));
        // Rather the rank of that number: of the same mesh it needs it itself.
        if (f.owners.at(rank) < 0 || rank == r) f.owners.at(rank) = static_cast<int>(r);
      }
    }
  }
  Found best;
  std::string lost;
  std::int64_t newest = -1;
  for (auto& [id, f] : all) {
    std::string missing;
    for (std::size_t r = 0; r < f.owners.size(); ++r)
      if (f.owners[r] < 0) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
    if (missing.empty() && f.step > best.step) best = f;
    if (missing.empty() || f.step <= newest) continue;
    newest = f.step;
    lost = "the snapshot of step " + std::to_string(f.step) + " is not whole: the blocks of rank " + missing + " of " +
           std::to_string(f.owners.size()) + " were lost with their copies";
  }
  if (newest > best.step) best.lost = lost;
  return best;
}
void MemoryCheckpoint::hand_over(const Mesh& mesh, const std::vector<int>& heirs) {
  auto found = find(mesh);
  if (!found.whole() || heirs.empty()) return;
  auto* mine = find(found.id);
  ByteWriter said;
  said.num(mine != nullptr);
  if (mine) said.text(mine->note).num(static_cast<std::int64_t>(mine->parts.size()));
  for (std::size_t r = 0; mine && r < found.owners.size(); ++r)
    if (mine->parts.contains(static_cast<int>(r))) said.num(static_cast<std::int64_t>(r));
  std::vector<bool> kept(found.owners.size());  // by an heir
  Held now{.id = found.id, .step = found.step, .groups = found.groups, .ranks = static_cast<int>(found.owners.size())};
  auto texts = mesh.exchange(said.take(), "snapshot: who holds what");
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    ByteReader fields(texts[rank]);
    if (!fields.num<bool>()) continue;
    now.note = fields.text();
    bool heir = std::find(heirs.begin(), heirs.end(), static_cast<int>(rank)) != heirs.end();
    for (auto n = fields.num<std::int64_t>(); n > 0; --n) {
      auto r = static_cast<std::size_t>(fields.num<std::int64_t>());
      kept.at(r) = kept.at(r) || heir;
    }
  }
  std::size_t next = 0;
  for (std::size_t r = 0; r < kept.size(); ++r) {
    if (kept[r]) continue;
    auto heir = heirs[next++ % heirs.size()];
    auto ranks = static_cast<std::size_t>(mesh.size());
    CollectiveCall call{.kind = CollectiveKind::all_to_all, .dtype = Dtype::u8};
    call.send_counts.assign(ranks, 0);
    call.recv_counts.assign(ranks, 0);
    std::string part;
    if (found.owners[r] == mesh.rank()) {
      call.send_counts[static_cast<std::size_t>(heir)] = found.sizes[r];
      call.in = mine->parts.at(static_cast<int>(r)).data();
    }
    if (heir == mesh.rank()) {
      call.recv_counts[static_cast<std::size_t>(found.owners[r])] = found.sizes[r];
      part.resize(static_cast<std::size_t>(found.sizes[r]));
      call.out = part.data();
    }
    mesh.context().run(everyone(mesh), call);
    if (heir == mesh.rank()) now.parts[static_cast<int>(r)] = std::move(part);
  }
  auto held = std::find_if(held_.begin(), held_.end(), [&](auto& h) { return h.id == found.id; });
  if (held != held_.end()) held->parts.merge(now.parts);
  else if (!now.parts.empty()) held_.push_back(std::move(now));
  // A rank that left now, while others still send, would start the launcher's clock for ranks that hang.
  mesh.exchange({}, "snapshot: handed over");
}
std::string MemoryCheckpoint::restore(const Mesh& mesh, const Found& found, tree::Node state) {
  auto* mine = find(found.id);
  std::string problem;
  io::replace_leaves(state, "", [&](const std::vector<io::Leaf>& leaves) {
    auto needs = needs_of(mesh, mine ? &mine->parts : nullptr, found, leaves);
    io::PartsReader reader(leaves, place_of(mesh));
    auto read = [&](std::string_view part) {
      if (problem.empty()) problem = error_of([&] { reader.read(part); });
    };
    if (mine)
      for (auto& [r, part] : mine->parts) read(part);
    std::vector<bool> cut(found.owners.size());
    for (std::size_t r = 0; r < cut.size(); ++r) {
      cut[r] = !most_need(needs[r], found.sizes[r]);
      if (cut[r]) continue;
      std::string part(static_cast<std::size_t>(found.sizes[r]), '\0');
      CollectiveCall call{.kind = CollectiveKind::broadcast, .dtype = Dtype::u8};
      if (found.owners[r] == mesh.rank()) call.in = mine->parts.at(static_cast<int>(r)).data();
      call.send_counts = {found.sizes[r]};
      call.root = found.owners[r];
      call.out = part.data();
      mesh.context().run(everyone(mesh), call);
      if (!holds(found, r, mesh.rank())) read(part);
    }
    read_cuts(mesh, mine ? &mine->parts : nullptr, found, leaves, needs, cut, read);
    agree<CheckpointError>(mesh, "snapshot: restore", [&] {
      check<CheckpointError>(problem.empty(), problem);
      reader.finish();
    });
  });
  std::string note;
  for (auto& theirs : mesh.exchange(mine ? "+" + mine->note : "", "snapshot: its note"))
    if (note.empty() && theirs.starts_with('+')) note = theirs.substr(1);
  std::erase_if(held_, [&](auto& h) { return h.id != found.id; });
  return note;
}
}  // namespace bora::training
