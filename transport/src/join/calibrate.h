// calibrate.h -- costs of links: measured when a job over several hosts starts, and kept in a file of the user's.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "bora/transport/transport.h"
#include "schedule/select.h"

namespace bora::transport {
/// Every rank calls it, before any other collective; at most about half a second. Rank 0 measures with one rank of its
/// own host and one of another, and sends all ranks the same numbers. Kinds of links that do not exist keep their
/// defaults. `hosts` as in EngineOptions.
Costs measure_links(Context&, const std::vector<int>& hosts);
/// $XDG_CACHE_HOME/bora/links, or below ~/.cache; empty if there is neither.
std::string cache_of_links();
/// `key`: the class of links, without spaces (hosts, addresses, ranks on each, carrier). nullopt if the file lacks it.
std::optional<Costs> cached_links(const std::string& file, const std::string& key);
/// Replaces the key's line. Throws IoError.
void cache_links(const std::string& file, const std::string& key, const Costs&);
/// "between hosts 251 us, 8.1 us a message, 117 MB/s; ...": the costs measured on these hosts.
std::string text_of(const Costs&, const std::vector<int>& hosts);
}  // namespace bora::transport
