// The needs of a step on each rank, and its time, without ranks: one rank of each kind is partitioned on
// an abstract mesh, and nothing is initialised or computed but the timings of single kernels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "app/commands.h"
#include "base/api/file.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "bora/job/auto_sync_period.h"
#include "bora/job/job.h"
#include "bora/job/plan_run.h"
#include "bora/job/settings.h"
#include "bora/shard/link_speed.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "bora/transport/forecast.h"

namespace bora::app {
namespace {
using Gradients = bora::training::WireSettings::Gradients;
/// Those with which a run of these settings would not be refused.
std::vector<Gradients> gradients_allowed(const Settings& s, const std::string& algorithms) {
  std::vector<Gradients> r;
  if (s.wire.low_rank()) return r;  // its factors are f32 whatever the wire, so there is nothing to compare it with
  for (auto& [word, gradients] : words_of(Gradients{})) try {
      if (gradients == Gradients::powersgd) continue;
      auto wire = bora::training::WireSettings{.gradients = gradients}.wire();
      bora::transport::check_wire(wire, algorithms);
      if (wire.exact() || s.reproducible.virtual_ == 0) r.push_back(gradients);
    } catch (const ConfigError&) {}
  return r;
}
struct Plan {
  static constexpr std::string_view name = "plan";
  static constexpr std::string_view help = "what a step will need on each rank of a mesh, and its time, without ranks";
  static constexpr Row row{.place = 30, .prints = true};
  ConfigWords config = {};
  bool pipeline = true;
  std::int64_t ranks_per_host = 0;
  std::optional<std::string> link = {}, json = {};
  double cores = 0, gflops = 0, memory = 0, spread = 3, mtbf = 5000;

