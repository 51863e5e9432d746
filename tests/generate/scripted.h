// scripted.h -- a model whose scores are a hash of all tokens so far, which it reads from its pages: a wrong page, one
// that is reused too early or a wrong beginning gives other tokens.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>
#include "bora/array/array.h"
#include "bora/base/error.h"
#include "bora/generate/answer.h"
#include "bora/generate/engine.h"
#include "bora/models/stepper.h"
#include "bora/ops/creation.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/node.h"

namespace bora::test {
/// Tokens are bytes: most often a letter from a to f, seldom the letter z, which ends an answer.
inline constexpr std::int64_t kTokens = 257;
inline constexpr std::int32_t kEnd = 'z';
inline std::uint64_t mixed(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 29);
}
inline std::uint64_t hash_of(const std::vector<std::int32_t>& tokens, std::uint64_t h = 1) {
  for (auto t : tokens) h = mixed(h, static_cast<std::uint64_t>(t) + 7);
  return h;
}
/// Of the last ones, as many as a token sees.
inline std::uint64_t hash_of_last(const std::vector<std::int32_t>& tokens, std::int64_t window) {
  auto n = std::min<std::int64_t>(window, std::ssize(tokens));
  return hash_of({tokens.end() - n, tokens.end()});
}
inline std::vector<float> scores_of(std::uint64_t h) {
  std::vector<float> scores(kTokens, -30.0f);
  for (int letter = 'a'; letter <= 'f'; ++letter)
    scores[static_cast<std::size_t>(letter)] =
        static_cast<float>(mixed(h, static_cast<std::uint64_t>(letter)) % 4096) / 1024;
  scores[kEnd] = mixed(h, 99) % 16 == 0 ? 4.0f : -9.0f;
  return scores;
}
class ScriptedStepper : public models::Stepper {
 public:
  explicit ScriptedStepper(std::int64_t positions = 256, std::int64_t window = 1 << 30)
      : positions_(positions), window_(window) {}
  tree::Node parameters() override { fail<ValueError>("a scripted model has no parameters"); }
  std::int64_t positions() const override { return positions_; }
  std::int64_t window() const override { return window_; }
  std::int64_t vocabulary() const override { return kTokens; }
  std::int64_t page_bytes() const override { return 1; }  // so that cache_bytes are pages
  void allot(std::int64_t n) override { keys_.assign(static_cast<std::size_t>(n * kPagePositions), -1); }
  std::int64_t read(const std::vector<std::int32_t>& inputs) override {
    std::size_t pages = 0;
    for (auto& [number, held] : inputs_) pages += (held.size() + 31) / 32;
    check<ValueError>(pages + (inputs.size() + 31) / 32 <= keys_.size() / 32, "too few pages of inputs");
    inputs_[next_] = inputs;
    return next_++;
  }
  void forget(std::int64_t inputs) override { check<ValueError>(inputs_.erase(inputs) == 1, "forgotten twice"); }
  Array step(const models::Step& step) override {
    if (before_step) before_step(*this);
    ++steps;
    log = mixed(log, hash_of(step.tokens));
    most_tokens = std::max<std::int64_t>(most_tokens, std::ssize(step.tokens));
    most_rows = std::max<std::int64_t>(most_rows, std::ssize(step.rows));
    std::map<std::int32_t, int> users;
    std::set<std::int32_t> written;
    for (auto& row : step.rows) {
      check<ValueError>(row.count > 0 && row.wanted >= 0 && row.wanted <= row.count, "a row of ", row.count);
      check<ValueError>(std::ssize(row.pages) * kPagePositions >= row.before + row.count, "too few pages");
      auto seen = std::max<std::int64_t>(0, row.before - window_ + 1);
      for (std::int64_t i = 0; i < std::ssize(row.pages); ++i) {
        auto page = row.pages[static_cast<std::size_t>(i)];
        check<ValueError>(page >= 0 || (i + 1) * kPagePositions <= seen, "a page within the window is missing");
        if (page >= 0) ++users[page];
        log = mixed(log, static_cast<std::uint64_t>(page));
      }
      for (auto p = row.before; p < row.before + row.count; p += 1)
        written.insert(row.pages[static_cast<std::size_t>(p / kPagePositions)]);
    }
    for (auto page : written) check<ValueError>(users[page] == 1, "page ", page, " is written, and others read it");
    std::size_t at = 0;
    for (auto& row : step.rows)
      for (auto p = row.before; p < row.before + row.count; ++p) key(row, p) = step.tokens.at(at++);
    check<ValueError>(at == step.tokens.size(), "tokens of no row");
    std::vector<float> scores;
    std::int64_t rows = 0;
    for (auto& row : step.rows) {
      auto begin = row.inputs < 0 ? 1 : hash_of(inputs_.at(row.inputs), 2), h = begin;
      for (auto p = std::max<std::int64_t>(0, row.before - window_ + 1); p < row.before + row.count; ++p) {
        bool wanted = p >= row.before + row.count - row.wanted;
        if (wanted && p >= window_) {  // it sees another beginning than the one before
          h = begin;
          for (auto q = p - window_ + 1; q < p; ++q) h = mixed(h, static_cast<std::uint64_t>(key(row, q)) + 7);
        }
        h = mixed(h, static_cast<std::uint64_t>(key(row, p)) + 7);
        if (!wanted) continue;
        auto more = scores_of(h ^ weights);
        scores.insert(scores.end(), more.begin(), more.end());
        ++rows;
      }
    }
    return asarray(scores, Shape{rows, kTokens});
  }
  std::size_t inputs_held() const { return inputs_.size(); }
  std::function<void(ScriptedStepper&)> before_step = {};
  std::uint64_t weights = 0;  // of other weights other scores
  std::uint64_t log = 0;      // a hash of all steps
  std::int64_t steps = 0, most_tokens = 0, most_rows = 0;

