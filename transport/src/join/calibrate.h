// calibrate.h -- what links cost: measured when a job over several hosts meets, and kept in a file of the user's.
#pragma once
#include <optional>
#include <string>
#include <vector>
#include "bora/transport/transport.h"
#include "schedule/select.h"

namespace bora::transport {
/// Every rank calls it, before anything else; at most about half a second. Rank 0 measures with one rank of its own host and one of another
/// and tells all: the same numbers everywhere. Kinds of links that are not there keep their default. `hosts` as in EngineOptions.
Costs measure_links(Context&, const std::vector<int>& hosts);
/// $XDG_CACHE_HOME/bora/links, or below ~/.cache; empty if there is neither.
std::string cache_of_links();
/// `key`: the class of links, without spaces (hosts, addresses, ranks on each, carrier). Nothing if the file does not have it.
std::optional<Costs> cached_links(const std::string& file, const std::string& key);
/// Replaces the key's line. Throws IoError.
void cache_links(const std::string& file, const std::string& key, const Costs&);
/// "between hosts 251 us, 8.1 us a message, 117 MB/s; ...": what has been measured on these hosts.
std::string text_of(const Costs&, const std::vector<int>& hosts);
}  // namespace bora::transport
