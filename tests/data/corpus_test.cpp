// Laws of data, over the registries of data, sources and tasks: rows do not depend on hosts or threads, a run resumes
// at any step, a pass has every document once, and nothing is learnt that the task does not say.
#include <algorithm>
#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include "bora/array/mesh.h"
#include "bora/data/around.h"
#include "bora/shard/mesh.h"
#include "data/sources/source.h"
#include "data/tasks/task.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace corpus_test {
using namespace bora;
using namespace bora::data;
namespace {
constexpr std::int64_t kPositions = 12;
const std::string kGolden = test::source_dir() + "/tests/golden/";
/// Settings with FOLDER for the folder of the files, and what they are made of, for the laws and their messages.
struct Sample {
  std::string name, yaml;
  std::string data = {}, source = {}, task = {};
  std::string tokenizer = "type=bytes";
  std::int64_t positions = kPositions;
  std::vector<std::string> labels = {};  // of the model
};
std::vector<Sample> samples() {
  auto corpus = [](const std::string& source, const std::string& rest) {
    return "sources: [{" + source + "}]\nhold_out: 0.1\n" + rest;
  };
  auto lines = "type: jsonl, path: FOLDER/lines.jsonl", pairs = "type: jsonl, path: FOLDER/pairs.jsonl",
       chats = "type: jsonl, path: FOLDER/chats.jsonl";
  std::vector<Sample> all{{"text", "type: text\npath: FOLDER/text.txt\nhold_out: 0.1\n", "text"}};
  auto add = [&](const std::string& name, const std::string& yaml, const std::string& source, const std::string& task,
                 const std::string& tokenizer = "type=bytes") {
    all.push_back({name, "type: corpus\n" + yaml, "corpus", source, task, tokenizer});
  };
  add("lm concat", corpus(lines, ""), "jsonl", "lm");
  for (std::string how : {"first_fit", "best_fit", "none"})
    add("lm " + how, corpus(lines, "pack: {how: " + how + ", restart_positions: true}\n"), "jsonl", "lm");
  add("lm csv", corpus("type: csv, path: FOLDER/rows.csv, field: body", ""), "csv", "lm");
  add("lm text", corpus("type: text, path: FOLDER/texts", ""), "text", "lm");
  for (std::string how : {"none", "first_fit", "concat"})
    add("completion " + how,
        corpus(pairs, "task: {type: completion, prompt: prompt, completion: answer}\npack: {how: " + how + "}\n"),
        "jsonl", "completion");
  add("chat", corpus(chats, "task: {type: chat, chat_template: chatml, too_long: drop}\n"), "jsonl", "chat",
      "type=bpe path=" + kGolden + "tokenizer_qwen2.json");
  all.back().positions = 80;
  add("preference", corpus(pairs, "task: {type: preference, chosen: answer, rejected: prompt}\n"), "jsonl",
      "preference");
  add("prefix", corpus(lines, "task: {type: prefix}\n"), "jsonl", "prefix");
  add("prefix encoder", corpus(lines, "task: {type: prefix, encoder_rows: true}\n"), "jsonl", "prefix");
  add("spans", corpus(lines, "task: {type: spans, inputs: 24}\n"), "jsonl", "spans",
      "type=bpe path=" + kGolden + "tokenizer_gpt2.json");
  for (std::string more : {"", ", pair: answer"}) {
    add("classify" + more, corpus(pairs, "task: {type: classify, text: prompt, label: class" + more + "}\n"), "jsonl",
        "classify", "type=huggingface path=" + kGolden + "tokenizer_word_piece.json add_special_tokens=true");
    all.back().labels = {"no", "yes"};
  }
  add("regress", corpus(pairs, "task: {type: classify, text: prompt, label: number, number: true}\n"), "jsonl",
      "classify");
  add("tag", corpus("type: jsonl, path: FOLDER/tagged.jsonl", "task: {type: tag}\n"), "jsonl", "tag",
      "type=huggingface path=" + kGolden + "tokenizer_word_piece.json add_special_tokens=true");
  all.back().labels = {"O", "B"};
  add("qa", corpus("type: jsonl, path: FOLDER/questions.jsonl", "task: {type: qa}\n"), "jsonl", "qa",
      "type=huggingface path=" + kGolden + "tokenizer_word_piece.json add_special_tokens=true");
  for (std::string score : {"score: number", "score: ''"})
    add("pairs " + score, corpus(pairs, "task: {type: pairs, first: prompt, second: answer, " + score + "}\n"), "jsonl",
        "pairs", "type=huggingface path=" + kGolden + "tokenizer_word_piece.json add_special_tokens=true");
  for (std::string how : {"concat", "none"})
    add("mlm " + how, corpus(lines, "task: {type: mlm, whole_words: true}\npack: {how: " + how + "}\n"), "jsonl",
        "mlm", "type=huggingface path=" + kGolden + "tokenizer_word_piece.json add_special_tokens=true");
  add("seq2seq", corpus(pairs, "task: {type: seq2seq, input: prompt, target: answer}\n"), "jsonl", "seq2seq");
  add("seq2seq left",
      corpus(pairs,
             "task: {type: seq2seq, input: prompt, target: answer, pad_right: false, max_len: 5, trunc_end: false, "
             "decoder_prefix_str: 'p'}\n"),
      "jsonl", "seq2seq");
  for (std::string source : {"parquet", "arrow"}) {
    auto file = kGolden + "tables/" + (source == "parquet" ? "zstd_v2.parquet" : "stream.arrow");
    add("lm " + source, corpus("type: " + source + ", path: " + file + ", field: sure", ""), source, "lm");
  }
  add("tokens",
      corpus("type: tokens, path: " + kGolden + "tables/ids.parquet",
             "task: {type: tokens, loss_mask: '', loss_weights: weights, labels: ''}\n"),
      "tokens", "tokens", "type=ids size=50257");
  add("mixture",
      "sources: [{type: jsonl, path: FOLDER/lines.jsonl, weight: 3}, {type: csv, path: FOLDER/rows.csv, field: body, "
      "weight: 1, weights_at: [{step: 4, weight: 9}]}]\nhold_out: 0.1\n",
      "jsonl", "lm");
  return all;
}
struct Corpora : testing::Test {
  test::TempFolder temp;
  std::string folder = temp.path();
  Corpora() {
    fs::create_directories(folder + "/texts/deep");
    auto file = [&](const std::string& name) { return std::ofstream(folder + "/" + name, std::ios::binary); };
    auto text = file("text.txt"), lines = file("lines.jsonl"), pairs = file("pairs.jsonl"), chats = file("chats.jsonl"),
         rows = file("rows.csv"), tagged = file("tagged.jsonl"), questions = file("questions.jsonl");
    rows << "id,body\r\n";
    for (int i = 0; i < 400; ++i) {
      auto n = std::to_string(i * i * 7);
      auto said = "say " + std::string(static_cast<std::size_t>(i % 15), 'x');
      text << "line " << n << " of the text\n\n";
      lines << R"({"text": "document )" << n << R"( \u00e4 of all", "more": [1, {}]})" << "\n";
      pairs << R"({"prompt": "ask )" << i % 397 << R"( ", "answer": ")" << said << R"(", "class": )"
            << (i % 3 ? std::to_string(i % 2) : i % 2 ? "\"yes\"" : "\"no\"") << R"(, "number": )" << i / 7.0
            << "}\n\n";
      tagged << R"({"tokens": ["ranks", "say", ")" << n << R"("], "tags": ["O", "B", )" << (i % 2 ? 1 : -100) << "]}\n";
      questions << R"({"question": "ask )" << i % 397 << R"(", "context": "ranks )" << said << R"(", "answers": )"
                << (i % 4 ? R"({"text": ["say"], "answer_start": [6]})" : "[]") << "}\n";
      chats << R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ")" << i
            << "\"}]}\n";
      rows << i << ",\"row \"\"" << n << "\"\" of\nmany\"\r\n";
      file("texts/" + std::string(i % 2 ? "deep/" : "") + n) << "file " << n << " is short";
    }
  }
  config::Choice<Data> settings(const std::string& yaml) const {
    auto text = yaml;
    for (std::size_t at; (at = text.find("FOLDER")) != text.npos;) text.replace(at, 6, folder);
    config::Choice<Data> choice;
    choice.read(config::parse_yaml(text, "data.yaml"), "data", {});
    choice.check("data");
    return choice;
  }
  static std::shared_ptr<const text::Tokenizer> tokenizer(const Sample& s) {
    std::vector<std::string> words;
    std::istringstream in(s.tokenizer);
    for (std::string word; in >> word;) words.push_back(word);
    return text::open_tokenizer(words);
  }
  Datasets open(const Sample& s, const Crew& crew = {}, const std::string& cache = {}) const {
    auto data = settings(s.yaml);
    if (auto place = data.edit().cache()) *place = cache;
    data->check_files(s.positions);
    return data->open({tokenizer(s), s.positions, 5, crew, s.labels});
  }
};
using Columns =
    std::tuple<std::vector<std::int32_t>, std::vector<std::int32_t>, std::vector<float>, std::vector<std::int32_t>,
               std::vector<std::int32_t>, std::vector<std::int32_t>, std::vector<std::int32_t>,
               std::vector<std::int32_t>, std::vector<float>>;
Columns columns(const Rows& r) {
  return {r.tokens, r.targets, r.weights, r.segments, r.positions, r.inputs, r.input_mask, r.token_types, r.values};
}
Rows rows_of(const Datasets& d, std::int64_t step, std::int64_t batch, std::int64_t begin, std::int64_t end,
             std::int64_t seed) {
  return training_rows(d.train, d.shape, step, batch, begin, end, seed);
}
using bora::test::error_of;
}  // namespace