 private:
  std::int32_t& key(const models::StepRow& row, std::int64_t p) {
    auto page = row.pages[static_cast<std::size_t>(p / kPagePositions)];
    return keys_.at(static_cast<std::size_t>(page * kPagePositions + p % kPagePositions));
  }
  std::int64_t positions_, window_;
  std::vector<std::int32_t> keys_ = {};
  std::map<std::int64_t, std::vector<std::int32_t>> inputs_ = {};
  std::int64_t next_ = 0;
};
inline std::shared_ptr<const text::Tokenizer> byte_tokenizer() { return text::open_tokenizer({"type=bytes"}); }

/// Whatever a listener was told of a choice.
struct Told {
  std::vector<std::int32_t> ids = {};
  std::vector<generate::Chosen> chosen = {};
  std::string text = {};
  generate::Listener::End end = {};
  int ends = 0;
};
struct Heard {
  std::vector<std::optional<generate::Chosen>> prompt = {};
  std::vector<Told> choices = {};
  std::int64_t cached = 0;
  std::atomic<int> done = 0;
  explicit Heard(std::int64_t n) : choices(static_cast<std::size_t>(n)) {}
};
/// Writes into `to`, which must outlive it.
inline generate::Listener listener_of(Heard& to) {
  return {.prompt = [&to](auto& prompt) { to.prompt = prompt; },
          .token = [&to](std::int64_t i, const generate::Chosen& c, const std::string& text) {
            auto& t = to.choices.at(static_cast<std::size_t>(i));
            t.ids.push_back(c.id);
            t.chosen.push_back(c);
            t.text += text;
          },
          .end = [&to](std::int64_t i, const generate::Listener::End& e) {
            auto& t = to.choices.at(static_cast<std::size_t>(i));
            t.end = e;
            t.text += e.text;
            ++t.ends;
          },
          .done = [&to](std::int64_t cached) {
            to.cached = cached;
            ++to.done;
          }};
}
/// The answer of a request that nobody else shares anything with, without an engine.
inline Told alone(const generate::Request& r, std::int64_t choice, const std::set<std::int32_t>& all_ends,
                  std::int64_t window = 1 << 30) {
  auto ends = r.ignore_eos ? std::set<std::int32_t>() : all_ends;
  ends.insert(r.stop_ids.begin(), r.stop_ids.end());
  auto tokenizer = byte_tokenizer();
  generate::Chooser chooser(r.choosing, r.prompt, {ends.begin(), ends.end()}, std::min(tokenizer->size(), kTokens),
                            r.seed, choice);
  auto prompt = r.inputs.empty() ? r.prompt : std::vector<std::int32_t>();
  generate::Answer answer(tokenizer, prompt, {ends, r.stop});
  Told t;
  auto tokens = r.prompt;
  while (std::ssize(t.ids) < r.max_tokens && !answer.ended() && !chooser.over()) {
    auto h = r.inputs.empty() ? hash_of_last(tokens, window) : hash_of(tokens, hash_of(r.inputs, 2));
    auto scores = scores_of(h);
    auto id = chooser.next(scores).value();
    t.ids.push_back(id);
    t.chosen.push_back(generate::logprobs(std::span(scores).first(256), id, r.logprobs.value_or(0)));
    t.text += answer.next(id);
    tokens.push_back(id);
  }
  if (!answer.ended()) t.text += answer.finish();
  t.end = {.finish = answer.ended() || chooser.over() ? generate::Finish::stop : generate::Finish::length,
           .stop = answer.end(),
           .tokens = std::ssize(t.ids)};
  t.ends = 1;
  return t;
}
}  // namespace bora::test
