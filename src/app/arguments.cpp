#include "arguments.h"
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>
#include "settings.h"

namespace bora::app {
namespace {
/// The short forms of settings, in the order in which they are listed.
void add_settings(CLI::App* command, Arguments& a) {
  for (std::string key : {"mesh", "layout", "threads", "out"}) {
    auto words = key == "mesh"      ? "data=2,model=1"
                 : key == "layout"  ? "dp, fsdp, tp or fsdp+tp"
                 : key == "threads" ? "of each rank"
                                    : "folder of the run";
    command
        ->add_option_function<std::string>(
            "--" + key, [&a, key](const std::string& v) { a.settings.push_back(key + "=" + v); }, words)
        ->type_name("TEXT");
  }
}
void add_config(CLI::App* command, Arguments& a, std::vector<std::string>& words) {
  command->add_option("CONFIG.yaml", words, "a configuration file, if there is one, then key=value ...")
      ->type_name("")
      ->default_str("");
  add_settings(command, a);
  command->footer(
      [] { return "\nSettings and their defaults (bora help GROUP or KEY: fewer of them):\n" + settings_help(); });
}
/// Whether `path` is an executable file.
bool can_run(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}
bool in_path(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (can_run((folder.empty() ? "." : folder) + "/" + name)) return true;
  return false;
}
bool is_setting(const std::string& word) {
  std::error_code error;
  return word.find('=') != std::string::npos && !std::filesystem::exists(word, error);
}
bool is_config(const std::string& word) {
  std::error_code error;
  return word.ends_with(".yaml") || word.ends_with(".yml") || std::filesystem::exists(word, error);
}
/// Whether the word after `launch --` names a program: the path of an executable file, which no configuration is, or a
/// name in PATH.
bool is_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return can_run(word);
  return word != "train" && !is_setting(word) && !is_config(word) && in_path(word);
}
/// CONFIG, then key=value items, or items alone; after `launch --` the word `train` may come first.
void take_words(const std::vector<std::string>& words, bool launched, Arguments& a) {
  std::size_t i = launched && !words.empty() && words[0] == "train";
  if (i < words.size() && !is_setting(words[i])) {
    a.path = words[i++];
    check<ConfigError>(
        !launched || i > 1 || is_config(a.path), "launch: '", a.path,
        "' is no configuration file, no setting key=value and no program: a program is named by its path (./", a.path,
        ") or lies in PATH");
  }
  std::vector<std::string> items(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  for (auto& item : items)
    check<ConfigError>(item.find('=') != std::string::npos, "expected key=value",
                       a.path.empty() ? std::string() : " after " + a.path, ", got '", item, "'");
  a.settings.insert(a.settings.begin(), items.begin(), items.end());
}
}  // namespace

bool is_own_command(const std::string& word) { return word == "comm" || word == "eval" || word == "generate"; }

std::optional<Arguments> parse_arguments(int argc, const char* const* argv) {
  Arguments a;
  std::vector<std::string> words;
  CLI::App app("Bora: sharded training of language models on CPUs", "bora");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  app.set_version_flag("--version", "bora " BORA_VERSION);
  auto train = app.add_subcommand(
      "train", "train a model: this process is one rank (BORA_RANK, BORA_SIZE, BORA_ROOT), or all there is");
  add_config(train, a, words);
  auto launch = app.add_subcommand(
      "launch",
      "train with N processes, here or on other hosts: launch -n N [--] [train] [CONFIG.yaml] [key=value ...]; "
      "or launch -n N -- comm ..., -- eval RUN, -- generate RUN ..., -- PROGRAM ...");
  auto ranks = launch->add_option("-n,--ranks", a.ranks, "number of processes; with --hosts all slots unless given")
                   ->default_str("");
  launch->add_option("--hosts", a.hosts, "a file of hosts that ssh reaches, one a line: host slots=N iface=NAME");
  launch->add_option("--ssh", a.ssh, "command and options instead of ssh");
  launch
      ->add_option("--env", a.variables, "a variable that ranks on other hosts get too, beside BORA_*, OMP_*, PATH ...")
      ->allow_extra_args(false);
  launch->add_option("--log-dir", a.log_dir, "a file for each rank's output");
  launch->add_option("--max-restarts", a.max_restarts, "start again after a rank was lost, so many times");
  add_config(launch, a, words);
  auto plan = app.add_subcommand("plan", "what a step will need on each rank of the mesh, without training");
  add_config(plan, a, words);
  auto eval = app.add_subcommand("eval", "loss of a run's newest checkpoint on its held-out text");
  eval->add_option("RUN", a.path, "folder of the run")->required();
  eval->add_option("settings", a.settings, "key=value ...");
  auto generate = app.add_subcommand("generate", "text from a run's newest checkpoint");
  generate->add_option("RUN", a.path, "folder of the run")->required();
  generate->add_option("settings", a.settings, "key=value ...");
  generate->add_option("--prompt", a.prompt, "text to begin with");
  generate->add_option("--length", a.length, "tokens to add");
  generate->add_option("--temperature", a.temperature, "0: the most likely token each time");
  generate->add_option("--top-k", a.top_k, "choose among the k most likely; 0: all");
  generate->add_option("--seed", a.seed, "another seed, another text");
  auto inspect = app.add_subcommand("inspect", "what a checkpoint holds; verifies every byte");
  inspect->add_option("CHECKPOINT", a.path, "OUT/checkpoints/step-<n>, or the folder of a run: its newest one")
      ->required();
  inspect->add_flag("--blocks", a.details, "every block");
  auto comm = app.add_subcommand("comm", "how fast collectives are on this job: launch -n N -- comm");
  comm->add_option("--max-bytes", a.most_bytes, "largest vector");
  comm->add_option("--json", a.json, "a file for the numbers");
  comm->add_option("--svg", a.svg, "a file for a plot");
  comm->add_flag("--explain", a.explain, "what each algorithm would do and cost instead, for -n ranks");
  comm->add_flag_callback(
      "--calibrate", [&a] { a.transport.push_back({"calibrate", "on", "--calibrate"}); },
      "measure the links again first, and keep what they cost for later jobs");
  comm->add_option("--on", a.hosts_explained, "hosts to explain for; default: one for each rank");
  comm->add_option("-n,--ranks", a.ranks, "ranks to explain");
  for (auto* command : {train, launch})
    command
        ->add_option("--resume", a.resume,
                     "where the folder has checkpoints: latest (default), good: the newest that is whole, none: begin "
                     "anew and keep them aside")
        ->check(CLI::IsMember({"latest", "good", "none"}))
        ->take_last();
  for (auto* command : {train, comm})
    command->add_flag_callback(
        "--insecure-private-network",
        [&a] { a.transport.push_back({"insecure_private_network", "true", "--insecure-private-network"}); },
        "ranks of several hosts need no secret: only where nobody else reaches their network");
  for (auto* command : {train, launch, plan})
    command->add_flag_callback(
        "--no-pipeline", [&a] { a.pipeline = false; },
        "communication of a layer only beside its own compute, on every rank: to compare");
  auto agent = app.add_subcommand("agent", "the part of a launch that ssh starts on other hosts")->group("");
  agent->add_option("--interface", a.interface_name, "network interface that ranks listen on");
  auto doctor = app.add_subcommand("doctor", "what this machine offers");
  auto help = app.add_subcommand("help", "settings, their defaults and what they mean");
  std::string topic;
  help->add_option("GROUP", topic, "a group of settings (model), one of them (lr), or a command");
  if (argc > 1 && argv[1][0] != '-') {
    std::string names;
    bool known = false;
    for (auto command : app.get_subcommands({})) {
      if (!command->get_group().empty()) names += (names.empty() ? "" : ", ") + command->get_name();
      known = known || command->get_name() == argv[1];
    }
    check<ConfigError>(known, "unknown command '", argv[1], "'; there are ", names);
  }
  std::vector<const char*> given(argv, argv + argc);
  if (argc > 1 && std::string(argv[1]) == "launch") {
    // Words after `--` are parsed as for `bora train`, unless the first names another program.
    auto dashes = std::find(given.begin(), given.end(), std::string_view("--"));
    if (dashes != given.end() && dashes + 1 != given.end() && (is_own_command(dashes[1]) || is_program(dashes[1]))) {
      a.program.assign(dashes + 1, given.end());
      given.erase(dashes, given.end());
    }
    std::erase(given, std::string_view("--"));
  }
  try {
    app.parse(static_cast<int>(given.size()), given.data());
  } catch (const CLI::Success& e) {
    app.exit(e);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    std::string text = e.what();
    throw ConfigError(text.substr(0, text.find('\n')) + "; see bora --help");
  }
  if (*help) {
    for (auto command : app.get_subcommands({}))
      if (command->get_name() == topic) return std::fputs(command->help(app.get_name()).c_str(), stdout), std::nullopt;
    if (topic.empty()) std::fputs(app.help().c_str(), stdout), std::fputs("\nSettings:\n", stdout);
    std::fputs(settings_help(topic).c_str(), stdout);
    return std::nullopt;
  }
  using C = Arguments::Command;
  a.command = *train      ? C::train
              : *launch   ? C::launch
              : *plan     ? C::plan
              : *eval     ? C::eval
              : *generate ? C::generate
              : *inspect  ? C::inspect
              : *comm     ? C::comm
              : *agent    ? C::agent
                          : C::doctor;
  (void)doctor;
  if (*train || *plan) take_words(words, false, a);
  if (*launch && a.program.empty()) take_words(words, true, a);
  check<ConfigError>(a.most_bytes >= 4096 && a.most_bytes <= 1 << 30, "--max-bytes: must be from 4096 to 2^30, got ",
                     a.most_bytes);
  a.ranks_given = ranks->count() > 0;
  if (*launch) {
    check<ConfigError>(a.ranks_given || !a.hosts.empty(), "launch: how many ranks? give -n N, or --hosts FILE");
    check<ConfigError>(!a.hosts.empty() || (a.ssh.empty() && a.variables.empty()),
                       "--ssh and --env: they are for other hosts; give --hosts FILE");
    for (auto& name : a.variables)
      check<ConfigError>(std::getenv(name.c_str()), "--env ", name, ": it is not set here");
  }
  check<ConfigError>(a.ranks >= 1, "-n: must be 1 or more, got ", a.ranks);
  check<ConfigError>(!a.explain || a.ranks <= 256, "-n: at most 256 ranks are explained, got ", a.ranks);
  check<ConfigError>(
      !a.explain || a.hosts_explained == 0 || (a.hosts_explained > 0 && a.ranks % a.hosts_explained == 0),
      "--on: ", a.ranks, " ranks cannot be spread evenly over ", a.hosts_explained, " hosts");
  check<ConfigError>(a.max_restarts >= 0, "--max-restarts: must be 0 or more, got ", a.max_restarts);
  check<ConfigError>(a.temperature >= 0, "--temperature: must be 0 or more, got ", a.temperature);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();  // CLI11 gives this for larger numbers too
  for (auto [name, value] : {std::pair{"--top-k", a.top_k}, {"--length", a.length}, {"--seed", a.seed}})
    check<ConfigError>(value >= 0 && value < most, name, ": must be 0 or more, and below 2^63 - 1");
  return a;
}
}  // namespace bora::app
