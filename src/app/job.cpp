#include "job.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include "bora/base/parallel.h"
#include "bora/nn/pipeline.h"
#include "bora/train/progress.h"
#include "bora/transport/join.h"
#include "companions.h"
#include "epochs.h"
#include "launch/cores.h"
#include "launch/epoch.h"

namespace bora::app {
namespace {
/// The settings that all ranks must share, a line each; paths, threads and the like may differ between hosts.
std::string common_ground(const Job& job, const MeshShape& mesh) {
  Settings s = with_tokenizer_path(job.settings, ""), defaults;
  for (auto* path : s.data.edit().paths()) path->clear();
  if (auto cache = s.data.edit().cache()) cache->clear();
  s.out = defaults.out;
  s.init_from.path.clear();
  s.lora.from.clear();
  s.trace.path = s.trace.path.empty() ? "" : "on";
  s.mesh.threads = defaults.mesh.threads;
  s.transport = defaults.transport;
  s.log.every = defaults.log.every;
  s.mesh.axes = defaults.mesh.axes;
  return "bora " BORA_VERSION " " + job.purpose + "\nmesh " + to_string(mesh) + "\ntokenizer " +
         job.tokenizer.identity() + "\n" + to_yaml(s);
}
/// Fragments are of the layers, of each stack of them.
void check_fragments(const Settings& s, const text::Tokenizer& tokenizer) {
  auto n = s.local->fragments();
  if (n == 1) return;
  for (auto& p : s.model->parameters(vocabulary_of(s, tokenizer)))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || n <= axis.size, "local.fragments: ", n, " is more than the ",
                         axis.size, " layers of the model (", p.path, ")");
}
/// How many stages the mesh cuts the layers into: 1 without a pipeline.
std::int64_t stages_of(const Settings& s, const MeshShape& mesh) {
  auto spec = placement_of({{nn::kLayers, 1}}, mappings_of(s.mesh, mesh).compute, mesh).spec;
  return mesh.parts(spec[0]);
}
/// The mesh axes that split the rows inside of a stage.
std::int64_t row_ranks(const Settings& s, const MeshShape& mesh) {
  auto compute = mappings_of(s.mesh, mesh).compute;
  auto stages = placement_of({{nn::kLayers, 1}}, compute, mesh).spec[0];
  auto batch = placement_of({{nn::kBatch, 1}}, compute, mesh).spec[0];
  std::int64_t n = 1;
  for (auto& axis : batch)
    if (!stages.has(axis)) n *= mesh.axis_size(axis);
  return n;
}
void check_stages(const Settings& s, const text::Tokenizer& tokenizer, const MeshShape& mesh) {
  auto n = stages_of(s, mesh);
  if (n == 1) return;
  auto split = placement_of({{nn::kLayers, 1}}, mappings_of(s.mesh, mesh).compute, mesh).spec[0];
  check<ConfigError>(split.size() == 1, "mesh.rules: axis '", nn::kLayers, "' is split over ", split.size(),
                     " mesh axes (", to_string(split), "); the stages of a pipeline are the ranks of one");
  std::string others;
  for (auto& row : config::rows<models::Model>())
    if (config::Choice<models::Model>(row.type)->in_stages())
      others += (others.empty() ? "" : ", ") + std::string(row.type);
  check<ConfigError>(s.model->in_stages(), "mesh: the layers of the model ", s.model->type(),
                     " cannot be the stages of a pipeline (axis stage of ", to_string(mesh), "); those of ", others,
                     " can");
  check<ConfigError>(s.mesh.schedule == "gpipe" || !s.model->has_extra_loss(), "mesh.schedule: 1f1b takes the loss of "
                     "each microbatch by itself, but the routers' loss of the model ", s.model->type(), " is about all "
                     "rows; set it to gpipe");
  check<ConfigError>(!s.local->on(), "mesh: stages and replicas that train by themselves (local) do not go together; "
                                     "leave axis stage or local out");
  check<ConfigError>(s.mesh.schedule == "gpipe" || Policy::parse(s.precision.policy).compute != f16,
                     "mesh.schedule: 1f1b computes gradients of a loss that is not scaled, and those of f16 underflow; "
                     "set it to gpipe, or precision to p=f32,c=bf16,o=f32");
  for (auto& p : s.model->parameters(vocabulary_of(s, tokenizer)))
    for (auto& axis : p.axes)
      check<ConfigError>(axis.name != nn::kLayers || axis.size % n == 0, "mesh: ", axis.size,
                         " layers of the model (model.layers) cannot be cut into ", n,
                         " equal stages; use as many ranks along axis stage as divide them");
  auto rows = s.batch / s.accumulate;
  check<ConfigError>(s.mesh.microbatches == 0 || rows % s.mesh.microbatches == 0, "mesh.microbatches: ", rows, " rows",
                     s.accumulate > 1 ? " in each part of the batch" : "", " cannot be cut into ", s.mesh.microbatches,
                     " equal microbatches; choose a divisor of them");
}
}  // namespace

