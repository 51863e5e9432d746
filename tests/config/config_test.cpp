// Settings as aggregates: documents, short forms, choices, errors in one line, help, and the way back.
#include <gtest/gtest.h>
#include "bora/config/duration.h"
#include "config/api/braces.h"
#include "config/sample.h"
#include "support/throws.h"

using namespace bora;
using namespace bora::sample;
namespace {
std::string error(const std::string& yaml, const std::vector<std::string>& items = {}) {
  return test::error_of<ConfigError>([&] { read_all(yaml, items); });
}
TEST(Duration, IsReadAndWrittenWithItsUnit) {
  using bora::config::Duration;
  for (auto [text, seconds] : std::initializer_list<std::pair<const char*, double>>{
           {"90", 90}, {"90s", 90}, {"5m", 300}, {"2h", 7200}, {"1d", 86400}, {"1h30m", 5400}, {"0.5s", .5},
           {"0", 0}}) {
    auto d = Duration::parse(text);
    EXPECT_EQ(d.seconds, seconds) << text;
    EXPECT_EQ(Duration::parse(to_string(d)), d) << text;
  }
  for (auto text : {"", "s", "5x", "-1", "5 m", "5m2h", "5m5m", "1h30", "inf", "nan", "1e9", "99999999999", "9999999d"})
    EXPECT_THROW(Duration::parse(text), bora::ConfigError) << text;
}
}  // namespace

