#include "bora/job/host_table.h"
#include <set>
#include "bora/base/error.h"
#include "bora/job/settings.h"
#include "job/placement.h"

namespace bora::job {
namespace {
/// "0 to 3, 6", from ascending ranges.
std::string ranges_text(const std::vector<BlockRange>& ranges) {
  std::string text;
  for (auto i = ranges.begin(); i != ranges.end();) {
    auto [first, end] = *i;
    for (++i; i != ranges.end() && i->begin == end; ++i) end = i->end;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (end > first + 1) text += (end == first + 2 ? ", " : " to ") + std::to_string(end - 1);
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
    std::set<std::int64_t> held;
    for (auto rank = host * each; rank < (host + 1) * each; ++rank)
      held.insert(mesh.part(static_cast<int>(rank), over));
    std::vector<BlockRange> replicas, rows;
    std::int64_t count = 0;
    for (auto part : held) {
      replicas.push_back({part, part + 1});
      rows.push_back(mesh.block(batch, over, part));
      count += rows.back().size();
    }
    text += "  " + pad(std::to_string(host), 6) + pad(ranges_text({BlockRange{host * each, (host + 1) * each}}), 16) +
            pad(ranges_text(replicas), 16) + ranges_text(rows) + " (" + std::to_string(count) + ")\n";
  }
  return text;
}
std::string host_table(const Settings& s, const MeshShape& mesh, std::int64_t ranks_per_host) {
  return host_table(mesh, batch_axes(mappings_of(s, mesh).compute, mesh), s.batch, ranks_per_host);
}
}  // namespace bora::job