  void declare(Flags& flags) {
    config.declare(flags);
    declare_pipeline(flags, pipeline);
    declare_ranks_per_host(flags, ranks_per_host);
    flags.add("--link", link, "between hosts: 1G, 10G, 25G or 1G,50us; predicts the time of a step")
        .no_default()
        .names(Names::nothing);
    flags.add("--cores", cores, "of a host, which its ranks share; predicts the time of a step (0: as here)")
        .no_default();
    flags.add("--gflops", gflops, "GFLOP/s of a core in matrix products (0: measured here)").no_default();
    flags.add("--memory", memory, "GB/s of a host's memory (0: measured here, for each core)").no_default();
    flags.add("--spread", spread, "percent: standard deviation of the hosts' compute times, for stragglers");
    flags.add("--mtbf", mtbf, "hours between failures of a host");
    flags.add("--json", json, "a file for the prediction's numbers").no_default().names(Names::output);
  }
  void settle() {
    config.settle();
    auto in = [](const char* flag, double x, bool ok) {
      check<ConfigError>(ok, flag, ": expected a number above 0, got ", x);
    };
    in("--cores", cores, cores >= 0 && cores < 1e6);
    in("--gflops", gflops, gflops >= 0 && gflops < 1e9);
    in("--memory", memory, memory >= 0 && memory < 1e9);
    in("--spread", spread, spread >= 0 && spread < 1e3);
    in("--mtbf", mtbf, mtbf > 0);
    check<ConfigError>(!json || !json->empty(), "--json: no file given; leave it out, or name one");
  }
  bool predicts() const { return link || cores > 0 || gflops > 0 || memory > 0 || json; }
  MeshLinks links(std::int64_t ranks) const {
    auto l = link ? read_link(*link) : MeshLinks{};
    check<ConfigError>(ranks_per_host == 0 || ranks % ranks_per_host == 0, "--ranks-per-host: ", ranks,
                       " ranks cannot be spread over hosts of ", ranks_per_host);
    // A link is between hosts: with one, and nothing said of hosts, each rank is one.
    l.ranks_per_host = static_cast<int>(ranks_per_host == 0 && link ? 1 : ranks_per_host);
    if (l.ranks_per_host == ranks) l.ranks_per_host = 0;
    return l;
  }
  int run() const {
    auto s = config.load();
    check_settings(s);
    check<ConfigError>(!s.mesh.axes.open(), "plan: mesh ", to_string(s.mesh.axes),
                       " leaves a size open, and there is no job to fill it; name it, as in --mesh data=4");
    auto host = host_of(s);
    bora::transport::check_wire(s.wire.wire(), host.algorithms);
    auto ranks = s.mesh.axes.ranks();
    check<ConfigError>(ranks <= kMost, "plan: at most ", kMost, " ranks; the mesh has ", ranks);
    auto between = links(ranks);
    auto tokenizer = s.tokenizer->open();
    check_rows(s, *tokenizer);
    auto shape = checked_mesh(s, *tokenizer, static_cast<int>(ranks));
    // Products have working memory on each thread of a rank: its share of its host's cores, not of these here.
    auto of_host = static_cast<double>(between.ranks_per_host > 0 ? between.ranks_per_host : ranks);
    auto share = static_cast<std::int64_t>((cores > 0 ? cores : thread_count()) / of_host);
    auto threads = s.mesh.threads > 0 ? s.mesh.threads : std::max<std::int64_t>(1, share);
    auto process = process_with(threads);
    auto p = plan_run(without_auto(s), *tokenizer, shape, between, pipeline, process);
    std::vector<OtherWire> wires;
    for (auto gradients : predicts() ? gradients_allowed(s, host.algorithms) : std::vector<Gradients>{}) {
      auto other = without_auto(s);
      bool own = gradients == s.wire.gradients, feedback = s.wire.error_feedback && gradients != Gradients::f32;
      if (!own) other.wire = {.gradients = gradients, .error_feedback = feedback};
      try {
        wires.push_back({other.wire.wire(),
                         own ? p.classes : plan_run(other, *tokenizer, shape, between, pipeline, process).classes});
      } catch (const DtypeError&) {}  // gradients of f64 travel as they are
    }
    std::printf("%s%s", p.text.c_str(), wrapped(layout_text(p, s)).c_str());
    if (!predicts()) return 0;
    host.cores = cores, host.gflops_per_core = gflops, host.gbytes_per_s = memory;
    host.spread = spread / 100, host.mtbf_hours = mtbf;
    auto kept = s.checkpoint.every > 0 ? s.checkpoint.every : s.steps;  // so many steps are made again at most
    if (s.elastic.snapshot > 0) kept = std::min(kept, s.elastic.snapshot);
    auto prediction = predict(p.classes, wires, shape, between, host, p.over, p.parameters, p.tokens, kept);
    if (s.wire.low_rank()) {  // is of sums in every step: local steps were not looked at
      prediction.wires = {{"powersgd", prediction.now}};
      prediction.axis.clear(), prediction.replicas = 1, prediction.penalty = 0;
    }
    std::printf("%s", wrapped(prediction.text(between, host)).c_str());
    // As a stop in front of a deadline counts them.
    auto stop = 1.2 * prediction.now.expected + 3 * static_cast<double>(p.stored) / 100e6 + 10;
    std::printf("  a stop takes up to %.0f s with disks of 100 MB/s: a step and a checkpoint\n"
                "      (terminationGracePeriodSeconds of pods, Slurm's GraceTime)\n", std::ceil(stop));
    if (s.local->on() && has_replicas(shape)) {
      auto m = meetings_of(s, p, between, host);
      auto every = m.every > 0 ? "every " + std::to_string(m.every) + " steps it leaves 90 % for compute"
                               : std::string("no number of steps between meetings leaves 90 % for compute");
      auto replicas = bora::training::replicas_of(*s.local, shape);  // a rank may hold several
      std::printf("  a meeting of the replicas takes %.3g s;\n      %s\n"
                  "  the local steps of %lld replicas raise the loss by %.2g %%\n"
                  "      (a published fit for a sum every 30 steps, not measured)\n",
                  m.seconds, every.c_str(), static_cast<long long>(replicas),
                  100 * local_steps_penalty(replicas, p.parameters));
    }
    if (json) write_file(*json, prediction.json(p.classes));
    return 0;
  }
  static constexpr std::int64_t kMost = 65536;
};
}  // namespace
template const bool added<Plan>;
}  // namespace bora::app
