#include "bora/models/hugging_face.h"
#include <algorithm>
#include <set>
#include "bora/base/error.h"
#include "base/api/json.h"
#include "bora/base/text.h"
#include "json/api/value.h"

namespace bora::models {
namespace {
/// Fields of `transformers`' PreTrainedConfig and its GenerationConfig, and of tasks that are no language models.
constexpr std::string_view kNeutral[] = {
    "_attn_implementation", "_attn_implementation_autoset", "_auto_class", "_commit_hash", "_experts_implementation",
    "_flash_attn_2_enabled", "_name_or_path", "_num_labels", "architectures", "assistant_confidence_threshold",
    "assistant_early_exit", "assistant_lookbehind", "attn_implementation", "bad_words_ids", "begin_suppress_tokens",
    "bos_token_id", "cache_config", "cache_implementation", "classifier_dropout", "constraints", "custom_pipelines",
    "decoder_start_token_id", "disable_compile", "diversity_penalty", "do_sample", "dola_layers", "dtype",
    "early_stopping", "encoder_no_repeat_ngram_size", "encoder_repetition_penalty", "eos_token_id", "epsilon_cutoff",
    "eta_cutoff", "exponential_decay_length_penalty", "finetuning_task", "force_words_ids", "forced_bos_token_id",
    "forced_decoder_ids", "forced_eos_token_id", "gradient_checkpointing", "guidance_scale", "id2label",
    "initializer_range", "is_assistant", "label2id", "length_penalty", "low_memory", "max_length",
    "max_matching_ngram_size", "max_new_tokens", "max_sequence_length", "max_time", "min_length", "min_new_tokens",
    "min_p", "model_type", "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "num_beam_groups", "num_beams", "num_labels", "num_return_sequences", "output_attentions", "output_hidden_states",
    "output_logits", "output_past", "output_scores", "pad_token_id", "penalty_alpha", "prefill_chunk_size", "prefix",
    "pretraining_tp", "problem_type", "prompt_lookup_num_tokens", "remove_invalid_values", "renormalize_logits",
    "repetition_penalty", "return_dict", "return_dict_in_generate", "return_legacy_cache", "sep_token_id",
    "sequence_bias", "stop_strings", "suppress_tokens", "target_lookbehind", "task_specific_params", "temperature",
    "tf_legacy_loss", "token_healing", "tokenizer_class", "top_h", "top_k", "top_p", "torch_dtype", "torchscript",
    "transformers.js_config", "transformers_version", "typical_p", "unk_token_id", "unsloth_fixed", "unsloth_version",
    "use_bfloat16", "use_cache", "use_flash_attention", "use_flash_attn", "vocab_size", "watermarking_config"};

/// Fields that change nothing where they are false, 0 or empty: of PreTrainedConfig, whose older versions wrote them
/// for every model, and of kindred models, where they add what others lack.
constexpr std::string_view kOff[] = {"add_cross_attention", "chunk_size_feed_forward", "is_decoder",
                                     "is_encoder_decoder",  "pruned_heads",            "rope_interleaved",
                                     "tie_encoder_decoder", "use_mrope",               "use_sliding_window"};
constexpr std::string_view kSlides = "use_sliding_window";
/// Whether windows of attention are switched off, and fields of windows say nothing.
bool has_no_windows(const json::Value& fields) {
  auto slides = fields.find(kSlides);
  return slides && *slides == false;
}
/// Whether every layer attends to all positions, which models without windows need not be told.
bool all_are_full(const json::Value& types) {
  return types.is_list() && std::all_of(types.list().begin(), types.list().end(),
                                        [](auto& type) { return type == "full_attention"; });
}

bool is_integer(const json::Value& j) { return j.is_integer() && (!j.is_natural() || j.natural() <= INT64_MAX); }
bool is_neutral(std::string_view name, const json::Value& value, const json::Value& fields) {
  auto in = [&](auto& names) { return std::count(std::begin(names), std::end(names), name) > 0; };
  bool empty = value.is_list() ? value.list().empty() : value.is_object() && value.members().empty();
  if (name == "layer_types") return all_are_full(value);
  if (name == "sliding_window" || name == "max_window_layers") return has_no_windows(fields);
  return in(kNeutral) || (in(kOff) && (empty || value == false || value == 0));
}
std::string shown(const json::Value& j) {
  auto text = j.is_text() ? j.text() : j.dump();
  return one_line(text.size() > 80 ? text.substr(0, 77) + "..." : text);
}
json::Value json_of(const HfConfig::Value& value) {
  return std::visit(
      [](const auto& x) -> json::Value {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, float>)
          return *parse_as<double>(number_text(static_cast<double>(x)));
        else if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::monostate>) return nullptr;
        else return x;
      },
      value);
}
}  // namespace

struct HfConfig::State {
  std::string file = "config.json";
  json::Value root = json::Value::object({}, json::Order::as_written);
  bool writing = true;
  std::set<std::string> read = {}, groups = {};  // "rope_scaling", "rope_scaling.type"
  std::function<bool(const std::string&)> has_tensor = [](auto&) { return false; };
};
namespace {
std::string dotted(const std::vector<std::string>& path, std::string_view name) {
  std::string all;
  for (auto& p : path) all += p + ".";
  return all + std::string(name);
}
}  // namespace

