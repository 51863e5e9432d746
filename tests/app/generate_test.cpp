// Texts of trained models: how tokens are chosen, where a text ends, answers of a chat.
#include "command.h"

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
  works("generate " + plain + " --prompt hi --length 3", " --chat", "--chat-template chatml");
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
  auto hf = folder + "/hf", tokens = write("tokenizer.json", slurp(BORA_SOURCE_DIR
      "/tests/golden/tokenizer_llama3.json"));
  ASSERT_EQ(run("train " + config + " steps=1 out=" + folder + "/with tokenizer.type=huggingface tokenizer.path=" +
                tokens).code, 0);
  ASSERT_EQ(run("export " + folder + "/with " + hf).code, 0);
  works("generate " + hf + " --prompt hi --length 3", " --chat", "--chat-template chatml");
  works("train out=" + folder + "/again 'data.sources=[{type: jsonl, path: " + folder + "/chats.jsonl}]' " +
            "data.task.type=chat model.layers=1 model.embed=32 model.heads=2 model.positions=192 batch=4 steps=1",
        " data.task.chat_template=" + hf, "data.task.chat_template=chatml");
}
TEST_F(GenerateTest, AFolderOfHuggingFacesBeginsAndEndsAsTransformersDoes) {
  auto out = folder + "/o", hf = folder + "/hf", tokens = write("tokenizer.json", slurp(BORA_SOURCE_DIR
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
}  // namespace generate_test
