#include "commands.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include "bora/base/json.h"
#include "bora/base/parallel.h"
#include "bora/train/process.h"
#include "bora/train/progress.h"
#include "bora/transport/transport.h"
#include "launch/cores.h"
#include "launch/launch.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
/// Makes paths absolute, so that a later command may run from any folder.
Settings with_absolute_paths(Settings s) {
  for (auto* path : {&s.out, &s.trace.path}) *path = data::absolute_path(*path);
  s.data.edit().set_path(data::absolute_path(s.data->path()));
  return s;
}
/// The settings that all ranks must share, a line each; paths, threads and the like may differ between hosts.
std::string common_ground(const Settings& settings, const std::string& purpose, const MeshShape& mesh) {
  Settings s = settings, defaults;
  s.data.edit().set_path("");
  s.out = defaults.out;
  s.trace.path = s.trace.path.empty() ? "" : "on";
  s.mesh.threads = defaults.mesh.threads;
  s.transport = defaults.transport;
  s.log.every = defaults.log.every;
  s.mesh.axes = defaults.mesh.axes;
  return "bora " BORA_VERSION " " + purpose + "\nmesh " + to_string(mesh) + "\n" + to_yaml(s);
}
/// The transport's options that the settings give, over the environment's.
std::vector<transport::Option> options_in(const Settings& s) {
  std::vector<transport::Option> given;
  fields::for_each(s.transport, [&](std::string_view name, auto& value) {
    if (value) given.push_back({std::string(name), config::print_value(*value), "transport." + std::string(name)});
  });
  return given;
}
}  // namespace

std::vector<MeshAxis> mesh_axes(const Settings& s, int ranks) {
  auto mesh = resolve_mesh(s.mesh.axes, s.mesh.layout, ranks);
  check_parts(s, mesh);
  std::vector<MeshAxis> axes;
  for (auto& axis : mesh.axes) axes.push_back({axis.first.str(), axis.second});
  return axes;
}
void set_threads(const Settings& s, int ranks_here) {
  set_thread_count(0);  // the cores that affinity and cgroup allow
  if (s.mesh.threads > 0) return set_thread_count(static_cast<int>(s.mesh.threads));
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

int on_mesh(const Arguments& a, const Settings& s, const std::string& purpose,
            const std::function<int(const Mesh&)>& f) {
  auto config = transport::with_options(transport::config_from_environment(), options_in(s));
  config = transport::with_options(config, a.transport);
  auto axes = mesh_axes(s, config.size);
  config.build = common_ground(s, purpose, mesh_shape(axes, config.size));
  auto context = transport::join(config);
  set_threads(s, context->ranks_on_host());
  if (config.rank == 0 && config.size > 1 && purpose == "train")
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
    UseMapping split(layout_mappings(parse_layout(s.mesh.layout), mesh.shape()).compute);
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

int train(const Arguments& a) {
  auto s = with_absolute_paths(load_settings(a.path, a.settings));
  check_job(s, transport::config_from_environment().size);
  return on_mesh(a, s, "train", [&](const Mesh& mesh) {
    auto options = model_options(s, mesh.shape());
    options.step->compile.pipeline = a.pipeline;
    auto model = s.model->trainable(options);
    auto loop = loop_settings(s);
    loop.resume = a.resume == "good" ? Resume::good : a.resume == "none" ? Resume::none : Resume::latest;
    return run_training(*model, open_data(s), loop, mesh);
  });
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
    if (is_own_command(a.program[0])) l.command = {program};
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
  auto ranks = ranks_of_mesh(s.mesh.axes);
  check<ConfigError>(ranks <= 64, "plan: ranks are threads of this process here; at most 64, the mesh has ", ranks);
  auto axes = mesh_axes(s, static_cast<int>(ranks));
  set_threads(s, 1);
  auto at_start = resident_bytes();
  local_mesh(axes, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout(s.mesh.layout), mesh.shape()).compute);
    auto options = model_options(s, mesh.shape());
    options.step->compile.pipeline = a.pipeline;
    auto model = s.model->trainable(options);
    model->init(random::key(s.seed));
    auto mine = rows_of_rank(s.batch, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, s.model->positions());
    auto text = plan_text(*model, make_batch(rows, s.batch, mesh), loop_settings(s), mesh, at_start);
    if (mesh.rank() == 0) std::printf("%s", text.c_str());
  });
  return 0;
}

Settings settings_on_job(const std::string& run, const std::vector<std::string>& overrides, std::string_view command) {
  for (auto& item : overrides)
    check<ConfigError>(!item.starts_with("out="), command, ": '", item, "' cannot be set: RUN is the folder");
  auto s = with_absolute_paths(settings_of_run(run, overrides));
  auto given = [&](std::initializer_list<std::string_view> keys) {
    return std::any_of(overrides.begin(), overrides.end(), [&](auto& item) {
      return std::any_of(keys.begin(), keys.end(), [&](auto key) { return item.starts_with(key); });
    });
  };
  bool axes = given({"mesh=", "mesh.axes=", "mesh.data=", "mesh.model="}), layout = given({"layout=", "mesh.layout="});
  if (!axes) s.mesh.axes.clear();  // the run's may be of another number of ranks
  auto ranks = transport::config_from_environment().size;
  if (ranks == 1 && !layout && !axes) s.mesh.layout = "dp";
  check_settings(s);
  return s;
}
int eval(const Arguments& a) {
  auto s = settings_on_job(a.path, a.settings, "eval");
  auto folder = checkpoint_of_run(a.path);
  return on_mesh(a, s, "eval " + fs::path(folder).filename().string(), [&](const Mesh& mesh) {
    auto model = s.model->trainable(model_options(s, mesh.shape()));
    model->init(random::key(s.seed));
    io::restore_leaves(model->parameters(), folder, place_of(mesh), "params");
    auto loss = static_cast<float>(evaluate(*model, open_data(s), loop_settings(s), mesh));
    if (mesh.rank() == 0)
      std::printf("checkpoint: %s\nval loss: %s\n", folder.c_str(), number_text(static_cast<double>(loss)).c_str());
    return 0;
  });
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
