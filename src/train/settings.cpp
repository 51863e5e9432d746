#include "bora/train/settings.h"
#include <algorithm>
#include "bora/nn/policy.h"

namespace bora {
namespace {
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == at) parts.emplace_back();
    else if (c != ' ') parts.back() += c;
  }
  return parts;
}
}  // namespace

Layout parse_layout(const std::string& text) {
  Layout r;
  for (auto& part : split(text, '+')) {
    if (part == "fsdp") r.fsdp = true;
    else if (part == "tp") r.tp = true;
    else check<ConfigError>(part == "dp", "layout: unknown layout '", text, "'; there are dp, fsdp, tp and fsdp+tp");
  }
  return r;
}

MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks) {
  auto how = parse_layout(layout);
  std::int64_t sizes[2] = {0, 0};  // data, model; 0: not named
  if (!mesh.empty()) {
    for (auto& part : split(mesh, ',')) {
      auto equals = part.find('=');
      auto axis = part.substr(0, equals);
      check<ConfigError>(equals != std::string::npos, "mesh: expected data=2,model=1, got '", mesh, "'");
      check<ConfigError>(axis == "data" || axis == "model", "mesh: unknown axis '", axis,
                         "'; the axes are data and model");
      auto& size = sizes[axis == "model"];
      check<ConfigError>(size == 0, "mesh: axis '", axis, "' is given twice in '", mesh, "'");
      auto number = part.substr(equals + 1);
      bool digits = !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos;
      check<ConfigError>(number == "-1" || (digits && std::stoll(number) > 0), "mesh: the size of axis '", axis,
                         "' must be 1 or more (or -1: what is left), got '", number, "'");
      size = std::stoll(number);
    }
  } else {
    check<ConfigError>(!(how.fsdp && how.tp) || ranks == 1, "mesh: layout ", layout, " on ", ranks,
                       " ranks needs both sizes; set --mesh data=D,model=M with D * M = ", ranks);
    sizes[how.tp && !how.fsdp] = -1;
  }
  for (auto& size : sizes)
    if (size == 0) size = 1;
  check<ConfigError>(sizes[0] > 0 || sizes[1] > 0, "mesh: only one size may be -1, got '", mesh, "'");
  for (int a = 0; a < 2; ++a) {
    if (sizes[a] > 0) continue;
    check<ConfigError>(ranks % sizes[1 - a] == 0, "mesh: ", mesh, " does not divide ", ranks, " ranks");
    sizes[a] = ranks / sizes[1 - a];
  }
  check<ConfigError>(sizes[0] * sizes[1] == ranks, "mesh: ", mesh, " has ", sizes[0] * sizes[1],
                     " ranks, but this job has ", ranks);
  check<ConfigError>(how.tp || sizes[1] == 1, "mesh: layout ", layout, " does not use mesh axis 'model' (", sizes[1],
                     " ranks would do the same work); use layout fsdp+tp or tp, or set mesh data=", ranks);
  return {{{AxisName("data"), static_cast<int>(sizes[0])}, {AxisName("model"), static_cast<int>(sizes[1])}}};
}
std::int64_t ranks_of_mesh(const std::string& mesh) {
  std::int64_t ranks = 1;
  if (mesh.find("-1") != std::string::npos) return 1;
  for (auto at = mesh.find('='); at != std::string::npos; at = mesh.find('=', at + 1))
    ranks = std::min<std::int64_t>(ranks, 1 << 30) * std::max(1, std::atoi(mesh.c_str() + at + 1));
  return ranks;
}

namespace training {
using config::domain;
void PrecisionSettings::check() const { (void)Policy::parse(policy); }
void MeshSettings::check() const {
  parse_layout(layout);
  domain(threads >= 0 && threads <= 4096, "threads", threads,
         "from 1 to 4096 (or 0 for this rank's share of the cores)");
}
void CheckpointSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(keep >= 1, "keep", keep, "1 or more");
}
void EvalSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(rows >= 0, "rows", rows, "0 or more");
}
void LogSettings::check() const { domain(every >= 1, "every", every, "1 or more steps"); }
void TraceSettings::check() const { domain(steps >= 1 && steps <= 10000, "steps", steps, "from 1 to 10000"); }
}  // namespace training
}  // namespace bora
