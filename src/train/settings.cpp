#include "bora/train/settings.h"
#include <algorithm>
#include "bora/nn/policy.h"
#include "bora/train/compression.h"
#include "bora/train/placement.h"

namespace bora {
namespace {
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == at) parts.emplace_back();
    else if (c != ' ') parts.back() += c;
  }
  return parts;
}
}  // namespace

Layout parse_layout(const std::string& text) {
  Layout r;
  for (auto& part : split(text, '+')) {
    if (part == "fsdp") r.fsdp = true;
    else if (part == "tp") r.tp = true;
    else check<ConfigError>(part == "dp", "layout: unknown layout '", text, "'; there are dp, fsdp, tp and fsdp+tp");
  }
  return r;
}

namespace {
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;
/// The axes that a text such as data=2,model=-1 names, in its order.
Sizes parse_axes(const std::string& mesh) {
  Sizes sizes;
  if (mesh.empty()) return sizes;
  for (auto& part : split(mesh, ',')) {
    auto equals = part.find('=');
    auto axis = part.substr(0, equals), number = equals == part.npos ? "" : part.substr(equals + 1);
    check<ConfigError>(equals != part.npos && equals > 0, "mesh: expected data=2,model=1, got '", mesh, "'");
    for (auto& other : sizes)
      check<ConfigError>(other.first != axis, "mesh: axis '", axis, "' is given twice in '", mesh, "'");
    bool digits = !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos;
    check<ConfigError>(number == "-1" || (digits && std::stoll(number) > 0), "mesh: the size of axis '", axis,
                       "' must be 1 or more (or -1: what is left), got '", number, "'");
    sizes.emplace_back(axis, std::stoll(number));
  }
  return sizes;
}
bool is_usual(const std::string& axis) {
  return axis == "replica" || axis == "stage" || axis == "data" || axis == "context" || axis == "model";
}
/// The axes in the mesh's order: neighbouring ranks, often of one host, lie along the last one.
Sizes in_order(const Sizes& given) {
  Sizes r;
  auto add = [&](const std::string& axis, bool always) {
    auto there = std::find_if(given.begin(), given.end(), [&](auto& a) { return a.first == axis; });
    if (there != given.end()) r.push_back(*there);
    else if (always) r.emplace_back(axis, 1);
  };
  add("replica", false);
  add("stage", false);
  add("data", true);
  for (auto& axis : given)
    if (!is_usual(axis.first)) r.push_back(axis);
  add("context", false);
  add("model", true);
  return r;
}
/// The mesh of all ranks; `text`: as it was given.
MeshShape filled(Sizes sizes, const std::string& text, int ranks) {
  std::int64_t product = 1, open = 0;
  for (auto& axis : sizes) {
    open += axis.second < 0;
    if (axis.second > 0) product = std::min<std::int64_t>(product, 1 << 30) * axis.second;
  }
  check<ConfigError>(open <= 1, "mesh: only one size may be -1, got '", text, "'");
  check<ConfigError>(!open || ranks % product == 0, "mesh: ", text, " does not divide ", ranks, " ranks");
  check<ConfigError>(open || product == ranks, "mesh: ", text, " has ", product, " ranks, but this job has ", ranks);
  MeshShape mesh;
  for (auto& [axis, size] : sizes)
    mesh.axes.emplace_back(AxisName(axis), static_cast<int>(size < 0 ? ranks / product : size));
  return mesh;
}
void only_usual(const Sizes& sizes, std::string_view of) {
  for (auto& axis : sizes)
    check<ConfigError>(is_usual(axis.first), "mesh: unknown axis '", axis.first, "'; the axes ", of,
                       " are replica, stage, data, context and model, others need mesh.rules");
}
/// Rules name axes that the mesh has, or could have, and say nothing twice.
void check_rules(const std::string& name, const std::vector<std::vector<std::string>>& rules, const Sizes& sizes) {
  std::string known;
  std::vector<std::string> axes{"replica", "stage", "data", "context", "model"};
  for (auto& axis : sizes)
    if (!is_usual(axis.first)) axes.push_back(axis.first);
  for (std::size_t i = 0; i < axes.size(); ++i)
    known += (i == 0 ? "" : i + 1 == axes.size() ? " and " : ", ") + axes[i];
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto& rule = rules[i];
    check<ConfigError>(!rule.empty() && !rule[0].empty(), name, ": rule ", i + 1,
                       " is empty; write [logical axis, mesh axis], such as [embed, data]");
    for (std::size_t m = 1; m < rule.size(); ++m) {
      check<ConfigError>(std::find(axes.begin(), axes.end(), rule[m]) != axes.end(), name, ": rule ", i + 1, " maps '",
                         rule[0], "' to unknown mesh axis '", rule[m], "'; the mesh axes are ", known);
      for (std::size_t j = 0; j <= i; ++j)
        check<ConfigError>(
            rules[j][0] != rule[0] || std::count(rules[j].begin() + 1, rules[j].end(), rule[m]) == (i == j ? 1 : 0),
            name, ": axis '", rule[0], "' is mapped to mesh axis '", rule[m], "' twice: by rule ", j + 1, " and rule ",
            i + 1);
    }
  }
}
}  // namespace

