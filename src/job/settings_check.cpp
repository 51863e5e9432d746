#include <tuple>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/io/checkpoint.h"
#include "bora/job/job.h"
#include "bora/job/places.h"
#include "bora/job/settings.h"
#include "bora/optim/kind.h"
#include "bora/train/local_settings.h"
#include "bora/transport/forecast.h"
#include "bora/transport/join.h"
#include "job/facts.h"
#include "job/initial.h"

namespace fs = std::filesystem;
namespace bora::job {
void Settings::check() const {
  using config::domain;
  domain(seed >= 0, "seed", seed, "0 or more");
  domain(steps >= 0, "steps", steps, "0 or more");
  bora::check<ConfigError>(steps <= 1 << 30, "steps: ", steps, " is more than 2^30");  // they are counted as i32
  domain(batch >= 1, "batch", batch, "1 or more rows");
  bora::check<ConfigError>(batch <= 1 << 30, "batch: ", batch, " is more than 2^30");
  domain(accumulate >= 1, "accumulate", accumulate, "1 or more parts");
  bora::check<ConfigError>(batch % accumulate == 0, "accumulate: batch ", batch, " cannot be cut into ", accumulate,
                           " equal parts");
  domain(config::finite(neftune) && neftune >= 0, "neftune", neftune, "0 or above");
  std::int64_t before = 0;
  for (auto& at : batch_at) {
    bora::check<ConfigError>(at.step > before && at.step <= 1 << 30, "batch_at: steps must ascend from 1 on, got ",
                             at.step, " after ", before);
    before = at.step;
    bora::check<ConfigError>(at.batch >= 1 && at.batch <= 1 << 30 && at.batch % accumulate == 0, "batch_at: a batch "
                             "must be 1 or more rows in ", accumulate, " equal parts (accumulate), got ", at.batch,
                             " from step ", at.step, " on");
  }
  for (auto& t : trackers) {
    auto same = [&](auto& other) { return other->type() == t->type(); };
    bora::check<ConfigError>(std::count_if(trackers.begin(), trackers.end(), same) == 1, "trackers: ", t->type(),
                             " is given twice");
  }
}
void check_settings_without_data(const Settings& s) {
  config::check_all(s);
  check_groups(Facts(s));
}
void check_settings(const Settings& s) {
  check_settings_without_data(s);
  check<ConfigError>(!data_paths(s).empty(), "data: no text given; set data=FILE, or a folder of text files");
  check<ConfigError>(!s.out.empty(), "out: no output folder given; set out=DIR");
}
void check_init_from(const Settings& s, const text::Tokenizer& tokenizer, Resume resume) {
  bool continues = resume != Resume::none && !io::list_checkpoints(s.checkpoint.below(s.out) + "/checkpoints").empty();
  if (s.init_from.path.empty() || (continues && !s.lora)) return;  // adapters need it each time
  check_initial(s, vocabulary_of(s, tokenizer));
}

namespace {
/// Paths are kept in config.yaml and appear in lines that scripts read.
void check_path(std::string_view key, const std::string& path) {
  auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  check<ConfigError>(first_not_utf8(path) == path.npos && std::none_of(path.begin(), path.end(), control), key, ": '",
                     path,
                     "' has control characters or is not UTF-8, which config.yaml cannot keep; give it another name, "
                     "with a link for instance");
}
/// Checks that a folder can be written or made, without trying to.
void check_folder(const std::string& path) {
  std::error_code error;
  auto there = fs::absolute(path);  // its part that exists
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  check<ConfigError>(fs::is_directory(there, error), "out: cannot make the folder ", path, ": ", there.string(),
                     " is a file");
  check<ConfigError>(!fs::is_symlink(path, error) || fs::exists(path, error), "out: cannot make the folder ", path,
                     ": there is a link of this name, to ", fs::read_symlink(path, error).string(),
                     ", which is not there");
  bool writable = ::access(there.c_str(), W_OK | X_OK) == 0;
  check<ConfigError>(writable, "out: cannot write into ", there.string(), ": ", std::strerror(errno));
}
/// The options of the transport, also those that the variables of their names give, as ranks will read them.
void check_transport(const Settings& s) {
  std::set<std::string> variables;
  fields::for_each(s.transport, [&](std::string_view name, auto&) {
    std::string upper = "BORA_";
    for (char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    variables.insert(upper);
  });
  auto options = transport::config_from_environment(
      [&](const char* name) -> const char* { return variables.contains(name) ? std::getenv(name) : nullptr; });
  transport::check_options(transport::with_options(options, options_in(s)));
}
}  // namespace
void check_job(const Settings& s, int ranks) {
  for (auto& path : data_paths(s)) check_path("data", path);
  auto data = s.data;
  if (auto cache = data.edit().cache()) check_path("data.cache", *cache);
  check_path("out", s.out);
  check_path("checkpoint.local", s.checkpoint.local);
  check_path("trace", s.trace.path);
  check_settings(s);
  resolve_mesh(s.mesh, ranks);
  check_transport(s);
  auto algorithms = std::getenv("BORA_ALGORITHMS");
  transport::check_wire(s.wire.wire(), s.transport.algorithms.value_or(algorithms ? algorithms : ""));
  s.data->check_files(s.model->positions());
  check_rows(s);
  auto watcher = s.eval.patience > 0 ? "eval.patience" : s.checkpoint.needs_evaluations();
  check<ConfigError>(s.data->holds_out() || watcher.empty(), watcher,
                     ": nothing is held out (data.hold_out: 0), so there is no validation loss; set data.hold_out");
  Places().add(s).check();
  std::error_code error;
  if (auto& trace = s.trace.path; !trace.empty()) {
    check<ConfigError>(fs::is_directory(fs::absolute(trace).parent_path(), error), "trace: no folder for ", trace);
    auto there = fs::status(trace, error);
    check<ConfigError>(there.type() == fs::file_type::regular || there.type() == fs::file_type::not_found,
                       "trace: cannot write ", trace, ": ",
                       there.type() == fs::file_type::none ? error.message() : "it is no file");
  }
  for (auto& folder : {s.out, s.out + "/checkpoints"}) check_folder(folder);
  check_run_folder(s.out);
}
}  // namespace bora::job
