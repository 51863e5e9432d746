// plan.h -- what a training step needs on every rank of a mesh, of any size, without its ranks: memory, bytes on the
// wire, time.
#pragma once
#include <functional>
#include "bora/compile/work.h"
#include "bora/shard/mesh.h"

namespace bora {
class Trainable;
struct GlobalBatch;
struct LoopSettings;
/// Bytes of one rank in a step, and its rows.
struct RankNeeds {
  std::int64_t parameters = 0, optimizer = 0, gradients = 0, activations = 0, transport = 0, start = 0, rows = 0;
  std::int64_t trained = 0;    // how many numbers of parameters have gradients
  std::int64_t snapshots = 0;  // in memory, of an elastic job
  std::int64_t peak() const { return parameters + optimizer + gradients + activations + transport + start + snapshots; }
  bool operator==(const RankNeeds&) const = default;
};
/// The step of a rank as a compiled Program, and its needs.
struct RankPlan {
  RankNeeds needs = {};
  std::shared_ptr<const Executable> step = {};
  std::function<std::int64_t(int rank)> snapshots = {};  // of any rank: those with equal blocks may need others
};
/// Gives the bytes that this process holds beside its arrays; called once the step is compiled.
using ProcessBytes = std::function<std::int64_t()>;
/// `at_start`, the growth of the process since this call, the working memory of products on all threads, and 6 MiB for
/// what a run does before and after.
ProcessBytes process_bytes(std::int64_t at_start);
/// Needs of a step on this rank. The mesh may be abstract: then nothing is computed.
RankPlan plan_rank(Trainable&, const GlobalBatch&, const LoopSettings&, const Mesh&, const ProcessBytes&);
/// Needs of a step as a text of 80 columns: those of `all` ranks in a table, by rank, and the work of rank 0. Above 8
/// ranks, equal ones share a line.
std::string plan_text(Trainable&, const GlobalBatch&, const LoopSettings&, const MeshShape&,
                      const std::vector<RankNeeds>& all, const RankPlan& of_rank_0);

/// The same of a mesh whose ranks all call it, each with its own plan.
std::string plan_text(Trainable&, const GlobalBatch&, const LoopSettings&, const Mesh&, const RankPlan& mine);

/// Ranks of an abstract mesh whose blocks have the same sizes.
struct RankClass {
  std::vector<int> ranks = {};  // ascending
  RankPlan plan = {};           // of the first one
  Work work = {};
};
/// All ranks of an abstract mesh, rank 0's class first. `plan` is called inside UseMesh, for one rank of each class.
std::vector<RankClass> plan_classes(const MeshShape&, const MeshLinks&,
                                    const std::function<RankPlan(const Mesh&)>& plan);

/// Seconds of a step's kernels in this process, each of its threads with a core of its own, measured now. work: of
/// `rank`, which may be of an abstract mesh.
double kernel_seconds(const Work& work, const Mesh& rank);
/// Floating-point operations in a second of f32 products on this process's threads, measured now for 10 ms.
double product_rate();
/// How much of a core each thread of this process gets, from `seconds` in which all are busy: below 1 where others use
/// the same cores.
double core_share(double seconds);

// Bytes that a rank sends in a step: in all, and to other hosts. work: that rank's.
struct SentBytes {
  std::int64_t all = 0, wired = 0;
};
SentBytes bytes_sent(const Work& work, const MeshShape&, const MeshLinks&, int rank);

/// A host as predictions see it, and how its job chooses algorithms. What is 0 is as measured on this machine with all
/// cores busy; those of a rank are taken to add up.
struct HostModel {
  double cores = 0, gflops_per_core = 0, gbytes_per_s = 0;  // the last: of its memory, shared by its cores
  double spread = 0.03;                                     // standard deviation of a host's compute time, as a share
  double mtbf_hours = 5000;                                 // between failures of one host
  std::int64_t threads = 0;     // of a rank (mesh.threads); 0: as many as its share of the cores
  std::string algorithms = {};  // forced collective algorithms (transport.algorithms)
  bool calibrated = true;       // links are measured when the job starts (transport.calibrate)
};
/// Times of a step, and what bounds it.
struct StepPrediction {
  static constexpr double kEnough = 0.9;   // the efficiency that choices of wires and local steps reach
  double compute = 0, wire = 0, step = 0;  // seconds of the slowest class; wire: of all collectives between hosts
  double hidden = 0;                       // share of the time of all collectives beside compute
  double expected = 0;                     // the step with stragglers
  std::int64_t sent = 0, wired = 0;        // bytes of rank 0: exact; wired: to other hosts
  std::string slowest = {};                // of the collectives between hosts, the one with most time in all
  double slowest_seconds = 0;
  double efficiency() const { return expected > 0 ? compute / expected : 1; }
  double rho() const { return compute > 0 ? wire / compute : 0; }
};
/// The time of a step on a mesh of hosts, with other precisions of the sums beside it.
struct Prediction {
  std::int64_t hosts = 1, ranks = 1;
  double cores = 1, gflops_per_core = 0, tokens = 0;  // of a host, of a core here, of a step
  StepPrediction now = {};
  /// With the sums of gradients in fewer bits.
  struct Wire {
    std::string name;
    StepPrediction step;
    std::int64_t every = 0;  // least local steps for 90 %; 0: none
  };
  std::vector<Wire> wires = {};  // those that it was compared with
  std::string axis = {};         // of the replicas that can take local steps; empty: there is none
  std::int64_t replicas = 1;
  double penalty = 0;            // of local steps, as a share of the loss: published for every = 30, not measured here
  double hours_to_failure = 0, lost_share = 0;  // of the job; of its time, for work done again
  std::string text(const MeshLinks&, const HostModel&) const;
  std::string json(const std::vector<RankClass>&) const;
};
/// The same step partitioned with another wire of gradients: which of its sums are gradients only a partition tells.
struct OtherWire {
  Wire wire;
  std::vector<RankClass> classes;
};
/// The time of a step: kernels as measured here, collectives as the transport models them, and both as one simulation
/// of starts and waits. wires: to compare with. parameters: of the model, for the penalty; checkpoint_every: steps, for
/// what a failure costs.
Prediction predict(const std::vector<RankClass>& classes, const std::vector<OtherWire>& wires, const MeshShape&,
                   const MeshLinks&, const HostModel&, const MeshAxes& batch_axes, std::int64_t parameters,
                   std::int64_t tokens, std::int64_t checkpoint_every);
/// Meetings of replicas on ranks of the mesh axis `replica` (local.h), as if nothing hid them.
struct MeetingPrediction {
  double seconds = 0;      // of one meeting
  std::int64_t every = 0;  // the fewest steps between meetings with which 90 % of the time is compute; 0: none
  double alone = 1;        // the share of compute without meetings
};
/// classes: of the replicas' step, without meetings; replicas: how many the ranks of the axis hold; wire: of a meeting.
MeetingPrediction predict_meetings(const std::vector<RankClass>& classes, const MeshShape&, const MeshLinks&,
                                   const HostModel&, const AxisName& replica, std::int64_t replicas,
                                   const Wire& wire);
/// The share by which M replicas with a sum every 30 steps raise the loss of a model of so many parameters. Source: a
/// fit to the scaling laws of DiLoCo (Charles et al. 2025): L ~ M^b, b = 1.0923 N^-0.2342.
double local_steps_penalty(std::int64_t replicas, std::int64_t parameters);
}  // namespace bora
