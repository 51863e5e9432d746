#include "bora/job/job.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tuple>
#include "base/api/threads.h"
#include "bora/base/parallel.h"
#include "bora/job/settings.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/train/membership.h"
#include "bora/train/progress.h"
#include "bora/transport/join.h"
#include "job/ground.h"
#include "job/placement.h"

namespace bora::job {
namespace {
template <class T> std::string text_of(const T& x) { return config::print_value(x); }
std::string text_of(config::Duration time) { return config::print_value(time.seconds); }  // as the transport reads it
}  // namespace
std::vector<transport::Option> options_in(const Settings& s) {
  std::vector<transport::Option> given;
  fields::for_each(s.transport, [&](std::string_view name, auto& value) {
    if (value) given.push_back({std::string(name), text_of(*value), "transport." + std::string(name)});
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
    share = std::min(share, bind_to_share(std::atoi(rank), std::atoi(size)));
    bound = true;
  }
  const int asked = threads_by_variable();
  set_thread_count(asked > 0 ? asked : share);
}

namespace {
/// In an elastic job a rank that misses the rendezvous counts as lost. Ranks of an earlier generation passed all checks
/// then, so a later failure to join is a loss, not bad input. One that was started beside them has passed them alone
/// (may_join), and ends at once if it cannot join: they go on without it.
transport::ContextPtr meet(const Job& job, transport::Config config) {
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + std::chrono::duration<double>(config.join_timeout_s);
  auto* elastic = job.context.membership;
  transport::Witness launcher;
  if (elastic)
    launcher = {[elastic] { return elastic->lost(); }, [elastic](int rank) { return elastic->host_is_silent(rank); }};
  for (;;) try {
    return transport::join(config, launcher);
  } catch (const transport::RankLost&) { throw; } catch (const transport::JoinTimeout& e) {
    if (!elastic) throw;
    throw transport::RankLost(e.text(), e.rank);
  } catch (const Error& e) {
    if (!elastic || elastic->generation() == 0 || elastic->is_new()) throw;
    if (dynamic_cast<const transport::Refused*>(&e)) throw transport::RankLost(e.text(), -1);
    if (Clock::now() > until || !elastic->lost().empty()) throw transport::RankLost(e.text(), config.rank);
    config.root_socket = -1;  // it was closed
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // its interface may be down for a while
  }
}
int hand_over(const Job& job, const HandOver& f, const std::vector<int>& heirs) {
  auto config = transport_of(job);
  config.build = "hand over";
  auto mesh = Mesh::over(meet(job, config), {{std::string(mesh_axes::kData), config.size}});
  f(mesh, heirs);
  mesh.leave();
  return bora::training::kNextGeneration;
}
/// f on the mesh of this generation of the job.
int in_generation(const Job& job, const std::function<int(const Mesh&)>& f) {
  auto& s = job.settings;
  auto config = transport_of(job);
  auto shape = checked_mesh(s, *job.tokenizer, config.size, job.purpose);
  config.build = "mesh\t" + to_string(shape) + "\n" + common_settings(job);
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
      job.context.membership ? 8.0 : 1.0);
  try {
    auto mesh = Mesh::over(context, job.settle_mesh ? job.settle_mesh(shape, *context) : shape);
    UseMesh on(mesh);
    UseMapping split(mappings_of(s, mesh.shape()).compute);
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

int on_mesh(const Job& job, const std::function<int(const Mesh&)>& f) { return in_generation(job, f); }
int on_meshes(const Job& job, const HandOver& to_heirs, const std::function<int(const Mesh&)>& f) {
  return bora::training::run_generations(job.context.membership, [&] {
    auto heirs = job.context.membership ? job.context.membership->heirs() : std::vector<int>();
    return heirs.empty() ? in_generation(job, f) : hand_over(job, to_heirs, heirs);
  });
}
}  // namespace bora::job
