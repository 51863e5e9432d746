// Checkpoints whose files lie on the disks of several hosts: what is there, and which is whole.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include "base/api/bytes.h"
#include "bora/shard/mesh.h"
#include "io/api/stores.h"
#include "shard/api/agree.h"
#include "train/api/stores.h"

namespace bora::training {
namespace {
using io::PartHere;
using Numbers = std::set<std::int64_t>;
std::string text_of(const std::vector<PartHere>& parts) {
  ByteWriter text;
  auto numbers = [&](const Numbers& all) {
    text.num(static_cast<std::int64_t>(all.size()));
    for (auto n : all) text.num(n);
  };
  for (auto& p : parts) {
    text.num(p.step).num(p.order).text(p.folder).text(p.id).text(p.hosts).text(p.problem);
    numbers(p.wanted);
    numbers(p.here);
  }
  return text.take();
}
std::vector<PartHere> parts_of(const std::string& text) {
  std::vector<PartHere> all;
  ByteReader rest(text);
  auto numbers = [&] {
    Numbers r;
    for (auto n = rest.num<std::int64_t>(); n > 0; --n) r.insert(rest.num<std::int64_t>());
    return r;
  };
  while (!rest.empty()) {
    PartHere p;
    p.step = rest.num<std::int64_t>();
    p.order = rest.num<std::int64_t>();
    for (auto* field : {&p.folder, &p.id, &p.hosts, &p.problem}) *field = rest.text();
    p.wanted = numbers();
    p.here = numbers();
    all.push_back(std::move(p));
  }
  return all;
}
/// Of each rank; of ranks that do not lead in a folder none.
using Parts = std::vector<std::vector<PartHere>>;
template <class F>
Parts exchange_parts(const Mesh& mesh, const io::Stores& stores, std::string_view what, const F& mine) {
  Parts all;
  for (auto& text : agree<IoError>(mesh, what, [&] {
         return stores.leads(mesh.rank()) ? text_of(mine()) : std::string();
       }))
    all.push_back(parts_of(text));
  return all;
}
/// One save, as all hosts that came have it.
struct Save {
  PartHere part = {};     // of the first of them
  std::vector<int> by = {};  // leaders with its manifest
  Numbers here = {};      // files that one of them has
  bool whole() const { return part.whole_with(here); }
};
/// The newest first.
std::vector<Save> saves_of(const Parts& parts) {
  std::map<std::string, Save> by_id;
  for (std::size_t r = 0; r < parts.size(); ++r)
    for (auto& p : parts[r]) {
      if (!p.problem.empty()) continue;
      auto& save = by_id.try_emplace(p.id, Save{.part = p}).first->second;
      save.by.push_back(static_cast<int>(r));
      save.here.insert(p.here.begin(), p.here.end());
      io::seen_order(p.order);
    }
  std::vector<Save> all;
  for (auto& [id, save] : by_id) all.push_back(std::move(save));
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) {
    return std::pair(a.part.order, a.part.step) > std::pair(b.part.order, b.part.step);
  });
  return all;
}
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}
/// Names the files that are missing, and the hosts that had them and did not come.
std::string what_is_missing(const std::string& root, const Save& save, const Numbers& here, const io::Stores& stores) {
  std::vector<std::string> ranks, came, others;
  for (int r = 0; r < std::ssize(stores.leader); ++r)
    if (stores.leads(r)) came.push_back(stores.hosts[static_cast<std::size_t>(r)]);
  for (auto number : save.part.wanted)
    if (!here.contains(number)) ranks.push_back(std::to_string(number));
  std::istringstream lines(save.part.hosts);
  for (std::string line; std::getline(lines, line);) {
    auto host = line.substr(0, line.find(':'));
    auto has = [&](auto& rank) { return (line + " ").find(" " + rank + " ", host.size()) != line.npos; };
    bool is_here = std::find(came.begin(), came.end(), host) != came.end();
    if (!is_here && std::any_of(ranks.begin(), ranks.end(), has)) others.push_back(host);
  }
  return "checkpoint " + root + "/step-" + std::to_string(save.part.step) + " is not whole on the hosts that came (" +
         joined(came) + "): the blocks of rank " + joined(ranks) + " are missing" +
         (others.empty() ? "" : "; " + joined(others) + " had them: begin with them too");
}
}  // namespace

io::Stores stores_seen(const Mesh& mesh, const std::string& root) {
  if (mesh.size() == 1) return {};
  auto stores = stores_by_system(mesh, root);
  if (stores.shared()) return {};
  auto parts = exchange_parts(mesh, stores, "checkpoints: what hosts see", [&] { return io::parts_here(root); });
  std::vector<std::string> seen;
  bool all_here = true;
  for (int r = 0; r < mesh.size(); ++r) {
    if (!stores.leads(r)) continue;
    auto& of_rank = parts[static_cast<std::size_t>(r)];
    seen.push_back(text_of(of_rank));
    for (auto& p : of_rank) all_here = all_here && p.whole_with(p.here);
  }
  bool same = std::all_of(seen.begin(), seen.end(), [&](auto& text) { return text == seen[0]; });
  return same && all_here ? io::Stores() : stores;
}

