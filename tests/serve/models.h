// models.h -- models of a server for tests, and an engine and a client that are functions.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include "bora/text/chat.h"
#include "serve/api/answers.h"
#include "serve/api/service.h"

namespace bora::test {
using nlohmann::json;
/// Of bytes; chats are ChatML. No token ends an answer.
inline serve::Model byte_model() {
  return {.name = "tiny",
          .fingerprint = "f1",
          .created = 5,
          .tokenizer = text::open_tokenizer({"type=bytes"}),
          .positions = 100,
          .chat = text::chat_template_of("chatml")};
}
/// Answers at once, on the thread of submit(): the letters a, b, c .. after the prompt's last byte.
struct LetterEngine {
  std::vector<generate::Request> requests = {};
  std::vector<generate::Engine::Id> cancelled = {};
  std::int64_t places = 64;  // of the queue
  generate::Finish finish = generate::Finish::length;
  std::string error = {};
  bool waits = false;  // nothing is answered before play()
  std::deque<std::function<void()>> waiting = {};
  mutable std::mutex mutex = {};
  std::condition_variable came = {};

  static generate::Chosen chosen(std::int32_t id, std::int64_t top) {
    generate::Chosen c{id, -0.1F * static_cast<float>(id % 7 + 1), {}};
    for (std::int64_t k = 0; k < top; ++k) {
      auto other = static_cast<std::int32_t>((id + k) % 256);
      c.top.emplace_back(other, k == 0 ? c.logprob : -2.F - static_cast<float>(k));
    }
    return c;
  }
  void answer(const generate::Request& r, const generate::Listener& l) const {
    if (r.prompt_logprobs) {
      std::vector<std::optional<generate::Chosen>> all(r.prompt.size());
      for (std::size_t i = 1; i < all.size(); ++i) all[i] = chosen(r.prompt[i], *r.prompt_logprobs);
      l.prompt(all);
    }
    for (std::int64_t c = 0; c < r.n; ++c) {
      for (std::int64_t i = 0; i < r.max_tokens; ++i) {
        auto id = static_cast<std::int32_t>('a' + (i + c + r.prompt.back() % 3) % 26);
        l.token(c, chosen(id, r.logprobs.value_or(0)), std::string(1, static_cast<char>(id)));
      }
      l.end(c, {.finish = finish, .tokens = r.max_tokens, .error = error});
    }
    l.done(static_cast<std::int64_t>(r.prompt.size()) / 2);
  }
  serve::Answering functions() {
    return {.submit = [this](generate::Request r, generate::Listener l) -> std::optional<generate::Engine::Id> {
              std::lock_guard lock(mutex);
              if (std::ssize(requests) >= places) return {};
              requests.push_back(r);
              if (waits) waiting.push_back([this, r, l] { answer(r, l); });
              else answer(r, l);
              came.notify_all();
              return requests.size();
            },
            .cancel =
                [this](generate::Engine::Id id) {
                  std::lock_guard lock(mutex);
                  cancelled.push_back(id);
                },
            .report = [] {
              return generate::EngineReport{.running = 2, .pages = 8, .used_pages = 2, .drafted_tokens = 9,
                                            .accepted_tokens = 5};
            }};
  }
};
struct RecordedReply final : serve::Reply {
  int status = 0;
  serve::Headers headers = {};
  std::string body = {};
  std::vector<std::string> events = {};
  int begins = 0, ends = 0;
  std::function<void()> when_gone = {};
  std::mutex mutex = {};
  std::condition_variable changed = {};

  void send(int s, serve::Headers h, std::string b) override {
    std::lock_guard lock(mutex);
    status = s;
    headers = std::move(h);
    body = std::move(b);
    ++ends;
    changed.notify_all();
  }
  void begin() override { ++begins; }
  void event(std::string data) override { events.push_back(std::move(data)); }
  void end() override {
    std::lock_guard lock(mutex);
    ++ends;
    changed.notify_all();
  }
  void on_gone(std::function<void()> f) override {
    std::lock_guard lock(mutex);
    when_gone = std::move(f);
    changed.notify_all();
  }
  std::string header(const std::string& name) const {
    for (auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
  json answer() const { return json::parse(body); }
};
}  // namespace bora::test