std::vector<MeshAxis> mesh_axes(const Settings& s, const text::Tokenizer& tokenizer, int ranks,
                                std::string_view purpose) {
  auto mesh = resolve_mesh(s.mesh, ranks);
  check_parts(s, tokenizer, mesh, purpose);
  bora::training::check_local(*s.local, mesh, batch_axes(mappings_of(s.mesh, mesh).compute, mesh), s.batch,
                              s.accumulate);
  check_fragments(s, tokenizer);
  check_stages(s, tokenizer, mesh);
  bora::training::check_virtual(s.reproducible.virtual_, mappings_of(s.mesh, mesh), mesh, s.batch, s.accumulate);
  std::vector<MeshAxis> axes;
  for (auto& axis : mesh.axes) axes.push_back({axis.first.str(), axis.second});
  return axes;
}
std::string stages_text(const Settings& s, const MeshShape& mesh) {
  auto n = stages_of(s, mesh);
  if (n == 1) return {};
  std::int64_t rows = s.batch / s.accumulate, m = s.mesh.microbatches;
  if (m == 0) m = nn::default_microbatches(rows, n, row_ranks(s, mesh));
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.3g", 100 * nn::pipeline_bubble(n, m));
  return "  pipeline: " + s.mesh.schedule + ", " + std::to_string(n) + " stages, " + std::to_string(m) +
         " microbatches of " + std::to_string(rows / m) + " rows; of the layers' time a rank waits " + percent + " %\n";
}
std::vector<transport::Option> options_in(const Settings& s) {
  std::vector<transport::Option> given;
  fields::for_each(s.transport, [&](std::string_view name, auto& value) {
    if (value) given.push_back({std::string(name), config::print_value(*value), "transport." + std::string(name)});
  });
  return given;
}
void set_threads(const Settings& s, int ranks_here) {
  // The cores that affinity and cgroup allow, before ranks are bound.
  static const int allowed = (set_thread_count(0), thread_count());
  if (s.mesh.threads > 0) return set_thread_count(static_cast<int>(s.mesh.threads));
  static bool bound = false;
  int share = std::max(1, allowed / ranks_here);
  // Ranks that one launcher started here take separate cores; other launchers (Slurm, mpirun) do the binding. A rank
  // that is alone here after a loss takes all of them again.
  if (const char *rank = std::getenv("BORA_LOCAL_RANK"), *size = std::getenv("BORA_LOCAL_SIZE");
      rank && size && (ranks_here > 1 || bound)) {
    share = std::min(share, launch::bind_to_share(std::atoi(rank), std::atoi(size)));
    bound = true;
  }
  set_thread_count(share);
}

