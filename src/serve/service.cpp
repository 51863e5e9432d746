#include "serve/api/service.h"
#include <algorithm>
#include <atomic>
#include <charconv>
#include "bora/base/text.h"
#include "json/api/value.h"
#include "serve/exchange.h"
#include "serve/fields.h"
#include "text/api/utf8.h"

namespace bora::serve {
namespace {
using json::Value;
constexpr std::int64_t kMostWaiting = 64 << 20;
/// What %2f and its like stand for.
std::string decoded(std::string_view path) {
  std::string r;
  for (std::size_t i = 0; i < path.size(); ++i) {
    int byte = 0;
    auto digits = path.substr(i + 1, 2);
    bool code = path[i] == '%' && digits.size() == 2 &&
                std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2;
    r += code ? static_cast<char>(byte) : path[i];
    if (code) i += 2;
  }
  return r;
}
Value object(std::vector<Value::Member> members) { return Value::object(std::move(members), json::Order::as_written); }
Value or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }
Value model_value(const Model& m) {
  return object({{"id", m.name},
                 {"object", "model"},
                 {"created", m.created},
                 {"owned_by", "bora"},
                 {"max_model_len", m.positions}});
}
std::string models(const Model& m) {
  return object({{"object", "list"}, {"data", Value::List{model_value(m)}}}).dump();
}
std::string tokenizer_info(const Model& m) {
  return object({{"bos_token", or_null(m.bos)},
                 {"eos_token", or_null(m.eos)},
                 {"pad_token", or_null(m.pad)},
                 {"chat_template", or_null(m.chat_text)},
                 {"vocab_size", m.tokenizer->size()},
                 {"max_model_len", m.positions}})
      .dump();
}
/// {"prompt", "add_special_tokens"} or {"messages", ..} -> {"tokens", ..}
std::string tokenize(const std::string& body, const Model& m) {
  auto asked = read_body(body);
  Fields fields(asked);
  fields.ignore({"model"});
  std::vector<std::int32_t> ids;
  if (auto messages = fields.find("messages")) {
    ChatOptions how;
    how.continue_final_message = fields.flag("continue_final_message").value_or(false);
    how.add_generation_prompt = fields.flag("add_generation_prompt").value_or(!how.continue_final_message);
    ids = read_messages(*messages, m, how).ids;
  } else {
    auto text = fields.text("prompt");
    if (!text) refuse("prompt", "is missing: a string; or give messages");
    ids = encode(m, *text, fields.flag("add_special_tokens").value_or(true)).ids;
  }
  fields.finish();
  Value::List list(ids.begin(), ids.end());
  auto n = std::ssize(ids);
  return object({{"count", n}, {"max_model_len", m.positions}, {"tokens", std::move(list)}}).dump();
}
/// {"tokens"} -> {"prompt"}
std::string detokenize(const std::string& body, const Model& m) {
  auto asked = read_body(body);
  Fields fields(asked);
  fields.ignore({"model"});
  auto list = fields.find("tokens");
  if (!list) refuse("tokens", "is missing: an array of ids");
  auto ids = read_ids(*list, "tokens", m);
  fields.finish();
  std::string copy;
  return object({{"prompt", text::valid_utf8(m.tokenizer->decode(ids), copy)}}).dump();
}
}  // namespace

Answering answering(generate::Engine& engine) {
  return {.submit = [&engine](generate::Request r, generate::Listener l) {
            return engine.submit(std::move(r), std::move(l));
          },
          .cancel = [&engine](generate::Engine::Id id) { engine.cancel(id); },
          .report = [&engine] { return engine.report(); }};
}

struct Service::State {
  Common common;
  std::atomic<std::int64_t> waiting = 0;  // bytes of bodies that are not read yet
  Desk writing = {}, reading = {};  // the reading one ends first: it posts to the other

