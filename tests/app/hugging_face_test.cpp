// Hugging Face's folders from outside: what export writes, import, init_from, generate, eval and inspect read; bad
// folders are one line, before anything begins.
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace hugging_face_test {
using namespace bora;
namespace {
const std::string kGolden = test::source_dir() + "/tests/golden/models/gpt2_plain";
struct HuggingFaceTest : CommandTest {
  std::string run_a = folder + "/a", dir = folder + "/dir", tokens = folder + "/tokenizer.json",
              data = " data=" + folder + "/text";
  void expect_done(const std::string& arguments) const {
    auto r = run(arguments);
    ASSERT_EQ(r.code, 0) << arguments << "\n" << r.out << r.err;
  }
  /// A run that was trained, and its folder.
  void SetUp() override {
    expect_done("train-tokenizer --vocab 300 --out " + tokens + " " + folder + "/text");
    expect_done("train " + config + " out=" + run_a + " tokenizer.type=huggingface tokenizer.path=" + tokens +
                " model.scale_by_layer=true model.tied=false model.hidden=40");
    expect_done("export " + run_a + " " + dir);
  }
  std::string line(const std::string& arguments, const std::string& begin) const {
    auto r = run(arguments);
    EXPECT_EQ(r.code, 0) << arguments << "\n" << r.out << r.err;
    return r.line(begin);
  }
  /// A copy of a folder with one file changed: `edit` gets its text.
  std::string changed(const std::string& from, const std::string& file,
                      const std::function<void(std::string&)>& edit) const {
    auto to = folder + "/changed";
    fs::remove_all(to);
    fs::copy(from, to);
    auto text = slurp(to + "/" + file);
    edit(text);
    std::ofstream(to + "/" + file, std::ios::binary) << text;
    return to;
  }
};
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> all;
  for (auto& e : fs::directory_iterator(folder)) all.push_back(e.path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}
}  // namespace

TEST_F(HuggingFaceTest, ExportAndImportKeepEveryBit) {
  EXPECT_EQ(files_in(dir), (std::vector<std::string>{"config.json", "generation_config.json", "model.safetensors",
                                                     "tokenizer.json", "tokenizer_config.json"}));
  EXPECT_EQ(slurp(dir + "/tokenizer.json"), slurp(tokens));
  auto tensors = slurp(dir + "/model.safetensors");
  auto b = folder + "/b";
  expect_done("import " + dir + " " + b + data + " batch=6 steps=6 log.every=2");
  expect_done("export " + b + " " + folder + "/dir_b");
  EXPECT_EQ(slurp(folder + "/dir_b/model.safetensors"), tensors);
  EXPECT_EQ(slurp(folder + "/dir_b/config.json"), slurp(dir + "/config.json"));
  EXPECT_EQ(files_in(folder + "/dir_b"), files_in(dir));
  // On two ranks, of a folder and of a run.
  expect_done("launch -n 2 -- import " + dir + " " + folder + "/c layout=fsdp");
  expect_done("launch -n 2 -- export " + folder + "/c " + folder + "/dir_c layout=tp");
  EXPECT_EQ(slurp(folder + "/dir_c/model.safetensors"), tensors);
  expect_done("launch -n 2 -- export " + dir + " " + folder + "/dir_d --shard-bytes 20000");
  EXPECT_GT(files_in(folder + "/dir_d").size(), files_in(dir).size());
  expect_done("export " + folder + "/dir_d " + folder + "/dir_e");
  EXPECT_EQ(slurp(folder + "/dir_e/model.safetensors"), tensors);
  // Rounded once, and then no more.
  expect_done("export " + dir + " " + folder + "/half --dtype bf16");
  expect_done("import " + folder + "/half " + folder + "/h policy=p=bf16,c=f32,o=f32");
  expect_done("export " + folder + "/h " + folder + "/half_2");
  EXPECT_EQ(slurp(folder + "/half_2/model.safetensors"), slurp(folder + "/half/model.safetensors"));
  EXPECT_LT(slurp(folder + "/half/model.safetensors").size(), tensors.size() * 2 / 3);
  EXPECT_NE(slurp(folder + "/half/config.json").find("bfloat16"), std::string::npos);
}
TEST_F(HuggingFaceTest, TheTokenizerGoesAlongWhateverItsFileIsCalled) {
  // Beside another tokenizer, by its folder, and by a path from the folder of the command.
  auto files = files_in(dir);
  auto many = folder + "/many";
  fs::create_directories(many);
  expect_done("train-tokenizer --vocab 270 --out " + many + "/tokenizer.json " + folder + "/text");
  expect_done("train-tokenizer --type unigram --vocab 280 --out " + many + "/pieces.model " + folder + "/text");
  fs::copy_file(tokens, many + "/mine.json");
  struct Case {
    std::string name, words, file;
  };
  for (auto& c : {Case{"odd", "bpe tokenizer.path=many/mine.json", tokens},
                  {"folder", "huggingface tokenizer.path=" + dir, tokens},
                  {"slash", "huggingface tokenizer.path=dir/", tokens},
                  {"pieces", "sentencepiece tokenizer.path=many/pieces.model", many + "/pieces.model"}}) {
    auto out = folder + "/" + c.name, to = out + "_hf";
    auto r = run("train " + config + " steps=1 out=" + out + " tokenizer.type=" + c.words, {}, "cd " + folder + ";");
    ASSERT_EQ(r.code, 0) << c.name << r.err;
    expect_done("export " + out + " " + to);  // from another folder
    auto want = files;
    if (c.name == "pieces") want = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.model"};
    EXPECT_EQ(files_in(to), want) << c.name;
    EXPECT_EQ(slurp(to + (c.name == "pieces" ? "/tokenizer.model" : "/tokenizer.json")), slurp(c.file)) << c.name;
    EXPECT_EQ(line("generate " + to + " --prompt The --length 4 --temperature 0", "The"),
              line("generate " + out + " --prompt The --length 4 --temperature 0", "The"));
  }
}
TEST_F(HuggingFaceTest, TokensAreAddedWithTheirRows) {
  std::string add = " --add-token '<|user|>' --add-token '<|assistant|>'", text = folder + "/turns";
  std::ofstream(text) << "The <|user|>wind<|assistant|>\n";
  auto b = folder + "/b", grown = folder + "/grown";
  auto r = run("import " + dir + " " + b + data + " batch=6" + add);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("tokens: 2 added, from id 300 on"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("302: new rows are the mean of the others"), std::string::npos) << r.out;
  expect_done("export " + b + " " + grown);
  EXPECT_NE(slurp(grown + "/config.json").find("\"vocab_size\": 302"), std::string::npos);
  for (auto& of : {b + "/hugging_face", grown}) {
    auto ids = run("tokenize " + of + " < " + text);
    EXPECT_EQ(ids.code, 0) << ids.err;
    for (auto id : {"300", "301"}) EXPECT_NE(ids.out.find(id), std::string::npos) << ids.out;
  }
  // What was there is as it was; all of it is trained, on ranks as well, and with padding.
  auto loss = [&](const std::string& of, const std::string& more) {
    return std::stod(line("eval " + of + more, "val loss: "));
  };
  EXPECT_NEAR(loss(b, " eval.rows=24"), loss(dir, data + " batch=6 eval.rows=24"), 0.02);
  expect_done("launch -n 2 -- import " + dir + " " + folder + "/padded" + data + " layout=tp batch=6 steps=3 " +
              "vocabulary.multiple=8" + add);
  expect_done("launch -n 2 -- train " + folder + "/padded/config.yaml");
  expect_done("export " + folder + "/padded " + folder + "/wide");
  EXPECT_NE(slurp(folder + "/wide/config.json").find("\"vocab_size\": 304"), std::string::npos);
  expect_done("generate " + folder + "/wide --prompt '<|user|>The' --length 4");
  for (auto& [words, error] : {std::pair{"'<|user|>' --add-token '<|user|>'", "the token '<|user|>' is given twice"},
                               {"e", "tokenizer.json already"}})
    is_bad_input("import " + dir + " " + folder + "/bad --add-token " + words, error);
  EXPECT_FALSE(fs::exists(folder + "/bad"));
}
TEST_F(HuggingFaceTest, AFolderIsAsGoodAsItsRun) {
  std::string words = " --prompt 'The wind' --temperature 0 --length 12", settings = data + " batch=6 eval.rows=24";
  auto b = folder + "/b";
  expect_done("import " + dir + " " + b + data);
  auto want = run("generate " + run_a + words).out;
  EXPECT_GT(want.size(), 10U);
  for (auto& from : {dir, b, dir + "/"}) EXPECT_EQ(run("generate " + from + words).out, want) << from;
  EXPECT_EQ(run("launch -n 2 -- generate " + dir + words).out, want);
  auto loss = line("eval " + run_a + " batch=6 eval.rows=24", "val loss: ");
  for (auto& from : {dir, b}) EXPECT_EQ(line("eval " + from + settings, "val loss: "), loss) << from;
  EXPECT_EQ(line("inspect " + dir, "model: "), line("inspect " + folder + "/dir/", "model: "));
  EXPECT_TRUE(line("inspect " + dir, "model: ").starts_with("gpt2, 300 tokens: ")) << line("inspect " + dir, "model: ");
  // Training goes on from both.
  auto more = " steps=2 warmup=1 log.every=1 eval.rows=24 batch=6" + data + " out=" + folder;
  auto first = run("train init_from=" + dir + more + "/f1");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.line("step 0"), run("train init_from=" + dir + more + "/f2").line("step 0"));
  EXPECT_NE(first.out.find("val loss: " + loss), std::string::npos) << first.out << loss;
  auto second = run("train " + b + "/config.yaml" + more + "/b");
  EXPECT_NE(second.out.find("continuing from step 0"), std::string::npos) << second.out << second.err;
  EXPECT_EQ(losses(folder + "/b"), losses(folder + "/f1"));
  EXPECT_EQ(losses(folder + "/b").size(), 2U);
  // Replicas begin with the folder's parameters too, from it and from a run that was imported.
  auto local = " local=diloco local.replicas=2 local.every=1";
  expect_done("train init_from=" + dir + more + "/replicas" + local);
  expect_done("import " + dir + " " + folder + "/imported" + data + " batch=6 steps=6 log.every=2" + local);
  expect_done("train " + folder + "/imported/config.yaml" + more + "/imported");
  for (std::string run : {"/replicas", "/imported"})
    EXPECT_NEAR(losses(folder + run).at(0), losses(folder + "/f1").at(0), 1e-4) << run;
  // A run needs the tensors no more, and one that was imported nothing of the folder.
  for (std::string file : {"/model.safetensors", "/config.json"}) fs::remove(dir + file);
  expect_done("eval " + folder + "/f1");
  fs::rename(dir, folder + "/gone");
  expect_done("train " + folder + "/b/config.yaml steps=3 log.every=1");
}
TEST_F(HuggingFaceTest, TokensMayBeMore) {
  auto more = " steps=1 warmup=0 batch=6" + data + " out=" + folder;
  auto r = run("train init_from=" + dir + more + "/v vocabulary.multiple=64");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find(dir + " has 300 tokens, the model 320: new rows are the mean of the others in "),
            std::string::npos)
      << r.out;
  expect_done("export " + folder + "/v " + folder + "/dir_v");
  EXPECT_NE(slurp(folder + "/dir_v/config.json").find("\"vocab_size\": 320"), std::string::npos);
  expect_done("generate " + folder + "/dir_v --length 5");
  is_bad_input("train init_from=" + dir + more + "/w vocabulary=200", "its 300 ids exceed the 200 tokens of the model");
}
TEST_F(HuggingFaceTest, WithoutATokenizerTextsAreIds) {
  auto r = run("generate " + kGolden + " --prompt '5 6 7' --length 4 --temperature 0");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("5 6 7 ")) << r.out;
  std::istringstream ids(r.out);
  int n = 0;
  for (int id; ids >> id; ++n) EXPECT_TRUE(id >= 0 && id < 96) << id;
  EXPECT_EQ(n, 7);
  is_bad_input("generate " + kGolden + " --prompt hello", "'hello' is no id from 0 to 95");
  is_bad_input("generate " + kGolden, "--prompt: it has no token");
  is_bad_input("train init_from=" + kGolden + " out=" + folder + "/n" + data,
               "choose a tokenizer; with tokenizer.type=ids tokenizer.size=96 texts are ids");
}
TEST_F(HuggingFaceTest, BadFoldersAreOneLine) {
  auto out = " out=" + folder + "/o batch=6" + data;
  auto all = [&](const std::string& from, const std::string& part) {
    for (std::string before : {"train init_from=", "launch -n 2 -- train init_from="})
      is_bad_input(before + from + out, part);
    for (std::string command :
         {"generate " + from, "import " + from + " " + folder + "/i", "export " + from + " " + folder + "/x"})
      is_bad_input(command, part);
    if (part.find("tokenizer") == part.npos) is_bad_input("inspect " + from, part);
    for (std::string made : {"/o", "/i", "/x"}) EXPECT_FALSE(fs::exists(folder + made)) << from << made;
  };
  auto replace = [](std::string from, std::string to) {
    return [=](std::string& text) { text.replace(text.find(from), from.size(), to); };
  };
  all(changed(dir, "config.json", replace("\"gpt2\"", "\"mamba\"")),
      "config.json: model_type: mamba is not supported; there are ");
  all(changed(dir, "config.json", replace("\"n_layer\": 2", "\"n_layer\": 3")),
      "transformer.h.2.ln_1.weight: there is no such tensor");
  all(changed(dir, "config.json", replace("\"n_layer\": 2", "\"n_layer\": 1")),
      "no leaf of the gpt2 takes this tensor");
  all(changed(dir, "config.json", replace("\"n_positions\": 16", "\"n_positions\": 17")),
      "transformer.wpe.weight: it is f32[16, 24], f32[17, 24] is wanted for 'wpe'");
  all(changed(dir, "config.json", replace("\"vocab_size\": 300", "\"vocab_size\": 299")),
      "tokenizer: its 300 ids exceed the 299 tokens of the model");
  all(changed(dir, "config.json", replace("{", "{{")), "config.json: broken JSON: ");
  all(changed(dir, "model.safetensors", [](std::string& text) { text.resize(text.size() - 4); }),
      "model.safetensors: ");
  all(changed(dir, "tokenizer.json", [](std::string& text) { text = "{}"; }), "tokenizer.json: ");
  expect_done("export " + dir + " " + folder + "/shards --shard-bytes 20000");
  auto missing = changed(folder + "/shards", "config.json", [](auto&) {});
  auto shards = files_in(missing);
  auto second = *std::find_if(shards.begin(), shards.end(), [](auto& f) { return f.starts_with("model-00002-of-"); });
  fs::remove(missing + "/" + second);
  all(missing, "its file " + second + " is missing");
  auto pickle = changed(dir, "config.json", [](auto&) {});
  fs::rename(pickle + "/model.safetensors", pickle + "/pytorch_model.bin");
  all(pickle, "convert it in Python");
  auto none = changed(dir, "config.json", [](auto&) {});
  fs::remove(none + "/config.json");
  is_bad_input("train init_from=" + none + out, "it has no config.json");
  is_bad_input("import " + none + " " + folder + "/i", "it has no config.json");
  is_bad_input("generate " + none, "it has no config.yaml; nor is it one of Hugging Face's");
  is_bad_input("train init_from=" + folder + "/nowhere" + out, "there is no such folder");
  is_bad_input("import " + run_a + " " + folder + "/i", "it is a run: bora export makes such a folder of it");
  is_bad_input("train init_from=" + dir + out + " model=llama", "init_from has a model of type gpt2");
  is_bad_input("train init_from=" + dir + out + " init_from.missing=maybe", "one of error, init");
  is_bad_input("import " + dir + " " + run_a, "has a checkpoint already");
  is_bad_input("import " + dir + " " + folder + "/i init_from=x", "DIR and RUN say it");
  is_bad_input("export " + run_a + " " + dir, "is not empty");
  for (std::string words : {"export " + folder + "/nowhere " + folder + "/x", "generate " + folder + "/nowhere"})
    is_bad_input(words, "there is no such folder");
  is_bad_input("eval " + dir, "data: no text given");
}
}  // namespace hugging_face_test
