// Starts the ranks of a job, here or on other hosts.
#include "launch/api/launch.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>
#include "app/commands.h"
#include "base/api/most_ranks.h"
#include "bora/base/text.h"
#include "bora/io/checkpoint.h"
#include "bora/job/auto_sync_period.h"
#include "bora/job/job.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "bora/transport/transport.h"
#include "launch/api/allocation.h"
#include "launch/api/tunnel.h"
#include "train/api/run_folder.h"

namespace fs = std::filesystem;
namespace bora::app {
namespace {
/// Whether `path` is an executable file.
bool can_run(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}
bool in_path(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (can_run((folder.empty() ? "." : folder) + "/" + name)) return true;
  return false;
}
bool is_config(const std::string& word) {
  std::error_code error;
  return word.ends_with(".yaml") || word.ends_with(".yml") || fs::exists(word, error);
}
/// Whether the word after `launch --` names a program: the path of an executable file, which no configuration is, or a
/// name in PATH.
bool is_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return can_run(word);
  return word != "train" && !is_setting(word) && !is_config(word) && in_path(word);
}
/// Whether every rank runs this word as a command of bora, with the words that follow. Not `train`: its words are
/// parsed here, so that mistakes are found before ranks start.
bool is_command(const std::string& word) {
  return word != "train" &&
         std::any_of(commands().begin(), commands().end(), [&](auto& row) { return row.launched && row.name == word; });
}

struct Launch {
  static constexpr std::string_view name = "launch";
  static constexpr std::string_view help =
      "train with N processes, here or on other hosts: launch -n N [--] [train] "
      "[CONFIG.yaml] [key=value ...]; or launch -n N -- comm ..., -- eval RUN, "
      "-- generate RUN ..., -- PROGRAM ...";
  static constexpr Row row{.place = 20, .own_check = true};
  std::optional<int> ranks = {};  // none: all slots of the hosts
  std::string hosts = {}, ssh = {};
  std::vector<std::string> variables = {};  // names, sent to other hosts too
  std::string log_dir = {};
  int max_restarts = 0;
  std::string elastic = {};
  std::optional<int> snapshot = {};
  ConfigWords config = {};
  std::string resume = {};
  bool pipeline = true, script = false;
  std::vector<std::string> said = {};     // its own words, for a script
  std::vector<std::string> program = {};  // run by every rank instead of `train`: eval .., a program .., with arguments