MeshShape resolve_mesh(const std::string& mesh, const std::string& layout, int ranks) {
  auto how = parse_layout(layout);
  auto sizes = parse_axes(mesh);
  only_usual(sizes, "of layouts");
  if (mesh.empty()) {
    check<ConfigError>(!(how.fsdp && how.tp) || ranks == 1, "mesh: layout ", layout, " on ", ranks,
                       " ranks needs both sizes; set --mesh data=D,model=M with D * M = ", ranks);
    sizes.emplace_back(how.tp && !how.fsdp ? "model" : "data", -1);
  }
  auto shape = filled(in_order(sizes), mesh, ranks);
  auto model = shape.axis_size(AxisName("model"));
  check<ConfigError>(how.tp || model == 1, "mesh: layout ", layout, " does not use mesh axis 'model' (", model,
                     " ranks would do the same work); use layout fsdp+tp or tp, or set mesh data=", ranks);
  return shape;
}
MeshShape resolve_mesh(const training::MeshSettings& s, int ranks) {
  if (!s.has_dims() && s.rules.empty()) return resolve_mesh(s.axes, s.layout, ranks);
  auto sizes = parse_axes(s.axes);
  if (s.rules.empty()) only_usual(sizes, "of activation_dims and parameter_dims");
  check_rules("mesh.rules.storage", s.rules.storage, sizes);
  check_rules("mesh.rules.compute", s.rules.compute, sizes);
  if (sizes.empty()) sizes.emplace_back("data", -1);
  return filled(in_order(sizes), s.axes, ranks);
}
std::int64_t ranks_of_mesh(const std::string& mesh) {
  std::int64_t ranks = 1;
  if (mesh.find("-1") != std::string::npos) return 1;
  for (auto at = mesh.find('='); at != std::string::npos; at = mesh.find('=', at + 1))
    ranks = std::min<std::int64_t>(ranks, 1 << 30) * std::clamp(std::atoll(mesh.c_str() + at + 1), 1LL, 1LL << 30);
  return ranks;
}

namespace training {
using config::domain;
void LossScaleSettings::check() const {
  auto number = parse_as<double>(type);
  auto positive = [](double x) { return config::finite(x) && static_cast<float>(x) > 0; };
  constexpr std::string_view words[] = {"none", "dynamic"};
  bool word = std::find(std::begin(words), std::end(words), type) != std::end(words);
  domain(word || (number && positive(*number)), "type", type,
         "none, dynamic, or a number above 0");
  domain(positive(initial), "initial", initial, "above 0");
  domain(config::finite(factor) && factor > 1, "factor", factor, "above 1");
  domain(positive(min) && min <= initial, "min", min, "above 0, and at most initial");
  domain(period >= 1 && period <= 1 << 30, "period", period, "from 1 to 2^30");
}
void PrecisionSettings::check() const { (void)Policy::parse(policy); }
void MeshSettings::check() const {
  if (has_dims()) (void)placement_rules(*this, {});
  else if (rules.empty()) parse_layout(layout);
  bora::check<ConfigError>(!has_dims() || rules.empty(),
                           "rules: rules and dims (activation_dims, parameter_dims) both say how the model is spread; "
                           "give one of them");
  domain(threads >= 0 && threads <= 4096, "threads", threads,
         "from 1 to 4096 (or 0 for this rank's share of the cores)");
  domain(microbatches >= 0 && microbatches <= 1 << 20, "microbatches", microbatches,
         "from 1 to 2^20 (or 0 for up to 4 a stage)");
  domain(schedule == "gpipe" || schedule == "1f1b", "schedule", schedule, "gpipe or 1f1b");
}
Wire WireSettings::wire() const {
  constexpr Codec codecs[] = {Codec::f32, Codec::bf16, Codec::int8, Codec::int4, Codec::f32};  // as Gradients has them
  return {codecs[static_cast<std::size_t>(gradients)], static_cast<std::uint16_t>(block.value_or(64))};
}
Compression WireSettings::compression() const {
  return {.error_feedback = error_feedback && !low_rank(), .rank = low_rank() ? rank.value_or(4) : 0};
}
void WireSettings::check() const {
  domain(valid_block(block.value_or(64)), "block", block.value_or(64), "a multiple of 64 from 64 to 4096");
  domain(rank.value_or(4) >= 1 && rank.value_or(4) <= 4096, "rank", rank.value_or(4), "from 1 to 4096");
  bora::check<ConfigError>(!block || !low_rank(),
                           "block: powersgd has none: its factors are summed as f32; leave it out");
  bora::check<ConfigError>(!block || gradients == Gradients::int8 || gradients == Gradients::int4,
                           "block: only int8 and int4 travel in blocks; leave it out, or set gradients to one of them");
  bora::check<ConfigError>(!rank || low_rank(), "rank: it is of gradients: powersgd; leave it out, or set that");
  bora::check<ConfigError>(!error_feedback || gradients != Gradients::f32,
                           "error_feedback: gradients that travel as f32 lose nothing; set gradients to bf16, int8 or "
                           "int4, or leave it out");
}
void CheckpointSettings::check() const {
  domain(every >= 0, "every", every, "0 or more steps");
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
