// An engine's steps with made-up weights: the time of a token, the part of it outside the model, and what drafts from
// the text itself (--lookup) do to texts that repeat themselves and to others.
#include <benchmark/benchmark.h>
#include <chrono>
#include "bora/bora.h"
#include "bora/config/choice.h"
#include "bora/generate/engine.h"
#include "bora/models/lm.h"
#include "bora/models/stepper.h"
#include "bora/text/tokenizer.h"
#include "bora/transport/transport.h"
#include "bora/tree/node.h"

namespace {
using namespace bora;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

/// As many tokens as the model has scores: each of them is a letter.
struct Tokens final : text::Tokenizer {
  explicit Tokens(std::int64_t n) : n_(n) {}
  struct Letters final : text::Decoder {
    void add(std::int32_t id, std::string& text) override { text += static_cast<char>('a' + id % 26); }
    void finish(std::string&) override {}
  };
  std::int64_t size() const override { return n_; }
  std::string identity() const override { return "made up"; }
  std::vector<std::int32_t> encode(std::string_view, text::EncodeOptions) const override { return {}; }
  std::unique_ptr<text::Decoder> decoder(text::DecodeOptions) const override { return std::make_unique<Letters>(); }
  std::optional<std::int32_t> id_of(std::string_view) const override { return {}; }

 private:
  std::int64_t n_;
};
/// A model whose time is told.
struct Timed final : models::Stepper {
  explicit Timed(std::unique_ptr<models::Stepper> s) : inner(std::move(s)) {}
  tree::Node parameters() override { return inner->parameters(); }
  std::int64_t positions() const override { return inner->positions(); }
  std::int64_t window() const override { return inner->window(); }
  std::int64_t vocabulary() const override { return inner->vocabulary(); }
  std::int64_t page_bytes() const override { return inner->page_bytes(); }
  void allot(std::int64_t n) override { inner->allot(n); }
  std::int64_t read(const std::vector<std::int32_t>& inputs) override { return inner->read(inputs); }
  void forget(std::int64_t inputs) override { inner->forget(inputs); }
  Array step(const models::Step& s) override {
    auto begun = Clock::now();
    auto scores = inner->step(s).concrete();
    seconds += seconds_since(begun);
    return scores;
  }
  std::unique_ptr<models::Stepper> inner;
  double seconds = 0;
};
Timed& model(bool small) {
  auto made = [](const char* layers, const char* embed, const char* heads, std::int64_t vocabulary) {
    auto d = config::parse_items({std::string("layers=") + layers, std::string("embed=") + embed,
                                  std::string("heads=") + heads, "positions=1024"});
    d.at("type") = config::scalar("gpt2");
    config::Choice<models::Model> m;
    m.read(d, "model", {});
    return Timed(m->stepper({.vocabulary = vocabulary}, {}, random::key(1)));
  };
  if (!small) {
    static auto gpt2 = made("12", "768", "12", 50257);
    return gpt2;
  }
  static auto demo = made("4", "192", "4", 256);
  return demo;
}
/// Texts that repeat themselves, as the likeliest ones of made-up weights soon do; drawn ones, in which no two tokens
/// stand twice; those of six letters, in which all do, and mostly go on in another way.
enum class Text : std::uint8_t { repeats, drawn, letters };
generate::Choosing choosing_of(Text text) {
  generate::Choosing c{.temperature = text == Text::repeats ? 0.0 : 1.0};
  for (std::int32_t i = 0; text == Text::letters && i < 6; ++i) c.logit_bias.emplace_back(i, 100.0F);
  return c;
}
/// small: the demo's model, else GPT-2 124M.
void answers(benchmark::State& state, bool small, Text text, std::int64_t rows, std::int64_t lookup) {
  auto& m = model(small);
  auto mesh = Mesh::over(transport::local(1).at(0), {{"data", 1}});
  generate::Engine engine(m, std::make_shared<Tokens>(m.vocabulary()), mesh,
                          {.cache_bytes = m.page_bytes() * 8 * rows, .rows = rows, .lookup = lookup});
  std::uint64_t seed = 0;
  auto ask = [&] {
    for (std::int64_t i = 0; i < rows; ++i) {
      generate::Request q{.choosing = choosing_of(text), .max_tokens = 128, .seed = ++seed};
      auto vocabulary = static_cast<std::uint64_t>(m.vocabulary());
      for (std::uint64_t k = 0; k < 16; ++k)
        q.prompt.push_back(static_cast<std::int32_t>((seed * 31 + k * 7919) % vocabulary));
      (void)engine.submit(q, {.token = [](auto, auto&, auto&) {}});
    }
    engine.run(true);
  };
  ask();  // programs are made
  m.seconds = 0;
  auto before = engine.report();
  auto begun = Clock::now();
  for (auto _ : state) ask();
  auto all = seconds_since(begun);
  auto after = engine.report();
  auto steps = static_cast<double>(after.steps - before.steps);
  state.counters["ms/step"] = all / steps * 1e3;
  state.counters["us_outside/step"] = (all - m.seconds) / steps * 1e6;
  state.counters["outside_%"] = (all - m.seconds) / all * 100;
  state.counters["tokens/s"] = static_cast<double>(after.generation_tokens - before.generation_tokens) / all;
  state.counters["drafted"] = static_cast<double>(after.drafted_tokens - before.drafted_tokens);
  state.counters["accepted"] = static_cast<double>(after.accepted_tokens - before.accepted_tokens);
}
const bool kAdded = [] {
  for (bool small : {true, false})
    for (auto [text, called] :
         {std::pair{Text::repeats, "repeats"}, {Text::drawn, "drawn"}, {Text::letters, "letters"}})
      for (std::int64_t rows : {1, 8, 32})
        for (std::int64_t lookup : {0, 4}) {
          auto name = std::string(small ? "demo/" : "gpt2/") + called + "/rows:" + std::to_string(rows) +
                      "/lookup:" + std::to_string(lookup);
          auto kind = text;
          benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& s) {
            answers(s, small, kind, rows, lookup);
          })->Unit(benchmark::kMillisecond);
        }
  return true;
}();
}  // namespace
BENCHMARK_MAIN();
