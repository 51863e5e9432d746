// The time to compile a JSON schema for 150,000 made-up tokens, to find the tokens that fit at a place that is new, and
// to choose a token under a mask.
#include "bora/generate/grammar.h"
#include <benchmark/benchmark.h>
#include <ctime>
#include <random>
#include <unordered_set>
#include "bora/generate/choosing.h"
#include "bora/text/tokenizer.h"
#include "generate/api/grammar_matcher.h"

namespace {
using namespace bora;
constexpr std::size_t kTokens = 150'000;
/// Bytes, then words with and without a space before them, as byte-level BPE has them; some with marks of JSON.
class MadeUp final : public text::Tokenizer {
 public:
  MadeUp() {
    std::mt19937 draw(1);
    std::unordered_set<std::string> known;
    for (int c = 0; c < 256; ++c) known.insert(texts_.emplace_back(1, static_cast<char>(c)));
    const std::string marks = "\"{}[]:,0123456789.-_\\/\n";
    while (texts_.size() < kTokens) {
      std::string text = draw() % 2 ? " " : "";
      bool odd = draw() % 16 == 0;
      for (auto n = 1 + draw() % 9; n > 0; --n)
        text += odd ? marks[draw() % marks.size()] : static_cast<char>('a' + std::min(draw() % 26, draw() % 26));
      if (known.insert(text).second) texts_.push_back(text);
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  std::string identity() const override { return "made up"; }
  std::vector<std::int32_t> encode(std::string_view, text::EncodeOptions) const override { return {}; }
  std::unique_ptr<text::Decoder> decoder(text::DecodeOptions) const override {
    struct All final : text::Decoder {
      const MadeUp& of;
      explicit All(const MadeUp& t) : of(t) {}
      void add(std::int32_t id, std::string& text) override { text += of.texts_[static_cast<std::size_t>(id)]; }
      void finish(std::string&) override {}
    };
    return std::make_unique<All>(*this);
  }
  std::string bytes_of(std::int32_t id) const override { return texts_[static_cast<std::size_t>(id)]; }
  std::optional<std::int32_t> id_of(std::string_view) const override { return {}; }

 private:
  std::vector<std::string> texts_ = {};
};
const std::shared_ptr<const text::Tokenizer>& tokenizer() {
  static const std::shared_ptr<const text::Tokenizer> one = std::make_shared<MadeUp>();
  return one;
}
const generate::Grammars& grammars() {
  static const generate::Grammars all(tokenizer());
  return all;
}
std::string schema(int i) {
  return R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 200}, "age": {"type": "integer",
      "minimum": 0, "maximum": 150}, "mail": {"type": "string", "pattern": "^[a-z]+@[a-z]+\\.org$"}, "tags": {"type":
      "array", "items": {"enum": ["red", "green", "blue"]}}, "more": {"type": "object", "additionalProperties": true},
      "id)" + std::to_string(i) + R"(": {"type": "number"}}, "required": ["name", "age", "mail"]})";
}
void first_grammar(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(generate::Grammars(tokenizer()).json_object());
}
void compile(benchmark::State& state) {
  int i = 0;
  (void)grammars().json_object();
  for (auto _ : state) benchmark::DoNotOptimize(grammars().json_schema(schema(++i)));
}
/// An answer, byte by byte, the mask of each: of a grammar that nobody has used (0), or that has answered it before
/// (1).
void masks(benchmark::State& state) {
  const std::string text = R"({"name":"John Smith","age":42,"mail":"john@smith.org","tags":["red","blue"],"more":)"
                           R"({"a":[{"b":"c d"},{"e":1.5}]}})";
  int i = 1'000'000;
  double most = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto g = grammars().json_schema(schema(state.range(0) == 0 ? ++i : 0));
    state.ResumeTiming();
    generate::grammar::Matcher m(g);
    for (unsigned char c : text) {
      auto from = std::clock();
      benchmark::DoNotOptimize(m.mask());
      most = std::max(most, static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC);
      m.take(c);
    }
  }
  state.counters["ms at most"] = most * 1e3;
  state.counters["a mask"] = benchmark::Counter(static_cast<double>(text.size()),
                                                   benchmark::Counter::kIsIterationInvariantRate |
                                                       benchmark::Counter::kInvert);
}
void choose(benchmark::State& state) {
  std::mt19937 draw(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> scores(kTokens);
  for (auto& x : scores) x = normal(draw);
  generate::Choosing how{.temperature = static_cast<double>(state.range(0)), .grammar = grammars().json_object()};
  generate::Chooser chooser(how, {}, {0}, 0, 1, 0);
  for (auto _ : state) {
    if (chooser.over()) chooser = generate::Chooser(how, {}, {0}, 0, 1, 0);
    benchmark::DoNotOptimize(chooser.next(scores));
  }
}
}  // namespace
BENCHMARK(first_grammar)->Unit(benchmark::kMillisecond);
BENCHMARK(compile)->Unit(benchmark::kMillisecond);
BENCHMARK(masks)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(choose)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
