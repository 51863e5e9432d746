// The group mesh of the settings: its forms, its domains, and the mesh that it makes of a number of ranks.
#include <algorithm>
#include "config/api/braces.h"
#include "bora/train/placement.h"
#include "bora/train/settings.h"

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
/// The axes that layouts use, in the mesh's order: neighbouring ranks, often of one host, lie along the last one.
constexpr std::string_view kUsual[] = {mesh_axes::kReplica, mesh_axes::kStage, mesh_axes::kData, mesh_axes::kContext,
                                       mesh_axes::kModel};
bool is_usual(std::string_view axis) {
  return std::find(std::begin(kUsual), std::end(kUsual), axis) != std::end(kUsual);
}
MeshShape in_order(const MeshShape& given) {
  MeshShape r;
  for (auto usual : kUsual) {
    AxisName name(usual);
    if (usual == mesh_axes::kContext)  // behind data
      for (auto& axis : given.axes)
        if (!is_usual(axis.first.str())) r.axes.push_back(axis);
    bool has = given.has(name);
    if (has || usual == mesh_axes::kData || usual == mesh_axes::kModel)
      r.axes.emplace_back(name, has ? given.axis_size(name) : 1);
  }
  return r;
}
MeshShape shape_for(const MeshSizes& sizes, int ranks) {
  auto known = sizes.ranks();
  check<ConfigError>(!sizes.open() || ranks % known == 0, "mesh: ", to_string(sizes), " does not divide ", ranks,
                     " ranks");
  check<ConfigError>(sizes.open() || known == ranks, "mesh: ", to_string(sizes), " has ", known,
                     " ranks, but this job has ", ranks);
  return in_order(mesh_shape(sizes, ranks));
}
void only_usual(const MeshSizes& sizes, std::string_view of) {
  for (auto& axis : sizes)
    check<ConfigError>(is_usual(axis.name), "mesh: unknown axis '", axis.name, "'; the axes ", of,
                       " are replica, stage, data, context and model, others need mesh.rules");
}
/// Rules name axes that the mesh has, or could have, and say nothing twice.
void check_rules(const std::string& name, const std::vector<std::vector<std::string>>& rules, const MeshSizes& sizes) {
  std::string known;
  std::vector<std::string> axes(std::begin(kUsual), std::end(kUsual));
  for (auto& axis : sizes)
    if (!is_usual(axis.name)) axes.push_back(axis.name);
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

MeshShape resolve_mesh(const training::MeshSettings& s, int ranks) {
  auto sizes = s.axes;
  if (!s.has_layout()) {
    if (s.rules.empty()) only_usual(sizes, "of activation_dims and parameter_dims");
    check_rules("mesh.rules.storage", s.rules.storage, sizes);
    check_rules("mesh.rules.compute", s.rules.compute, sizes);
    if (sizes.empty()) sizes = std::vector<MeshAxis>{{std::string(mesh_axes::kData), -1}};
    return s.shares.of(shape_for(sizes, ranks));
  }
  auto how = parse_layout(s.layout);
  only_usual(sizes, "of layouts");
  check<ConfigError>(!sizes.empty() || !(how.fsdp && how.tp) || ranks == 1, "mesh: layout ", s.layout, " on ", ranks,
                     " ranks needs both sizes; set --mesh data=D,model=M with D * M = ", ranks);
  if (sizes.empty())
    sizes = std::vector<MeshAxis>{{std::string(how.tp && !how.fsdp ? mesh_axes::kModel : mesh_axes::kData), -1}};
  auto shape = shape_for(sizes, ranks);
  auto model = shape.axis_size(AxisName(mesh_axes::kModel));
  check<ConfigError>(how.tp || model == 1, "mesh: layout ", s.layout, " does not use mesh axis 'model' (", model,
                     " ranks would do the same work); use layout fsdp+tp or tp, or set mesh data=", ranks);
  return s.shares.of(shape);
}

namespace training {
namespace {
using config::Document;
bool is_mesh_field(std::string_view key) {
  bool found = false;
  fields::for_each(MeshSettings(), [&](std::string_view f, auto&) { found = found || f == key; });
  return found;
}
/// "data=2,model=1" from sizes of axes; empty if there is another value among them.
std::string axes_text(const std::vector<std::pair<std::string, Document>>& sizes) {
  std::string text;
  for (auto& [axis, size] : sizes) {
    auto digits = size.text.substr(size.text.starts_with("-"));
    if (size.form != Document::Form::scalar || digits.find_first_not_of("0123456789") != digits.npos) return {};
    text += (text.empty() ? "" : ",") + axis + "=" + size.text;
  }
  return text;
}
/// Sizes of axes as a map: `mesh: {axes: {data: 2, model: 1}}` is axes: data=2,model=1. So is `mesh: {data: 2, ..}`,
/// beside other settings for the usual axes, alone for all.
void settle_axes(Document& mesh) {
  auto named = [](auto& m) { return is_usual(m.first); };
  auto axes = mesh.find("axes");
  if (axes && axes->where == config::kCommandLine) *axes = config::parse_braces(*axes);
  for (auto& m : mesh.members)
    check<ConfigError>(!named(m) || (!axes && !mesh.find("")), m.second.where, ": 'mesh", axes ? ".axes" : "",
                       "' and 'mesh.", m.first, "' are both sizes of axes; give all of them in one place");
  if (axes && axes->form == Document::Form::group) {
    auto where = axes->where;
    if (auto text = axes_text(axes->members); !text.empty()) *axes = config::scalar(text), axes->where = where;
  } else if (!axes && !mesh.find("")) {
    auto& members = mesh.members;
    bool alone = std::none_of(members.begin(), members.end(), [](auto& m) { return is_mesh_field(m.first); });
    auto rest = std::stable_partition(members.begin(), members.end(), [&](auto& m) { return !(alone || named(m)); });
    auto text = axes_text({rest, members.end()});
    if (text.empty()) return;
    members.erase(rest, members.end());
    mesh.at("axes") = config::scalar(text);
    mesh.at("axes").where = mesh.where;
  }
}
void append_words(const Document& d, std::vector<Document>& words) {
  if (d.form == Document::Form::list)
    for (auto& item : d.items) append_words(item, words);
  else if (d.form != Document::Form::null) words.push_back(d);
}
/// A rule may be written as T5X has it: [batch, [replica, data]], [embed, null].
void settle_rules(Document& mesh) {
  auto rules = mesh.find("rules");
  if (!rules) return;
  for (auto& [of, list] : rules->members) {
    list = config::parse_flow(list);
    for (auto& rule : list.items)
      if (rule.form == Document::Form::list) {
        std::vector<Document> words;
        append_words(rule, words);
        rule.items = words;
      }
  }
}
/// The ways to say how a model is spread over the ranks, each with its keys.
const std::vector<std::vector<std::string>> kWays = {{"layout"}, {"activation_dims", "parameter_dims"}, {"rules"}};
bool says_something(const Document& d) {
  using Form = Document::Form;
  if (d.form == Form::group)
    return std::any_of(d.members.begin(), d.members.end(), [](auto& m) { return says_something(m.second); });
  return d.form == Form::list ? !d.items.empty() : d.form == Form::scalar && !d.text.empty();
}
/// The first key of a way that the group gives, and its name in errors.
std::pair<const Document*, std::string> given(const Document* mesh, const std::vector<std::string>& way) {
  for (auto& field : way)
    if (auto there = mesh ? mesh->find(field) : nullptr; there && says_something(*there))
      return {there, there->written.empty() ? "mesh." + field : there->written};
  return {nullptr, {}};
}
/// Throws ConfigError for two ways in one document. Of two documents the upper one counts.
void settle_ways(Document* below, Document* above) {
  for (auto* mesh : {below, above})
    for (auto& one : kWays)
      for (auto& other : kWays) {
        if (&one >= &other) continue;
        auto [a, first] = given(mesh, one);
        auto [b, second] = given(mesh, other);
        check<ConfigError>(!a || !b, b ? b->where : "", ": '", first, "' and '", second,
                           "' both say how the model is spread over the ranks; give one of them");
      }
  if (!below || std::none_of(kWays.begin(), kWays.end(), [&](auto& way) { return given(above, way).first; })) return;
  for (auto& way : kWays)
    if (!given(above, way).first)
      for (auto& field : way) std::erase_if(below->members, [&](auto& m) { return m.first == field; });
}
/// Dims and rules stand in place of the layout.
void leave_out_layout(Document& mesh) {
  if (!given(&mesh, kWays[0]).first && (given(&mesh, kWays[1]).first || given(&mesh, kWays[2]).first))
    mesh.at("layout") = config::scalar("");
}
}  // namespace
const config::Forms MeshSettings::forms = {
    [](Document& mesh) { settle_axes(mesh), settle_rules(mesh); }, settle_ways, leave_out_layout};
void MeshSettings::check() const {
  if (has_dims()) (void)placement_rules(*this, {});
  else if (has_layout()) parse_layout(layout);
  bora::check<ConfigError>(!has_dims() || rules.empty(),
                           "rules: rules and dims (activation_dims, parameter_dims) both say how the model is spread; "
                           "give one of them");
  config::domain(threads >= 0 && threads <= 4096, "threads", threads,
         "from 1 to 4096 (or 0 for this rank's share of the cores)");
  config::domain(microbatches >= 0 && microbatches <= 1 << 20, "microbatches", microbatches,
         "from 1 to 2^20 (or 0 for up to 4 a stage)");
  config::domain(schedule == "gpipe" || schedule == "1f1b", "schedule", schedule, "gpipe or 1f1b");
}
}  // namespace training
}  // namespace bora
