#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include "bora/base/text.h"
#include "bora/data/text.h"
#include "bora/fx/checkpoint.h"
#include "bora/nn/policy.h"
#include "bora/train/settings.h"
#include "run_folder.h"

namespace fs = std::filesystem;
namespace bora {
namespace {
bool is_finite_f32(double x) { return std::isfinite(static_cast<float>(x)); }
template <class T> void domain(bool ok, std::string_view key, const T& value, std::string_view words) {
  check<ConfigError>(ok, key, ": must be ", words, ", got ", value);
}
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == at) parts.emplace_back();
    else if (c != ' ') parts.back() += c;
  }
  return parts;
}
/// Checks that a folder can be written or made, without trying to.
void check_folder(const std::string& path) {
  std::error_code error;
  auto there = fs::absolute(path);  // its part that exists
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  check<ConfigError>(fs::is_directory(there, error), "out: cannot make the folder ", path, ": ", there.string(),
                     " is a file");
  bool writable = ::access(there.c_str(), W_OK | X_OK) == 0;
  check<ConfigError>(writable, "out: cannot write into ", there.string(), ": ", std::strerror(errno));
}
}  // namespace

void check_settings(const Settings& s) {
  domain(s.seed >= 0, "seed", s.seed, "0 or more");
  domain(s.steps >= 0, "steps", s.steps, "0 or more");
  domain(s.warmup >= 0, "warmup", s.warmup, "0 or more");
  domain(s.batch >= 1, "batch", s.batch, "1 or more rows");
  domain(s.accumulate >= 1, "accumulate", s.accumulate, "1 or more parts");
  check<ConfigError>(s.batch % s.accumulate == 0, "accumulate: batch ", s.batch, " cannot be cut into ", s.accumulate,
                     " equal parts");
  domain(is_finite_f32(s.lr) && s.lr > 0, "lr", s.lr, "above 0");
  (void)Policy::parse(s.policy);
  check<ConfigError>(!s.data.empty(), "data: no text given; set data=FILE, or a folder of text files");
  domain(s.hold_out > 0 && s.hold_out < 1, "hold_out", s.hold_out, "between 0 and 1");
  check<ConfigError>(!s.out.empty(), "out: no output folder given; set out=DIR");
  domain(s.threads >= 0 && s.threads <= 4096, "threads", s.threads,
         "from 1 to 4096 (or 0 for this rank's share of the cores)");
  domain(s.checkpoint_every >= 0, "checkpoint_every", s.checkpoint_every, "0 or more steps");
  domain(s.keep >= 1, "keep", s.keep, "1 or more");
  domain(s.eval_every >= 0, "eval_every", s.eval_every, "0 or more steps");
  domain(s.eval_rows >= 0, "eval_rows", s.eval_rows, "0 or more");
  domain(s.log_every >= 1, "log_every", s.log_every, "1 or more steps");
  domain(s.trace_steps >= 1 && s.trace_steps <= 10000, "trace_steps", s.trace_steps, "from 1 to 10000");
  domain(std::isfinite(s.join_timeout) && s.join_timeout > 0, "join_timeout", s.join_timeout, "above 0 seconds");
  auto& m = s.model;
  for (auto [key, size] : {std::pair{"batch", s.batch},
                           {"model.layers", m.layers},
                           {"model.embed", m.embed},
                           {"model.positions", m.positions}})
    check<ConfigError>(size <= 1 << 30, key, ": ", size, " is more than 2^30");
  domain(m.layers >= 1, "model.layers", m.layers, "1 or more");
  domain(m.embed >= 1, "model.embed", m.embed, "1 or more");
  domain(m.heads >= 1, "model.heads", m.heads, "1 or more");
  domain(m.positions >= 1, "model.positions", m.positions, "1 or more");
  check<ConfigError>(m.embed % m.heads == 0, "model.heads: model.embed ", m.embed, " cannot be cut into ", m.heads,
                     " equal heads");
  domain(m.dropout >= 0 && m.dropout < 1, "model.dropout", m.dropout, "at least 0 and below 1");
  try {
    (void)remat::parse(m.checkpoint);
  } catch (const ConfigError& e) { fail<ConfigError>("model.checkpoint: ", e.text()); }
  auto& o = s.optimizer;
  domain(o.beta1 >= 0 && o.beta1 < 1, "optimizer.beta1", o.beta1, "at least 0 and below 1");
  domain(o.beta2 >= 0 && o.beta2 < 1, "optimizer.beta2", o.beta2, "at least 0 and below 1");
  domain(is_finite_f32(o.eps) && static_cast<float>(o.eps) > 0, "optimizer.eps", o.eps, "above 0");
  domain(is_finite_f32(o.weight_decay) && o.weight_decay >= 0, "optimizer.weight_decay", o.weight_decay, "0 or more");
  domain(is_finite_f32(o.clip) && o.clip >= 0, "optimizer.clip", o.clip, "0 or more");
  domain(o.final_lr >= 0 && o.final_lr <= 1, "optimizer.final_lr", o.final_lr, "between 0 and 1");
  parse_layout(s.layout);
}

