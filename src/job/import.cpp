// A folder of Hugging Face's as the beginning of a run.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include "base/api/file.h"
#include "bora/io/tree.h"
#include "bora/job/auto_sync_period.h"
#include "bora/job/hugging_face.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/pretrained.h"
#include "bora/text/tokenizer.h"
#include "bora/text/tokenizer_files.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "shard/api/agree.h"
#include "train/api/run_folder.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
/// The settings of the run that is made.
Settings imported(const std::string& from, const std::string& run_folder, const std::vector<std::string>& settings) {
  for (std::string key : {"init_from=", "init_from.path=", "out="})
    for (auto& item : settings)
      check<ConfigError>(!item.starts_with(key), "import: '", item, "' cannot be set: DIR and RUN say it");
  (void)models::Pretrained::open(from);  // init_from takes runs too, import does not
  auto s = settings_of_pretrained(from, settings);
  s.out = run_folder;
  s = with_absolute_paths(s);
  check_settings_without_data(s);
  check_run_folder(s.out);
  auto there = io::list_checkpoints(s.out + "/checkpoints");
  bool cut_short = there.size() == 1 && there[0].step == 0 && !fs::exists(s.out + "/config.yaml");
  check<ConfigError>(there.empty() || cut_short, "import: ", s.out,
                     " has a checkpoint already; choose another folder");
  return s;
}
}  // namespace
int import_run(const std::string& from, const std::string& run_folder, const std::vector<std::string>& settings,
               const std::vector<std::string>& tokens) {
  auto s = imported(from, run_folder, settings);
  auto tokenizer = s.tokenizer->open();
  std::string with_tokens;  // the tokenizer's file
  if (!tokens.empty()) {
    auto path = tokenizer_path(s);
    std::error_code error;
    check<ConfigError>(path.empty() || fs::equivalent(fs::path(path).parent_path(), s.init_from.path, error),
                       "import: --add-token: the tokenizer ", path, " does not lie in ", s.init_from.path);
    with_tokens = text::with_tokens(path, tokens);
    s.vocabulary.size = std::max(s.vocabulary.size, tokenizer->size() + std::ssize(tokens));
  }
  check_init_from(s, *tokenizer, Resume::none);
  return on_mesh({s, tokenizer, "import"}, [&](const Mesh& mesh) {
    auto model = trainable_of(without_auto(s), *tokenizer, mesh.shape(), {.init = true});
    auto said = models::load_pretrained(model->parameters(), s.init_from.path, *s.model, vocabulary_of(s, *tokenizer),
                                        s.init_from.options());
    model->begin_around_parameters();
    auto mine = s;
    auto path = tokenizer_path(s);
    std::error_code error;
    if (!path.empty() && fs::equivalent(fs::path(path).parent_path(), s.init_from.path, error))
      mine = with_tokenizer_path(s, companions_of(s.out) + "/" + fs::path(path).filename().string());
    mine.init_from = {};
    std::unique_ptr<RunFolder> folder;  // on the first rank
    on_first(mesh, "import: the files of the run", [&] {
      folder = std::make_unique<RunFolder>(s.out);
      text::copy_companions(s.init_from.path, companions_of(s.out), true);
      if (!with_tokens.empty()) write_file(tokenizer_path(mine), with_tokens);
    });
    Arrays keep;
    auto saved = io::save_checkpoint(s.out + "/checkpoints", 0, io::leaves_of(model->state(), "", keep),
                                     place_of(mesh), {{"seed", std::to_string(s.seed)}, {"settings", to_yaml(mine)}});
    // Last: a folder with settings is a run, and whole; without them the same command makes it again.
    on_first(mesh, "import: the settings of the run", [&] {
      auto changed = write_config(s.out, mine);
      said.insert(said.end(), changed.begin(), changed.end());
      if (!tokens.empty())
        said.push_back("tokens: " + std::to_string(tokens.size()) + " added, from id " +
                       std::to_string(tokenizer->size()) + " on");
    });
    for (auto& line : said)
      if (mesh.rank() == 0) std::printf("%s\n", line.c_str());
    if (mesh.rank() == 0)
      std::printf("model: %s from %s\ncheckpoint: %s\n", std::string(s.model->type()).c_str(),
                  s.init_from.path.c_str(), saved.c_str());
    return 0;
  });
}
}  // namespace bora::job