std::string settle_checkpoints(const Mesh& mesh, const io::Stores& stores, const std::string& root) {
  if (!stores.shared()) {
    auto unnamed =
        exchange_parts(mesh, stores, "checkpoints: what is cut off", [&] { return io::unnamed_parts_here(root); });
    if (std::any_of(unnamed.begin(), unnamed.end(), [](auto& parts) { return !parts.empty(); })) {
      auto named = exchange_parts(mesh, stores, "checkpoints: what there is", [&] { return io::parts_here(root); });
      std::set<std::string> ids;  // of those that some host has named already
      for (auto& save : saves_of(named)) ids.insert(save.part.id);
      auto all = named;
      for (std::size_t r = 0; r < all.size(); ++r) all[r].insert(all[r].end(), unnamed[r].begin(), unnamed[r].end());
      for (auto& save : saves_of(all))
        if (save.whole()) ids.insert(save.part.id);
      agree<IoError>(mesh, "checkpoints: name what was cut off", [&] {
        for (auto& part : unnamed[static_cast<std::size_t>(mesh.rank())])
          if (ids.contains(part.id)) io::name_part(root, part);
      });
    }
  }
  std::string stays;
  auto said = agree<IoError>(mesh, "checkpoints: clean their folders", [&] {
    return stores.leads(mesh.rank()) ? io::clean_checkpoints(root) : std::string();
  });
  for (auto& text : said) stays += (stays.empty() || text.empty() ? "" : "; ") + text;
  return stays;
}

std::int64_t newest_step(const Mesh& mesh, const io::Stores& stores, const std::string& root) {
  for (auto& save :
       saves_of(exchange_parts(mesh, stores, "checkpoints: the newest", [&] { return io::parts_here(root); })))
    if (save.whole()) return save.part.step;
  return -1;
}

namespace {
/// Gives all hosts its manifest, and compares the files on each with it. Returns the files that are whole somewhere.
Numbers verified(const Mesh& mesh, const io::Stores& stores, const std::string& root, const Save& save,
                 const std::function<void(const std::string&)>& say) {
  auto folder = root + "/step-" + std::to_string(save.part.step);
  auto manifests = agree<CheckpointError>(mesh, "checkpoints: a manifest", [&] {
    return save.by[0] == mesh.rank() ? io::manifest_file(folder) : std::string();
  });
  auto& manifest = manifests[static_cast<std::size_t>(save.by[0])];
  auto moved = agree<IoError>(mesh, "checkpoints: a manifest for each host", [&] {
    return stores.leads(mesh.rank()) ? io::adopt_manifest(root, save.part.step, manifest) : std::string();
  });
  for (std::size_t r = 0; r < moved.size(); ++r)
    if (!moved[r].empty()) say(stores.hosts[r] + " has another save of this step, which is kept as " + moved[r]);
  int first = 0, of = 0;  // this rank, among those of its folder
  auto mine = stores.leader[static_cast<std::size_t>(mesh.rank())];
  for (int r = 0; r < mesh.size(); ++r)
    if (stores.leader[static_cast<std::size_t>(r)] == mine) first += r < mesh.rank() ? 1 : 0, ++of;
  auto texts = agree<CheckpointError>(mesh, "checkpoints: verify the files of hosts", [&] {
    PartHere found;
    auto damaged = io::verify_part(folder, first, of, found.here);
    for (auto& why : damaged) found.problem += (found.problem.empty() ? "" : "; ") + why;
    return text_of({found});
  });
  Numbers good;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    auto found = parts_of(texts[r])[0];
    good.insert(found.here.begin(), found.here.end());
    if (!found.problem.empty()) say(stores.hosts[r] + ": " + found.problem);
  }
  return good;
}
}  // namespace

io::GoodCheckpoint find_on_hosts(const Mesh& mesh, const io::Stores& stores, const std::string& root, Resume resume,
                                 std::string_view offer, const std::function<void(const std::string&)>& say) {
  io::GoodCheckpoint r;
  if (resume == Resume::none) return r;
  auto parts = exchange_parts(mesh, stores, "checkpoints: what there is", [&] { return io::parts_here(root); });
  auto saves = saves_of(parts);
  std::string problem;  // why it is not the newest
  std::int64_t unreadable = -1;
  for (auto& of_rank : parts)
    for (auto& p : of_rank)
      if (!p.problem.empty() && p.step > unreadable) unreadable = p.step, problem = p.problem;
  if (std::any_of(saves.begin(), saves.end(), [&](auto& s) { return s.part.step >= unreadable; })) problem = {};
  auto next = saves.begin();
  for (; next != saves.end() && !r.checkpoint && (resume == Resume::good || problem.empty()); ++next) {
    auto files = next->whole() ? verified(mesh, stores, root, *next, say) : next->here;
    if (next->part.whole_with(files))
      r.checkpoint = io::Checkpoint{next->part.step, root + "/step-" + std::to_string(next->part.step)};
    else problem = what_is_missing(root, *next, files, stores);
    if (!r.checkpoint && resume == Resume::good) say(problem);
  }
  if (!r.checkpoint && !problem.empty()) {
    auto older = std::find_if(next, saves.end(), [](auto& save) { return save.whole(); });
    throw CheckpointError(older == saves.end() ? problem
                                               : problem + "; " + root + "/step-" + std::to_string(older->part.step) +
                                                     " is whole: " + std::string(offer));
  }
  for (auto& p : parts[static_cast<std::size_t>(mesh.rank())])
    if (r.checkpoint && p.step > r.checkpoint->step)
      r.damaged.emplace_back(io::Checkpoint{p.step, root + "/" + p.folder},
                             p.problem.empty() ? "another save is newer, or it is not whole: " + p.folder : p.problem);
  std::reverse(r.damaged.begin(), r.damaged.end());
  return r;
}
}  // namespace bora::training