  void declare(Flags& flags) {
    flags.add("-n,--ranks", ranks, "number of processes; with --hosts all slots unless given").no_default();
    flags.add("--hosts", hosts, "a file of hosts that ssh reaches, one a line: host slots=N iface=NAME; or slurm, or "
                               "kubernetes: those of the job in which this runs")
        .names(Names::input);
    flags.add("--ssh", ssh, "command and options instead of ssh; agent: those hosts run bora agent --listen")
        .names(Names::nothing);
    flags.add("--env", variables, "a variable that ranks on other hosts get too, beside BORA_*, OMP_*, PATH ...")
        .one_value()
        .names(Names::nothing);
    flags.add("--log-dir", log_dir, "a file for each rank's output").names(Names::ranks);
    flags.add("--max-restarts", max_restarts, "start again after a rank was lost, so many times");
    flags.add("--elastic", elastic, "MIN:MAX ranks: go on after ranks were lost, while MIN are left (elastic.*)")
        .names(Names::nothing);
    flags.add("--snapshot", snapshot, "elastic.snapshot").no_default();
    flags.add("--slurm-script", script, "print a batch script that runs this under Slurm, and is requeued until the "
                                        "run is done");
    config.declare(flags);
    declare_resume(flags, resume);
    declare_pipeline(flags, pipeline);
  }
  /// Words after `--` are parsed as for `bora train`, unless the first names another program.
  void before(std::vector<const char*>& words) {
    said.assign(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), words.end());
    auto dashes = std::find(words.begin(), words.end(), std::string_view("--"));
    if (dashes == words.end()) check_dashes(words);
    if (dashes != words.end() && dashes + 1 != words.end() && (is_command(dashes[1]) || is_program(dashes[1]))) {
      program.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
    std::erase(words, std::string_view("--"));
  }
  void check_dashes(const std::vector<const char*>& words);
  void settle();
  /// An elastic job, also one that the settings call so, has a number of its own.
  void check_count(bool is_elastic) const {
    check<ConfigError>(ranks || !hosts.empty() || is_elastic,
                       "launch: how many ranks? give -n N, or --hosts FILE, or --elastic MIN:MAX");
  }
  int run() const;
  int print_script(const std::string& bora) const;
  int run_here(const std::string& bora, const std::optional<launch::Allocation>&) const;
  std::vector<std::string> training(const std::string& bora, const Settings&, int size) const;
};

/// Without --, no word may be a command that ranks run. ConfigError with the line as it should be: the launcher's own
/// flags, --, the command and its words.
void Launch::check_dashes(const std::vector<const char*>& words) {
  Flags flags;
  declare(flags);
  std::string own, command, others, settings;
  auto add = [](std::string& to, const std::string& word) {
    to += word.find_first_of(" *?'") == word.npos ? " " + word : " \"" + word + "\"";
  };
  auto is_any = [](const std::string& name, std::initializer_list<std::string_view> of) {
    return std::find(of.begin(), of.end(), name) != of.end();
  };
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::string word = words[i];
    auto equals = word.find('=');
    auto name = word.substr(0, equals);
    auto flag = std::find_if(flags.all().begin(), flags.all().end(), [&](auto& f) {
      return word.starts_with('-') && ("," + f.name() + ",").find("," + name + ",") != std::string::npos;
    });
    if (flag == flags.all().end()) {
      bool first = command.empty() && !word.starts_with('-');
      if (first && (!is_command(word) || is_config(word))) return;  // settle() says more
      if (first) command = word;
      else add(others, word);
      continue;
    }
    bool has_value = !std::holds_alternative<std::function<void()>>(flag->target()) && equals == word.npos;
    auto value = has_value && i + 1 < words.size() ? words[++i] : "";
    if (is_any(name, {"--mesh", "--layout", "--threads"})) {
      add(settings, name.substr(2) + (has_value ? std::string("=") + value : word.substr(equals)));
      continue;
    }
    auto& to = is_any(name, {"--out", "--resume", "--no-pipeline"}) ? others : own;
    add(to, word);
    if (has_value) add(to, value);
  }
  check<ConfigError>(command.empty(), "launch: ", command, " stands behind --: bora launch", own, " -- ", command,
                     others, settings);
}
void Launch::settle() {
  if (program.empty()) {
    auto& words = config.words;
    if (!words.empty() && words[0] == "train") words.erase(words.begin());
    else if (!words.empty() && !is_setting(words[0])) {
      check<ConfigError>(is_config(words[0]), "launch: '", words[0],
                         "' is no configuration file, no setting key=value and no program: a program is named by its "
                         "path (./",
                         words[0], ") or lies in PATH");
    }
    config.settle();
  } else {
    auto unused = config.words;
    unused.insert(unused.end(), config.settings.begin(), config.settings.end());
    if (!resume.empty()) unused.push_back("--resume " + resume);
    if (!pipeline) unused.push_back("--no-pipeline");
    check<ConfigError>(
        unused.empty(), "launch: ", [&] { return unused[0]; }, " before -- is for training; ", program[0],
        " takes its words behind its name");
  }
  if (!elastic.empty()) {
    auto colon = elastic.find(':');
    check<ConfigError>(program.empty(), "--elastic: it is for training; ", program.empty() ? "" : program[0],
                       " would not know where to go on");
    check<ConfigError>(colon != std::string::npos, "--elastic: expected MIN:MAX ranks, such as 2:4, got '", elastic,
                       "'");
    config.settings.push_back("elastic.min=" + elastic.substr(0, colon));
    config.settings.push_back("elastic.max=" + elastic.substr(colon + 1));
  }
  if (snapshot) {
    check<ConfigError>(program.empty(), "--snapshot: it is for training; ", program.empty() ? "" : program[0],
                       " has no state to keep");
    config.settings.push_back("elastic.snapshot=" + std::to_string(*snapshot));
  }
  if (!program.empty()) check_count(false);
  check<ConfigError>(!hosts.empty() || (ssh.empty() && variables.empty()),
                     "--ssh and --env: they are for other hosts; give --hosts FILE");
  check<ConfigError>(ssh.empty() || (hosts != "slurm" && hosts != "kubernetes"), "--ssh: with --hosts ", hosts,
                     " something else reaches the hosts; leave it out");
  for (auto& variable : variables)
    check<ConfigError>(std::getenv(variable.c_str()), "--env ", variable, ": it is not set here");
  check<ConfigError>(!ranks || (*ranks >= 1 && *ranks <= kMostRanks), "-n: must be from 1 to ", kMostRanks, ", got ",
                     ranks.value_or(0));
  check<ConfigError>(max_restarts >= 0, "--max-restarts: must be 0 or more, got ", max_restarts);
}
/// How an elastic job goes on.
launch::Elastic elastic_of(const Settings& s) {
  launch::Elastic e{.min = static_cast<int>(s.elastic.min), .max = static_cast<int>(s.elastic.max),
                    .keeps = s.elastic.snapshot > 0};
  e.fitting = [s = without_auto(s), tokenizer = s.tokenizer->open()](int slots) {
    for (auto n = std::min(slots, static_cast<int>(s.elastic.max)); n >= s.elastic.min; --n) try {
        checked_mesh(s, *tokenizer, n);
        return n;
      } catch (const ConfigError&) {}  // a number that divides neither the mesh nor the batch
    return 0;
  };
  e.progress = [out = s.out, local = !s.checkpoint.local.empty(), snapshots = s.elastic.snapshot > 0,
                words = std::string("the beginning")]() mutable {
    if (local) words = "the newest checkpoint of its hosts";
    else try {
      auto all = io::list_checkpoints(out + "/checkpoints");
      words = all.empty() ? "the beginning" : "step " + std::to_string(all.back().step);
    } catch (const IoError&) {}  // the ranks that find the folder so will say it
    return snapshots ? words + " or a later snapshot" : words;
  };
  return e;
}
/// A run goes on from what it has written. One that is to begin anew has done so once it has put the checkpoints of an
/// earlier run aside.
std::function<std::vector<std::string>()> words_after_loss(const Settings& s, Resume resume) {
  auto folder = [path = s.checkpoint.below(s.out) + "/checkpoints"] {
    struct ::stat at{};
    return ::stat(path.c_str(), &at) == 0 ? std::optional(std::pair{at.st_dev, at.st_ino}) : std::nullopt;
  };
  return [folder, anew = resume == Resume::none, before = folder()]() -> std::vector<std::string> {
    if (anew && before && folder() == before) return {};
    return {"--resume", "good"};
  };
}
/// The command of each rank that trains. Mistakes that need no rank are errors here.
std::vector<std::string> Launch::training(const std::string& bora, const Settings& s, int size) const {
  check_job(s, size);
  auto tokenizer = s.tokenizer->open();
  check_rows(s, *tokenizer);
  check_model(s, *tokenizer, checked_mesh(s, *tokenizer, size));
  check_init_from(s, *tokenizer, resume_of(resume));
  std::vector<std::string> words = {bora, "train"};
  if (!config.path.empty()) words.push_back(config.path);
  words.insert(words.end(), config.settings.begin(), config.settings.end());
  if (s.local->automatic())
    words.insert(words.end(), {"--measured-every",
                               std::to_string(planned_every(s, *tokenizer, size, resume_of(resume)))});
  if (!resume.empty()) words.insert(words.end(), {"--resume", resume});
  if (!pipeline) words.emplace_back("--no-pipeline");
  return words;
}
/// Ranks that are started later, after a loss or beside others, have the same end as the first ones.
void pass_deadline_on(const bora::training::Deadline& deadline) {
  std::string problem;  // rank 0 says it
  auto end = bora::training::end_of_job(deadline, problem);
  if (!end) return;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end->at.time_since_epoch()).count();
  ::setenv(bora::training::kDeadlineVariable, std::to_string(seconds).c_str(), 1);
}
/// On the first pod of a Job: it has an agent as the others do, and tells all how the job has ended.
int run_among_pods(const launch::Options& l, const std::vector<launch::Host>& pods) {
  auto secret = transport::config_from_environment().secret;
  auto listener = ::fork();
  if (listener == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      ::_exit(launch::listen_for_launcher(secret, l.agent, {}));
    } catch (const Error& e) { ::dprintf(2, "bora: %s\n", one_line(e.text()).c_str()); }
    ::_exit(2);
  }
  check<ConfigError>(listener > 0, "launch: cannot start a process");
  int code = 86;
  try {
    code = launch::run(l);
  } catch (const ConfigError& e) {  // about hosts: pods that are late may be there when the job starts again
    ::dprintf(2, "bora: %s\n", one_line(e.text()).c_str());
  }
  launch::end_listeners(pods, secret, code);
  ::kill(listener, SIGKILL);
  ::waitpid(listener, nullptr, 0);
  return code;
}
/// The same launch, for sbatch.
int Launch::print_script(const std::string& bora) const {
  check<ConfigError>(program.empty(), "--slurm-script: it is for training; ", program.empty() ? "" : program[0],
                     " has no checkpoint from which it would go on");
  check<ConfigError>(hosts.empty() || hosts == "slurm", "--slurm-script: the hosts are those of Slurm's job; leave "
                     "--hosts out");
  check_places(*this);
  auto s = config.load();
  bool is_elastic = s.elastic.max > 0;
  check_count(is_elastic);
  check<ConfigError>(ranks || is_elastic, "launch: how many ranks? give -n N, or --elastic MIN:MAX");
  using Kind = bora::training::Deadline::Kind;
  launch::SlurmJob job{.name = fs::path(s.out).filename().string(),
                       .folder = fs::current_path().string(),
                       .command = launch::in_shell(bora) + " launch --hosts slurm",
                       .out = s.out,
                       .ranks = ranks.value_or(static_cast<int>(s.elastic.max)),
                       .threads = s.mesh.threads,
                       .seconds = s.deadline.kind() == Kind::after ? s.deadline.seconds() : 0,
                       .elastic = is_elastic};
  bool skip = false;  // the value of --hosts
  for (auto& word : said) {
    if (std::exchange(skip, word == "--hosts") || word == "--hosts" || word == "--hosts=slurm" ||
        word == "--slurm-script")
      continue;
    job.command += " " + launch::in_shell(word);
  }
  std::printf("%s", launch::slurm_script(job).c_str());
  return 0;
}
int Launch::run() const {
  auto bora = fs::read_symlink("/proc/self/exe").string();
  if (script) return print_script(bora);
  auto among = launch::allocation(hosts, bora);
  bool pods = among && hosts == "kubernetes";
  auto secret = pods ? transport::config_from_environment().secret : "";
  if (pods && among->listens) return launch::listen_for_launcher(secret, bora, {.launcher = among->hosts[0].name});
  try {
    return run_here(bora, among);
  } catch (const Error& e) {  // as bad input
    if (!pods) throw;
    ::dprintf(2, "bora: %s\n", one_line(e.text()).c_str());  // the other pods may not listen yet: it takes a while
    launch::end_listeners({among->hosts.begin() + 1, among->hosts.end()}, secret, 2);
    return 2;
  }
}
int Launch::run_here(const std::string& bora, const std::optional<launch::Allocation>& among) const {
  check_places(*this);
  launch::Options l{.ranks = ranks.value_or(1),
                    .log_dir = log_dir,
                    .max_restarts = max_restarts,
                    .root = std::getenv("BORA_ROOT") ? std::getenv("BORA_ROOT") : "",
                    .ssh = ssh,
                    .agent = bora,
                    .variables = variables};
  std::optional<Settings> s;
  if (program.empty()) s = config.load();
  bool is_elastic = s && s->elastic.max > 0;
  check_count(is_elastic);
  if (s) pass_deadline_on(s->deadline);
  check<ConfigError>(max_restarts == 0 || !is_elastic,
                     "--max-restarts: an elastic job starts again as long as it gets further; leave it out");
  if (is_elastic) {
    check_settings_without_data(*s);
    auto& e = s->elastic;
    l.elastic = elastic_of(*s);
    ::setenv("BORA_ELASTIC_JOB", process_id().c_str(), 1);  // for the ranks of all its generations, wherever they are
    l.ranks = ranks.value_or(l.elastic.max);
    check<ConfigError>(l.ranks >= e.min && l.ranks <= e.max, "launch: ", l.ranks, " ranks are not from elastic.min=",
                       e.min, " to elastic.max=", e.max);
  }
  if (among) l.reach = among->reach, l.connect_s = among->connect_s;
  else if (ssh == "agent") l.reach.before = {bora, "agent", "--reach"};
  if (!hosts.empty()) {
    l.hosts = among ? among->hosts : launch::read_hosts(hosts);
    auto slots = launch::count_slots(l.hosts);
    if (!ranks) l.ranks = is_elastic ? std::min(slots, l.elastic.max) : slots;
    if (!is_elastic || slots < l.ranks) l.hosts = launch::first_slots(std::move(l.hosts), l.ranks);
  }
  if (s) {
    // An elastic job starts with the most that fit; the other hosts are spares.
    auto most = is_elastic ? l.elastic.fitting(l.ranks) : 0;
    l.command = training(bora, *s, most > 0 ? most : l.ranks);
    l.restarted = words_after_loss(*s, resume_of(resume));
  } else {
    if (is_command(program[0])) l.command = {bora};
    l.command.insert(l.command.end(), program.begin(), program.end());
  }
  return hosts == "kubernetes" ? run_among_pods(l, among->hosts) : launch::run(l);
}
}  // namespace
template const bool added<Launch>;
}  // namespace bora::app
