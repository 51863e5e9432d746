// Encoders beyond the laws of models and the folders of transformers: padding, what each position sees, heads and their
// predictions, older names in files, what needs next tokens.
#include <gtest/gtest.h>
#include <cmath>
#include <filesystem>
#include <map>
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "bora/models/lm.h"
#include "bora/models/pretrained.h"
#include "bora/models/stepper.h"
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "models/small.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace encoder_test {
using namespace bora;
using namespace bora::models;
namespace {
using Ids = std::vector<std::int32_t>;
using test::kVocabulary;
const std::string kFolders = test::source_dir() + "/tests/golden/models/";
config::Choice<Model> small(std::vector<std::string> more = {}, std::string_view type = "bert") {
  for (auto common : {"layers=2", "embed=16", "heads=4", "positions=8"}) more.emplace_back(common);
  return test::model_of(type, more);
}
void alone(const std::function<void()>& f) {
  local_mesh({{"data", 1}, {"model", 1}}, [&](const Mesh&) { f(); });
}
NamedArray column(const Ids& v) {
  auto n = static_cast<std::int64_t>(v.size());
  return {asarray(v, Shape{1, n}), {{"batch", 1}, {"position", n}}};
}
std::vector<float> scores(Scorer& s, const training::Example& e) { return s.scores(e).array().to_vector<float>(); }
double off(const std::vector<float>& a, const std::vector<float>& b, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(static_cast<double>(a.at(i) - b.at(i))));
  return most;
}
std::unique_ptr<Trainable> training_of(const Model& model) {
  optim::AdamWConfig adamw{.lr = 1e-2, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 60);
  auto t = model.trainable({kVocabulary, {}, StepOptions{.optimizer = adamw.make(rate), .learning_rate = rate}});
  t->init(random::key(5));
  return t;
}
}  // namespace

