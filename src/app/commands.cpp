#include "commands.h"
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include "bora/base/json.h"
#include "bora/base/parallel.h"
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include "bora/transport/transport.h"
#include "gpt_task.h"
#include "launch/cores.h"
#include "launch/launch.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
/// Makes paths absolute, so that a later command may run from any folder.
Settings with_absolute_paths(Settings s) {
  if (!s.data.empty()) s.data = fs::absolute(s.data).lexically_normal();
  if (!s.out.empty()) s.out = fs::absolute(s.out).lexically_normal();
  if (!s.trace.empty()) s.trace = fs::absolute(s.trace).lexically_normal();
  return s;
}
/// The settings that all ranks must share, a line each; paths, threads and the like may differ between hosts.
std::string common_ground(const Settings& settings, const MeshShape& mesh) {
  Settings s = settings, defaults;
  s.data = defaults.data;
  s.out = defaults.out;
  s.trace = s.trace.empty() ? "" : "on";
  s.threads = defaults.threads;
  s.join_timeout = defaults.join_timeout;
  s.log_every = defaults.log_every;
  s.mesh = defaults.mesh;
  return "bora " BORA_VERSION "\nmesh " + to_string(mesh) + "\n" + to_yaml(s);
}
/// The transport's options among the settings: those that are not at their defaults, over the environment's.
std::vector<transport::Option> options_in(const Settings& s) {
  if (s.join_timeout == Settings().join_timeout) return {};
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, s.join_timeout).ptr;
  return {{"join_timeout", {text, end}, "join_timeout"}};
}
}  // namespace

std::vector<MeshAxis> mesh_axes(const Settings& s, int ranks) {
  auto mesh = resolve_mesh(s.mesh, s.layout, ranks);
  check_parts(s, mesh);
  std::vector<MeshAxis> axes;
  for (auto& axis : mesh.axes) axes.push_back({axis.first.str(), axis.second});
  return axes;
}
void set_threads(const Settings& s, int ranks_here) {
  set_thread_count(0);  // the cores that affinity and cgroup allow
  if (s.threads > 0) return set_thread_count(static_cast<int>(s.threads));
  int share = std::max(1, thread_count() / ranks_here);
  // Ranks that one launcher started here take separate cores; other launchers (Slurm, mpirun) do the binding.
  if (const char *rank = std::getenv("BORA_LOCAL_RANK"), *size = std::getenv("BORA_LOCAL_SIZE");
      rank && size && ranks_here > 1)
    share = std::min(share, launch::bind_to_share(std::atoi(rank), std::atoi(size)));
  set_thread_count(share);
}
Settings settings_of_run(const std::string& run, const std::vector<std::string>& overrides) {
  check<ConfigError>(fs::exists(run + "/config.yaml"), run, " is no folder of a run: it has no config.yaml");
  auto s = load_settings(run + "/config.yaml", overrides);
  s.out = run;
  return s;
}
std::string checkpoint_of_run(const std::string& run) {
  auto found = io::newest_checkpoint(run + "/checkpoints");
  check<ConfigError>(found.has_value(), run, " has no checkpoint yet");
  return found->folder;
}

int train(const Arguments& a) {
  auto config = transport::config_from_environment();
  auto s = with_absolute_paths(load_settings(a.path, a.settings));
  check_job(s, config.size);
  auto axes = mesh_axes(s, config.size);
  config = transport::with_options(transport::with_options(config, options_in(s)), a.transport);
  config.build = common_ground(s, mesh_shape(axes, config.size));
  auto context = transport::join(config);
  set_threads(s, context->ranks_on_host());
  if (config.rank == 0 && config.size > 1)
    std::printf("launcher: %s, %d ranks, rank 0 at %s\n", config.launcher.c_str(), config.size, config.root.c_str());
  // A rank inside a long kernel is ended after a second, with a line; the progress bar is cleared before it.
  context->on_lost(
      [](const transport::RankLost&) {
        if (terminal_columns() > 0) std::fputs("\r\033[K", stderr);
      },
      1.0);
  try {
    auto mesh = Mesh::over(context, axes);
    UseMesh on(mesh);
    UseMapping split(layout_mappings(parse_layout(s.layout), mesh.shape()).compute);
    auto model = gpt_trainable(s, mesh.shape(), {.pipeline = a.pipeline});
    auto resume = a.resume == "good" ? Resume::good : a.resume == "none" ? Resume::none : Resume::latest;
    auto code = run_training(*model, s, mesh, {.resume = resume});
    model.reset();
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

int launch_ranks(const Arguments& a, const std::string& program) {
  launch::Options l{.ranks = a.ranks,
                    .log_dir = a.log_dir,
                    .max_restarts = a.max_restarts,
                    .root = std::getenv("BORA_ROOT") ? std::getenv("BORA_ROOT") : "",
                    .ssh = a.ssh,
                    .agent = program,
                    .variables = a.variables};
  if (!a.hosts.empty()) {
    auto hosts = launch::read_hosts(a.hosts);
    if (!a.ranks_given) l.ranks = launch::count_slots(hosts);
    l.hosts = launch::first_slots(std::move(hosts), l.ranks);
  }
  if (!a.program.empty()) {
    if (a.program[0] == "comm") l.command = {program};
    l.command.insert(l.command.end(), a.program.begin(), a.program.end());
    return launch::run(l);
  }
  auto s = with_absolute_paths(load_settings(a.path, a.settings));
  check_job(s, l.ranks);
  mesh_axes(s, l.ranks);
  if (!a.log_dir.empty()) check_outside_text(s, "--log-dir", a.log_dir);
  l.command = {program, "train"};
  if (!a.path.empty()) l.command.push_back(a.path);
  l.command.insert(l.command.end(), a.settings.begin(), a.settings.end());
  l.restarted = {"--resume", "good"};
  if (!a.resume.empty()) l.command.insert(l.command.end(), {"--resume", a.resume});
  if (!a.pipeline) l.command.emplace_back("--no-pipeline");
  return launch::run(l);
}

int plan(const Arguments& a) {
  auto s = with_absolute_paths(load_settings(a.path, a.settings));
  check_settings(s);
  std::int64_t ranks = 1;  // the product of the mesh's axes
  if (!s.mesh.empty() && s.mesh.find("-1") == std::string::npos) {
    for (std::size_t at = s.mesh.find('='); at != std::string::npos; at = s.mesh.find('=', at + 1))
      ranks = std::min<std::int64_t>(ranks, 1 << 30) * std::max(1, std::atoi(s.mesh.c_str() + at + 1));
  }
  check<ConfigError>(ranks <= 64, "plan: ranks are threads of this process here; at most 64, the mesh has ", ranks);
  auto axes = mesh_axes(s, static_cast<int>(ranks));
  set_threads(s, 1);
  auto at_start = resident_bytes();
  local_mesh(axes, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(s.layout), mesh.shape()).compute);
    auto model = gpt_trainable(s, mesh.shape(), {.pipeline = a.pipeline});
    model->init(random::key(s.seed));
    auto mine = rows_of_rank(s, mesh);
    data::Rows rows{0, mine.begin, mine.end,
                    std::vector<std::uint8_t>(static_cast<std::size_t>(mine.size() * (s.model.positions + 1))),
                    std::vector<float>(static_cast<std::size_t>(mine.size()), 1.0F)};
    auto text = plan_text(*model, make_batch(rows, s, mesh), s, mesh, at_start);
    if (mesh.rank() == 0) std::printf("%s", text.c_str());
  });
  return 0;
}