TEST(Config, FilesThenItems) {
  auto all = read_all("seed: 3\nmethod: {type: slow, clip: 2}\ntrace: x.json\n", {"method.lr=0.5", "words=[a, 'b c']"});
  EXPECT_EQ(all.seed, 3);
  EXPECT_EQ(all.method->type(), "slow");
  EXPECT_EQ(all.method->rate(), 0.5);
  EXPECT_EQ(all.method.as<Slow>()->clip, 2);
  EXPECT_EQ(all.method.as<Quick>(), nullptr);
  EXPECT_EQ(all.trace.path, "x.json");
  EXPECT_EQ(all.words, (std::vector<std::string>{"a", "b c"}));
}
TEST(Config, ShortFormsStandForGroupedOnes) {
  auto all = read_all("lr: 2\ntrace: t\n", {"method.warm=7"});
  EXPECT_EQ(all.method->rate(), 2);
  EXPECT_EQ(all.method.as<Quick>()->decay.warmup, 7);
  EXPECT_EQ(all.trace.path, "t");
  EXPECT_EQ(read_all("lr: 2\n", {"method.lr=3"}).method->rate(), 3);  // the command line goes over the file
  EXPECT_EQ(error("lr: 2\nmethod:\n  lr: 3\n"),
            "a.yaml:1: 'lr' and 'method.lr' are the same setting; give one of them");
  EXPECT_EQ(error("", {"trace=a", "trace.path=b"}),
            "command line: 'trace' and 'trace.path' are the same setting; give one of them");
  EXPECT_EQ(error("lr: quick"), "a.yaml:1: lr: expected a number, got 'quick'");
}
TEST(Config, AWordAndTheKeysOfItsType) {
  for (auto items : {std::vector<std::string>{"method=slow", "method.clip=1"}, {"method.clip=1", "method=slow"}})
    EXPECT_EQ(read_all("", items).method.as<Slow>()->clip, 1);
  EXPECT_EQ(read_all("method: slow", {"method.clip=1"}).method.as<Slow>()->clip, 1);
}
TEST(Config, ErrorsAreOneClearLine) {
  EXPECT_EQ(error("sede: 1"), "a.yaml:1: unknown key 'sede'; did you mean 'seed'?");
  EXPECT_EQ(error("method:\n  lt: 1"), "a.yaml:2: unknown key 'method.lt'; did you mean 'method.lr'?");
  EXPECT_EQ(error("", {"method.size=1"}), "command line: unknown key 'method.size'; method has type, lr, beta, decay");
  EXPECT_EQ(error("", {"method.clip=1"}), "command line: unknown key 'method.clip'; type 'slow' has it");
  EXPECT_EQ(error("", {"method=slow", "method.decay.warmup=1"}),
            "command line: unknown key 'method.decay.warmup'; type 'quick' has it");
  EXPECT_EQ(error("", {"trace.pth=1"}), "command line: unknown key 'trace.pth'; did you mean 'trace.path'?");
  EXPECT_EQ(error("", {"method.decay.shape=cosin"}),
            "command line: method.decay.shape: expected one of cosine, linear, constant, got 'cosin'");
  EXPECT_EQ(error("", {"method=slo"}),
            "command line: method.type: unknown type 'slo'; did you mean 'slow'? there are quick and slow");
  EXPECT_EQ(error("", {"method=x"}), "command line: method.type: unknown type 'x'; there are quick and slow");
  EXPECT_EQ(error("seed: [1]"), "a.yaml:1: seed: expected an integer, got a list");
  EXPECT_EQ(error("method: [quick]"), "a.yaml:1: method.type: expected a word, got a list");
  EXPECT_EQ(error("words: 3"), "a.yaml:1: words: expected a list, got '3'");
  EXPECT_EQ(error("", {"words=[a"}).substr(0, 32), "command line: broken list '[a': ");
  // Nothing that is written is left out.
  for (auto after : {" junk", ", [b]", " [b]", "\n---\n[b]", "\n...\n[b]", ","}) {
    auto text = std::string("[a]") + after;
    EXPECT_TRUE(error("", {"words=" + text}).starts_with("command line: broken list '[a]")) << text;
    EXPECT_TRUE(error("{seed: 1}" + std::string(after)).starts_with("a.yaml:")) << after;
    EXPECT_TRUE(error("seed: 1\nwords: [a]" + std::string(after)).starts_with("a.yaml:")) << after;
    EXPECT_THROW((void)config::parse_braces(config::scalar("{lr: 1}" + std::string(after))), ConfigError) << after;
  }
  EXPECT_EQ(error("seed: 1\n---\nseed: 2\n"), "a.yaml:3: broken YAML: text follows its end, and would not be read");
  EXPECT_EQ(error("---\nseed: 1\n---\n"), "no error");
  EXPECT_EQ(error("method: {decay: 3}"), "a.yaml:1: method.decay: expected keys below it (shape, warmup), got '3'");
  EXPECT_EQ(error("", {"warmup=-1"}), "method.decay.warmup: must be 0 or more, got -1");
  EXPECT_EQ(error("", {"lr=1e39"}), "method.lr: must be above 0, got 1e+39");
  EXPECT_EQ(error("", {"seed"}), "command line: expected key=value, got 'seed'");
  EXPECT_EQ(error("", {"methd.lr=1"}), "command line: unknown key 'methd.lr'; did you mean 'method.lr'?");
  EXPECT_EQ(error("a: &a [*a]"), "a.yaml:1: values are nested more than 32 deep");
  std::string deep, wide = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 0; i < 40; ++i) deep += "a.";
  EXPECT_TRUE(error("", {deep + "a=1"}).ends_with("' is nested more than 32 deep"));
  for (int i = 0; i < 9; ++i) {
    auto before = "*a" + std::to_string(i);
    wide += "a" + std::to_string(i + 1) + ": &a" + std::to_string(i + 1) + " [" + before;
    for (int k = 0; k < 9; ++k) wide += ", " + before;
    wide += "]\n";
  }
  EXPECT_TRUE(error(wide).ends_with(": there are more than 100000 values")) << error(wide);
}
TEST(Config, WhatIsWrittenIsReadBack) {
  auto all = read_all("", {"method=slow", "words=[a,b]", "trace=a: \"b\" # c", "seed=-5"});
  auto text = config::to_yaml(config::write(all));
  EXPECT_EQ(config::to_yaml(config::write(read_all(text))), text);
  auto copy = all;
  copy.method.as<Slow>()->lr = 9;
  EXPECT_EQ(all.method->rate(), 1e-4);
  All chosen{.method = Slow{.lr = 4}};
  EXPECT_EQ(chosen.method->rate(), 4);
}
TEST(Config, HelpHasEveryKeyOfEveryType) {
  All all;
  auto schema = config::schema(all);
  auto text = config::help(schema, kShorts);
  for (auto key : {"seed", "words", "trace.path", "method.type", "method.lr", "method.decay.warmup"})
    EXPECT_NE(text.find("  " + std::string(key) + " "), std::string::npos) << key;
  EXPECT_NE(text.find("rate (short: lr)"), std::string::npos);
  EXPECT_NE(config::help(schema, kShorts, "method.slow").find("method.clip"), std::string::npos);
  EXPECT_EQ(config::help(schema, kShorts, "lr"), config::help(schema, kShorts, "method.lr"));
  EXPECT_NE(config::help(schema, kShorts, "method.clip").find("norm"), std::string::npos);
  EXPECT_THROW(config::help(schema, kShorts, "sede"), ConfigError);
}
