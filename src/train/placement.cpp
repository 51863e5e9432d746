#include "bora/train/placement.h"
#include <algorithm>
#include <sstream>
#include "bora/array/communicator.h"
#include "bora/nn/axes.h"
#include "bora/nn/ring_attention.h"
#include "bora/train/compression.h"
#include "bora/train/trainable.h"

namespace bora {
namespace {
using mesh_axes::kContext, mesh_axes::kData, mesh_axes::kModel, mesh_axes::kReplica, mesh_axes::kStage;
using nn::kBatch, nn::kEmbed, nn::kHeads, nn::kLayers, nn::kMlp, nn::kPosition, nn::kVocab;
struct Kind {
  bool batch = true, model = false;  // split over data; heads, hidden units and vocabulary over model
  bool embed_over_model = false, embed_over_data = false;  // the latter in storage only
};
LayoutMappings usual_mappings(const Kind& k, const MeshShape& mesh) {
  MeshAxes rows;
  if (k.batch && mesh.has(AxisName(kReplica))) rows.push_back(AxisName(kReplica));
  if (k.batch) rows.push_back(AxisName(kData));
  // Stages are of the layers; before and behind these their ranks share the rows.
  bool stages = mesh.has(AxisName(kStage)) && mesh.axis_size(AxisName(kStage)) > 1;
  if (k.batch && stages) rows.push_back(AxisName(kStage));
  std::vector<Rule> storage, compute{{kBatch, rows}};
  bool context = mesh.has(AxisName(kContext));
  if (context) compute.push_back({kPosition, kContext});
  if (stages) storage.push_back({kLayers, kStage});
  if (k.model) storage.insert(storage.end(), {{kHeads, kModel}, {kMlp, kModel}, {kVocab, kModel}});
  if (k.embed_over_model) storage.push_back({kEmbed, kModel});
  compute.insert(compute.end(), storage.begin(), storage.end());
  if (k.embed_over_data) storage.push_back({kEmbed, context ? MeshAxes{kData, kContext} : MeshAxes(kData)});
  if (k.embed_over_data && stages) storage.push_back({kVocab, kStage});
  return {AxisMapping(storage), AxisMapping(compute)};
}
Kind kind_of(std::int64_t activation, std::int64_t parameter) {
  constexpr std::pair<int, int> pairs[] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {1, 2}, {2, 2}};
  std::string list;
  for (auto& [a, p] : pairs) {
    if (a == activation && p == parameter) return {a > 0, p > 0, a == 2, p == 2};
    list += (list.empty() ? "" : ", ") + ("(" + std::to_string(a) + ", " + std::to_string(p) + ")");
  }
  fail<ConfigError>("activation_dims: there is no pair (activation_dims, parameter_dims) = (", activation, ", ",
                    parameter, "); there are ", list);
}
std::vector<Rule> own_rules(const std::vector<std::vector<std::string>>& settings) {
  std::vector<Rule> rules;
  for (auto& words : settings)
    rules.push_back({words.at(0), MeshAxes(std::vector<AxisName>(words.begin() + 1, words.end()))});
  return rules;
}
AxisMapping used_on(const AxisMapping& mapping, const MeshShape& mesh) {
  std::vector<Rule> used;
  for (auto rule : mapping.rules()) {
    auto whole = rule.mesh.empty();
    MeshAxes several;
    for (auto& m : rule.mesh)
      if (mesh.has(m) && mesh.axis_size(m) > 1) several.push_back(m);
    if (whole || !several.empty()) used.push_back({rule.axis, several});
  }
  return AxisMapping(used);
}
}  // namespace

LayoutMappings layout_mappings(const Layout& layout, const MeshShape& mesh) {
  return used_on(usual_mappings({true, layout.tp, false, layout.fsdp}, mesh), mesh);
}
LayoutMappings placement_rules(const training::MeshSettings& s, const MeshShape& mesh) {
  if (s.has_dims()) return usual_mappings(kind_of(s.activation_dims.value_or(1), s.parameter_dims.value_or(1)), mesh);
  if (s.rules.empty()) {
    auto layout = parse_layout(s.layout);
    return usual_mappings({true, layout.tp, false, layout.fsdp}, mesh);
  }
  auto compute = own_rules(s.rules.compute);
  if (std::none_of(compute.begin(), compute.end(), [](auto& rule) { return rule.axis == kBatch; }))
    compute.push_back({kBatch, none});  // nothing else splits it
  return {AxisMapping(own_rules(s.rules.storage)), AxisMapping(compute)};
}
LayoutMappings used_on(const LayoutMappings& rules, const MeshShape& mesh) {
  return {used_on(rules.storage, mesh), used_on(rules.compute, mesh)};
}
LayoutMappings mappings_of(const training::MeshSettings& s, const MeshShape& mesh) {
  return used_on(placement_rules(s, mesh), mesh);
}
std::string placement_name(const training::MeshSettings& s) {
  if (!s.has_dims()) return s.rules.empty() ? s.layout : "rules";
  return "activation_dims=" + std::to_string(s.activation_dims.value_or(1)) +
         ",parameter_dims=" + std::to_string(s.parameter_dims.value_or(1));
}
MeshAxes training::gradient_axes() {
  auto* mesh = here().mesh;
  if (!mesh) return {};
  auto axes = batch_axes(current_mapping(), *mesh);
  if (nn::context_ranks() > 1) axes.push_back(AxisName(kContext));  // each has a part of every row
  return axes;
}
MeshAxes batch_axes(const AxisMapping& compute, const MeshShape& mesh) {
  MeshAxes axes{kReplica, kData}, split;
  for (auto& rule : compute.rules())
    if (rule.axis == kBatch) {
      axes = rule.mesh;
      break;
    }
  for (auto& m : axes)
    if (mesh.has(m) && mesh.axis_size(m) > 1) split.push_back(m);
  return split;
}

