// Plans of models, meshes and settings that are drawn at random, against ranks that exist.
#include <gtest/gtest.h>
#include <cstdlib>
#include <map>
#include <random>
#include "bora/job/job.h"
#include "bora/job/plan_run.h"
#include "bora/optim/kind.h"
#include "bora/train/local_settings.h"
#include "job/plan_of_ranks.h"
#include "laws/effort.h"

namespace plan_random_test {
using namespace bora;
using namespace bora::job;

namespace {
using Words = std::vector<std::string>;
struct Draw {
  std::mt19937 random;
  std::size_t below(std::size_t n) { return random() % n; }
  bool in(std::size_t n) { return below(n) == 0; }
  std::string of(const Words& all) { return all[below(all.size())]; }
  std::int64_t count(std::initializer_list<std::int64_t> all) { return *(all.begin() + below(all.size())); }
};
struct Case {
  Words words;
  int ranks = 1;
};
std::string is(std::string key, std::int64_t n) { return key + "=" + std::to_string(n); }

/// One to eight ranks along one or two axes, and a model, most of which fits them.
Case drawn(Draw& d) {
  Case c;
  c.ranks = static_cast<int>(d.count({1, 2, 2, 3, 4, 4, 4, 5, 6, 8}));
  std::map<std::string, int> axes;
  Words names{"data", "model", "replica", "stage", "context"};
  std::vector<int> divisors;
  for (int n = 2; n < c.ranks; ++n)
    if (c.ranks % n == 0) divisors.push_back(n);
  auto first = d.of(names), second = d.of(names);
  if (divisors.empty() || d.in(3) || first == second) axes[first] = c.ranks;
  else {
    auto n = divisors[d.below(divisors.size())];
    axes[first] = n;
    axes[second] = c.ranks / n;
  }
  auto along = [&](const std::string& name) { return axes.contains(name) ? axes[name] : 1; };
  std::string mesh;
  for (auto& [name, n] : axes) mesh += (mesh.empty() ? "" : ",") + is(name, n);
  auto type = d.of({"gpt2", "gpt2", "llama", "llama", "mixtral", "gemma", "opt", "gptj", "t5"});
  auto parts = d.in(4) ? d.count({2, 3}) : 1;
  auto rows = c.ranks * d.count({1, 2, 3});
  auto kv = along("model") * d.count({1, 2}), heads = kv * d.count({1, 2});
  c.words = {"mesh=" + mesh, "model.type=" + type,
             is("model.layers", along("stage") * d.count({1, 2, 2, 3}) * (type == "gemma" ? 2 : 1)),
             is("model.heads", heads), is("model.embed", heads * d.count({4, 6, 8})),
             is("model.positions", 2 * along("context") * d.count({3, 4, 6, 10})),
             is("accumulate", parts), is("batch", parts * (rows + (d.in(3) ? 1 : 0))),
             "layout=" + (along("model") > 1 ? d.of({"tp", "fsdp+tp"}) : d.of({"dp", "fsdp"})),
             "optimizer.type=" + d.of({"adamw", "adamw", "sgd", "adafactor", "muon", "lamb"})};
  auto maybe = [&](std::size_t n, const std::string& word) {
    if (d.in(n)) c.words.push_back(word);
  };
  if (type == "llama" || type == "mixtral") c.words.push_back(is("model.kv_heads", kv));
  if (type == "mixtral") c.words.push_back(is("model.experts", d.count({2, 3, 4})));
  if (type == "t5") c.words.insert(c.words.end(), {"data.type=corpus", "data.task=spans",
                                             "data.sources=[{type: text, path: no/text/is/read}]"});
  if (type != "t5") maybe(6, is("lora.rank", d.count({1, 3})));
  maybe(3, "model.checkpoint=" + d.of({"dots", "dots_no_batch", "everything"}));
  maybe(4, is("vocabulary.multiple", d.count({7, 8, 32})));
  maybe(3, "wire.gradients=" + d.of({"bf16", "int8", "int4", "powersgd"}));
  maybe(8, "wire.error_feedback=true");
  maybe(6, "precision=p=f32,c=bf16,o=f32");
  maybe(10, is("reproducible.virtual", d.count({2, 4, 8})));
  if (axes.contains("replica")) maybe(2, "local.type=" + d.of({"average", "diloco", "slowmo"}));
  if (axes.contains("stage")) {
    maybe(2, "mesh.schedule=1f1b");
    maybe(2, is("mesh.microbatches", d.count({1, 2, 3, 4})));
  }
  std::string shares;
  for (auto& [name, n] : axes) {
    if (!d.in(3)) continue;
    shares += (shares.empty() ? "" : ",") + name;
    for (int i = 0; i < n; ++i) shares += (i ? ":" : "=") + std::to_string(d.count({1, 1, 2, 3, 5}));
  }
  if (!shares.empty()) c.words.push_back("mesh.shares=" + shares);
  return c;
}
}  // namespace

TEST(PlanRandomTest, ThePlanIsThatOfRanksOrIsRefusedByName) {
  auto* seed = std::getenv("BORA_SEED");
  std::size_t tried = laws::effort() == laws::Effort::full ? 80 : 8, planned = 0;
  for (std::size_t i = 0; i < tried; ++i) {
    Draw d{std::mt19937(static_cast<unsigned>(i + (seed ? std::strtoul(seed, nullptr, 10) : 0)))};
    auto c = drawn(d);
    std::string words;
    for (auto& w : c.words) words += w + " ";
    SCOPED_TRACE("case " + std::to_string(i) + ": " + words);
    Settings s;
    MeshShape shape;
    auto open = [&] {
      s = parse_settings("", "a test", c.words);
      check_settings_without_data(s);
      auto tokenizer = s.tokenizer->open();
      shape = checked_mesh(s, *tokenizer, c.ranks);
      return tokenizer;
    };
    decltype(open()) tokenizer;
    try {
      tokenizer = open();
    } catch (const ConfigError& e) {
      if (std::getenv("BORA_SHOW")) std::printf("%s\n   %s\n", words.c_str(), e.text().c_str());
      continue;
    }
    ++planned;
    auto plan = plan_run(s, *tokenizer, shape, {}, true, [] { return [] { return 1000; }; });
    auto stages = stages_text(s, plan.mesh.shape());
    EXPECT_EQ(stages.empty(), words.find("stage=") == words.npos || words.find("stage=1 ") != words.npos) << stages;
    auto [text, sent] = plan_of_ranks::with_ranks(s, *tokenizer, shape);
    EXPECT_EQ(plan.text, text);
    std::size_t ranks = 0;
    for (auto& k : plan.classes) {
      ranks += k.ranks.size();
      EXPECT_EQ(bytes_sent(k.work, plan.mesh.shape(), {}, k.ranks[0]).all, sent[static_cast<std::size_t>(k.ranks[0])])
          << "rank " << k.ranks[0];
    }
    EXPECT_EQ(ranks, static_cast<std::size_t>(c.ranks));
  }
  EXPECT_GT(3 * planned, tried);
}
}  // namespace plan_random_test