TEST_F(Corpora, EveryTypeHasASample) {
  auto covered = [](auto member, std::string_view type) {
    for (auto& s : samples())
      if (s.*member == type) return true;
    return false;
  };
  for (auto& row : config::rows<Data>()) EXPECT_TRUE(covered(&Sample::data, row.type)) << row.type;
  for (auto& row : config::rows<Source>()) EXPECT_TRUE(covered(&Sample::source, row.type)) << row.type;
  for (auto& row : config::rows<bora::data::Task>()) EXPECT_TRUE(covered(&Sample::task, row.type)) << row.type;
}
TEST_F(Corpora, RowsDoNotDependOnTheRanks) {
  for (auto& s : samples()) {
    SCOPED_TRACE(s.name);
    auto data = open(s);
    EXPECT_EQ(data.shape.positions, settings(s.yaml)->shape(s.positions).positions);
    for (std::int64_t step : {0, 3, 1000}) {
      auto whole = rows_of(data, step, 5, 0, 5, 1);
      EXPECT_EQ(whole.tokens.size(), 5U * static_cast<std::size_t>(data.shape.positions));
      for (int ranks : {1, 2, 3, 5, 8}) {
        auto joined = Rows::zeros(0, 0, data.shape);
        for (int r = 0; r < ranks; ++r) {
          auto b = equal_block(5, ranks, r);
          auto mine = rows_of(data, step, 5, b.begin, b.end, 1);
          auto add = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
          add(joined.tokens, mine.tokens), add(joined.targets, mine.targets), add(joined.weights, mine.weights);
          add(joined.segments, mine.segments), add(joined.positions, mine.positions);
          add(joined.inputs, mine.inputs), add(joined.input_mask, mine.input_mask);
          add(joined.token_types, mine.token_types), add(joined.values, mine.values);
        }
        EXPECT_TRUE(columns(joined) == columns(whole)) << ranks;
      }
      EXPECT_FALSE(columns(whole) == columns(rows_of(data, step, 5, 0, 5, 2)));
      EXPECT_FALSE(columns(whole) == columns(rows_of(data, step + 1, 5, 0, 5, 1)));
    }
  }
}
TEST_F(Corpora, MemoryAndCacheAndAnyNumberOfRanksGiveTheSameRows) {
  for (auto& s : samples()) {
    SCOPED_TRACE(s.name);
    auto want = columns(rows_of(open(s), 7, 40, 0, 40, 5));
    for (int ranks : {1, 3}) {
      fs::remove_all(folder + "/cache");
      for (int again = 0; again < 2; ++again) {
        std::vector<int> same(static_cast<std::size_t>(ranks));
        local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
          Crew crew{.rank = mesh.rank(), .size = mesh.size(), .exchange = [&](auto& mine, auto what) {
                      return mesh.exchange(mine, what);
                    }};
          auto data = open(s, crew, folder + "/cache");
          same[static_cast<std::size_t>(mesh.rank())] = columns(rows_of(data, 7, 40, 0, 40, 5)) == want;
        });
        EXPECT_EQ(same, std::vector<int>(same.size(), 1)) << ranks;
      }
    }
    fs::remove_all(folder + "/cache");
  }
}
TEST_F(Corpora, RowsAreThoseOfEveryFormOnAnyNumberOfRanks) {
  auto law = [&](const std::vector<std::string>& files, const std::string& tokens, auto yaml) {
    auto sample = [&](const std::string& file) {
      return Sample{file, "type: corpus\nhold_out: 0\n" + yaml(kGolden + "tables/" + file), "", "", "", tokens};
    };
    auto want = open(sample(files[0]));
    for (auto& file : files)
      for (int ranks = 1; ranks <= 4; ++ranks)
        local_mesh({{"data", ranks}}, [&](const Mesh& mesh) {
          Crew crew{.rank = mesh.rank(), .size = mesh.size(), .exchange = [&](auto& mine, auto what) {
                      return mesh.exchange(mine, what);
                    }};
          auto data = open(sample(file), crew);
          auto b = equal_block(8, ranks, mesh.rank());
          for (std::int64_t step : {0, 1, 2, 3, 17, 900, 5, 4})  // one after another; and a run may go on at any
            EXPECT_TRUE(columns(rows_of(data, step, 8, b.begin, b.end, 5)) ==
                        columns(rows_of(want, step, 8, b.begin, b.end, 5)))
                << file << " on " << ranks << ", step " << step;
        });
  };
  law({"rows.jsonl", "none_v1.parquet", "snappy_v2.parquet", "gzip_v1.parquet", "zstd_v2.parquet", "plain.parquet",
       "stream.arrow", "file.arrow", "large.arrow"},
      "type=bytes", [](const std::string& path) {
        return "sources: [{type: " + path.substr(path.rfind('.') + 1) + ", path: " + path + ", field: sure}]\n";
      });
  auto tokens = [](const std::string& path) {
    return "sources: [{type: tokens, path: " + path +
           "}]\ntask: {type: tokens, loss_mask: '', loss_weights: '', labels: ''}\n";
  };
  law({"ids.jsonl", "ids.parquet", "ids.arrow"}, "type=ids size=50257", tokens);
  // One document: these ids say nothing of their ends.
  law({"nano.bin", "llmc.bin", "llama3.bin", "ids_u2.npy", "ids_i4.npy", "ids_i8.npy"}, "type=ids size=50257", tokens);
}
TEST_F(Corpora, ThreadsReadTheSameRows) {  // the state of a run is its step
  for (auto& s : samples()) {
    auto a = open(s), b = open(s);
    ASSERT_EQ(a.train.size(), b.train.size());
    for (std::int64_t step : {77, 3, 12})
      EXPECT_TRUE(columns(rows_of(a, step, 7, 0, 7, 5)) == columns(rows_of(b, step, 7, 0, 7, 5))) << s.name;
    std::vector<Rows> rows(4);
    std::vector<std::thread> threads;
    for (auto& r : rows) threads.emplace_back([&] { r = rows_of(a, 9, 50, 0, 50, 5); });
    for (auto& t : threads) t.join();
    for (auto& r : rows) EXPECT_TRUE(columns(r) == columns(rows[0])) << s.name;
  }
}
TEST_F(Corpora, APassHasEveryRowOnce) {
  for (auto& s : samples()) {
    if (s.name == "mixture") continue;  // two passes of different lengths
    SCOPED_TRACE(s.name);
    auto data = open(s);
    auto n = data.train.size(), held = data.held_out->size();
    EXPECT_GT(held, 0);
    EXPECT_LT(held, n / 4);
    std::map<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>, int> seen, want;
    auto rows = rows_of(data, 0, n, 0, n, 3);
    std::int64_t filled = 0;
    for (std::int64_t r = 0; r < n; ++r) {
      auto cut = [&](auto& column, std::int64_t width) {
        return std::vector<std::int32_t>(column.begin() + r * width, column.begin() + (r + 1) * width);
      };
      ++seen[{cut(rows.targets, data.shape.positions), cut(rows.inputs, data.shape.inputs)}];
      filled += rows.filled[static_cast<std::size_t>(r)];
      auto one = Rows::zeros(0, 1, data.shape);
      data.train.parts()[0].rows->at({r, 0, 3}, one.row(0));
      ++want[{one.targets, one.inputs}];
    }
    EXPECT_EQ(seen, want);
    if (s.task != "spans" && s.name != "prefix encoder") { EXPECT_EQ(filled, data.train.parts()[0].rows->filled()); }
    auto tokens = tokenizer(s)->size();
    for (auto id : rows.tokens) ASSERT_TRUE(id >= 0 && id < tokens);
  }
}
/// The tokens of every document: with its end, as the task encodes it.
TEST_F(Corpora, SegmentsAreWholeDocumentsAndLearnWhatTheTaskSays) {
  for (auto& s : samples()) {
    if (s.data != "corpus" || (s.task != "lm" && s.task != "completion") || s.source != "jsonl" || s.name == "mixture")
      continue;
    SCOPED_TRACE(s.name);
    std::map<std::string, int> documents;  // by their text; 1 + where what is learnt begins
    std::ifstream in(folder + (s.task == "lm" ? "/lines.jsonl" : "/pairs.jsonl"));
    for (std::string line; std::getline(in, line);) {
      auto value = [&](const std::string& key) {
        auto at = line.find("\"" + key + "\": \"") + key.size() + 5;
        auto text = line.substr(at, line.find('"', at) - at);
        if (auto e = text.find("\\u00e4"); e != text.npos) text.replace(e, 6, "\u00e4");
        return text;
      };
      if (line.empty()) continue;
      if (s.task == "lm") documents[value("text") + "\n"] = 0;
      else documents[value("prompt") + value("answer") + "\n"] = static_cast<int>(value("prompt").size());
    }
    auto data = open(s);
    for (std::int64_t r = 0; r < data.train.size(); ++r) {
      auto rows = Rows::zeros(0, 1, data.shape);
      data.train.at(r, 0, rows.row(0));
      for (std::int64_t begin = 0, end; begin < rows.filled[0]; begin = end) {
        auto segment = [&](std::int64_t i) {
          return data.shape.segments ? rows.segments[static_cast<std::size_t>(i)] : 1;
        };
        for (end = begin; end < rows.filled[0] && segment(end) == segment(begin);) ++end;
        std::string text, learnt;
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          text += static_cast<char>(rows.tokens[i]);
          if (i + 1 == static_cast<std::size_t>(end) && rows.weights[i] > 0) text += static_cast<char>(rows.targets[i]);
          if (rows.weights[i] > 0) learnt += static_cast<char>(rows.targets[i]);
          if (i > static_cast<std::size_t>(begin)) { EXPECT_EQ(rows.tokens[i], rows.targets[i - 1]); }
        }
        bool found = false;
        for (auto& [document, prompt] : documents) {
          auto at = document.find(text);
          if (at == document.npos) continue;
          auto want = document.substr(std::max<std::size_t>(at + 1, static_cast<std::size_t>(prompt)));
          found = found || want.starts_with(learnt);
        }
        EXPECT_TRUE(found) << "'" << text << "' learns '" << learnt << "'";
      }
    }
  }
}
TEST_F(Corpora, MixturesAreExact) {
  Sample s = samples().back();
  ASSERT_EQ(s.name, "mixture");
  auto data = open(s);
  std::int64_t from[2][2] = {};  // before and after step 4, by source
  for (std::int64_t step = 0; step < 44; ++step)
    for (auto part : rows_of(data, step, 5, 0, 5, 1).parts) ++from[step >= 4][part];
  EXPECT_EQ(from[0][0], 15);
  EXPECT_EQ(from[0][1], 5);
  EXPECT_EQ(from[1][0], 50);
  EXPECT_EQ(from[1][1], 150);
}
/// Numbers of an evaluation have them in their names.
TEST_F(Corpora, SourcesAreNamedByTheWordBeforeAPattern) {
  fs::create_directories(folder + "/web");
  fs::create_directories(folder + "/news");
  for (std::string name : {"web/a-1.jsonl", "web/a-2.jsonl", "news/a-1.jsonl", "news/b.jsonl.x"})
    fs::copy_file(folder + "/lines.jsonl", folder + "/" + name);
  auto names = [&](const std::vector<std::string>& paths) {
    std::string sources, all;
    for (auto& p : paths)
      sources += (sources.empty() ? "" : ", ") + ("{type: jsonl, tags: [t], path: 'FOLDER/" + p + "'}");
    for (auto& set : open({"names", "type: corpus\nsources: [" + sources + "]\nhold_out: 0.1\n"}).sets) {
      auto name = set.name.starts_with(folder) ? set.name.substr(folder.size()) : set.name;
      all += name + " ";
    }
    return all;
  };
  EXPECT_EQ(names({"lines.jsonl"}), "lines.jsonl ");
  EXPECT_EQ(names({"web/*.jsonl"}), "web ");
  EXPECT_EQ(names({"news/*.jsonl*", "web/a-*.jsonl"}), "news a ");
  EXPECT_EQ(names({"news/a-?.jsonl", "web/a-*.jsonl"}), "/news/a /web/a ");
  EXPECT_EQ(names({"web/a-1.jsonl", "news/a-1.jsonl", "*/a-[2].jsonl"}),
            "/web/a-1.jsonl /news/a-1.jsonl " + fs::path(folder).filename().string() + " ");
}
TEST_F(Corpora, TagsNameSetsAndASourceMayBeForEvaluationOnly) {
  auto lines = std::string("{type: jsonl, path: FOLDER/lines.jsonl"),
       text = std::string("{type: text, path: FOLDER/texts");
  auto of = [&](const std::string& a, const std::string& b) {
    return open({"tags", "type: corpus\nsources: [" + lines + a + "}, " + text + b + "}]\nhold_out: 0.1\n"});
  };
  EXPECT_TRUE(of("", "").sets.empty());
  auto both = of(", tags: [json, web]", "");
  ASSERT_EQ(both.sets.size(), 2U);
  EXPECT_EQ(both.sets[0].name, "lines.jsonl");
  EXPECT_EQ(both.sets[0].tags, (std::vector<std::string>{"json", "web"}));
  EXPECT_TRUE(both.sets[1].tags.empty());
  EXPECT_EQ(both.sets[0].rows->size() + both.sets[1].rows->size(), both.held_out->size());
  auto whole = of(", tags: [json]", ", train: false, tags: [files]");
  ASSERT_EQ(whole.train.parts().size(), 1U);
  EXPECT_GT(whole.sets[1].rows->size(), 8 * both.sets[1].rows->size());
  EXPECT_EQ(whole.train.parts()[0].rows->size(), both.train.parts()[0].rows->size());
  auto named = of(", name: records", ", train: false, name: code/files");
  ASSERT_EQ(named.sets.size(), 2U);
  EXPECT_EQ(named.sets[0].name, "records");
  EXPECT_EQ(named.sets[1].name, "code/files");
  EXPECT_EQ(named.train.parts()[0].name, "records");
  auto refused = [&](const std::string& a, const std::string& b) {
    return error_of([&] { settings("type: corpus\nsources: [" + lines + a + "}, " + text + b + "}]"); });
  };
  EXPECT_NE(refused(", name: a", ", name: a").find("data.sources: the name 'a' is given twice"), std::string::npos);
  EXPECT_NE(refused(", name: tag/a", "").find("data.sources: the name 'tag/a'"), std::string::npos);
  EXPECT_EQ(error_of([&] { settings("type: corpus\nsources: [" + lines + ", train: false}]"); }),
            "data.sources: none is to train on; remove train: false from one");
}
TEST_F(Corpora, ASourceWithoutARowToEvaluateIsSaid) {
  auto few = folder + "/few.jsonl";
  auto said_of = [&](int documents, const std::string& tags, const std::string& pack) {
    std::ofstream(few) << [&] {
      std::string all;
      for (int n = 0; n < documents; ++n) all += "{\"text\": \"short\"}\n";
      return all;
    }();
    std::vector<std::string> said;
    auto data = open({"few", "type: corpus\nsources: [{type: jsonl, path: FOLDER/few.jsonl" + tags +
                                 "}, {type: text, path: FOLDER/texts, tags: [files]}]\nhold_out: 0.1\n" + pack},
                     {.say = [&](auto& line) { said.push_back(line); }});
    EXPECT_EQ(data.sets.size(), said.empty() ? 2U : 1U);
    return said;
  };
  EXPECT_EQ(said_of(4, ", tags: [web, json]", ""),
            std::vector<std::string>{"data: " + few + " (tags web, json) is not evaluated: 0 of its 4 documents are "
                                                      "held out; raise data.hold_out (0.1)"});
  EXPECT_EQ(said_of(8, "", ""),
            std::vector<std::string>{"data: " + few + " is not evaluated: 1 of its 8 documents are held out, too few "
                                                      "for one row of 12 (model.positions); raise data.hold_out (0.1), "
                                                      "or set data.pack=first_fit"});
  EXPECT_TRUE(said_of(200, "", "").empty());
  // Sharing rows is advised where the task can, and where they are not shared yet.
  for (auto& [task, pack, tokenizer, can] :
       {std::tuple{"lm", "concat", "type=bytes", true}, {"lm", "first_fit", "type=bytes", false},
        {"spans", "automatic", "type=bpe path=", false}}) {
    Sample s{"few", "type: corpus\nsources: [{type: jsonl, path: FOLDER/few.jsonl}]\nhold_out: 0.001\ntask: {type: " +
                        std::string(task) + "}\npack: {how: " + pack + "}\n"};
    if (std::string(tokenizer).ends_with("=")) s.tokenizer = tokenizer + kGolden + "tokenizer_gpt2.json";
    auto said = error_of([&] { open(s); });
    EXPECT_NE(said.find("too few documents are held out"), said.npos) << said;
    EXPECT_EQ(said.find("set data.pack=first_fit") != said.npos, can) << said;
  }
}
TEST_F(Corpora, NothingIsHeldOut) {
  for (auto& s : samples()) {
    auto none_of = s;
    none_of.yaml.replace(none_of.yaml.find("hold_out: 0.1"), 13, "hold_out: 0");
    auto some = open(s), all = open(none_of);
    EXPECT_TRUE(some.held_out) << s.name;
    EXPECT_FALSE(all.held_out) << s.name;
    EXPECT_TRUE(all.sets.empty());
    EXPECT_GE(all.train.size(), some.train.size()) << s.name;
  }
}
TEST_F(Corpora, TokensAroundATextStandOnceAroundADocument) {
  using Ids = std::vector<std::int32_t>;
  for (std::string name : {"llama3.json", "odd.json", "t5.json", "unigram.json", "llama.model", "t5.model"}) {
    auto type = name.ends_with(".model") ? "type=sentencepiece" : "type=huggingface";
    auto path = "path=" + kGolden + "tokenizer_" + name;
    auto plain = text::open_tokenizer({type, path});
    auto whole = text::open_tokenizer({type, path, "add_special_tokens=true"});
    EXPECT_FALSE(whole->encode("").empty()) << name;
    Around around(*whole), nothing(*plain);
    for (std::string s : {"a", "ranks meet", "aaa", "</s>", "<s>"}) {
      auto inner = plain->encode(s), ids = whole->encode(s);
      EXPECT_EQ(around.without_begin(around.without_end(ids)), inner) << name;
      EXPECT_EQ(nothing.without_begin(nothing.without_end(inner)), inner) << name;
      // The end of a document is one token, whoever puts it there.
      auto end = plain->end_of_text() ? Ids{*plain->end_of_text()} : plain->encode("\n");
      bool there = around.without_end(ids).size() < ids.size() && end == Ids{ids.back()};
      auto size = ids.size() + (there ? 0 : end.size());
      around.append_end(ids);
      EXPECT_EQ(ids.size(), size) << name;
      EXPECT_TRUE(std::equal(end.rbegin(), end.rend(), ids.rbegin())) << name;
    }
  }
}
TEST_F(Corpora, BadFilesAreNamed) {
  auto write = [&](const std::string& text) { std::ofstream(folder + "/bad.jsonl", std::ios::binary) << text; };
  auto path = folder + "/bad.jsonl";
  auto of = [&](const std::string& text, const std::string& rest = "") {
    write(text);
    Sample s{"bad", "type: corpus\nsources: [{type: jsonl, path: FOLDER/bad.jsonl}]\n" + rest};
    return error_of([&] { open(s); });
  };
  auto good = [](int n) {
    std::string all;
    while (n-- > 0) all += "{\"text\": \"a document of some length\"}\n";
    return all;
  };
  EXPECT_EQ(of(good(30)), "no error");
  EXPECT_TRUE(of(good(2) + "not json\n" + good(30)).starts_with(path + ":3: ")) << of(good(2) + "not json\n");
  EXPECT_TRUE(of(good(2) + "[1]\n").starts_with(path + ":3: "));
  EXPECT_TRUE(of(good(9) + "{\"txt\": \"a\"}\n").starts_with(path + ":10: "));
  EXPECT_TRUE(of(good(1) + "{\"text\": 3}\n").starts_with(path + ":2: "));
  EXPECT_TRUE(of("{\"text\": \"a\"}\n").starts_with("data: " + path + " has 1 documents, from which no row"));
  std::vector<std::string> said;
  write(good(50) + "not json\n{\"text\": 3}\n" + good(50));
  auto data = open({"skip", "type: corpus\nsources: [{type: jsonl, path: FOLDER/bad.jsonl}]\non_error: skip\n"},
                   {.say = [&](auto& line) { said.push_back(line); }});
  EXPECT_EQ(data.train.parts()[0].facts.documents, 100);
  EXPECT_EQ(said, std::vector<std::string>{"data: " + path + ": 2 malformed records were left out"});
  auto refused = [&](const std::string& yaml) {
    return error_of([&] { settings("type: corpus\n" + yaml)->check_files(kPositions); });
  };
  auto one = "sources: [{type: jsonl, path: FOLDER/lines.jsonl";
  EXPECT_EQ(refused("hold_out: 0.1"), "data.sources: there is none; give a list of {type, path}");
  EXPECT_EQ(refused(std::string(one) + ", weight: 0}]"),
            "data.sources: weight must be above 0, got 0 (" + folder + "/lines.jsonl)");
  EXPECT_TRUE(refused(std::string(one) + ", field: body}]").starts_with(folder + "/lines.jsonl:1: "));
  EXPECT_TRUE(refused("sources: [{type: text, path: FOLDER/lines.jsonl}]").ends_with("give it type: jsonl"));
  EXPECT_TRUE(refused(std::string(one) + "}]\ntask: {type: spans}\npack: {how: none}")
                  .starts_with("data.pack: the task spans"));
  auto as_text = error_of([&] { settings("type: text\npath: FOLDER/lines.jsonl")->check_files(kPositions); });
  EXPECT_NE(as_text.find("has records, whose punctuation would be learnt"), as_text.npos) << as_text;
  // Settings of pack that the task's rows cannot follow are not ignored.
  auto pairs = "sources: [{type: jsonl, path: FOLDER/pairs.jsonl}]\n";
  auto seq2seq = "task: {type: seq2seq, input: prompt, target: answer}\n";
  EXPECT_EQ(refused(std::string(one) + "}]\npack: {max_documents: 2}"),
            "data.pack.max_documents: 2 is for first_fit and best_fit, but rows of the task lm are made by concat; "
            "leave it out, or choose data.pack.how");
  EXPECT_EQ(refused(std::string(one) + "}]\npack: {how: first_fit, max_documents: 2}"), "no error");
  EXPECT_TRUE(refused(std::string(one) + "}]\npack: {how: none, cross_documents: true}")
                  .starts_with("data.pack.cross_documents: rows of the task lm hold a document each"));
  EXPECT_TRUE(refused(std::string(pairs) + seq2seq + "pack: {cross_documents: true}")
                  .starts_with("data.pack.cross_documents: "));
  for (std::string task : {"{type: spans}", "{type: prefix, encoder_rows: true}"})
    EXPECT_TRUE(refused(std::string(one) + "}]\ntask: " + task + "\npack: {restart_positions: true}")
                    .starts_with("data.pack.restart_positions: "))
        << task;
  EXPECT_TRUE(
      refused("sources: [{type: text, path: FOLDER/texts}]\ncache: FOLDER/texts/c").starts_with("data.cache: "));
  for (auto& row : config::rows<Source>())
    for (std::string gone : {"/none", "/dev/zero"}) {
      auto yaml = "sources: [{type: " + std::string(row.type) + ", path: " + gone + "}]";
      EXPECT_NE(refused(yaml).find(gone), std::string::npos) << row.type;
    }
}
/// Ids of a byte take two bytes in memory and in a cache; the lengths of what is learnt may be larger.
TEST_F(Corpora, PartsOfAnyLengthAreLearntAsGiven) {
  for (std::size_t prompt : {3U, 65535U, 65536U, 70000U, 140000U})
    for (std::size_t answer : {5U, 65536U, 70001U}) {
      std::ofstream file(folder + "/long.jsonl");
      for (int i = 0; i < 2; ++i)  // the first one is held out
        file << R"({"prompt": ")" << std::string(prompt, 'q') << R"(", "answer": ")" << std::string(answer, 'a')
             << "\"}\n";
      file.close();
      Sample s{"long", "type: corpus\nsources: [{type: jsonl, path: FOLDER/long.jsonl}]\nhold_out: 0.5\n"
                       "task: {type: completion, prompt: prompt, completion: answer}\npack: {how: none}\n"};
      s.positions = 220000;
      for (auto& cache : {std::string(), folder + "/cache"}) {
        auto row = rows_of(open(s, {}, cache), 0, 1, 0, 1, 1);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < row.weights.size(); ++i) {
          bool learnt = i + 1 >= prompt && i + 1 < prompt + answer + 1;  // and the end
          wrong += row.weights[i] != (learnt ? 1.0F : 0.0F);
        }
        EXPECT_EQ(wrong, 0U) << prompt << " tokens, then " << answer << ' ' << cache;
      }
    }
}
TEST_F(Corpora, ACacheIsOfOneChatTemplate) {
  std::ofstream chats(folder + "/turns.jsonl");
  for (int i = 0; i < 30; ++i)
    chats << R"({"messages": [{"role": "system", "content": " be "}, {"role": "user", "content": " a "},)"
          << R"( {"role": "assistant", "content": " b )" << i << "\"}]}\n";
  chats.close();
  Sample s{"turns", "type: corpus\nsources: [{type: jsonl, path: FOLDER/turns.jsonl}]\n"
                    "task: {type: chat, chat_template: FOLDER/turns.txt}\npack: {how: none}\n"};
  s.positions = 60;
  std::set<std::vector<std::int32_t>> seen;
  std::vector<std::string> ways{"system: S{system}\\n\n", "system: T{system}\\n\n",
                                "system: S{system}\\n\nstrip: yes\n", "system: S{system}\\n\nbegin: B\n"};
  for (auto& way : ways) {
    std::ofstream(folder + "/turns.txt") << "user: U{user}\\n\nassistant: A{assistant}{stop}\\n\n" << way;
    auto rows = rows_of(open(s, {}, folder + "/cache"), 0, 4, 0, 4, 1);
    EXPECT_EQ(columns(rows), columns(rows_of(open(s), 0, 4, 0, 4, 1))) << way;
    seen.insert(rows.tokens);
  }
  EXPECT_EQ(seen.size(), ways.size());
}
}  // namespace corpus_test
