#include "bora/nn/quantization.h"
#include <algorithm>
#include <regex>
#include "nn/layers/linear_stack.h"
#include "nn/core/support.h"

namespace bora::nn {
namespace {
std::string listed(const std::vector<std::string>& paths) {
  std::string r;
  for (std::size_t i = 0; i < paths.size() && i < 8; ++i) r += (i ? ", " : "") + paths[i];
  return r + (paths.size() > 8 ? ", .." : "");
}
bool is_named(std::string_view path, std::string_view target) {
  auto last = path.substr(path.rfind('.') + 1);  // all of it without a dot
  return last == target || tree::matches(target, path);
}
std::vector<bool> by_expression(const std::string& expression, const std::vector<std::string>& paths) {
  std::regex pattern;
  try {
    pattern = std::regex(expression);
  } catch (const std::regex_error&) {
    throw ValueError("QuantizationTargets: '" + expression + "' is no regular expression (ECMAScript)");
  }
  std::vector<bool> r;
  for (auto& p : paths) r.push_back(std::regex_search(p, pattern, std::regex_constants::match_continuous));
  check<ValueError>(std::find(r.begin(), r.end(), true) != r.end(), "QuantizationTargets: '", expression,
                    "' matches no linear layer; there are ", listed(paths));
  return r;
}
}  // namespace

std::vector<bool> QuantizationTargets::chosen(const std::vector<std::string>& paths) const {
  check<ValueError>(!paths.empty(), "quantize_linear_layers: there is no linear layer");
  if (!expression_.empty()) return by_expression(expression_, paths);
  std::vector<bool> r(paths.size(), layers_.empty());
  for (auto& target : layers_) {
    bool found = false;
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (is_named(paths[i], target)) r[i] = found = true;
    check<ValueError>(found, "QuantizationTargets: no linear layer is '", target, "'; there are ", listed(paths));
  }
  return r;
}
void quantize(Linear& l, const QuantizationConfig& c) {
  if (c.type == Quantization::int8) l.dot_general = Int8DotGeneralOp::init();
  else l.dot_general = Fp8DotGeneralOp::init(c.amax_history_length, c.compute_dtype, stack_of(l));
}
void set_rounding_key(Linear& l, const Array& key) {
  auto* op = l.dot_general ? std::get_if<Int8DotGeneralOp>(&*l.dot_general) : nullptr;
  if (op) op->key = keys_of_stack(l, key);
}

namespace {
template <Quantization type> std::vector<LayerSample> quantized_samples() {
  Axis batch{kBatch, 4}, embed{kEmbed, 8}, hidden{kMlp, 6}, heads{kHeads, 4}, size{kHeadSize, 3};
  auto quantized = [=](Linear l) {
    quantize(l, {.type = type, .amax_history_length = 3});
    return l;
  };
  auto up = [=](const Array& k) { return quantized(Linear::init(embed, hidden, k)); };
  auto merge = [=](const Array& k) { return quantized(Linear::init({heads, size}, embed, k, {.use_bias = false})); };
  auto call = [](const Linear& l, const NamedArray& x) { return l(x); };
  return {sample("of a linear layer", up, example({batch, embed}), call),
          sample("from several axes", merge, example({heads, batch, size}), call)};
}
}  // namespace
template const bool added<"Fp8DotGeneralOp", quantized_samples<Quantization::fp8>, LayerKind::rounds>;
template const bool added<"Int8DotGeneralOp", quantized_samples<Quantization::int8>, LayerKind::rounds>;
}  // namespace bora::nn
