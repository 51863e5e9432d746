#include "options.h"
#include <CLI/CLI.hpp>
#include <filesystem>

namespace bora::app {
void ConfigWords::declare(CLI::App& command) {
  command.add_option("CONFIG.yaml", words, "a configuration file, if there is one, then key=value ...")
      ->type_name("")
      ->default_str("");
  // Short forms of settings, in the order in which they are listed.
  for (auto [key, meaning] : {std::pair<std::string, std::string>{"mesh", "data=2,model=1"},
                              {"layout", "dp, fsdp, tp or fsdp+tp"},
                              {"threads", "of each rank"},
                              {"out", "folder of the run"}})
    command
        .add_option_function<std::string>(
            "--" + key, [this, key = key](const std::string& v) { settings.push_back(key + "=" + v); }, meaning)
        ->type_name("TEXT");
  command.footer(
      [] { return "\nSettings and their defaults (bora help GROUP or KEY: fewer of them):\n" + settings_help(); });
}
void ConfigWords::settle() {
  auto first = words.begin();
  if (first != words.end() && !is_setting(*first)) path = *first++;
  for (auto item = first; item != words.end(); ++item)
    check<ConfigError>(item->find('=') != std::string::npos, "expected key=value",
                       path.empty() ? std::string() : " after " + path, ", got '", *item, "'");
  settings.insert(settings.begin(), first, words.end());
  words.clear();
}
Settings ConfigWords::load() const { return with_absolute_paths(load_settings(path, settings)); }
bool is_setting(const std::string& word) {
  std::error_code error;
  return word.find('=') != std::string::npos && !std::filesystem::exists(word, error);
}

void RunWords::declare(CLI::App& command) {
  command.add_option("RUN", run, "folder of the run, or of Hugging Face's")->required();
  command.add_option("settings", settings, "key=value ...");
  declare_resume(command, resume, {"latest", "good", "best"},
                 "which checkpoint: latest (default), good: the newest that is whole, best: of the lowest validation "
                 "loss (checkpoint.best)");
}

void declare_resume(CLI::App& command, std::string& resume, const std::vector<std::string>& words,
                    const std::string& help) {
  command.add_option("--resume", resume, help)->check(CLI::IsMember(words))->take_last();
}
void declare_resume(CLI::App& command, std::string& resume) {
  declare_resume(command, resume, {"latest", "good", "none"},
                 "where the folder has checkpoints: latest (default), good: the newest that is whole, none: begin anew "
                 "and keep them aside");
}
Resume resume_of(const std::string& word) {
  return word == "good" ? Resume::good : word == "none" ? Resume::none : Resume::latest;
}
void declare_insecure(CLI::App& command, std::vector<transport::Option>& given) {
  command.add_flag_callback(
      "--insecure-private-network",
      [&given] { given.push_back({"insecure_private_network", "true", "--insecure-private-network"}); },
      "ranks of several hosts need no secret: only where nobody else reaches their network");
}
void declare_pipeline(CLI::App& command, bool& pipeline) {
  command.add_flag_callback(
      "--no-pipeline", [&pipeline] { pipeline = false; },
      "communication of a layer only beside its own compute, on every rank: to compare");
}
}  // namespace bora::app
