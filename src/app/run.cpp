#include "run.h"
#include <algorithm>
#include <filesystem>
#include "train/resume.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
std::string checkpoints_of(const std::string& run) { return run + "/checkpoints"; }
constexpr std::string_view kOffer = "--resume good reads that one";
}  // namespace

Settings settings_on_job(const RunWords& words, std::string_view command) {
  auto& items = words.settings;
  for (auto& item : items)
    check<ConfigError>(!item.starts_with("out="), command, ": '", item, "' cannot be set: RUN is the folder");
  auto file = words.run + "/config.yaml";
  check<ConfigError>(fs::exists(file), words.run, " is no folder of a run: it has no config.yaml");
  auto s = load_settings(file, items);
  s.out = words.run;
  s = with_absolute_paths(s);
  auto given = [&](std::initializer_list<std::string_view> keys) {
    return std::any_of(items.begin(), items.end(), [&](auto& item) {
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
std::string checkpoint_of_run(const std::string& run) {
  auto found = io::newest_checkpoint(checkpoints_of(run));
  check<ConfigError>(found.has_value(), run, " has no checkpoint yet");
  return found->folder;
}
std::string find_checkpoint(const RunWords& words, const Mesh& mesh) {
  auto found = training::find_checkpoint(mesh, checkpoints_of(words.run), resume_of(words.resume), kOffer).checkpoint;
  check<ConfigError>(found.has_value(), words.run, " has no checkpoint yet");
  return found->folder;
}
void read_parameters(tree::Node parameters, const std::string& folder, const RunWords& words, const Mesh& mesh) {
  training::offering_older(mesh, checkpoints_of(words.run), kOffer,
                           [&] { io::restore_leaves(parameters, folder, place_of(mesh), "params"); });
}
}  // namespace bora::app
