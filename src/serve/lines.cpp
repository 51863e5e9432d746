#include "serve/api/lines.h"
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include "bora/base/error.h"
#include "json/api/value.h"
#include "serve/exchange.h"

namespace bora::serve {
namespace {
using json::Value;
constexpr std::size_t kAtOnce = 64;  // calls that the engine knows: their prompts may share pages

/// The line's object with what it does not say.
std::string with_defaults(Value line, const LineDefaults& d) {
  auto& r = d.request;
  auto set = [&](const char* name, const Value& value) {
    auto given = line.find(name);
    if (!given || given->is_null()) line.set(name, value);
  };
  auto& c = r.choosing;
  for (auto [name, value] : {std::pair{"temperature", c.temperature},
                             {"top_p", c.top_p},
                             {"min_p", c.min_p},
                             {"typical_p", c.typical_p},
                             {"repetition_penalty", c.repetition_penalty},
                             {"presence_penalty", c.presence_penalty},
                             {"frequency_penalty", c.frequency_penalty}})
    set(name, value);
  set("top_k", c.top_k);
  set("n", r.n);
  set("seed", r.seed);
  if (!r.stop.empty()) set("stop", Value(r.stop));
  line.set("model", Value());  // there is one
  if (!line.find("messages")) {
    set("max_tokens", 1);  // until the length of the prompt is known
    if (r.logprobs) set("logprobs", *r.logprobs);
    if (!d.around) set("add_special_tokens", false);
  } else if (r.logprobs) {
    set("logprobs", true);
    set("top_logprobs", *r.logprobs);
  }
  return line.dump();
}
Call read_line(std::string_view text, const Model& m, const LineDefaults& d) {
  auto line = read_body(text);
  for (auto name : {"stream", "stream_options"})
    if (auto v = line.find(name); v && !v->is_null() && *v != Value(false))
      refuse(name, "a line is answered by a line, whole");
  auto says = [&](const char* name) {
    auto v = line.find(name);
    return v && !v->is_null();
  };
  bool length = says("max_tokens") || says("max_completion_tokens");
  auto call = read_call({}, with_defaults(line, d), m, [&] { return d.request.seed; });
  for (auto& p : call.prompts)
    if (!length) p.request.max_tokens = std::min(d.request.max_tokens, m.positions - std::ssize(p.request.prompt));
  return call;
}
/// The body of an answer as a line.
std::string line_of(std::int64_t index, const std::string& body) {
  auto answer = json::parse(body, "answer", "key", json::Order::as_written);
  Value::List choices;
  for (auto& choice : answer.find("choices")->list()) {
    auto message = choice.find("message");
    choices.push_back(Value::object({{"index", *choice.find("index")},
                                     {"text", message ? *message->find("content") : *choice.find("text")},
                                     {"finish_reason", *choice.find("finish_reason")},
                                     {"logprobs", *choice.find("logprobs")}},
                                    json::Order::as_written));
  }
  return Value::object({{"index", index},
                        {"choices", std::move(choices)},
                        {"usage", *answer.find("usage")},
                        {"seed", *answer.find("seed")}},
                       json::Order::as_written)
      .dump();
}
}  // namespace

std::vector<Call> read_lines(std::string_view text, const std::string& file, const Model& m, const LineDefaults& d) {
  std::vector<Call> calls;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    try {
      calls.push_back(read_line(line, m, d));
    } catch (const Error& e) {
      fail<ConfigError>(file, ":", number, ": ", e.text());
    }
  }
  return calls;
}
Call one_call(generate::Request r, std::string text) {
  Call call{.n = r.n, .seed = r.seed, .logprobs = r.logprobs};
  call.prompts.push_back({std::move(r), std::move(text), 0});
  return call;
}
std::string answer_line(std::int64_t index, const Call& call, std::shared_ptr<const Model> m,
                        std::shared_ptr<const Names> names, const std::vector<Choice>& choices, const Usage& usage) {
  return line_of(index, Forms(call, std::move(m), std::move(names), "", 0).whole(choices, usage));
}

struct Lines::State {
  /// The way back of one call.
  struct Back final : Reply {
    std::weak_ptr<State> lines;
    std::int64_t index;
    Back(std::weak_ptr<State> l, std::int64_t i) : lines(std::move(l)), index(i) {}
    void send(int status, Headers, std::string body) override {
      if (auto to = lines.lock()) to->take(index, status, std::move(body));
    }
    void begin() override {}
    void event(std::string) override {}
    void end() override {}
    void on_gone(std::function<void()>) override {}
  };
  Common common;
  std::vector<Call> calls;
  std::function<void(const std::string&)> write;
  std::function<void()> ended;
  mutable std::mutex mutex = {};
  std::string error = {};
  // Of the thread that writes.
  std::size_t next = 0, written = 0;
  bool over = false;
  std::map<std::int64_t, std::string> early = {};  // lines behind one that is not there yet
  std::unique_ptr<Desk> writing = std::make_unique<Desk>();

  void submit(const std::shared_ptr<State>& self) {
    auto i = next++;
    auto back = std::make_shared<Back>(self, static_cast<std::int64_t>(i));
    std::make_shared<Exchange>(common, *writing, std::move(calls[i]), common.model, common.names, back)->submit();
  }
  void end(const std::string& why) {
    if (std::exchange(over, true)) return;
    {
      std::lock_guard lock(mutex);
      error = why;
    }
    ended();
  }
  void take(std::int64_t index, int status, std::string body) {
    if (over) return;
    if (status != 200) {
      auto failed = json::parse_or_null(body);
      auto error_of = failed.find("error");
      auto message = error_of ? error_of->find("message") : nullptr;
      return end(message && message->is_text() ? message->text() : body);
    }
    early.emplace(index, line_of(index, body));
    try {
      for (auto i = early.begin(); i != early.end() && i->first == static_cast<std::int64_t>(written); ++written) {
        write(i->second);
        i = early.erase(i);
      }
    } catch (const Error& e) { return end(e.text()); }
    if (written == calls.size()) return end({});
    writing->post([weak = self] {
      if (auto s = weak.lock(); s && !s->over && s->next < s->calls.size()) s->submit(s);
    });
  }
  std::weak_ptr<State> self = {};
};
Lines::Lines(Model m, Answering engine, std::vector<Call> calls, std::function<void(const std::string&)> write,
             std::function<void()> ended)
    : state_(new State{{.engine = std::move(engine), .options = {}},
                       std::move(calls), std::move(write), std::move(ended)}) {
  auto& s = *state_;
  s.self = state_;
  s.common.names = std::make_shared<const Names>(m.tokenizer);
  s.common.model = std::make_shared<const Model>(std::move(m));
  s.writing->post([state = state_] {
    if (state->calls.empty()) return state->end({});
    for (std::size_t i = 0; i < std::min(kAtOnce, state->calls.size()) && !state->over; ++i) state->submit(state);
  });
}
Lines::~Lines() { state_->writing.reset(); }
std::string Lines::error() const {
  std::lock_guard lock(state_->mutex);
  return state_->error;
}
}  // namespace bora::serve