int eval(const Arguments& a) {
  for (auto& item : a.settings)
    for (std::string_view key : {"mesh=", "layout=", "out="})
      check<ConfigError>(!item.starts_with(key), "eval: '", item, "' cannot be set: it runs in one process, on RUN");
  auto s = settings_of_run(a.path, a.settings);
  s.mesh.clear();
  check_settings(s);
  set_threads(s, 1);
  auto folder = checkpoint_of_run(a.path);
  s.layout = "dp";
  local_mesh(mesh_axes(s, 1), [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(s.layout), mesh.shape()).compute);
    auto model = gpt_trainable(s, mesh.shape());
    model->init(random::key(s.seed));
    io::restore_leaves(model->parameters(), folder, place_of(mesh), "params");
    auto loss = static_cast<float>(evaluate(*model, s, mesh));
    std::printf("checkpoint: %s\nval loss: %s\n", folder.c_str(), number_text(static_cast<double>(loss)).c_str());
  });
  return 0;
}

namespace {
/// The checkpoint at this path: itself, or the newest of a run or of a folder from save_tree.
std::string checkpoint_at(const std::string& path) {
  std::error_code error;
  if (fs::exists(path + "/manifest", error)) return path;
  if (fs::exists(path + "/config.yaml", error) || fs::is_directory(path + "/checkpoints", error))
    return checkpoint_of_run(path);
  auto saved = io::newest_checkpoint(path);
  return saved ? saved->folder : path;
}
}  // namespace
int inspect(const Arguments& a) {
  auto folder = checkpoint_at(a.path);
  if (folder != a.path) std::printf("checkpoint: %s (the newest of %s)\n", folder.c_str(), a.path.c_str());
  auto m = io::read_manifest(folder);
  std::int64_t parameters = 0, bytes = 0;
  for (auto& leaf : m.leaves) {
    bytes += static_cast<std::int64_t>(leaf.type.nbytes());
    if (leaf.path.starts_with("params.")) parameters += leaf.type.size();
    std::printf("%-48s %-22s %3zu block%s\n", leaf.path.c_str(), to_string(leaf.type).c_str(), leaf.blocks.size(),
                leaf.blocks.size() == 1 ? "" : "s");
    if (!a.details) continue;
    for (auto& b : leaf.blocks) {
      std::string box;
      for (auto& range : b.box)
        box += (box.empty() ? "" : ", ") + std::to_string(range.begin) + ":" + std::to_string(range.end);
      std::printf("    [%s]  rank-%lld  %lld bytes from %lld\n", box.c_str(), static_cast<long long>(b.file),
                  static_cast<long long>(b.bytes), static_cast<long long>(b.offset));
    }
  }
  auto step = m.notes.count("step") ? m.notes.at("step") : "?";
  std::printf("step %s, written on mesh %s: %zu leaves, %lld parameters, %lld bytes\n", step.c_str(), m.mesh.c_str(),
              m.leaves.size(), static_cast<long long>(parameters), static_cast<long long>(bytes));
  std::printf("verified: %lld bytes\n", static_cast<long long>(io::verify_checkpoint(folder)));
  return 0;
}
}  // namespace bora::app
