#include "bora/train/settings.h"
#include <arpa/inet.h>
#include <algorithm>
#include <cctype>
#include "bora/nn/policy.h"
#include "bora/nn/weight_format.h"
#include "bora/train/compression.h"

namespace bora {
namespace training {
using config::domain;
constexpr std::string_view kNoScale = "none", kDynamicScale = "dynamic";
bool LossScaleSettings::dynamic() const { return type == kDynamicScale; }
std::optional<double> LossScaleSettings::fixed() const { return parse_as<double>(type); }
void LossScaleSettings::check() const {
  auto number = fixed();
  auto positive = [](double x) { return config::finite(x) && static_cast<float>(x) > 0; };
  domain(type == kNoScale || dynamic() || (number && positive(*number)), "type", type,
         "none, dynamic, or a number above 0");
  domain(positive(initial), "initial", initial, "above 0");
  domain(config::finite(factor) && factor > 1, "factor", factor, "above 1");
  domain(positive(min) && min <= initial, "min", min, "above 0, and at most initial");
  domain(period >= 1 && period <= 1 << 30, "period", period, "from 1 to 2^30");
}
void PrecisionSettings::check() const {
  (void)Policy::parse(policy);
  if (!weights.empty()) (void)nn::WeightFormat::parse(weights);
  bora::check<ConfigError>(cache.empty() || cache == "int8", "cache: must be int8 or empty, got '", cache, "'");
}
Wire WireSettings::wire() const {
  return {low_rank() ? Codec::f32 : static_cast<Codec>(gradients), static_cast<std::uint16_t>(block.value_or(64))};
}
std::span<const WireSettings::Word> words_of(WireSettings::Gradients) {
  static const auto words = [] {
    std::vector<WireSettings::Word> r;
    for (auto& codec : codec_table) r.push_back({codec.word, static_cast<WireSettings::Gradients>(r.size())});
    r.push_back({"powersgd", WireSettings::Gradients::powersgd});
    return r;
  }();
  return words;
}
Compression WireSettings::compression() const {
  return {.error_feedback = error_feedback && !low_rank(), .rank = low_rank() ? rank.value_or(4) : 0};
}
void WireSettings::check() const {
  domain(valid_block(block.value_or(64)), "block", block.value_or(64), "a multiple of 64 from 64 to 4096");
  domain(rank.value_or(4) >= 1 && rank.value_or(4) <= 4096, "rank", rank.value_or(4), "from 1 to 4096");
  bora::check<ConfigError>(!block || !low_rank(),
                           "block: powersgd has none: its factors are summed as f32; leave it out");
  bora::check<ConfigError>(!block || wire().blocks(),
                           "block: only int8 and int4 travel in blocks; leave it out, or set gradients to one of them");
  bora::check<ConfigError>(!rank || low_rank(), "rank: it is of gradients: powersgd; leave it out, or set that");
  bora::check<ConfigError>(!error_feedback || gradients != Gradients::f32,
                           "error_feedback: gradients that travel as f32 lose nothing; set gradients to bf16, int8 or "
                           "int4, or leave it out");
}
std::span<const SwitchWord> words_of(Switch) {
  static constexpr SwitchWord words[] = {{"auto", Switch::automatic}, {"on", Switch::on}, {"off", Switch::off}};
  return words;
}
std::span<const CheckpointSettings::Word> words_of(CheckpointSettings::OnFailure) {
  using enum CheckpointSettings::OnFailure;
  static constexpr CheckpointSettings::Word words[] = {{"continue", go_on}, {"stop", stop}};
  return words;
}
bool CheckpointSettings::beside(std::int64_t bytes) const {
  constexpr std::int64_t worth_a_thread = std::int64_t{16} << 20;  // less is written before a step would end
  return async == Switch::on || (async == Switch::automatic && bytes >= worth_a_thread);
}
void CheckpointSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(config::finite(minutes) && minutes >= 0, "minutes", minutes, "0 or more");
}
std::pair<std::int64_t, std::string> CheckpointSettings::most(std::int64_t steps) const {
  auto n = std::max<std::int64_t>(keep.last, 2) + keep.best.n + (best ? 1 : 0) + 1;
  if (keep.every > 0) n += steps / keep.every;
  if (keep.hours <= 0) return {n, ""};
  auto hours = keep.hours == 1 ? std::string("hour") : config::print_value(keep.hours) + " hours";
  return {n, ", and one more every " + hours};
}
std::string_view CheckpointSettings::needs_evaluations() const {
  return best ? "checkpoint.best" : keep.best.n > 0 ? "checkpoint.keep.best" : "";
}
void KeepBestSettings::check() const {
  domain(n >= 0 && n <= 1 << 20, "n", n, "from 1 to 2^20 (or 0 for none)");
  bora::check<ConfigError>(metric.starts_with("eval/"), "metric: '", metric, "' is no number of an evaluation; their ",
                           "names begin with eval/, as eval/loss does");
}
void KeepSettings::check() const {
  domain(last >= 1, "last", last, "1 or more");
  domain(every >= 0, "every", every, "0 or more steps");
  domain(config::finite(hours) && hours >= 0, "hours", hours, "0 or more");
}
namespace {
using config::Document;
/// `best: true` is one.
void settle_keep(Document& keep) {
  auto best = keep.find("best");
  if (!best || best->form != Document::Form::scalar || (best->text != "true" && best->text != "false")) return;
  auto where = best->where;
  *best = config::scalar(best->text == "true" ? "1" : "0");
  best->where = where;
}
/// A metric or a mode means that one stays, unless a number is given.
void count_best(Document& best) {
  if (!best.find("n") && !best.members.empty()) best.at("n") = config::scalar("1");
}
}  // namespace
const config::Forms KeepSettings::forms = {.settle = settle_keep};
const config::Forms KeepBestSettings::forms = {.finish = count_best};
void EvalSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(rows >= 0, "rows", rows, "0 or more");
  domain(patience >= 0, "patience", patience, "0 or more evaluations");
  domain(config::finite(min_delta) && min_delta >= 0, "min_delta", min_delta, "0 or more");
  bora::check<ConfigError>(patience == 0 || every > 0,
                           "patience: it counts evaluations during the run; set eval.every");
}
void LogSettings::check() const { domain(every >= 1, "every", every, "1 or more steps"); }
PageSettings::Place PageSettings::place() const {
  constexpr std::string_view forms = "off, on, or HOST:PORT with a port from 0 (any) to 65535";
  if (address == "on") return {.host = "127.0.0.1"};
  auto colon = address.rfind(':');
  domain(colon != address.npos && colon > 0, "address", address, forms);
  auto port = parse_as<std::int64_t>(address.substr(colon + 1));
  domain(port && *port >= 0 && *port < 65536, "address", address, forms);
  auto host = address.substr(0, colon);
  bool brackets = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (brackets) host = host.substr(1, host.size() - 2);
  auto letter = [&](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || (brackets && c == ':'); };
  domain(std::ranges::all_of(host, letter), "address", address, forms);
  ::in_addr v4{};
  bool loopback = host == "localhost" || host == "::1" ||
                  (::inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127);
  return {host, static_cast<int>(*port), loopback};
}
void PageSettings::check() const {
  bora::check<ConfigError>(!on() || place().loopback || !token_file.empty(), "address: others reach ", address,
                           "; give page.token_file, a file of mode 0600 with the token of those who may look");
}
void NormSettings::check() const { domain(every >= 0, "every", every, "0 or more steps"); }
void AlertSettings::check() const {
  domain(command.find('\0') == command.npos, "command", "a text with a zero byte", "one line of a shell");
}
void TraceSettings::check() const { domain(steps >= 1 && steps <= 10000, "steps", steps, "from 1 to 10000"); }
}  // namespace training
}  // namespace bora
