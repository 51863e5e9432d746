// Training and evaluation of a job.
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/job/auto_shares.h"
#include "bora/job/auto_sync_period.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/trained_run.h"
#include "bora/models/peft.h"
#include "bora/nn/weight_format.h"
#include "bora/shard/mesh.h"
#include "bora/train/local_settings.h"
#include "bora/train/loop.h"
#include "bora/train/membership.h"
#include "bora/train/trainable.h"
#include "job/ground.h"
#include "job/initial.h"
#include "job/reference.h"
#include "models/api/weights.h"
#include "train/api/memory_checkpoint.h"

namespace bora::job {
namespace {
/// Checkpoint that the ranks of an elastic job continue from after a loss: one that the run has written. A run that is
/// to begin anew does so until a rank knows that it has. All ranks call it.
Resume after_loss(const Mesh& mesh, Resume asked, bool begun) {
  auto all = mesh.exchange(asked == Resume::none && !begun ? "anew" : "", "run: what it continues from");
  return std::count(all.begin(), all.end(), "anew") == mesh.size() ? Resume::none : Resume::good;
}
std::string taken_away(int rank) {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  return "rank " + std::to_string(rank) + " (host " + host + ") got SIGTERM and has left";
}
/// Fills in the parameters of a new run from init_from and lora.from; returns lines to print.
std::vector<std::string> read_initial(const Job& job, Trainable& model, tree::Node parameters) {
  auto& s = job.settings;
  std::vector<std::string> said;
  if (!s.init_from.path.empty())
    said = read_init_from(parameters, s, vocabulary_of(s, *job.tokenizer));
  if (s.lora.dora && !s.init_from.path.empty()) {
    auto base = nn::WeightFormat::find(s.lora.base);
    auto integers = base ? s.model->packed(vocabulary_of(s, *job.tokenizer), *base) : std::vector<models::PackedLeaf>();
    models::begin_magnitudes(model.base(), model.parameters(), integers);
  }
  if (!s.lora.from.empty()) models::load_adapters(model.parameters(), s.lora.from, *s.model, s.lora);
  return said;
}
}  // namespace

Job Job::open(const Settings& settings, const JobContext& context) {
  Job job{with_absolute_paths(settings), nullptr, "train", context};
  check_job(job.settings, transport::config_from_environment().size);
  job.tokenizer = job.settings.tokenizer->open();
  check_rows(job.settings, *job.tokenizer);
  check_init_from(job.settings, *job.tokenizer, context.resume);
  return job;
}
int train(Job job) {
  auto& s = job.settings;
  auto* membership = job.context.membership;
  auto config = transport::config_from_environment();
  if (!may_join(job)) return 130;  // the launcher has no rank for it
  std::string settled;  // of local.every: auto, by rank 0
  if (s.local->automatic() && config.rank == 0)
    settled = std::to_string(planned_every(s, *job.tokenizer, config.size, job.context.resume));
  bora::training::MemoryCheckpoint snapshots;  // of all generations of the job in this process
  std::string ground;                   // of this process, once it has told its launcher
  bool begun = false;                   // steps were made in one of them
  std::string gone;                     // why this rank ends while the job goes on
  SharesRecord shares;                  // of mesh.shares: auto
  if (s.mesh.shares.automatic())
    job.settle_mesh = [&](const MeshShape& mesh, transport::Context& ranks) {
      shares = settled_shares(job, mesh, ranks);
      return shares.mesh;
    };
  auto hand_over = [&](const Mesh& mesh, const std::vector<int>& heirs) { snapshots.hand_over(mesh, heirs); };
  auto code = on_meshes(job, hand_over, [&](const Mesh& mesh) {
    if (s.elastic.max > 0 && !membership && mesh.rank() == 0)
      std::printf("elastic: nothing here would replace a lost rank; bora launch does\n");
    if (s.local->automatic())
      s.local.edit().set_every(*parse_as<std::int64_t>(mesh.exchange(settled, "run: local.every")[0]));
    auto model = trainable_of(s, *job.tokenizer, mesh.shape(), {.pipeline = job.context.pipeline});
    auto loop = loop_settings(s, mesh.shape(), job.tokenizer);
    if (s.mesh.shares.automatic())
      loop.write_settings = [&shares, settings = loop.write_settings](const std::string& folder) {
        auto lines = settings(folder);
        lines.push_back(shares.said);
        write_shares(folder, shares);
        return lines;
      };
    loop.resume = job.context.resume;
    loop.membership = membership;
    loop.serve_page = job.context.serve_page;
    if (membership && s.elastic.snapshot > 0) loop.memory = &snapshots, loop.snapshot_every = s.elastic.snapshot;
    if (membership && membership->generation() > 0) loop.resume = after_loss(mesh, loop.resume, begun);
    if (!s.init_from.path.empty() || !s.lora.from.empty())
      loop.initial = [&](tree::Node parameters) { return read_initial(job, *model, parameters); };
    loop.hooks.emplace_back([&begun](const StepReport&, RunView&) { begun = true; });
    auto data = open_data(s, job.tokenizer, mesh);
    if (s.preference.ahead) {
      std::string digest;
      data = with_reference(std::move(data), job, mesh, digest);
      if (!s.lora) loop.reference = digest;  // of adapters it is that of their base
    }
    if (membership && mesh.rank() == 0) {
      if (ground.empty()) ground = ground_of(job, transport_of(job));
      membership->stands_on(ground);
    }
    auto done = run_training(*model, data, loop, mesh);
    if (done == bora::training::kDrained) gone = taken_away(mesh.rank());
    return done;
  });
  if (!gone.empty()) throw transport::RankLost(gone, -1);
  return code;
}
Evaluation evaluate(const TrainedRun& run) {
  Job job{settings_on_job(run, "eval"), nullptr, "eval"};
  auto& s = job.settings;
  check_settings(s);
  s.preference.ahead = false;  // the rows of one evaluation
  job.tokenizer = s.tokenizer->open();
  check_folder_of(run, s, *job.tokenizer);
  check_rows(s, *job.tokenizer);
  Evaluation e;
  on_mesh(job, [&](const Mesh& mesh) {
    e.checkpoint = find_checkpoint(run, mesh);
    e.pairs = has_pairs(s);
    std::unique_ptr<Trainable> model;
    if (e.pairs || !s.lora.base.empty()) {
      model = trainable_of(s, *job.tokenizer, mesh.shape(), {.init = true});
      read_with_base(*model, e.checkpoint, s, run, mesh);
    } else {  // adapters are read into the weights
      model = trainable_of(s, *job.tokenizer, mesh.shape(), {.tuned = false, .init = true, .reads = true});
      read_parameters(model->parameters(), e.checkpoint, s, run, mesh);
    }
    auto loop = loop_settings(s, mesh.shape(), job.tokenizer);
    e.values = evaluation(*model, open_data(s, job.tokenizer, mesh), loop, mesh);
    for (auto& [name, value] : e.values)
      if (!std::isfinite(value))
        fail_not_finite("eval: " + std::string(name) + " is not finite", model->parameters(), s);
    e.rank = mesh.rank();
    return 0;
  });
  return e;
}
}  // namespace bora::job