TEST(Encoders, PaddingChangesNothing) {
  for (std::string_view type : {"bert", "modernbert"})
    alone([&] {
      auto s = small({}, type)->scorer({kVocabulary}, {}, random::key(2));
      Ids tokens{3, 1, 7, 5};
      training::Example bare{.tokens = column(tokens)}, masked{.tokens = column({3, 1, 7, 5, 8, 8})}, filled = masked;
      masked.mask = column({1, 1, 1, 1, 0, 0});
      filled.filled = NamedArray(asarray(Ids{4}), {{"batch", 1}});
      auto want = scores(*s, bare);
      EXPECT_LT(off(scores(*s, masked), want, want.size()), 1e-5);
      EXPECT_LT(off(scores(*s, filled), want, want.size()), 1e-5);
      masked.mask = none;
      EXPECT_GT(off(scores(*s, masked), want, want.size()), 1e-4) << "padding is seen";
    });
}
TEST(Encoders, RobertaCountsTokensOnly) {
  alone([] {
    auto s = small({"form=roberta", "padding=1"})->scorer({kVocabulary}, {}, random::key(2));
    training::Example bare{.tokens = column({3, 4, 7})}, left{.tokens = column({1, 1, 3, 4, 7})};
    left.mask = column({0, 0, 1, 1, 1});
    auto want = scores(*s, bare), got = scores(*s, left);
    got.erase(got.begin(), got.begin() + 2 * kVocabulary);
    EXPECT_LT(off(got, want, want.size()), 1e-5);
  });
}
/// Through one layer of a window of 4: two positions on either side.
TEST(Encoders, AWindowIsOnBothSides) {
  alone([] {
    std::vector<std::string> one{"layers=1", "embed=16", "heads=4", "positions=8", "window=4"};
    for (std::string types : {"sliding", "full"}) {
      auto settings = one;
      settings.push_back("layer_types=[" + types + "]");
      auto s = test::model_of("modernbert", settings)->scorer({kVocabulary}, {}, random::key(2));
      Ids tokens{3, 1, 7, 5, 2, 9, 4, 6};
      auto want = scores(*s, {.tokens = column(tokens)});
      for (std::int64_t changed : {0, 3, 7}) {
        auto other = tokens;
        other[static_cast<std::size_t>(changed)] = 11;
        auto got = scores(*s, {.tokens = column(other)});
        for (std::int64_t i = 0; i < 8; ++i) {
          auto from = i * kVocabulary;
          bool same = std::equal(got.begin() + from, got.begin() + from + kVocabulary, want.begin() + from);
          EXPECT_EQ(same, types == "sliding" && std::abs(i - changed) > 2) << types << changed << i;
        }
      }
    }
  });
}
TEST(Encoders, FirstPositionSeesTheLast) {
  alone([] {
    auto s = small()->scorer({kVocabulary}, {}, random::key(2));
    auto a = scores(*s, {.tokens = column({3, 1, 7, 5})}), b = scores(*s, {.tokens = column({3, 1, 7, 6})});
    EXPECT_GT(off(a, b, kVocabulary), 1e-4);
    training::Example typed{.tokens = column({3, 1, 7, 5})};
    typed.token_types = column({0, 0, 1, 1});
    EXPECT_GT(off(scores(*s, typed), a, kVocabulary), 1e-4);
    EXPECT_EQ(s->vectors(typed).axes().size(), 3u);
  });
}
/// The class of a text is whether its second token is even; words' classes are those of each token.
TEST(Encoders, HeadsLearnAndTellWhatTheyPredict) {
  for (std::string head : {"classify", "tag", "regress"})
    local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout("dp"), mesh.shape()).compute);
      auto model = small({"head=" + head, head == "regress" ? "types=1" : "labels=[odd, even]"});
      auto t = training_of(*model);
      constexpr std::int64_t n = 16, positions = 4;
      data::RowShape shape{.positions = positions, .padded = true, .in_place = true,
                           .prediction = model->prediction()};
      auto mine = rows_of_rank(n, mesh);
      auto rows = data::Rows::zeros(mine.begin, mine.end, shape);
      for (auto r = mine.begin; r < mine.end; ++r) {
        auto row = rows.row(r);
        *row.filled = 3;
        for (std::int64_t i = 0; i < 3; ++i) {
          row.tokens[i] = static_cast<std::int32_t>((r * 5 + i * 7) % kVocabulary);
          row.targets[i] = row.tokens[head == "classify" ? 1 : i] % 2 == 0;
          row.weights[i] = head == "tag" || i == 0 ? 1 : 0;
        }
        if (row.values) row.values[0] = static_cast<float>(row.tokens[1]) / 4;
      }
      auto batch = make_batch(rows, n, mesh);
      auto first = t->step(batch).to_vector<float>()[0];
      float last = first;
      for (int i = 0; i < 60; ++i) last = t->step(batch).to_vector<float>()[0];
      EXPECT_LT(last, 0.1F * first) << head;
      auto all = t->evaluate(batch).to_vector<float>();
      ASSERT_EQ(all.size(), 2u + 3 * n * positions) << head;
      int counted = 0;
      for (std::size_t i = 2; i < 2 + n * positions; ++i) {
        if (all[i + 2 * n * positions] == 0) continue;
        ++counted;
        EXPECT_NEAR(all[i], all[i + n * positions], head == "regress" ? 0.6 : 0) << head;
      }
      EXPECT_EQ(counted, head == "tag" ? 3 * n : n);
      EXPECT_EQ(all[1], static_cast<float>(counted));
    });
}
/// The answer is the token 7 and the one behind it, in the second text.
TEST(Encoders, FindAnswers) {
  local_mesh({{"data", 2}, {"model", 1}}, [&](const Mesh& mesh) {
    UseMapping split(layout_mappings(parse_layout("dp"), mesh.shape()).compute);
    auto model = small({"head=qa"});
    EXPECT_EQ(model->prediction(), data::Prediction::spans);
    auto t = training_of(*model);
    constexpr std::int64_t n = 16, positions = 8;
    data::RowShape shape{.positions = positions, .padded = true, .in_place = true, .token_types = true,
                         .prediction = model->prediction()};
    auto mine = rows_of_rank(n, mesh);
    auto rows = data::Rows::zeros(mine.begin, mine.end, shape);
    for (auto r = mine.begin; r < mine.end; ++r) {
      auto row = rows.row(r);
      *row.filled = 7;
      bool answered = r % 4 != 3;
      auto at = 2 + r % 4;
      for (std::int64_t i = 0; i < 7; ++i) {
        row.tokens[i] = static_cast<std::int32_t>(answered && i == at ? 7 : (r * 5 + i) % 7);
        row.token_types[i] = i > 1;
      }
      row.weights[0] = row.weights[1] = 0.5F;
      if (answered) row.targets[0] = static_cast<std::int32_t>(at), row.targets[1] = static_cast<std::int32_t>(at + 1);
    }
    auto batch = make_batch(rows, n, mesh);
    auto first = t->step(batch).to_vector<float>()[0];
    EXPECT_NEAR(first, std::log(8.0F), 0.3);
    float last = first;
    for (int i = 0; i < 60; ++i) last = t->step(batch).to_vector<float>()[0];
    EXPECT_LT(last, 0.1F * first);
    auto all = t->evaluate(batch).to_vector<float>();
    ASSERT_EQ(all.size(), 2u + 3 * n * positions);
    EXPECT_EQ(all[1], static_cast<float>(n));
    for (std::size_t i = 2; i < 2 + n * positions; ++i)
      if (all[i + 2 * n * positions] != 0) { EXPECT_EQ(all[i], all[i + n * positions]) << i; }
  });
}
TEST(Encoders, SayWhatTheyNeed) {
  test::says<ConfigError>([] { small({"head=classify"}); }, "labels: the head classify needs two or more");
  test::says<ConfigError>([] { small({"labels=[a, b]"}); }, "labels: the head mlm has none; there are 2");
  test::says<ConfigError>([] { small({"head=tag", "labels=[a, a]"}); }, "labels: 'a' is there twice");
  test::says<ConfigError>([] { small({"form=roberta"}); }, "padding: positions of the form roberta count from it");
  auto model = small();
  EXPECT_FALSE(model->generates());
  auto choose = [](const Array& scores, const Array&) { return scores; };
  test::says<ConfigError>([&] { (void)model->generator({kVocabulary}, {}, random::key(1), choose); },
                          "model.type: bert is an encoder, which has no next tokens");
  test::says<ConfigError>([&] { (void)model->stepper({kVocabulary}, {}, random::key(1)); }, "bert is an encoder");
  alone([] {
    auto gpt2 = test::model_of("gpt2", {"layers=1", "embed=16", "heads=4", "positions=8"});
    auto s = gpt2->scorer({kVocabulary}, {}, random::key(1));
    test::says<ConfigError>([&] { (void)s->vectors({.tokens = column({1})}); }, "no vectors of a text");
  });
}
/// Without the encoder's name in front, and with the first names of norms.
TEST(Encoders, OlderNamesAreRead) {
  auto from = kFolders + "bert";
  auto original = Pretrained::open(from);
  auto files = Safetensors::open(from);
  for (bool bare : {false, true}) {
    std::map<std::string, Array> renamed;
    for (auto name : files.names()) {
      auto x = files.read(name);
      if (auto at = name.find("LayerNorm."); at != name.npos)
        name = name.substr(0, at) + (name.ends_with("weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
      if (bare && name.starts_with("bert.")) name = name.substr(5);
      renamed[name] = x;
    }
    test::TempFolder temp;
    save_safetensors(temp.path(), renamed);
    fs::copy_file(from + "/config.json", temp.path() + "/config.json");
    alone([&] {
      auto a = original.model->scorer({original.vocabulary}, {}, random::key(1)),
           b = original.model->scorer({original.vocabulary}, {}, random::key(2));
      EXPECT_TRUE(load_pretrained(a->parameters(), from, *original.model, original.vocabulary).empty());
      EXPECT_TRUE(load_pretrained(b->parameters(), temp.path(), *original.model, original.vocabulary).empty());
      training::Example e{.tokens = column({3, 1, 7, 5})};
      EXPECT_EQ(scores(*a, e), scores(*b, e));
    });
  }
}
/// The encoder's parameters under another head: what is missing is initialised, what is left is not used.
TEST(Encoders, AnotherHeadOverAFolder) {
  auto from = kFolders + "bert";
  auto p = Pretrained::open(from);
  auto d = p.model.write();
  d.at("head") = config::scalar("classify");
  d.at("labels") = config::parse_items({"labels=[a, b]"}).at("labels");
  p.model.read(d, "model", config::schema(p.model));
  alone([&] {
    auto s = p.model->scorer({p.vocabulary}, {}, random::key(1));
    auto node = s->parameters();
    test::says<CheckpointError>([&] { (void)load_pretrained(node, from, *p.model, p.vocabulary); },
                                "bert.pooler.dense.weight: there is no such tensor");
    auto said = load_pretrained(node, from, *p.model, p.vocabulary, {.init_missing = true, .ignore_unexpected = true});
    ASSERT_EQ(said.size(), 2u);
    EXPECT_NE(said[0].find("cls.predictions"), said[0].npos) << said[0];
    EXPECT_NE(said[1].find("top.dense.weight"), said[1].npos) << said[1];
  });
  auto refused = [&](const std::string& replaced, const std::string& by, const std::string& words) {
    test::TempFolder temp;
    auto text = read_file(from + "/config.json");
    text.replace(text.find(replaced), replaced.size(), by);
    write_file(temp.path() + "/config.json", text);
    test::says<IoError>([&] { (void)Pretrained::open(temp.path()); }, words);
  };
  refused("BertForMaskedLM", "BertForMultipleChoice", "architectures: [\"BertForMultipleChoice\"] is not");
  refused("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false", "tie_word_embeddings: false");
  refused("\"is_decoder\": false", "\"is_decoder\": true", "is_decoder: true");
}
}  // namespace encoder_test
