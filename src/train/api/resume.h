// resume.h -- which checkpoint of a folder is read, the same on all ranks.
#pragma once
#include "bora/io/checkpoint.h"
#include "bora/train/settings.h"
#include "bora/tree/tree.h"

namespace bora {
class Mesh;
}  // namespace bora
namespace bora::training {
/// Calls f on all ranks. A CheckpointError of f names an older whole checkpoint below `root` too, if there is one, and
/// says what to do: "; ROOT/step-3 is whole: OFFER".
void offering_older(const Mesh&, const std::string& root, std::string_view offer, const std::function<void()>& f);
/// The checkpoint below `root` that `resume` means, if there is one. The first rank looks, so that all agree even if
/// ranks see different files; it alone returns those that are damaged. Throws CheckpointError as offering_older does,
/// and for Resume::good if all are damaged.
io::GoodCheckpoint find_checkpoint(const Mesh&, const std::string& root, Resume resume, std::string_view offer);
/// The same in one folder or in those of hosts (find_on_hosts).
io::GoodCheckpoint find_checkpoint(const Mesh&, const io::Stores&, const std::string& root, Resume resume,
                                   std::string_view offer, const std::function<void(const std::string&)>& say);
/// The digest of the parameters that no checkpoint holds (Trainable::base); empty if there are none. All ranks.
std::string base_digest(tree::Node base, const Mesh&);
/// The name of a checkpoint's note that has this digest: of the base of adapters, or of the reference that a loss
/// measures beside.
constexpr std::string_view base_note(bool reference) { return reference ? "reference" : "base"; }
/// Throws CheckpointError, on all ranks, if the checkpoint was written beside another base, or another reference.
void check_base(const Mesh&, const std::string& folder, const std::string& base, bool reference = false);
/// CheckpointError, on all ranks, if the checkpoint is not of as many replicas with local steps as the state has.
void check_replicas(const Mesh&, const std::string& folder, tree::Node state);
/// How many ranks' residuals the checkpoint holds (Compression). CheckpointError, on all ranks, if they are not those
/// of the state's gradients, whatever the number of ranks.
std::int64_t check_carried(const Mesh&, const std::string& folder, tree::Node state);
/// Residuals of the state's gradients: those of how many ranks it holds, 0 without.
std::int64_t groups_of_residuals(tree::Node state);
/// `read` fills the state, with residuals of `groups` ranks, which are summed if they are another number: then true.
bool read_regrouped(tree::Node state, std::int64_t groups, const std::function<void()>& read);
/// Restores the state. Residuals of another number of ranks are summed (regrouped_residuals): then true.
bool restore_state(const Mesh&, const std::string& folder, tree::Node state);
}  // namespace bora::training
