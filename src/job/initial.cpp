#include "job/initial.h"
#include <algorithm>
#include <map>
#include "bora/models/parameter.h"
#include "bora/models/pretrained.h"
#include "bora/named/mapping.h"
#include "bora/nn/policy.h"
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "train/api/initial.h"

namespace bora::job {
namespace {
bora::training::InitialOptions options_of(const InitFromSettings& s) {
  bora::training::InitialOptions o{.only = s.only,
                                   .cast = s.cast,
                                   .init_missing = s.missing == InitFromSettings::Missing::init,
                                   .ignore_unexpected = s.unexpected == InitFromSettings::Unexpected::ignore};
  for (auto& rule : s.rename) o.rename.emplace_back(rule.at(0), rule.at(1));
  return o;
}
/// Throws ConfigError for settings that only checkpoints of runs have.
void check_pretrained_only(const InitFromSettings& s) {
  auto given = !s.only.empty() ? "only" : !s.rename.empty() ? "rename" : s.cast ? "cast" : "";
  check<ConfigError>(*given == '\0', "init_from.", given, ": it is for a run's checkpoint; ", s.path,
                     " is none, and the tensors of Hugging Face's folders have their own names and are converted");
}
}  // namespace

void set_leaf(tree::Node parameters, const std::string& path, const NamedArray& x) {
  for (auto& slot : tree::slots(parameters)) {
    if (slot.path != path || !slot.leaf.defined()) continue;
    auto old = slot.leaf.get();
    auto dtype = old.dtype();
    slot.leaf.set(reshard_like(x.array().astype(dtype), old));
    return;
  }
  fail<ValueError>("the parameters have no leaf '", path, "'");
}
void fill_leaf_by_leaf(tree::Node parameters, const Settings& s, std::int64_t tokens, Dtype stored,
                       const std::vector<models::PackedLeaf>& packed, const std::function<void(tree::Node)>& read) {
  for (auto& p : s.model->parameters(tokens)) {
    std::map<std::string, NamedArray> one;
    one[p.path] = auto_sharded(NamedArray(zeros(shape_of(p.axes), stored), p.axes));
    read(tree::node(one));
    auto here = std::find_if(packed.begin(), packed.end(), [&](auto& leaf) { return leaf.path == p.path; });
    if (here != packed.end()) models::write_all_packed(parameters, *here, one[p.path]);
    else set_leaf(parameters, p.path, one[p.path]);
  }
}
std::vector<std::string> read_init_from(tree::Node parameters, const Settings& s, std::int64_t tokens) {
  auto base = nn::WeightFormat::find(s.lora.base);
  if (auto place = bora::training::initial_place(s.init_from.path)) {
    auto how = options_of(s.init_from);
    if (!base) return bora::training::load_initial(parameters, place, how);
    check_initial(s, tokens);
    how.ignore_unexpected = true;  // of one leaf all others are
    auto at = bora::training::settled(place);
    fill_leaf_by_leaf(parameters, s, tokens, Policy::parse(s.precision.policy).parameter,
                      s.model->packed(tokens, *base),
                      [&](tree::Node one) { (void)bora::training::load_initial(one, at, how); });
    return {"taken from " + at.checkpoint + ": the base, as " + s.lora.base};
  }
  check_pretrained_only(s.init_from);
  auto options = s.init_from.options();
  options.weights = base;
  return models::load_pretrained(parameters, s.init_from.path, *s.model, tokens, options);
}
void check_initial(const Settings& s, std::int64_t tokens) {
  auto place = bora::training::initial_place(s.init_from.path);
  if (!place) {
    check_pretrained_only(s.init_from);
    return models::check_pretrained(s.init_from.path, *s.model, tokens, s.init_from.options());
  }
  auto dtype = Policy::parse(s.precision.policy).parameter;
  std::vector<bora::training::PathAndType> parameters;
  for (auto& p : s.model->parameters(tokens)) parameters.push_back({p.path, {shape_of(p.axes), dtype}});
  (void)bora::training::plan_initial(place, parameters, options_of(s.init_from));
}
bool fills_all(const InitFromSettings& s) {
  return s.only.empty() && s.missing == InitFromSettings::Missing::error;
}
}  // namespace bora::job
