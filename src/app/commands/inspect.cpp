// The leaves, blocks and static values that a checkpoint holds.
#include <cstdio>
#include <filesystem>
#include <sstream>
#include "app/commands.h"
#include "bora/base/text.h"
#include "bora/job/trained_run.h"
#include "bora/models/pretrained.h"
#include "io/api/statics.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
constexpr std::size_t kMostCharacters = 400;  // of a static value
/// The checkpoint at this path: itself, or the newest of a run or of a folder from save_tree.
std::string checkpoint_at(const std::string& path) {
  std::error_code error;
  if (fs::exists(path + "/manifest", error)) return path;
  if (fs::exists(path + "/config.yaml", error) || fs::is_directory(path + "/checkpoints", error))
    return checkpoint_of_run(path);
  auto saved = io::newest_checkpoint(path);
  return saved ? saved->folder : path;
}

/// A folder of Hugging Face's: its tensors, and whether they fit its config.json.
int show_pretrained(const std::string& folder) {
  auto p = models::Pretrained::open(folder);
  auto tensors = models::stored_tensors(folder);
  std::int64_t numbers = 0, bytes = 0;
  for (auto& t : tensors) {
    std::printf("%-48s %s\n", one_line(t.name).c_str(), t.form.c_str());
    numbers += t.numbers;
    bytes += t.bytes;
  }
  models::check_pretrained(folder, *p.model, p.vocabulary);
  std::printf("model: %s, %lld tokens: %zu tensors, %lld numbers, %lld bytes\n", std::string(p.model->type()).c_str(),
              static_cast<long long>(p.vocabulary), tensors.size(), static_cast<long long>(numbers),
              static_cast<long long>(bytes));
  return 0;
}

struct Inspect {
  static constexpr std::string_view name = "inspect", help = "what a checkpoint or a folder of Hugging Face's holds";
  static constexpr Row row{.place = 60, .prints = true};
  std::string path = {};
  bool blocks = false;

  void declare(Flags& flags) {
    flags
        .add("CHECKPOINT", path,
             "OUT/checkpoints/step-<n>, or the folder of a run: its newest one; or a folder of Hugging Face's, or a "
             "FILE.gguf")
        .required()
        .names(Names::input);
    flags.add("--blocks", blocks, "every block");
  }
  int run() const {
    if (is_pretrained(TrainedRun{path})) return show_pretrained(path);
    auto folder = checkpoint_at(path);
    if (folder != path) std::printf("checkpoint: %s (the newest of %s)\n", folder.c_str(), path.c_str());
    auto m = io::read_manifest(folder);
    std::int64_t parameters = 0, bytes = 0;
    for (auto& leaf : m.leaves) {
      bytes += static_cast<std::int64_t>(leaf.type.nbytes());
      if (leaf.path.starts_with("params.")) parameters += leaf.type.size();
      std::printf("%-48s %-22s %3zu block%s\n", leaf.path.c_str(), to_string(leaf.type).c_str(), leaf.blocks.size(),
                  leaf.blocks.size() == 1 ? "" : "s");
      if (!blocks) continue;
      for (auto& b : leaf.blocks) {
        std::string box;
        for (auto& range : b.box)
          box += (box.empty() ? "" : ", ") + std::to_string(range.begin) + ":" + std::to_string(range.end);
        std::printf("    [%s]  rank-%lld  %lld bytes from %lld\n", box.c_str(), static_cast<long long>(b.file),
                    static_cast<long long>(b.bytes), static_cast<long long>(b.offset));
      }
    }
    auto statics = io::statics_of(folder, m).value_or(tree::Value());
    for (std::size_t i = 0; i < statics.parts.size(); ++i) {
      std::ostringstream text;
      text << statics.parts[i];
      auto shown = text.str();
      if (shown.size() > kMostCharacters) shown = shown.substr(0, kMostCharacters - 3) + "...";
      std::printf("%-48s = %s\n", one_line(statics.names[i]).c_str(), shown.c_str());
    }
    auto step = m.notes.count("step") ? m.notes.at("step") : "?";
    auto by = m.mesh.empty() ? "without a mesh" : "on mesh " + m.mesh;
    std::printf("step %s, written %s: %zu leaves, %lld parameters, %lld bytes\n", step.c_str(), by.c_str(),
                m.leaves.size(), static_cast<long long>(parameters), static_cast<long long>(bytes));
    std::printf("verified: %lld bytes\n", static_cast<long long>(io::verify_checkpoint(folder)));
    return 0;
  }
};
}  // namespace
template const bool added<Inspect>;
}  // namespace bora::app