Layout parse_layout(const std::string& text) {
  Layout r;
  for (auto& part : split(text, '+')) {
    if (part == "fsdp") r.fsdp = true;
    else if (part == "tp") r.tp = true;
    else check<ConfigError>(part == "dp", "layout: unknown layout '", text, "'; there are dp, fsdp, tp and fsdp+tp");
  }
  return r;
}

MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks) {
  auto how = parse_layout(layout);
  std::int64_t sizes[2] = {0, 0};  // data, model; 0: not named
  if (!mesh.empty()) {
    for (auto& part : split(mesh, ',')) {
      auto equals = part.find('=');
      auto axis = part.substr(0, equals);
      check<ConfigError>(equals != std::string::npos, "mesh: expected data=2,model=1, got '", mesh, "'");
      check<ConfigError>(axis == "data" || axis == "model", "mesh: unknown axis '", axis,
                         "'; the axes are data and model");
      auto& size = sizes[axis == "model"];
      check<ConfigError>(size == 0, "mesh: axis '", axis, "' is given twice in '", mesh, "'");
      auto number = part.substr(equals + 1);
      bool digits = !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos;
      check<ConfigError>(number == "-1" || (digits && std::stoll(number) > 0), "mesh: the size of axis '", axis,
                         "' must be 1 or more (or -1: what is left), got '", number, "'");
      size = std::stoll(number);
    }
  } else {
    check<ConfigError>(!(how.fsdp && how.tp) || ranks == 1, "mesh: layout ", layout, " on ", ranks,
                       " ranks needs both sizes; set --mesh data=D,model=M with D * M = ", ranks);
    sizes[how.tp && !how.fsdp] = -1;
  }
  for (auto& size : sizes)
    if (size == 0) size = 1;
  check<ConfigError>(sizes[0] > 0 || sizes[1] > 0, "mesh: only one size may be -1, got '", mesh, "'");
  for (int a = 0; a < 2; ++a) {
    if (sizes[a] > 0) continue;
    check<ConfigError>(ranks % sizes[1 - a] == 0, "mesh: ", mesh, " does not divide ", ranks, " ranks");
    sizes[a] = ranks / sizes[1 - a];
  }
  check<ConfigError>(sizes[0] * sizes[1] == ranks, "mesh: ", mesh, " has ", sizes[0] * sizes[1],
                     " ranks, but this job has ", ranks);
  check<ConfigError>(how.tp || sizes[1] == 1, "mesh: layout ", layout, " does not use mesh axis 'model' (", sizes[1],
                     " ranks would do the same work); use layout fsdp+tp or tp, or set mesh data=", ranks);
  return {{{AxisName("data"), static_cast<int>(sizes[0])}, {AxisName("model"), static_cast<int>(sizes[1])}}};
}

void check_outside_text(const Settings& s, std::string_view what, const std::string& folder) {
  std::error_code error;
  auto text = fs::canonical(s.data, error), mine = fs::weakly_canonical(fs::absolute(folder), error);
  auto inside = std::mismatch(text.begin(), text.end(), mine.begin(), mine.end()).first == text.end() &&
                fs::is_directory(text, error);
  check<ConfigError>(!inside, what, ": ", folder, " lies in the folder of the text, ", s.data,
                     ": the run's own files would become text; choose another");
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
}  // namespace
void check_job(const Settings& s, int ranks) {
  check_path("data", s.data);
  check_path("out", s.out);
  check_path("trace", s.trace);
  check_settings(s);
  resolve_mesh(s.mesh, s.layout, ranks);
  data::check_text(s.data, s.hold_out, s.model.positions + 1);
  check_outside_text(s, "out", s.out);
  std::error_code error;
  if (!s.trace.empty()) {
    check<ConfigError>(fs::is_directory(fs::absolute(s.trace).parent_path(), error), "trace: no folder for ", s.trace);
    auto there = fs::status(s.trace, error);
    check<ConfigError>(there.type() == fs::file_type::regular || there.type() == fs::file_type::not_found,
                       "trace: cannot write ", s.trace, ": ",
                       there.type() == fs::file_type::none ? error.message() : "it is no file");
  }
  for (auto& folder : {s.out, s.out + "/checkpoints"}) check_folder(folder);
  check_run_folder(s.out);
}
}  // namespace bora