HfConfig::HfConfig() : state_(std::make_shared<State>()) {}
HfConfig HfConfig::parse(std::string_view text, const std::string& file) {
  HfConfig c;
  c.state_->file = file;
  c.state_->root = json::parse(text, file, "field", json::Order::as_written);
  c.state_->writing = false;
  check<IoError>(c.state_->root.is_object(), file, ": expected an object, got ", c.state_->root.type_name());
  return c;
}
std::string HfConfig::place(std::string_view name) const { return state_->file + ": " + dotted(path_, one_line(name)); }
json::Value& HfConfig::fields() const {
  auto* j = &state_->root;
  for (auto& p : path_) j = j->find(p);
  return *j;
}
const json::Value* HfConfig::find(std::string_view name) const {
  auto found = fields().find(name);
  return found && !found->is_null() ? found : nullptr;
}
bool HfConfig::is_null(std::string_view name) const {
  auto found = fields().find(name);
  return found && found->is_null();
}
const json::Value* HfConfig::read(std::string_view name) {
  state_->read.insert(dotted(path_, name));
  return find(name);
}
const json::Value& HfConfig::need(std::string_view name) {
  auto found = read(name);
  check<IoError>(found != nullptr, [&] { return place(name); }, ": the field is missing");
  return *found;
}
void HfConfig::wrong(std::string_view name, std::string_view expected) const {
  fail<IoError>(place(name), ": expected ", expected, ", got ", shown(*find(name)));
}
bool HfConfig::has(std::string_view name) const { return find(name) != nullptr; }

std::int64_t HfConfig::integer(std::string_view name) {
  auto& j = need(name);
  if (!is_integer(j)) wrong(name, "an integer");
  return j.integer();
}
double HfConfig::number(std::string_view name) {
  auto& j = need(name);
  if (!j.is_number()) wrong(name, "a number");
  return j.number();
}
bool HfConfig::flag(std::string_view name) {
  auto& j = need(name);
  if (!j.is_boolean()) wrong(name, "true or false");
  return j.boolean();
}
std::string HfConfig::word(std::string_view name) {
  auto& j = need(name);
  if (!j.is_text()) wrong(name, "text");
  return j.text();
}
std::int64_t HfConfig::integer(std::string_view name, std::int64_t absent) {
  return read(name) ? integer(name) : absent;
}
double HfConfig::number(std::string_view name, double absent) { return read(name) ? number(name) : absent; }
bool HfConfig::flag(std::string_view name, bool absent) { return read(name) ? flag(name) : absent; }
std::string HfConfig::word(std::string_view name, std::string_view absent) {
  return read(name) ? word(name) : std::string(absent);
}
std::vector<std::int64_t> HfConfig::integers(std::string_view name) {
  std::vector<std::int64_t> all;
  auto found = read(name);
  if (!found) return all;
  if (!found->is_list()) wrong(name, "a list of integers");
  for (auto& j : found->list()) {
    if (!is_integer(j)) wrong(name, "a list of integers");
    all.push_back(j.integer());
  }
  return all;
}
std::vector<double> HfConfig::numbers(std::string_view name) {
  std::vector<double> all;
  auto found = read(name);
  if (!found) return all;
  if (!found->is_list()) wrong(name, "a list of numbers");
  for (auto& j : found->list()) {
    if (!j.is_number()) wrong(name, "a list of numbers");
    all.push_back(j.number());
  }
  return all;
}
std::vector<std::string> HfConfig::words(std::string_view name) {
  std::vector<std::string> all;
  auto found = read(name);
  if (!found) return all;
  if (!found->is_list()) wrong(name, "a list of texts");
  for (auto& j : found->list()) {
    if (!j.is_text()) wrong(name, "a list of texts");
    all.push_back(j.text());
  }
  return all;
}
HfConfig HfConfig::group(std::string_view name) {
  if (state_->writing && !find(name)) fields().set(name, json::Value::object({}, json::Order::as_written));
  if (!need(name).is_object()) wrong(name, "an object");
  HfConfig inner = *this;
  inner.path_.emplace_back(name);
  state_->groups.insert(dotted(path_, name));
  return inner;
}
void HfConfig::expect(std::string_view name, const Value& value) {
  auto found = read(name);
  if (!found) return;
  auto wanted = json_of(value);
  if (*found != wanted) refuse(name, "only " + shown(wanted) + " is");
}
void HfConfig::ignore(std::initializer_list<std::string_view> names) {
  for (auto name : names) state_->read.insert(dotted(path_, name));
}
void HfConfig::refuse(std::string_view name, std::string_view words) const {
  auto found = find(name);
  fail<IoError>(place(name), ": ", found ? shown(*found) : "its absence", " is not supported",
                words.empty() ? "" : "; ", words);
}
void HfConfig::done() const {
  for (auto& [name, value] : fields().members()) {
    auto full = dotted(path_, name);
    if (!state_->read.contains(full)) {
      if (value.is_null() || (path_.empty() && is_neutral(name, value, fields()))) continue;
      fail<IoError>(place(name), ": ", shown(value), " is not supported: the field is not known here",
                    path_.empty() && find("model_type") ? " for the model type " + shown(*find("model_type")) : "",
                    ", and could change the result; remove it if it does not");
    }
    if (!state_->groups.contains(full)) continue;
    HfConfig inner = *this;
    inner.path_.push_back(name);
    inner.done();
  }
}
bool HfConfig::has_tensor(const std::string& name) const { return state_->has_tensor(name); }
void HfConfig::set_has_tensor(std::function<bool(const std::string&)> f) { state_->has_tensor = std::move(f); }
void HfConfig::set(std::string_view name, const Value& value) {
  fields().set(name, json_of(value));
}
void HfConfig::take(const HfConfig& from, std::initializer_list<std::string_view> names) {
  for (auto name : names)
    if (from.has(name) && !has(name)) fields().set(name, *from.find(name));
}
std::string HfConfig::text() const { return state_->root.dump(2) + "\n"; }
}  // namespace bora::models
