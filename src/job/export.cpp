// A model that was trained as a folder for other programs.
#include <cstdio>
#include <filesystem>
#include "base/api/file.h"
#include "base/api/paths.h"
#include "bora/data/data.h"
#include "bora/io/tree.h"
#include "bora/job/hugging_face.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/peft.h"
#include "bora/models/pretrained.h"
#include "bora/text/chat.h"
#include "bora/text/tokenizer_files.h"
#include "bora/train/loop.h"
#include "bora/train/trainable.h"
#include "bora/optim/kind.h"
#include "gguf/api/companions.h"
#include "job/averages.h"
#include "shard/api/agree.h"
#include "text/api/chat_layout.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
struct Export : ExportOptions {
  const TrainedRun& words;
  int run() const {
    auto s = settings_on_job(words, "export");
    if (format == "hf") s.lora.base = {};  // merged into numbers
    check<ConfigError>(!s.model->hf_names().types.empty(), "export: Hugging Face's folders have no model of type ",
                       s.model->type());
    if (format == "hf") {
      models::HfConfig config;
      s.model->to_hf(config);  // refuses settings that no model of theirs has
    }
    std::error_code error;
    bool made = !is_there(to), free = made || (fs::is_directory(to, error) && fs::is_empty(to, error) && !error);
    check<ConfigError>(free, "export: ", to, " is not empty; choose another folder");
    check<ConfigError>(format == "hf" || s.lora, "export: ", words.run, " has no adapters (lora.rank) to write");
    auto tokenizer = s.tokenizer->open();
    check_folder_of(words, s, *tokenizer);
    try {
      return write(s, tokenizer);
    } catch (...) {
      if (transport::config_from_environment().rank == 0) remove_written(made);
      throw;
    }
  }
  /// After a failure: the folder was empty, and what is in it now would look like a model.
  void remove_written(bool made) const {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator it(to, error), end; !error && it != end; it.increment(error))
      if (it->is_regular_file(error)) files.push_back(it->path());
    for (auto& file : files) fs::remove(file, error);
    if (made) fs::remove(to, error);  // if nothing else is in it
  }
  int write(const Settings& s, const std::shared_ptr<const text::Tokenizer>& tokenizer) const {
    return on_mesh({s, tokenizer, "export"}, [&](const Mesh& mesh) {
      auto folder = find_checkpoint(words, mesh);
      if (format == "peft") {
        auto trained = trainable_of(s, *tokenizer, mesh.shape(), {.init = true});
        io::restore_leaves(trained->parameters(), folder, place_of(mesh), "params");
        if (words.ema) take_averages(trained->parameters(), folder, s.optimizer->common.ema, place_of(mesh));
        models::save_adapters(to, trained->parameters(), *s.model, s.lora, s.init_from.path);
        if (mesh.rank() == 0) std::printf("checkpoint: %s\nwritten: %s\n", folder.c_str(), to.c_str());
        return 0;
      }
      auto model = scorer_of(s, *tokenizer, mesh.shape());
      read_parameters(model->parameters(), folder, s, words, mesh);
      auto source = is_pretrained(words) ? s.out : companions_of(s.out);
      auto [config, generation] = special_tokens(source, *tokenizer);
      if (auto start = s.model->decoder_start()) {  // generation_config.json is all that generate() reads
        generation.set("decoder_start_token_id", std::int64_t{*start});
        if (!generation.has("pad_token_id")) generation.set("pad_token_id", std::int64_t{*start});
      }
      models::SavePretrained how{.shard_bytes = shard_bytes};
      if (!dtype.empty()) how.dtype = dtype == "bf16" ? bf16 : f32;
      if (!weights.empty()) how.weights = nn::WeightFormat::parse(weights);
      on_first(mesh, "export: the tokenizer's files", [&, &g = generation] {  // before config.json: it makes a model
        fs::create_directories(to);
        write_companions(s, source, g);
      });
      models::save_pretrained(to, model->parameters(), *s.model, vocabulary_of(s, *tokenizer), config, how);
      if (mesh.rank() == 0) std::printf("checkpoint: %s\nwritten: %s\n", folder.c_str(), to.c_str());
      return 0;
    });
  }
  /// config.json and generation_config.json with the ids of special tokens: those of the folder that the run came from,
  /// or the tokenizer's.
  static std::pair<models::HfConfig, models::HfConfig> special_tokens(const std::string& source,
                                                                      const text::Tokenizer& tokenizer) {
    models::HfConfig config, generation;
    if (models::is_pretrained(source)) {
      auto file = source + "/config.json";
      auto names = {"bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "decoder_start_token_id"};
      auto original = models::HfConfig::parse(gguf::read_file(file), file);
      for (auto name : names) config.take(original, {name}), generation.take(original, {name});
    } else {
      for (auto* c : {&config, &generation}) {
        if (auto id = tokenizer.end_of_text()) c->set("eos_token_id", std::int64_t{*id});
        if (auto id = tokenizer.padding()) c->set("pad_token_id", std::int64_t{*id});
      }
    }
    return {config, generation};
  }
  void write_companions(const Settings& s, const std::string& source, const models::HfConfig& generation) const {
    text::copy_companions(source, to, false);
    auto path = tokenizer_path(s);
    std::error_code error;
    bool there = fs::equivalent(path, source, error) || fs::equivalent(fs::path(path).parent_path(), source, error);
    if (!path.empty() && !there) copy_tokenizer(s, to);
    if (path.empty())
      std::printf("the tokenizer '%s' has no files: none are written\n", std::string(s.tokenizer->type()).c_str());
    if (!fs::exists(to + "/generation_config.json")) write_file(to + "/generation_config.json", generation.text());
    if (fs::exists(to + "/tokenizer.json") && !fs::exists(to + "/tokenizer_config.json"))
      write_file(to + "/tokenizer_config.json", "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}\n");
    write_chat_template(s);
  }
  /// The template in which the run's conversations were, unless the tokenizer's files have one, or lack the tokens that
  /// it asks for.
  void write_chat_template(const Settings& s) const {
    auto data = s.data.write();
    auto task = data.find("task"), name = task ? task->find("chat_template") : nullptr;
    auto jinja = name ? text::jinja_of(name->text) : std::string();
    auto file = to + "/chat_template.jinja", config = to + "/tokenizer_config.json";
    if (jinja.empty() || is_there(file)) return;
    auto said = is_there(config) ? read_file(config) : std::string();
    for (std::string token : {"bos_token", "eos_token"})
      if (jinja.find(token) != jinja.npos && said.find('"' + token + '"') == said.npos) return;
    if (said.find("\"chat_template\"") == said.npos) write_file(file, jinja);
  }
};
}  // namespace
int export_run(const TrainedRun& run, const ExportOptions& options) { return Export{options, run}.run(); }
}  // namespace bora::job
