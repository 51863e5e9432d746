#include "app/host_table.h"
#include <set>
#include "app/flags.h"
#include "bora/base/error.h"

namespace bora::app {
namespace {
/// "0 to 3, 6", from ascending numbers.
std::string ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (auto i = numbers.begin(); i != numbers.end();) {
    auto first = *i, last = first;
    for (++i; i != numbers.end() && *i == last + 1; ++i) last = *i;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) text += (last == first + 1 ? ", " : " to ") + std::to_string(last);
  }
  return text.empty() ? "none" : text;
}
}  // namespace

std::string host_table(const MeshShape& mesh, const MeshAxes& over, std::int64_t batch, std::int64_t ranks_per_host) {
  std::int64_t ranks = mesh.size(), each = ranks_per_host == 0 ? ranks : ranks_per_host;
  check<ConfigError>(ranks % each == 0, "--ranks-per-host: ", ranks, " ranks cannot be spread over hosts of ", each);
  auto parts = mesh.parts(over);
  check<ConfigError>(batch >= parts, "batch: ", batch, " rows cannot be spread over ", parts,
                     " parts of the mesh axis ", to_string(over), "; raise it");
  auto pad = [](std::string text, std::size_t n) {
    return text + std::string(n > text.size() ? n - text.size() : 1, ' ');
  };
  auto text = "  " + pad("host", 6) + pad("ranks", 16) + pad("replicas", 16) + "rows\n";
  constexpr std::int64_t shown = 32;  // of many hosts: the first ones and the last
  auto hosts = ranks / each;
  for (std::int64_t host = 0; host < hosts; ++host) {
    if (hosts > shown && host == shown - 1) {
      text += "  .. " + std::to_string(hosts - shown) + " more\n";
      host = hosts - 1;
    }
    std::set<std::int64_t> here, replicas, rows;
    for (auto rank = host * each; rank < (host + 1) * each; ++rank) {
      here.insert(rank);
      auto part = mesh.part(static_cast<int>(rank), over);
      replicas.insert(part);
      auto block = block_of(batch, parts, part);
      for (auto r = block.begin; r < block.end; ++r) rows.insert(r);
    }
    text += "  " + pad(std::to_string(host), 6) + pad(ranges(here), 16) + pad(ranges(replicas), 16) + ranges(rows) +
            " (" + std::to_string(rows.size()) + ")\n";
  }
  return text;
}
void declare_ranks_per_host(Flags& flags, std::int64_t& ranks_per_host) {
  flags.add("--ranks-per-host", ranks_per_host, "for the table of hosts; 0: all ranks are on one host")
      .between(0, 1 << 20);
}
}  // namespace bora::app
