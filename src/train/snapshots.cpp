#include "snapshots.h"
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <utility>
#include "bora/base/bytes.h"
#include "bora/io/parts.h"
#include "bora/transport/transport.h"
#include "resume.h"

namespace bora::training {
namespace {
std::string host_name() {
  if (auto id = std::getenv("BORA_HOST_ID"); id && *id) return id;
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}
transport::Group everyone(const Mesh& mesh) {
  std::vector<int> all(static_cast<std::size_t>(mesh.size()));
  std::iota(all.begin(), all.end(), 0);
  return {all, "snapshot"};
}
/// Every rank's part to the rank that holds its copy; returns the parts that this rank gets.
std::map<int, std::string> exchanged(const Mesh& mesh, const std::string& mine, const std::vector<int>& holders,
                                     const std::vector<std::int64_t>& sizes) {
  auto n = static_cast<std::size_t>(mesh.size()), me = static_cast<std::size_t>(mesh.rank());
  CollectiveCall call{.kind = CollectiveKind::all_to_all, .dtype = Dtype::u8};
  call.send_counts.assign(n, 0);
  call.recv_counts.assign(n, 0);
  call.send_counts[static_cast<std::size_t>(holders[me])] = sizes[me];
  for (std::size_t r = 0; r < n; ++r)
    if (static_cast<std::size_t>(holders[r]) == me) call.recv_counts[r] = sizes[r];
  std::string received(static_cast<std::size_t>(std::reduce(call.recv_counts.begin(), call.recv_counts.end())), '\0');
  call.in = mine.data();
  call.out = received.data();
  mesh.context().run(everyone(mesh), call);
  std::map<int, std::string> parts;
  std::size_t at = 0;
  for (std::size_t r = 0; r < n; ++r) {
    auto size = static_cast<std::size_t>(call.recv_counts[r]);
    if (static_cast<std::size_t>(holders[r]) == me) parts[static_cast<int>(r)] = received.substr(at, size);
    at += size;
  }
  return parts;
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

void Snapshots::take(const Mesh& mesh, std::int64_t step, tree::Node state, const std::string& note) {
  Held now{.step = step, .groups = groups_of_residuals(state), .ranks = mesh.size(), .note = note};
  std::string mine;
  {
    Arrays keep;
    mine = io::pack_part(io::leaves_of(state, "", keep), place_of(mesh));
  }
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
  auto holders = holders_of_copies(hosts);
  now.parts = exchanged(mesh, mine, holders, sizes);
  now.parts[mesh.rank()] = std::move(mine);
  held_.push_back(std::move(now));
  // From here on each rank has both; who learns that all have forgets the one before.
  mesh.exchange({}, "snapshot: complete");
  held_.erase(held_.begin(), held_.end() - 1);
}

const Snapshots::Held* Snapshots::find(const std::string& id) const {
  auto found = std::find_if(held_.begin(), held_.end(), [&](auto& h) { return h.id == id; });
  return found == held_.end() ? nullptr : &*found;
}
Snapshots::Found Snapshots::find(const Mesh& mesh) const {
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
      for (auto parts = fields.num<std::int64_t>(); parts > 0; --parts) {
        auto rank = static_cast<std::size_t>(fields.num<std::int64_t>());
        f.sizes.at(rank) = fields.num<std::int64_t>();
        if (f.owners.at(rank) < 0) f.owners.at(rank) = static_cast<int>(r);
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
std::string Snapshots::restore(const Mesh& mesh, const Found& found, tree::Node state) {
  auto* mine = find(found.id);
  std::string problem;
  io::replace_leaves(state, "", [&](const std::vector<io::Leaf>& leaves) {
    io::PartsReader reader(leaves, place_of(mesh));
    for (std::size_t r = 0; r < found.owners.size(); ++r) {
      std::string part(static_cast<std::size_t>(found.sizes[r]), '\0');
      CollectiveCall call{.kind = CollectiveKind::broadcast, .dtype = Dtype::u8};
      if (found.owners[r] == mesh.rank()) call.in = mine->parts.at(static_cast<int>(r)).data();
      call.out = part.data();
      call.send_counts = {found.sizes[r]};
      call.root = found.owners[r];
      mesh.context().run(everyone(mesh), call);
      try {
        if (problem.empty()) reader.read(part);
      } catch (const Error& e) { problem = e.text(); }
    }
    try {
      if (problem.empty()) reader.finish();
    } catch (const Error& e) { problem = e.text(); }
    io::agree<CheckpointError>(place_of(mesh), problem, "snapshot: restore");
  });
  std::string note;
  for (auto& theirs : mesh.exchange(mine ? "+" + mine->note : "", "snapshot: its note"))
    if (note.empty() && theirs.starts_with('+')) note = theirs.substr(1);
  std::erase_if(held_, [&](auto& h) { return h.id != found.id; });
  return note;
}

namespace {
thread_local Snapshots* in_use = nullptr;
thread_local std::int64_t steps_between = 0;
}  // namespace
UseSnapshots::UseSnapshots(Snapshots& s, std::int64_t every)
    : saved_(std::exchange(in_use, &s)), saved_every_(std::exchange(steps_between, every)) {}
UseSnapshots::~UseSnapshots() {
  in_use = saved_;
  steps_between = saved_every_;
}
Snapshots* UseSnapshots::current() { return in_use; }
std::int64_t UseSnapshots::every() { return steps_between; }
}  // namespace bora::training
