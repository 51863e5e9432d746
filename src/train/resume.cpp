#include "train/api/resume.h"
#include <algorithm>
#include <utility>
#include "bora/io/tree.h"
#include "bora/ops/creation.h"
#include "bora/shard/mesh.h"
#include "bora/train/compression.h"
#include "bora/train/loop.h"
#include "ops/api/same_everywhere.h"
#include "shard/api/agree.h"
#include "train/api/stores.h"

namespace bora::training {
namespace {
io::GoodCheckpoint newest(const std::string& root) { return {.checkpoint = io::newest_checkpoint(root)}; }
io::GoodCheckpoint newest_good(const std::string& root) {
  auto found = io::good_checkpoint(root);
  check<CheckpointError>(found.checkpoint || found.damaged.empty(), "no checkpoint in ", root,
                         " is whole: ", found.damaged.empty() ? "" : found.damaged[0].second);
  return found;
}
}  // namespace

void offering_older(const Mesh& mesh, const std::string& root, std::string_view offer, const std::function<void()>& f) {
  std::string text, older;
  try {
    return f();
  } catch (const CheckpointError& e) { text = e.text(); }
  older = on_first(mesh, "checkpoints: an older one", [&] {
    std::string folder;
    (void)error_of([&] {
      auto found = io::good_checkpoint(root);
      if (found.checkpoint && !found.damaged.empty()) folder = found.checkpoint->folder;
    });
    return folder;
  });
  throw CheckpointError(older.empty() ? text : text + "; " + older + " is whole: " + std::string(offer));
}

io::GoodCheckpoint find_checkpoint(const Mesh& mesh, const std::string& root, Resume resume, std::string_view offer) {
  if (resume == Resume::none) return {};
  io::GoodCheckpoint found;
  std::string step;
  offering_older(mesh, root, offer, [&] {
    step = on_first<CheckpointError>(mesh, "checkpoints: find one", [&] {
      found = resume == Resume::good ? newest_good(root) : newest(root);
      return found.checkpoint ? std::to_string(found.checkpoint->step) : "";
    });
  });
  if (!step.empty()) found.checkpoint = io::Checkpoint{std::stoll(step), root + "/step-" + step};
  return found;
}

io::GoodCheckpoint find_checkpoint(const Mesh& mesh, const io::Stores& stores, const std::string& root, Resume resume,
                                   std::string_view offer, const std::function<void(const std::string&)>& say) {
  if (stores.shared()) return find_checkpoint(mesh, root, resume, offer);
  return find_on_hosts(mesh, stores, root, resume, offer, say);
}

std::string base_digest(tree::Node base, const Mesh& mesh) {
  return tree::count_leaves(base) == 0 ? std::string() : parameter_digest(base, mesh);
}
void check_base(const Mesh& mesh, const std::string& folder, const std::string& base, bool reference) {
  on_first<CheckpointError>(mesh, "checkpoints: compare the base", [&] {
    auto notes = io::read_manifest(folder).notes;
    auto name = std::string(base_note(reference));
    auto theirs = notes.contains(name) ? notes.at(name) : std::string();
    if (reference) {
      check<CheckpointError>(theirs == base, folder, " was trained ", theirs.empty() ? "without a reference model"
                             : "beside another reference model, of digest " + theirs, "; this run's has ", base,
                             "; it is that of the same seed and model, or of the same init_from; give this run another "
                             "out");
      return;
    }
    check<CheckpointError>(theirs.empty() || !base.empty(), folder,
                           " holds adapters only; read it with the settings of its run (lora.rank and what belongs "
                           "to it), or give this run another out");
    check<CheckpointError>(!theirs.empty() || base.empty(), folder,
                           " holds a whole model, but with lora.rank a run has checkpoints of adapters only; give "
                           "it another out");
    check<CheckpointError>(theirs == base, folder, " was trained beside another model: the digest of its base is ",
                           theirs, ", of this run's ", base,
                           "; the base is that of the same seed and model, or of the same init_from");
  });
}
void check_replicas(const Mesh& mesh, const std::string& folder, tree::Node state) {
  constexpr std::string_view leaf = "replicas.step";
  std::int64_t mine = 0;
  for (auto& slot : tree::slots(state))
    if (slot.path == leaf) mine = slot.leaf.get().shape(0);
  on_first<CheckpointError>(mesh, "checkpoints: compare the replicas", [&] {
    auto manifest = io::read_manifest(folder);
    auto* stored = manifest.find(std::string(leaf));
    auto theirs = stored && !stored->type.shape.empty() ? stored->type.shape[0] : std::int64_t{0};
    check<CheckpointError>(theirs == 0 || mine > 0, folder, " holds ", theirs,
                           " replicas that make local steps; continue it with its settings of local, or give this "
                           "run another out");
    check<CheckpointError>(theirs > 0 || mine == 0, folder,
                           " is of a run without local steps, whose replicas have no states; continue it with "
                           "local=none, or give this run another out");
    check<CheckpointError>(theirs == mine, folder, " holds ", theirs, " replicas, this run has ", mine,
                           "; it continues with local.replicas=", theirs,
                           " on any number of ranks that divides them; or give this run another out");
  });
}
namespace {
constexpr std::string_view kCarried = "carried.", kStoredResidual = "carried.entries.residual.";
}  // namespace
std::int64_t check_carried(const Mesh& mesh, const std::string& folder, tree::Node state) {
  std::vector<std::string> mine;
  std::int64_t groups = 0;
  for (auto& slot : tree::slots(state)) {
    if (!slot.leaf.defined() || !slot.path.starts_with(kCarried)) continue;
    auto t = slot.leaf.get().type();
    if (slot.path.starts_with(kStoredResidual)) groups = std::exchange(t.shape[0], 0);
    mine.push_back(slot.path + " " + to_string(t.shape));
  }
  return std::stoll(on_first<CheckpointError>(mesh, "checkpoints: compare what is carried", [&] {
    auto theirs = groups;
    std::vector<std::string> stored;
    for (auto& leaf : io::read_manifest(folder).leaves) {
      if (!leaf.path.starts_with(kCarried)) continue;
      auto shape = leaf.type.shape;
      if (leaf.path.starts_with(kStoredResidual) && !shape.empty()) theirs = std::exchange(shape[0], 0);
      stored.push_back(leaf.path + " " + to_string(shape));
    }
    std::sort(mine.begin(), mine.end());
    std::sort(stored.begin(), stored.end());
    auto how = stored.empty() ? " has no residuals of sums of gradients (wire.error_feedback, powersgd)"
               : mine.empty() ? " has residuals of sums of gradients, which this run does not carry over"
                              : " has residuals of sums of gradients that are not those of this run's wire";
    check<CheckpointError>(stored == mine, folder, how,
                           "; continue it with its settings of wire, or give this run another out");
    return std::to_string(theirs);
  }));
}
std::int64_t groups_of_residuals(tree::Node state) {
  for (auto& slot : tree::slots(state))
    if (slot.leaf.defined() && slot.path.starts_with(kStoredResidual)) return slot.leaf.get().type().shape[0];
  return 0;
}
bool read_regrouped(tree::Node state, std::int64_t groups, const std::function<void()>& read) {
  std::vector<tree::Slot> others;
  for (auto& slot : tree::slots(state)) {
    if (!slot.leaf.defined() || !slot.path.starts_with(kStoredResidual)) continue;
    auto type = slot.leaf.get().type();
    if (type.shape[0] == groups) continue;
    type.shape[0] = groups;
    auto spec = Spec::replicated(type.shape.size());
    spec[0] = gradient_axes();
    slot.leaf.set(ops::constrained(full_of(type, 0), spec));
    others.push_back(slot);
  }
  read();
  for (auto& slot : others) slot.leaf.set(regrouped_residuals(slot.leaf.get()));
  return !others.empty();
}
bool restore_state(const Mesh& mesh, const std::string& folder, tree::Node state) {
  return read_regrouped(state, check_carried(mesh, folder, state),
                        [&] { io::restore_leaves(state, folder, place_of(mesh)); });
}
}  // namespace bora::training
