#include "job/initial.h"
#include "bora/models/parameter.h"
#include "bora/models/pretrained.h"
#include "bora/nn/policy.h"
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

std::vector<std::string> read_init_from(tree::Node parameters, const Settings& s, std::int64_t tokens) {
  if (auto place = bora::training::initial_place(s.init_from.path))
    return bora::training::load_initial(parameters, place, options_of(s.init_from));
  check_pretrained_only(s.init_from);
  return models::load_pretrained(parameters, s.init_from.path, *s.model, tokens, s.init_from.options());
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