namespace {
bool may_go_on(const Job& job) { return job.purpose == "train" && launch::can_go_on(); }
/// Who does not arrive at a job that can go on is lost to it. Ranks that have met before, or are started beside such
/// ranks, fit together: whatever keeps them from meeting is a loss.
transport::ContextPtr meet(const Job& job, transport::Config config) {
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + std::chrono::duration<double>(config.join_timeout_s);
  for (;;) try {
    return transport::join(config, {launch::epoch_is_over, launch::host_is_silent});
  } catch (const transport::RankLost&) { throw; } catch (const transport::JoinTimeout& e) {
    if (!may_go_on(job)) throw;
    throw transport::RankLost(e.text(), e.rank);
  } catch (const Error& e) {
    if (!may_go_on(job) || launch::in_first_epoch()) throw;
    if (Clock::now() > until || !launch::epoch_is_over().empty()) throw transport::RankLost(e.text(), config.rank);
    config.root_socket = -1;  // it was closed
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // its interface may be down for a while
  }
}
int hand_over(const Job& job, const HandOver& f, const std::vector<int>& heirs) {
  auto config = transport::with_options(transport::config_from_environment(), options_in(job.settings));
  config = transport::with_options(config, job.transport);
  config.build = "hand over";
  auto mesh = Mesh::over(meet(job, config), {{"data", config.size}});
  f(mesh, heirs);
  mesh.leave();
  return kMeetAgain;
}
/// f on the mesh of this epoch of the job.
int in_epoch(const Job& job, const std::function<int(const Mesh&)>& f) {
  auto& s = job.settings;
  auto config = transport::with_options(transport::config_from_environment(), options_in(s));
  config = transport::with_options(config, job.transport);
  auto axes = mesh_axes(s, job.tokenizer, config.size, job.purpose);
  config.build = common_ground(job, mesh_shape(axes, config.size));
  auto context = meet(job, config);
  set_threads(s, context->ranks_on_host());
  if (config.rank == 0 && config.size > 1 && job.purpose == "train")
    std::printf("launcher: %s, %d ranks, rank 0 at %s\n", config.launcher.c_str(), config.size, config.root.c_str());
  // A rank inside a long kernel is ended after a second, with a line; the progress bar is cleared before it.
  context->on_lost(
      [](const transport::RankLost&) {
        if (terminal_columns() > 0) std::fputs("\r\033[K", stderr);
      },
      // Ranks that can go on have the time for it that their launcher gives them.
      may_go_on(job) ? 8.0 : 1.0);
  try {
    auto mesh = Mesh::over(context, axes);
    UseMesh on(mesh);
    UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
    nn::UseMicrobatches parts(s.mesh.microbatches);
    nn::UseSchedule order(nn::parse_schedule(s.mesh.schedule));
    auto code = f(mesh);
    mesh.leave();
    return code;
  } catch (const transport::RankLost&) { throw; } catch (const Error& e) {
    context->abort(e.text());  // the other ranks stop waiting for this one
    throw;
  } catch (const std::exception& e) {
    context->abort(e.what());
    throw;
  }
}
}  // namespace

int on_mesh(const Job& job, const std::function<int(const Mesh&)>& f) { return in_epoch(job, f); }
int on_meshes(const Job& job, const HandOver& to_heirs, const std::function<int(const Mesh&)>& f) {
  bool goes_on = may_go_on(job);
  for (;;) {
    std::exception_ptr lost;
    std::string why;
    int missed = -1;
    try {
      auto heirs = launch::heirs();
      auto code = heirs.empty() ? in_epoch(job, f) : hand_over(job, to_heirs, heirs);
      if (code != kMeetAgain) return code;
    } catch (const transport::RankLost& e) {
      lost = std::current_exception();
      why = e.text();
      missed = e.rank;
    }
    if (goes_on && launch::next_epoch(why, missed)) continue;
    if (!lost) return 130;  // the launcher is ending the job
    std::rethrow_exception(lost);
  }
}
}  // namespace bora::app
