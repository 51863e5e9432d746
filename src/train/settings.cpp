#include "bora/train/settings.h"
#include <algorithm>
#include "bora/nn/policy.h"
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
void PrecisionSettings::check() const { (void)Policy::parse(policy); }
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
void CheckpointSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(config::finite(minutes) && minutes >= 0, "minutes", minutes, "0 or more");
  domain(keep >= 1, "keep", keep, "1 or more");
}
void EvalSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
  domain(rows >= 0, "rows", rows, "0 or more");
  domain(patience >= 0, "patience", patience, "0 or more evaluations");
  domain(config::finite(min_delta) && min_delta >= 0, "min_delta", min_delta, "0 or more");
  bora::check<ConfigError>(patience == 0 || every > 0,
                           "patience: it counts evaluations during the run; set eval.every");
}
void LogSettings::check() const { domain(every >= 1, "every", every, "1 or more steps"); }
void TraceSettings::check() const { domain(steps >= 1 && steps <= 10000, "steps", steps, "from 1 to 10000"); }
}  // namespace training
}  // namespace bora
