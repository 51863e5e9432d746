// Texts of trained models: how tokens are chosen, where a text ends, answers of a chat.
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace generate_test {
using namespace bora;
namespace {
struct GenerateTest : CommandTest {
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name) << text;
    return folder + "/" + name;
  }
  std::string said(const std::string& arguments) const {
    auto r = run("generate " + arguments);
    EXPECT_EQ(r.code, 0) << arguments << r.err;
    return r.out;
  }
};
}  // namespace

TEST_F(GenerateTest, TopPIsBetweenTheLikeliestAndAllTokens) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train " + config + " out=" + out).code, 0);
  auto words = out + " --prompt The --length 30 ";
  auto greedy = said(words + "--temperature 0"), all = said(words + "--seed 3");
  EXPECT_EQ(said(words + "--seed 3 --top-p 1"), all);
  EXPECT_EQ(said(words + "--seed 3 --top-p 1e-9"), greedy);
  EXPECT_EQ(said(words + "--seed 3 --top-k 1"), greedy);
  auto some = said(words + "--seed 3 --top-p 0.5 --temperature 2");
  EXPECT_NE(some, greedy);
  EXPECT_NE(some, said(words + "--seed 3 --temperature 2"));
  EXPECT_EQ(run("launch -n 2 -- generate " + words + "--seed 3 --top-p 0.5 --temperature 2").out, some);
  for (std::string p : {"0", "-1", "1.5", "nan"}) is_bad_input("generate " + out + " --top-p " + p, "--top-p: must be");
}
TEST_F(GenerateTest, AChatAnswersTurnByTurnUpToTheEndOfTheAnswer) {
  std::string chats;
  for (int i = 0; i < 60; ++i) {
    auto turn = [](const char* role, const char* text) {
      return std::string("{\"role\": \"") + role + "\", \"content\": \"" + text + "\"}";
    };
    chats += "{\"messages\": [" + turn("user", "hi") + ", " + turn("assistant", "hello you") + ", " +
             turn("user", "bye") + ", " + turn("assistant", "so long") + "]}\n";
  }
  auto out = folder + "/o";
  auto r = run("train out=" + out + " 'data.sources=[{type: jsonl, path: " + write("chats.jsonl", chats) +
               "}]' data.task.type=chat data.task.chat_template=chatml model.layers=2 model.embed=32 model.heads=2 "
               "model.positions=192 batch=4 steps=60 warmup=5 lr=1e-2 eval.rows=8");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(said(out + " --chat --prompt hi --temperature 0 --length 60"), "hello you\n");
  EXPECT_EQ(said(out + " --chat-template chatml --prompt hi --temperature 0 --length 60"), "hello you\n");
  EXPECT_EQ(said(out + " --chat --temperature 0 --length 60 < " + write("turns", "hi\n\nbye\n")),
            "hello you\nso long\n");
  EXPECT_EQ(said(out + " --chat --temperature 0 < /dev/null"), "");
  EXPECT_EQ(run("launch -n 2 -- generate " + out + " --chat --prompt hi --temperature 0 --length 60").out,
            "hello you\n");
  is_bad_input("generate " + out + " --chat-template gemma --system Be. --prompt hi", "turn 1 has the role 'system'");
  is_bad_input("generate " + out + " --chat-template nowhere --prompt hi",
               "--chat-template nowhere: there is no such file and no such template");
  is_bad_input("generate " + out + " --system Be.", "--system: belongs to --chat");
  auto plain = folder + "/plain";
  ASSERT_EQ(run("train " + config + " steps=1 out=" + plain).code, 0);
  // What an error proposes works where it is read.
  auto works = [&](const std::string& words, const std::string& without, const std::string& proposed) {
    is_bad_input(words + without, proposed);
    auto done = run(words + " " + proposed);
    EXPECT_EQ(done.code, 0) << words << done.err;
  };
  works("generate " + plain + " --prompt hi --length 3 --shift", " --chat", "--chat-template chatml");
  // A template in Jinja is the same one as by its name; one that writes the day has it of a flag.
  const std::string chatml =
      "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  auto jinja = write("chatml.jinja", chatml);
  EXPECT_EQ(said(out + " --chat-template " + jinja + " --prompt hi --temperature 0 --length 60"), "hello you\n");
  auto dated = write("dated.jinja", "{% if strftime_now('%Y-%m-%d') == '2024-02-29' %}" + chatml +
                                       "{% else %}{{ raise_exception('another day') }}{% endif %}");
  auto words = out + " --chat-template " + dated + " --prompt hi --temperature 0 --length 60";
  EXPECT_EQ(said(words + " --date 2024-02-29"), "hello you\n");
  is_bad_input("generate " + words, dated + ":1: another day");
  is_bad_input("generate " + words + " --date 29.2.2024", "a day is written YYYY-MM-DD");
  is_bad_input("generate " + out + " --prompt hi --chat-template " + write("x.jinja", "{% include 'y' %}"),
               "x.jinja:1: chat templates do not use the tag 'include'");
  auto hf = folder + "/hf", tokens = write("tokenizer.json", slurp(test::source_dir() +
      "/tests/golden/tokenizer_llama3.json"));
  ASSERT_EQ(run("train " + config + " steps=1 out=" + folder + "/with tokenizer.type=huggingface tokenizer.path=" +
                tokens).code, 0);
  ASSERT_EQ(run("export " + folder + "/with " + hf).code, 0);
  works("generate " + hf + " --prompt hi --length 3 --shift", " --chat", "--chat-template chatml");
  works("train out=" + folder + "/again 'data.sources=[{type: jsonl, path: " + folder + "/chats.jsonl}]' " +
            "data.task.type=chat model.layers=1 model.embed=32 model.heads=2 model.positions=192 batch=4 steps=1",
        " data.task.chat_template=" + hf, "data.task.chat_template=chatml");
}
TEST_F(GenerateTest, AFolderOfHuggingFacesBeginsAndEndsAsTransformersDoes) {
  auto out = folder + "/o", hf = folder + "/hf", tokens = write("tokenizer.json", slurp(test::source_dir() +
      "/tests/golden/tokenizer_llama3.json"));
  ASSERT_EQ(run("train " + config + " out=" + out + " tokenizer.type=huggingface tokenizer.path=" + tokens).code, 0);
  ASSERT_EQ(run("export " + out + " " + hf).code, 0);
  std::string words = " --prompt 'The wind' --length 6 --temperature 0";
  auto with = said(out + words + " tokenizer.add_special_tokens=true"), without = said(out + words);
  EXPECT_EQ(said(hf + words), with);
  EXPECT_EQ(said(hf + words + " --no-special"), without);
  // A token of eos_token_id ends the text.
  auto eos = [&](const std::string& ids) {
    std::ofstream(hf + "/generation_config.json") << "{\"eos_token_id\": " << ids << "}\n";
    return said(hf + words);
  };
  std::string all;
  for (int id = 0; id < 705; ++id) all += (id > 0 ? ", " : "") + std::to_string(id);
  EXPECT_EQ(eos("[" + all + "]"), "The wind\n");
  EXPECT_EQ(eos("703"), with);
  std::ofstream(hf + "/generation_config.json") << "{\"eos_token_id\": \"x\"}\n";
  is_bad_input("generate " + hf + words, "eos_token_id: expected an id or a list of ids");
}
TEST_F(GenerateTest, LinesOfAFileAreAnsweredInTheirOrderAsAlone) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train " + config + " model.positions=96 out=" + out).code, 0);
  std::vector<std::string> lines;
  for (int i = 0; i < 90; ++i) {
    auto text = "The wind number " + std::to_string(i % 7);
    if (i % 3 == 0) lines.push_back("{\"prompt\": \"" + text + "\", \"seed\": " + std::to_string(i) + "}");
    else if (i % 3 == 1)
      lines.push_back("{\"prompt\": [\"" + text + "\", \"The\"], \"n\": 2, \"max_tokens\": 9, \"logprobs\": 1}");
    else lines.push_back("{\"prompt\": \"" + text + "\", \"temperature\": 0, \"stop\": [\"e\", \"  \"]}");
  }
  auto all = [&](std::size_t first, std::size_t last) {
    std::string text;
    for (auto i = first; i < last; ++i) text += lines[i] + "\n" + (i % 10 == 0 ? "\n" : "");
    return write("in.jsonl", text);
  };
  auto answers = said(out + " --prompts " + all(0, 90) + " --length 40 --step-tokens 32 --rows 5");
  std::istringstream in(answers);
  std::vector<std::string> answer;
  for (std::string line; std::getline(in, line);) answer.push_back(line);
  ASSERT_EQ(answer.size(), 90U);
  for (std::size_t i : {0, 1, 2, 3, 44, 89}) {
    auto alone = said(out + " --prompts " + all(i, i + 1) + " --length 40 --cache-bytes 1000000");
    auto at = answer[i].find("\"choices\""), end = answer[i].find("\"usage\"");
    EXPECT_TRUE(answer[i].starts_with("{\"index\":" + std::to_string(i) + ",\"choices\":[{\"index\":0,\"text\":"));
    EXPECT_EQ(answer[i].substr(at, end - at), alone.substr(alone.find("\"choices\""), end - at)) << i;
  }
  std::istringstream guessed(said(out + " --prompts " + all(0, 30) + " --length 40 --rows 3 --lookup 4"));
  for (std::size_t i = 0; i < 30; ++i) {
    std::string line;
    ASSERT_TRUE(std::getline(guessed, line));
    EXPECT_EQ(line.substr(0, line.find("\"usage\"")), answer[i].substr(0, answer[i].find("\"usage\"")));
  }
  is_bad_input("generate " + out + " --lookup 4 --beams 2 --prompt a", "--lookup: not with --beams");
  // Two ranks compute the same sums in another order.
  auto two = run("launch -n 2 -- generate " + out + " --prompts " + all(0, 30) + " --temperature 0");
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n'), 30);
  auto both = run("launch -n 2 -- generate " + out + " --prompts " + all(0, 9) + " mesh=data=2");
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_EQ(both.out, said(out + " --prompts " + all(0, 9)));  // replicas
  for (std::string weights : {"bf16", "int8", "int4"}) {
    auto of = [&](std::size_t first, std::size_t last) {
      return said(out + " --prompts " + all(first, last) + " --weights " + weights);
    };
    auto many = of(0, 30), one = of(17, 18);
    auto choices = one.substr(one.find("\"choices\""), one.find("\"usage\"") - one.find("\"choices\""));
    EXPECT_NE(many.find("{\"index\":17," + choices), std::string::npos) << weights << one << many;
  }
  is_bad_input("generate " + out + " --prompts " + write("bad", lines[0] + "\n\n{\"prompt\": 1}\n"),
               "bad:3: prompt: must be a string");
  is_bad_input("generate " + out + " --prompts " + write("bad", lines[0] + "\n{\"prompt\": \"a\", \"tools\": [1]}"),
               "bad:2: tools");
  is_bad_input("generate " + out + " --prompts " + write("bad", "{\"prompt\": \"a\", \"max_tokens\": 96}"), "bad:1: ");
  is_bad_input("generate " + out + " --prompts " + write("bad", "{\"prompt\": \"a\", \"stream\": true}"),
               "stream: a line");
  is_bad_input("generate " + out + " --prompts " + folder + "/nowhere", "nowhere");
  is_bad_input("generate " + out + " --prompts " + write("one", lines[0]) + " --prompt The", "leave out --prompt");
}
TEST_F(GenerateTest, WaysToChooseAndToEnd) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train " + config + " steps=60 lr=1e-2 model.positions=64 out=" + out).code, 0);
  auto words = out + " --prompt 'The wind' --length 30 ";
  auto greedy = said(words + "--temperature 0");
  for (auto more : {"--min-p 1", "--typical-p 1e-9 --top-k 1", "--beams 1 --temperature 0"})
    EXPECT_EQ(said(words + more), greedy) << more;
  for (auto more : {"--repetition-penalty 5", "--presence-penalty 2", "--frequency-penalty 2"})
    EXPECT_NE(said(words + more + " --temperature 0"), greedy) << more;
  auto stopped = said(words + "--temperature 0 --stop er --stop 'ber '");
  EXPECT_EQ(stopped, greedy.substr(0, greedy.find("er")) + "\n");
  auto lines = said(words + "--beams 3 --n 2 --json");
  EXPECT_NE(lines.find("{\"index\":1,\"text\":"), std::string::npos) << lines;
  auto drawn = said(words + "--n 3 --seed 5 --json --logprobs 2");
  EXPECT_NE(drawn.find("{\"index\":2,\"text\":"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("\"top_logprobs\":[{"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("\"seed\":5}"), std::string::npos) << drawn;
  auto window = said(out + " --prompt 'The wind' --length 3000 --temperature 0");
  EXPECT_EQ(window.size(), 65U);  // it ends there
  EXPECT_EQ(said(out + " --prompt 'The wind' --length 90 --temperature 0 --shift").size(), 99U);
  EXPECT_EQ(run("launch -n 2 -- generate " + words + "--temperature 0 --beams 2").code, 0);
  auto wrong = [&](const std::string& more, const std::string& text) {
    is_bad_input("generate " + words + more, text);
  };
  wrong("--n 2", "--n: is written with --json");
  wrong("--min-p 2", "--min-p: must be");
  wrong("--repetition-penalty 0", "--repetition-penalty: must be");
  wrong("--stop ''", "--stop: an empty text");
  wrong("--shift --beams 2", "--shift: takes");
  wrong("--beams 2 --top-k 3", "top_k: beams draw no tokens");
  wrong("layout=fsdp", "layout: fsdp would gather the parameters");
  wrong("--cache-bytes 100", "cache_bytes: 100 bytes hold no page");
  is_bad_input("generate " + out + " --prompt '" + std::string(64, 'x') + "'",
               "it has 64 tokens, and the model's window 64 positions; a prompt is never cut");
}
}  // namespace generate_test
