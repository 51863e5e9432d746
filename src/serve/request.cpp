#include "serve/api/request.h"
#include <algorithm>
#include <limits>
#include <random>
#include "bora/base/error.h"
#include "json/api/value.h"
#include "serve/fields.h"

namespace bora::serve {
namespace {
using generate::Choosing;
using json::Value;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostStops = 32, kMostLogprobs = 20;

std::int32_t read_id(const Value& v, const std::string& field, const Model& m) {
  auto size = m.tokenizer->size();
  bool fits = v.is_integer() && v.integer() >= 0 && v.integer() < size;
  if (!fits) refuse(field, "must be a token's id from 0 to ", size - 1, ", got ", named(v));
  return static_cast<std::int32_t>(v.integer());
}
std::vector<std::string> read_stop(Fields& fields) {
  auto v = fields.find("stop");
  if (!v) return {};
  if (!v->is_text() && !v->is_list()) refuse("stop", "must be a string or an array of them, got ", named(*v));
  std::vector<std::string> stop;
  for (auto& item : v->is_list() ? v->list() : Value::List{*v}) {
    bool fits = item.is_text() && !item.text().empty();
    if (!fits) refuse("stop", "must have strings that are not empty, got ", named(item));
    stop.push_back(item.text());
  }
  if (std::ssize(stop) > kMostStops) refuse("stop", "has ", std::ssize(stop), " strings; at most ", kMostStops);
  return stop;
}
Choosing read_choosing(Fields& fields, const Model& m) {
  Choosing c;
  c.temperature = fields.number("temperature", 0, kEndless).value_or(1);
  c.top_p = fields.number("top_p", 0, 1).value_or(1);
  if (c.top_p == 0) refuse("top_p", "must be above 0, and at most 1, got 0");
  c.top_k = std::max<std::int64_t>(fields.whole("top_k", -1, kMost).value_or(0), 0);  // -1: all, as vLLM says
  c.min_p = fields.number("min_p", 0, 1).value_or(0);
  c.typical_p = fields.number("typical_p", 0, 1).value_or(1);
  if (c.typical_p == 0) refuse("typical_p", "must be above 0, and at most 1, got 0");
  c.repetition_penalty = fields.number("repetition_penalty", 0, kEndless).value_or(1);
  if (c.repetition_penalty == 0) refuse("repetition_penalty", "must be above 0, got 0");
  c.presence_penalty = fields.number("presence_penalty", -2, 2).value_or(0);
  c.frequency_penalty = fields.number("frequency_penalty", -2, 2).value_or(0);
  c.min_tokens = fields.whole("min_tokens", 0, kMost).value_or(0);
  if (auto bias = fields.find("logit_bias")) {
    if (!bias->is_object()) refuse("logit_bias", "must be an object of ids and numbers, got ", named(*bias));
    for (auto& [id, value] : bias->members()) {
      auto number = json::parse_or_null(id);
      if (!number.is_natural()) refuse("logit_bias", json::quoted(id.substr(0, 40)), " is no token's id");
      bool fits = value.is_number() && value.number() >= -100 && value.number() <= 100;
      if (!fits) refuse("logit_bias", "must be from -100 to 100, got ", named(value));
      c.logit_bias.emplace_back(read_id(number, "logit_bias", m), static_cast<float>(value.number()));
    }
  }
  return c;
}
/// None for text.
std::shared_ptr<const generate::Grammar> read_format(const Value& v, const Model& m) {
  const std::string field = "response_format";
  if (!v.is_object()) refuse(field, "must be an object with type, got ", named(v));
  Fields format(v, field);
  auto type = format.text("type").value_or("");
  auto given = format.find("json_schema");
  format.finish();
  if (type != "text" && type != "json_object" && type != "json_schema")
    refuse(field + ".type", "must be \"text\", \"json_object\" or \"json_schema\", got ",
           json::quoted(type.substr(0, 40)));
  if (given && type != "json_schema") refuse(field + ".json_schema", "belongs to the type json_schema");
  if (type == "text") return {};
  auto grammars = m.grammars ? m.grammars : std::make_shared<const generate::Grammars>(m.tokenizer);
  try {
    if (type == "json_object") return grammars->json_object();
    if (!given || !given->is_object()) refuse(field + ".json_schema", "is missing: an object with name and schema");
    Fields of(*given, field + ".json_schema");
    auto schema = of.find("schema");
    of.ignore({"name", "description", "strict"});
    of.finish();
    if (!schema) refuse(field + ".json_schema.schema", "is missing: a JSON schema");
    return grammars->json_schema(schema->dump());
  } catch (const ValueError& e) { refuse(field, e.text().substr(0, 500)); }
}
/// Fields that both endpoints have, but for those of prompts, lengths and log-probabilities.
generate::Request read_common(Fields& fields, const Model& m, Call& call) {
  if (auto name = fields.text("model"); name && !name->empty() && *name != m.name)
    throw Refused(404, "model", "model_not_found",
                  "model: there is no model " + json::quoted(name->substr(0, 200)) + "; this server has " +
                      json::quoted(m.name));
  generate::Request r;
  r.choosing = read_choosing(fields, m);
  if (auto format = fields.find("response_format")) r.choosing.grammar = read_format(*format, m);
  call.n = r.n = fields.whole("n", 1, m.most_choices).value_or(1);
  r.stop = read_stop(fields);
  if (auto ids = fields.find("stop_token_ids")) r.stop_ids = read_ids(*ids, "stop_token_ids", m);
  call.special = r.special = !fields.flag("skip_special_tokens").value_or(true);
  r.ignore_eos = fields.flag("ignore_eos").value_or(false);
  call.stream = fields.flag("stream").value_or(false);
  if (auto options = fields.find("stream_options")) {
    if (!options->is_object()) refuse("stream_options", "must be an object, got ", named(*options));
    if (!call.stream) refuse("stream_options", "belongs to stream: true");
    Fields of(*options, "stream_options");
    call.include_usage = of.flag("include_usage").value_or(false);
    of.ignore({"include_obfuscation"});
    of.finish();
  }
  fields.ignore({"user", "metadata", "store", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
                 "service_tier", "cache_prompt"});
  return r;
}
std::optional<std::uint64_t> read_seed(Fields& fields) {
  auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  auto seed = fields.whole("seed", least, most);
  return seed ? std::optional(static_cast<std::uint64_t>(*seed)) : std::nullopt;
}
std::int64_t most_tokens(const Model& m) { return m.most_tokens > 0 ? m.most_tokens : kMost; }
/// Prompt and answer must fit; a prompt is never cut.
void check_length(const Model& m, std::int64_t prompt, std::optional<std::int64_t> answer, const char* what) {
  if (prompt + answer.value_or(1) <= m.positions) return;
  throw Refused(400, what, "context_length_exceeded",
                "This model's maximum context length is " + std::to_string(m.positions) + " tokens; this request has " +
                    std::to_string(prompt) + " tokens in its prompt" +
                    (answer ? " and asks for " + std::to_string(*answer) + " more" : "") +
                    ". A prompt is never cut: shorten it" + (answer ? ", or ask for fewer tokens" : ""));
}
void add_prompt(Call& call, const Model& m, const generate::Request& common, Prompt p,
                std::optional<std::int64_t> length, const char* field) {
  auto& request = p.request;
  auto ids = std::move(request.prompt);
  request = common;
  if (ids.empty()) refuse(field, "it has no token; a model begins with one or more");
  if (m.start) {
    request.inputs = std::move(ids);
    request.prompt = {*m.start};
    auto end = m.tokenizer->end_of_text();
    if (end && request.inputs.back() != *end) request.inputs.push_back(*end);
  } else request.prompt = std::move(ids);
  auto prompt = std::ssize(request.prompt);
  check_length(m, prompt, length, field);
  if (m.start) check_length(m, std::ssize(request.inputs), 0, field);
  // Without a length what fits; a prompt for which the cache is too small is the engine's to refuse.
  auto fits = m.room > 0 ? std::min(m.positions, m.room) : m.positions;
  request.max_tokens = length.value_or(std::min(std::max<std::int64_t>(fits - prompt, 1), most_tokens(m)));
  call.prompts.push_back(std::move(p));
}
void read_prompts(Fields& fields, const Model& m, Call& call, const generate::Request& common, std::int64_t length) {
  bool around = fields.flag("add_special_tokens").value_or(true);
  auto v = fields.find("prompt");
  if (!v) refuse("prompt", "is missing: a string, an array of ids, or an array of either");
  auto add_text = [&](const std::string& text) {
    auto [ids, before] = encode(m, text, around);
    add_prompt(call, m, common, {{.prompt = std::move(ids)}, text, before}, length, "prompt");
  };
  auto add_ids = [&](const Value& list) {
    auto ids = read_ids(list, "prompt", m);
    auto text = call.echo ? m.tokenizer->decode(ids) : std::string();
    add_prompt(call, m, common, {{.prompt = std::move(ids)}, std::move(text), 0}, length, "prompt");
  };
  if (v->is_text()) return add_text(v->text());
  if (!v->is_list() || v->list().empty())
    refuse("prompt", "must be a string, an array of ids, or an array of either, got ",
           v->is_list() ? "an empty array" : named(*v));
  auto& items = v->list();
  if (items[0].is_number()) return add_ids(*v);
  if (std::ssize(items) > m.most_prompts)
    refuse("prompt", "has ", std::ssize(items), " prompts; at most ", m.most_prompts, " in a request");
  for (auto& item : items) {
    if (item.is_text()) add_text(item.text());
    else if (item.is_list()) add_ids(item);
    else refuse("prompt", "must have strings or arrays of ids, got ", named(item));
  }
}
void read_completion(Fields& fields, const Model& m, Call& call, generate::Request common) {
  call.echo = fields.flag("echo").value_or(false);
  if (call.echo && m.start) refuse("echo", "this model reads a prompt apart from its answer, and cannot echo it");
  auto length = fields.whole("max_tokens", 0, most_tokens(m)).value_or(std::min<std::int64_t>(16, most_tokens(m)));
  if (length == 0 && !call.echo) refuse("max_tokens", "0 belongs to echo: true");
  call.logprobs = common.logprobs = fields.whole("logprobs", 0, kMostLogprobs);
  if (call.echo) common.prompt_logprobs = call.logprobs;
  common.best_of = fields.whole("best_of", 1, m.most_choices).value_or(0);
  if (common.best_of > 0 && common.best_of < common.n)
    refuse("best_of", "must be n or more: ", common.best_of, " is below n, ", common.n);
  if (common.best_of > common.n && call.stream) refuse("best_of", "the best are known at the end: leave out stream");
  fields.only("suffix");
  read_prompts(fields, m, call, common, length);
}
void read_chat(Fields& fields, const Model& m, Call& call, generate::Request common) {
  if (m.start) refuse("messages", "a model with an encoder has no turns: ask /v1/completions");
  auto length = fields.whole("max_completion_tokens", 1, most_tokens(m));
  auto older = fields.whole("max_tokens", 1, most_tokens(m));
  if (length && older && *length != *older)
    refuse("max_tokens", "is the older name of max_completion_tokens, and says otherwise");
  if (!length) length = older;
  bool wanted = fields.flag("logprobs").value_or(false);
  auto top = fields.whole("top_logprobs", 0, kMostLogprobs);
  if (top && !wanted) refuse("top_logprobs", "belongs to logprobs: true");
  if (wanted) call.logprobs = common.logprobs = top.value_or(0);
  fields.only("tool_choice", "none");
  fields.only("function_call", "none");
  fields.only("modalities", json::parse_or_null(R"(["text"])"));
  for (auto name : {"tools", "functions", "audio", "prediction", "reasoning_effort", "verbosity", "web_search_options",
                    "chat_template", "chat_template_kwargs", "documents"})
    fields.only(name);
  fields.ignore({"parallel_tool_calls"});
  ChatOptions how;
  how.continue_final_message = fields.flag("continue_final_message").value_or(false);
  how.add_generation_prompt = fields.flag("add_generation_prompt").value_or(!how.continue_final_message);
  if (how.continue_final_message && how.add_generation_prompt)
    refuse("continue_final_message", "and add_generation_prompt exclude each other");
  auto messages = fields.find("messages");
  if (!messages) refuse("messages", "is missing: an array of messages with role and content");
  auto [ids, end] = read_messages(*messages, m, how);
  if (!end.empty() && !common.ignore_eos) {
    auto id = m.tokenizer->id_of(end);
    if (!id) common.stop.push_back(end);
    else if (std::ranges::find(common.stop_ids, *id) == common.stop_ids.end()) common.stop_ids.push_back(*id);
  }
  add_prompt(call, m, common, {{.prompt = std::move(ids)}}, length, "messages");
}
}  // namespace

std::vector<std::int32_t> read_ids(const Value& list, const std::string& field, const Model& m) {
  if (!list.is_list()) refuse(field, "must be an array of ids, got ", named(list));
  std::vector<std::int32_t> ids;
  ids.reserve(list.list().size());
  for (auto& item : list.list()) ids.push_back(read_id(item, field, m));
  return ids;
}
Value read_body(std::string_view body) {
  Value v;
  try {
    v = json::parse(body, "the request's body", "key", json::Order::as_written);  // a schema's members have an order
  } catch (const IoError& e) { refuse("", e.text()); }
  if (!v.is_object()) refuse("", "the request's body must be a JSON object, got ", named(v));
  return v;
}
Call read_call(std::optional<Kind> kind, std::string_view body, const Model& m,
               const std::function<std::uint64_t()>& seed) {
  auto object = read_body(body);
  Fields fields(object);
  if (!kind) {
    bool turns = fields.find("messages") != nullptr;
    if (turns == (fields.find("prompt") != nullptr)) refuse("", "there must be `prompt` or `messages`, one of them");
    kind = turns ? Kind::chat : Kind::completion;
  }
  Call call{.kind = *kind};
  auto common = read_common(fields, m, call);
  auto given = read_seed(fields);
  call.seed = common.seed = given ? *given : seed();
  // Prompts are read last: a request that is refused for another field costs no time.
  if (*kind == Kind::chat) read_chat(fields, m, call, std::move(common));
  else read_completion(fields, m, call, std::move(common));
  fields.finish();
  return call;
}
std::uint64_t drawn_seed() {
  std::random_device draw;
  return (static_cast<std::uint64_t>(draw()) << 32 | draw()) >> 11;
}
}  // namespace bora::serve
