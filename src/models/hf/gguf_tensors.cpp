// gguf_tensors.cpp -- the inverse of what llama.cpp's conversion does to tensors: names (its package gguf,
// tensor_mapping), Llama's rows of queries and keys, GPT-2's matrices, Gemma's norms.
#include "models/hf/gguf_tensors.h"
#include <algorithm>
#include <string_view>
#include "bora/array/array.h"
#include "bora/base/parallel.h"
#include "bora/base/text.h"
#include "gguf/api/companions.h"

namespace bora::models {
namespace {
using I = std::int64_t;
struct Row {
  std::string_view theirs, ours;  // without .weight and .bias
};
constexpr Row kDecoder[] = {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}};
constexpr Row kDecoderBlock[] = {{"attn_norm", "input_layernorm"},      {"attn_q", "self_attn.q_proj"},
                                 {"attn_k", "self_attn.k_proj"},        {"attn_v", "self_attn.v_proj"},
                                 {"attn_output", "self_attn.o_proj"},   {"attn_q_norm", "self_attn.q_norm"},
                                 {"attn_k_norm", "self_attn.k_norm"},   {"ffn_gate", "mlp.gate_proj"},
                                 {"ffn_up", "mlp.up_proj"},             {"ffn_down", "mlp.down_proj"}};
constexpr Row kNorm[] = {{"ffn_norm", "post_attention_layernorm"}};
constexpr Row kFourNorms[] = {{"post_attention_norm", "post_attention_layernorm"},
                              {"ffn_norm", "pre_feedforward_layernorm"},
                              {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr Row kGpt2[] = {{"token_embd", "transformer.wte"},
                         {"position_embd", "transformer.wpe"},
                         {"output_norm", "transformer.ln_f"},
                         {"output", "lm_head"}};
constexpr Row kGpt2Block[] = {{"attn_norm", "ln_1"},   {"attn_qkv", "attn.c_attn"},
                              {"ffn_norm", "ln_2"},    {"attn_output", "attn.c_proj"},
                              {"ffn_up", "mlp.c_fc"},  {"ffn_down", "mlp.c_proj"}};
std::string_view find(std::span<const Row> rows, std::string_view name) {
  for (auto& row : rows)
    if (row.theirs == name) return row.ours;
  return {};
}
/// "blk.3.attn_q" -> "3", "attn_q".
std::optional<std::pair<std::string, std::string>> in_block(const std::string& name) {
  constexpr std::string_view begin = "blk.";
  auto dot = name.find('.', begin.size());
  if (!name.starts_with(begin) || dot == name.npos) return {};
  auto layer = name.substr(begin.size(), dot - begin.size());
  auto number = parse_as<std::int32_t>(layer);
  bool plain = number && *number >= 0 && std::to_string(*number) == layer;
  return plain ? std::optional(std::pair(layer, name.substr(dot + 1))) : std::nullopt;
}
std::string name_of(const std::string& kind, const std::string& theirs) {
  std::string end;
  for (std::string one : {".weight", ".bias"})
    if (theirs.ends_with(one)) end = one;
  auto stem = theirs.substr(0, theirs.size() - end.size());
  if (end.empty()) return {};
  bool gpt2 = gguf::is_gpt2(kind);
  auto block = in_block(stem);
  if (!block) {
    auto ours = gpt2 ? find(kGpt2, stem) : find(kDecoder, stem);
    return ours.empty() ? std::string() : std::string(ours) + end;
  }
  auto& [layer, part] = *block;
  auto ours = gpt2 ? find(kGpt2Block, part) : find(kDecoderBlock, part);
  if (ours.empty() && !gpt2) ours = kind == "gemma2" ? find(kFourNorms, part) : find(kNorm, part);
  if (ours.empty()) return {};
  return (gpt2 ? "transformer.h." : "model.layers.") + layer + "." + std::string(ours) + end;
}
Shape shape_of(const gguf::Tensor& t, bool turned) {
  Dims dims(t.shape.begin(), t.shape.end());
  if (turned) std::reverse(dims.begin(), dims.end());
  return Shape(dims);
}
}  // namespace

GgufTensors::GgufTensors(const std::string& file) : GgufTensors(gguf::File::open(file)) {}
GgufTensors::GgufTensors(std::shared_ptr<const gguf::File> file) : file_(std::move(file)) {
  auto kind = gguf::architecture(*file_);
  for (auto& t : file_->tensors()) {
    if (t.name == "rope_freqs.weight") continue;  // config.json has it
    auto name = name_of(kind, t.name);
    Source s{&t};
    bool matrix = t.shape.size() == 2;
    if (gguf::has_turned_rows(kind) && name.find("self_attn.") != name.npos) {
      auto key = kind + ".attention.head_count";
      if (name.find("q_proj") != name.npos) s.heads = file_->integer(key);
      if (name.find("k_proj") != name.npos) s.heads = file_->maybe_integer(key + "_kv").value_or(file_->integer(key));
      if (s.heads != 0)
        check<IoError>(s.heads > 0 && t.shape[0] % s.heads == 0 && t.shape[0] / s.heads % 2 == 0, file_->path(), ": ",
                       one_line(t.name), ": ", t.shape[0], " rows are no even number for each of ", s.heads, " heads");
    }
    s.turned = gguf::is_gpt2(kind) && matrix && name.find(".h.") != name.npos;
    s.minus_one = kind.starts_with("gemma") && !matrix && name.ends_with("norm.weight");
    add(name.empty() ? t.name : name, s);
  }
}
void GgufTensors::add(const std::string& name, Source s) {
  check<IoError>(tensors_.emplace(name, s).second, file_->path(), ": ", one_line(s.tensor->name), ": ", name,
                 " is another tensor's name as well");
}
const GgufTensors::Source& GgufTensors::find(const std::string& name) const {
  auto found = tensors_.find(name);
  check<CheckpointError>(found != tensors_.end(), file_->path(), ": ", name, ": there is no such tensor");
  return found->second;
}
std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> all;
  for (auto& [name, source] : tensors_) all.push_back(name);
  return all;
}
std::string GgufTensors::where(const std::string& name) const {
  auto found = tensors_.find(name);
  return file_->path() + ": " + one_line(found == tensors_.end() ? name : found->second.tensor->name);
}
Type GgufTensors::type(const std::string& name) const {
  auto& s = find(name);
  return {shape_of(*s.tensor, s.turned), f32};
}
bool GgufTensors::is_quantised(const std::string& name) const {
  auto found = tensors_.find(name);
  if (found == tensors_.end()) return false;
  auto& s = found->second;
  bool integers = s.tensor->encoding == gguf::Encoding::q8_0 || s.tensor->encoding == gguf::Encoding::q4_0;
  return integers && s.tensor->shape.size() == 2 && !s.turned && !s.minus_one;
}
std::int64_t GgufTensors::row_of(const Source& s, std::int64_t r) {
  if (s.heads == 0) return r;
  // Here a pair of numbers that turn together lies half a head apart, in the file side by side.
  auto size = s.tensor->shape[0] / s.heads, in = r % size;
  return r - in + in % (size / 2) * 2 + in / (size / 2);
}
QuantisedMatrix GgufTensors::matrix(const std::string& name) const {
  auto& s = find(name);
  auto n = s.tensor->shape[0], k = s.tensor->shape[1], groups = k / 32;
  QuantisedMatrix m{.n = n, .k = k, .groups = groups};
  m.q.resize(at(n * k));
  m.scales.resize(at(n * groups));
  m.group_of.resize(at(k));
  for (I i = 0; i < k; ++i) m.group_of[at(i)] = static_cast<std::int32_t>(i / 32);
  parallel_for(n, 8, [&](I begin, I end) {
    for (auto r = begin; r < end; ++r) {
      auto row = row_of(s, r);
      gguf::decode_integers(*s.tensor, row * groups, (row + 1) * groups, &m.q[at(r * k)], &m.scales[at(r * groups)]);
    }
  });
  return m;
}
Array GgufTensors::numbers(const std::string& name) const {
  auto& s = find(name);
  auto& t = *s.tensor;
  auto k = t.shape.back(), n = t.numbers / k, blocks = k / gguf::blocks_of(t.encoding).numbers;
  bool vector = t.shape.size() == 1;
  auto out = new_buffer({shape_of(t, s.turned), f32});
  auto* y = static_cast<float*>(out.data);
  parallel_for(n, 8, [&](I begin, I end) {
    std::vector<float> row(s.turned || (vector && s.heads) ? at(k) : 0);
    for (auto r = begin; r < end; ++r) {
      auto* to = row.empty() ? y + r * k : row.data();
      auto from = vector ? r : row_of(s, r);
      gguf::decode(t, from * blocks, (from + 1) * blocks, to);
      if (s.minus_one)
        for (I i = 0; i < k; ++i) to[i] -= 1;
      if (s.turned)
        for (I i = 0; i < k; ++i) y[i * n + r] = row[at(i)];
      else if (!row.empty())  // a bias of rows
        for (I i = 0; i < k; ++i) y[i] = row[at(row_of(s, i))];
    }
  });
  return out.done();
}
std::string gguf_weights(const gguf::File& file) {
  using E = gguf::Encoding;
  std::map<E, I> numbers;
  for (auto& t : file.tensors())
    if (t.shape.size() == 2 && t.name != "token_embd.weight" && t.name != "output.weight")
      numbers[t.encoding] += t.numbers;
  auto most = std::max_element(numbers.begin(), numbers.end(), [](auto& a, auto& b) { return a.second < b.second; });
  if (most == numbers.end()) return "f32";
  switch (most->first) {
    case E::q4_0: return to_string(nn::WeightFormat{4, 32});
    case E::q8_0:
    case E::q4_k:
    case E::q6_k: return to_string(nn::WeightFormat{8, 32});
    case E::bf16: return "bf16";
    default: return "f32";
  }
}
}  // namespace bora::models
