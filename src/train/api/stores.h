// stores.h -- where the ranks of a run keep checkpoints, and which checkpoint is whole with the hosts that came.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include "bora/io/checkpoint.h"
#include "bora/train/settings.h"

namespace bora {
class Mesh;
}  // namespace bora
namespace bora::training {
/// The name of this rank's host: BORA_HOST_ID, else the machine's.
std::string host_name();
/// Which ranks see the same folder `folder`, which is made where it is missing; each has a copy of its file written by
/// a rank of the next one. All ranks. IoError.
io::Stores find_stores(const Mesh&, const std::string& folder);
/// Removes signs that find_stores has left there, of ranks that were killed before they could do it.
void remove_old_signs(const std::string& folder);
/// The same by what the system says of the folder: hosts that share it by a network count as several.
io::Stores stores_by_system(const Mesh&, const std::string& folder);
/// The same of a folder that is only read: what hosts show of it, rather than files that they leave there.
io::Stores stores_seen(const Mesh&, const std::string& root);
/// Names what an interrupted save has left if all of it is there, and removes the rest, in the folders of all hosts.
/// Only for those who own them. All ranks. Returns what could not be removed; normally empty.
std::string settle_checkpoints(const Mesh&, const io::Stores&, const std::string& root);
/// The order of the newest checkpoint in any of these folders, and its step; -1: none. All ranks.
std::int64_t newest_step(const Mesh&, const io::Stores&, const std::string& root);
/// find_checkpoint where hosts have folders of their own: the newest one of which each file is there once, by its
/// checksums. Its folder has the manifest on all hosts then. `damaged`: on each rank that leads in a folder, what that
/// has of later steps. say: takes lines on all ranks, the same. All ranks. Throws CheckpointError as find_checkpoint,
/// and for Resume::latest if hosts are missing that have files of the newest one, naming them.
io::GoodCheckpoint find_on_hosts(const Mesh&, const io::Stores&, const std::string& root, Resume,
                                 std::string_view offer, const std::function<void(const std::string&)>& say);
}  // namespace bora::training