  std::pair<std::shared_ptr<const Model>, std::shared_ptr<const Names>> model() {
    std::lock_guard lock(common.mutex);
    return {common.model, common.names};
  }
  void health(Reply& reply) {
    if (common.closed) return send_error(reply, common.unavailable(), common.options.retry_after);
    send_json(reply, 200, R"({"status":"ok"})");
  }
  void metrics(Reply& reply) {
    auto text = common.metrics.text(common.engine.report(), model().first->name);
    reply.send(200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, std::move(text));
  }
  /// On the reading thread: what costs time.
  void read(const Ask& ask, const std::shared_ptr<Reply>& reply) {
    auto [m, names] = model();
    if (ask.path == "/tokenize") return send_json(*reply, 200, tokenize(ask.body, *m));
    if (ask.path == "/detokenize") return send_json(*reply, 200, detokenize(ask.body, *m));
    if (common.closed) throw common.unavailable();
    auto kind = ask.path == "/v1/chat/completions" ? Kind::chat : Kind::completion;
    auto call = read_call(kind, ask.body, *m, drawn_seed);
    auto e = std::make_shared<Exchange>(common, writing, std::move(call), m, names, reply);
    writing.post([e] { e->submit(); });
  }
  void post(Ask ask, std::shared_ptr<Reply> reply) {
    auto size = std::ssize(ask.body);
    if (waiting.fetch_add(size) > kMostWaiting) {
      waiting -= size;
      return send_error(*reply, {503, "", "busy", "too many long requests at a time"}, common.options.retry_after);
    }
    reading.post([this, size, ask = std::move(ask), reply = std::move(reply)] {
      waiting -= size;
      try {
        read(ask, reply);
      } catch (const Refused& e) {
        send_error(*reply, e, common.options.retry_after);
      } catch (const Error& e) {
        send_error(*reply, {400, "", "", e.text()}, common.options.retry_after);
      } catch (const std::exception& e) {
        send_error(*reply, {500, "", "", std::string("internal error: ") + e.what()}, common.options.retry_after);
      }
    });
  }
};
Service::Service(Model model, Answering engine, ServiceOptions options)
    : state_(new State{{.engine = std::move(engine), .options = options}}) {
  state_->common.names = std::make_shared<const Names>(model.tokenizer);
  state_->common.model = std::make_shared<const Model>(std::move(model));
}
Service::~Service() = default;
void Service::close(const std::string& why) {
  {
    std::lock_guard lock(state_->common.mutex);
    state_->common.why = why;
  }
  state_->common.closed = true;
}
void Service::renew(const std::string& fingerprint) {
  std::lock_guard lock(state_->common.mutex);
  auto m = *state_->common.model;
  m.fingerprint = fingerprint;
  state_->common.model = std::make_shared<const Model>(std::move(m));
}
void Service::answer(Ask ask, std::shared_ptr<Reply> reply) {
  auto& s = *state_;
  constexpr std::string_view gets[] = {"/", "/health", "/metrics", "/v1/models", "/tokenizer_info"},
                             posts[] = {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"};
  bool get = std::ranges::find(gets, ask.path) != std::end(gets) || ask.path.starts_with("/v1/models/");
  bool post = std::ranges::find(posts, ask.path) != std::end(posts);
  auto retry = s.common.options.retry_after;
  if (!get && !post)
    return send_error(*reply, {404, "", "not_found", "there is nothing at " + one_line(ask.path)}, retry);
  if (ask.method != (get ? "GET" : "POST")) {
    auto allowed = get ? "GET" : "POST";
    return send_json(*reply, 405, error_body(405, ask.path + " takes " + allowed + " only"), {{"Allow", allowed}});
  }
  if (post) return s.post(std::move(ask), std::move(reply));
  if (ask.path == "/health") return s.health(*reply);
  if (ask.path == "/metrics") return s.metrics(*reply);
  if (ask.path == "/")
    return reply->send(200,
                       {{"Content-Type", "text/html; charset=utf-8"},
                        {"Content-Security-Policy", page().policy},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"}},
                       page().html);
  auto m = s.model().first;
  if (ask.path == "/tokenizer_info") return send_json(*reply, 200, tokenizer_info(*m));
  if (ask.path == "/v1/models") return send_json(*reply, 200, models(*m));
  auto name = decoded(std::string_view(ask.path).substr(std::string_view("/v1/models/").size()));
  if (name == m->name) return send_json(*reply, 200, model_value(*m).dump());
  send_error(*reply, {404, "model", "model_not_found", "there is no model " + json::quoted(one_line(name))}, retry);
}
}  // namespace bora::serve
