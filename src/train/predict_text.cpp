// A prediction as text and as JSON.
#include <iomanip>
#include <sstream>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/train/plan.h"

namespace bora {
namespace {
std::string number(double x, int digits = 3) {
  std::ostringstream o;
  o << std::setprecision(digits) << x;
  return o.str();
}
std::string seconds(double s) {
  return s >= 1 || s == 0 ? number(s) + " s" : s >= 1e-3 ? number(s * 1e3) + " ms" : number(s * 1e6) + " us";
}
std::string percent(double x) { return std::to_string(std::llround(100 * x)) + " %"; }
}  // namespace

std::string Prediction::text(const MeshLinks& links, const HostModel& host) const {
  std::ostringstream o;
  auto& s = now;
  o << "prediction: " << hosts << (hosts == 1 ? " host" : " hosts") << " of " << number(cores) << " cores ("
    << number(host.gflops_per_core > 0 ? host.gflops_per_core : gflops_per_core) << " GFLOP/s a core, "
    << (host.gflops_per_core > 0 ? "as given" : "measured here, all cores busy") << ")";
  if (hosts > 1)
    o << ", " << bytes_text(std::llround(links.bytes_per_s)) << "/s between hosts, " << seconds(links.latency_s);
  o << "\n  a step: compute " << seconds(s.compute) << ", collectives between hosts " << seconds(s.wire) << " (rho "
    << number(s.rho()) << "), " << percent(s.hidden) << " of all collectives hidden; " << seconds(s.step)
    << ", with stragglers (spread " << percent(host.spread) << ") " << seconds(s.expected) << '\n'
    << "  rank 0 sends " << bytes_text(s.sent) << ", of it " << bytes_text(s.wired) << " to other hosts\n"
    << "  " << number(tokens / s.expected, 4) << " tokens/s, efficiency " << percent(s.efficiency())
    << "; bottleneck: ";
  if (s.wire <= s.compute) o << "compute\n";
  else o << "the wire, most of all " << s.slowest << " (" << seconds(s.slowest_seconds) << ")\n";
  if (hosts > 1) {
    o << "  wire of gradients   a step      efficiency" << (axis.empty() ? "" : "   local steps for 90 %") << '\n';
    for (auto& w : wires) {
      o << "    " << std::left << std::setw(16) << w.name << std::setw(12) << seconds(w.step.expected) << std::setw(10)
        << percent(w.step.efficiency()) << std::right;
      if (!axis.empty()) o << "   " << (w.every > 0 ? std::to_string(w.every) : std::string("none"));
      o << '\n';
    }
    std::string reach;
    for (auto& w : wires)
      if (reach.empty() && w.step.efficiency() >= StepPrediction::kEnough) reach = "wire " + w.name;
    o << "  90 % is reached by: " << (reach.empty() ? "no synchronous wire" : reach);
    if (!axis.empty()) {
      std::string every;
      for (auto& w : wires)
        if (w.every > 0) every += (every.empty() ? "" : ", ") + w.name + " every " + std::to_string(w.every);
      o << "; " << (every.empty() ? "no number of local" : "by local") << " steps over '" << axis << "' (" << replicas
        << " replicas)" << (every.empty() ? "" : ": ") << every;
      o << "\n  local steps raise the loss by " << number(100 * penalty, 2)
        << " % (a published fit for a sum every 30 steps, not measured)";
    }
    o << "\n  a host fails every " << number(host.mtbf_hours) << " h, the job every " << number(hours_to_failure)
      << " h: " << number(100 * lost_share, 2) << " % of the time is lost to steps done again\n";
  }
  return o.str();
}
std::string Prediction::json(const std::vector<RankClass>& classes) const {
  JsonWriter w(JsonWriter::Style::spaced);
  auto step = [&](const StepPrediction& s) {
    w.object()("compute_s", s.compute)("wire_s", s.wire)("step_s", s.step)("expected_s", s.expected);
    w("hidden", s.hidden)("rho", s.rho())("efficiency", s.efficiency())("sent_bytes", s.sent);
    w("wired_bytes", s.wired).end();
  };
  w.object()("hosts", hosts)("ranks", ranks)("cores", cores)("gflops_per_core", gflops_per_core)("tokens", tokens);
  w("step"), step(now);
  w("wires").list(JsonWriter::Elements::lines);
  for (auto& v : wires) {
    w.object()("wire", v.name)("every", v.every)("step"), step(v.step);
    w.end();
  }
  w.end()("axis", axis)("replicas", replicas)("penalty", penalty)("hours_to_failure", hours_to_failure);
  w("lost_share", lost_share)("classes").list(JsonWriter::Elements::lines);
  for (auto& c : classes) {
    auto& n = c.plan.needs;
    w.object()("rank", c.ranks[0])("ranks", c.ranks.size())("rows", n.rows)("parameters", n.parameters);
    w("optimizer", n.optimizer)("gradients", n.gradients)("activations", n.activations)("transport", n.transport);
    w("start", n.start)("snapshots", n.snapshots)("peak", n.peak()).end();
  }
  return w.end().end().take();
}
}  // namespace bora