namespace {
using Named = std::vector<std::pair<std::string, std::vector<Axis>>>;
std::string text_of(const std::vector<Axis>& axes) {
  std::string r;
  for (auto& a : axes) r += (r.empty() ? "[" : ", ") + a.name + " " + std::to_string(a.size);
  return r.empty() ? "[]" : r + "]";
}
/// The arrays of a computation: every parameter as a layer sees it, and what a step lays out.
struct Seen {
  Named parameters, computed;
};
Seen arrays_of(Trainable& model) {
  Seen seen;
  for (auto& slot : tree::slots(model.parameters())) {
    auto x = slot.leaf.as<NamedArray>();
    if (!x || !x->defined()) continue;
    seen.parameters.emplace_back(slot.path, x->axes());
    auto in_layer = x->axes();
    std::erase_if(in_layer, [](auto& a) { return a.name == nn::kLayers; });
    seen.computed.emplace_back(slot.path, in_layer);
  }
  for (auto& axes : model.activations())
    if (std::none_of(seen.computed.begin(), seen.computed.end(), [&](auto& p) { return p.second == axes; }))
      seen.computed.emplace_back(text_of(axes), axes);
  return seen;
}
std::string list_of(const AxisMapping& mapping) {
  std::string r;
  std::size_t i = 0;
  for (auto& rule : mapping.rules())
    r += (i ? ", " : " ") + std::to_string(i + 1) + " " + rule.axis + " -> " + to_string(rule.mesh), ++i;
  return r.empty() ? " none" : r;
}
/// "vocab -> model (3), embed -> data (4)"
std::string taken(const std::vector<Axis>& axes, const AxisMapping& mapping, const MeshShape& mesh) {
  auto p = placement_of(axes, mapping, mesh);
  std::string r;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (p.rules[d])
      r += (r.empty() ? "" : ", ") + axes[d].name + " -> " + to_string(p.spec[d]) + " (" +
           std::to_string(*p.rules[d] + 1) + ")";
  return r.empty() ? "whole" : r;
}
std::vector<std::string> warnings(const Seen& seen, const LayoutMappings& rules, const MeshShape& mesh) {
  std::vector<std::string> r;
  for (auto& line : diagnose(rules.storage, seen.parameters, mesh)) r.push_back("storage " + line);
  for (auto& line : diagnose(rules.compute, seen.computed, mesh)) r.push_back("compute " + line);
  for (auto& [axis, size] : mesh.axes)
    if (size > 1 && std::none_of(seen.computed.begin(), seen.computed.end(), [&, &axis = axis](auto& array) {
          return placement_of(array.second, rules.compute, mesh).spec.uses(axis);
        }))
      r.push_back("mesh axis '" + axis.str() + "' splits no computation: its " + std::to_string(size) +
                  " ranks do the same work");
  return r;
}
}  // namespace

std::string placement_text(Trainable& model, const LayoutMappings& rules, const MeshShape& mesh) {
  auto seen = arrays_of(model);
  std::ostringstream o;
  o << "  rules of storage:" << list_of(rules.storage) << "\n  rules of compute:" << list_of(rules.compute)
    << "\n  parameters, and in brackets the rule that each axis took:\n";
  for (std::size_t i = 0; i < seen.parameters.size(); ++i)
    o << "    " << seen.parameters[i].first << " " << text_of(seen.parameters[i].second) << ": stored "
      << taken(seen.parameters[i].second, rules.storage, mesh) << "; computed "
      << taken(seen.computed[i].second, rules.compute, mesh) << '\n';
  o << "  activations:\n";
  for (std::size_t i = seen.parameters.size(); i < seen.computed.size(); ++i)
    o << "    " << seen.computed[i].first << ": " << taken(seen.computed[i].second, rules.compute, mesh) << '\n';
  auto lines = warnings(seen, rules, mesh);
  o << "  diagnostics:" << (lines.empty() ? " none\n" : "\n");
  for (auto& line : lines) o << "    " << line << '\n';
  return o.str();
}
std::vector<std::string> placement_warnings(Trainable& model, const LayoutMappings& rules, const MeshShape& mesh) {
  return warnings(arrays_of(model), rules, mesh);
}
}  // namespace bora
