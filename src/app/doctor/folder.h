// folder.h -- whether a run can trust the folder that it writes into.
#pragma once
#include <optional>
#include <string>
#include "findings.h"

namespace bora::transport {
class Context;
}  // namespace bora::transport
namespace bora::app::doctor {
/// Where a file system is mounted.
struct Mount {
  std::string point, type, source;
  std::string options;  // with commas, those of the mount and of the file system
};
/// The mount that holds an absolute path, by /proc/self/mountinfo below root.
std::optional<Mount> mount_of(const std::string& path, const std::string& root = "");
/// What type and options of a mount mean for checkpoints.
void look_at_mount(const Mount&, Findings&);
/// A run's folder, which need not exist: its mount, free bytes, and what a trial in a folder of its own, which is
/// removed again, says of rates, syncs, locks, and the exchange of names.
void look_at_folder(const std::string& out, HostReport&);
/// Whether the hosts of a job see each other's files and locks there, and how soon. Every rank calls it. Host names are
/// those of the ranks.
void look_at_shared_folder(transport::Context&, const std::string& out, const std::vector<std::string>& hosts,
                           HostReport&);
}  // namespace bora::app::doctor
