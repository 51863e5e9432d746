// Adapters, frozen parameters, early stopping and evaluation sets, by the command.
#include <cmath>
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace finetune_test {
using namespace bora;
namespace {
struct FinetuneTest : CommandTest {};
}  // namespace

TEST_F(FinetuneTest, AdaptersAloneAreTrainedStoredAndUsed) {
  auto out = folder + "/out";
  auto settings = config + " lora.rank=4 lora.alpha=8 lora.dropout=0.1 checkpoint.every=3 lr=0.01 out=" + out;
  auto r = run("launch -n 2 -- train " + settings + " layout=fsdp");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.line("plan: ").find("of which "), std::string::npos) << r.out;
  auto whole = losses(out);
  ASSERT_EQ(whole.size(), 6U);
  EXPECT_LT(whole[5], whole[0]);
  // One rank continues from the middle as two have gone on.
  fs::remove_all(out + "/checkpoints/step-6");
  ASSERT_EQ(run("train " + settings).code, 0);
  auto again = losses(out);
  ASSERT_EQ(again.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(again[i], whole[i], 1e-5 * whole[i]);
  auto shown = run("inspect " + out);
  EXPECT_NE(shown.out.find("params.blocks.layer.attn.q.lora.a"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("params.wte"), std::string::npos) << shown.out;
  auto loss = run("eval " + out);
  EXPECT_EQ(loss.code, 0) << loss.err;
  auto bits = std::stod(loss.line("eval/bits_per_byte: "));  // tokens are bytes
  EXPECT_NEAR(bits, std::stod(loss.line("val loss: ")) / std::log(2.0), 1e-5);
  auto said = run("generate " + out + " --length 20 --temperature 0 --shift");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_GE(said.out.size(), 20U);
  // Beside another base the adapters mean nothing.
  is_bad_input("eval " + out + " seed=1", "was trained beside another model");
  is_bad_input("train " + settings + " seed=1 steps=8", "was trained beside another model");
  is_bad_input("train " + settings + " lora.rank=0 steps=8", "holds adapters only");
}
TEST_F(FinetuneTest, MagnitudesAndNoiseGoThroughEveryCommand) {
  auto base = folder + "/base", out = folder + "/out", peft = folder + "/peft", merged = folder + "/merged";
  auto llama = config + " model.type=llama";
  ASSERT_EQ(run("train " + llama + " out=" + base).code, 0);
  auto words = llama + " init_from=" + base + " lora.rank=4 lora.dora=true neftune=5 checkpoint.every=3 lr=0.01";
  auto r = run("launch -n 2 -- train " + words + " layout=fsdp out=" + out);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto whole = losses(out);
  ASSERT_EQ(whole.size(), 6U);
  fs::remove_all(out + "/checkpoints/step-6");
  ASSERT_EQ(run("train " + words + " out=" + out).code, 0);
  auto again = losses(out);
  ASSERT_EQ(again.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(again[i], whole[i], 1e-5 * whole[i]);
  auto loss = [&](const std::string& of) {
    auto e = run("eval " + of);
    EXPECT_EQ(e.code, 0) << e.err;
    return std::stod(e.line("val loss: "));
  };
  auto mine = loss(out);
  EXPECT_NE(mine, loss(base));
  for (auto& words : {" " + merged, " " + peft + " --format peft"}) {
    auto e = run("export " + out + words);
    ASSERT_EQ(e.code, 0) << e.err;
  }
  EXPECT_EQ(run("generate " + merged + " --prompt '17 4' --length 5").code, 0);
  // Another run begins with them, if it has magnitudes too.
  auto more = "train " + words + " steps=1 lr=1e-9 lora.from=" + peft + " out=" + folder;
  ASSERT_EQ(run(more + "/from").code, 0);
  EXPECT_NEAR(loss(folder + "/from"), mine, 1e-5);
  auto refused = run(more + "/plain lora.dora=false");
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("use_dora: 1, but lora.dora is 0"), std::string::npos) << refused.err;
  is_bad_input(more + "/bad neftune=-1", "neftune: must be 0 or above, got -1");
}
TEST_F(FinetuneTest, AdaptersTrainWithOptimizersThatSeeMatrices) {
  for (std::string optimizer : {"muon", "adafactor", "adamw optimizer.clip_rms=0.1"}) {
    auto out = folder + "/" + optimizer.substr(0, 5);
    auto r = run("train " + config + " lora.rank=4 optimizer=" + optimizer + " out=" + out);
    ASSERT_EQ(r.code, 0) << optimizer << r.err;
    EXPECT_EQ(losses(out).size(), 6U) << optimizer;
  }
}
TEST_F(FinetuneTest, BadSettingsEndBeforeTraining) {
  auto out = " out=" + folder + "/bad";
  is_bad_input("train " + config + out + " freeze=[wte,blocks.atn]", "freeze: nothing matches 'blocks.atn'; near it");
  is_bad_input("train " + config + out + " 'freeze=[\"*\"]'", "nothing is left to train");
  is_bad_input("train " + config + out + " freeze=[*.bias]", "needs quotes, as in \"*.bias\"");
  is_bad_input("train " + config + out + " lora.rank=2 'lora.layers=[\"*.qq\"]'",
               "lora.layers: nothing matches '*.qq'");
  is_bad_input("train " + config + out + " lora.alpha=0 lora.rank=2", "lora.alpha: must be above 0");
  is_bad_input("train " + config + out + " loss.z_loss=-1", "loss.z_loss: must be 0 or more, got -1");
  is_bad_input("train " + config + out + " loss.normalize=tokens", "real_target_tokens");
  is_bad_input("train " + config + out + " eval.patience=2", "set eval.every");
  is_bad_input("train " + config + out + " checkpoint.best=true", "set eval.every");
  EXPECT_FALSE(fs::exists(folder + "/bad/checkpoints"));
  // Patterns are compared with the model before ranks start.
  fs::remove_all(folder + "/bad");
  auto two = "launch -n 2 train " + config + out;
  is_bad_input(two + " freeze=[wte,blocks.atn]", "freeze: nothing matches 'blocks.atn'; near it");
  is_bad_input(two + " lora.rank=2 'lora.layers=[\"*.qq\"]'", "lora.layers: nothing matches '*.qq'");
  is_bad_input(two + " optimizer.no_decay=[nowhere]", "optimizer.no_decay: 'nowhere' matches no parameter");
  is_bad_input(two + " model=t5 model.decoder_start=7 data.type=text",
               "data.task: its rows have no inputs for the encoder");
  EXPECT_FALSE(fs::exists(folder + "/bad"));
  is_bad_input("eval " + folder + "/none --resume best", "no folder of a run");
}
TEST_F(FinetuneTest, EvaluationSetsWithTagsAndTheBestCheckpoint) {
  auto lines = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + "/" + name);
    for (int i = 0; i < 200; ++i) file << "{\"text\": \"" << text << " number " << i * i << "\"}\n";
  };
  lines("wind.jsonl", "the wind blows");
  lines("rain.jsonl", "rain, rain, rain");
  lines("snow.jsonl", "it snows");
  std::ofstream(folder + "/tags.yaml") << "steps: 12\nwarmup: 2\nbatch: 6\nlr: 0.01\nlog_every: 4\n"
                                       << "eval: {every: 4, patience: 3}\ncheckpoint: {best: true}\n"
                                       << "data: {hold_out: 0.2, sources: [{path: " << folder
                                       << "/wind.jsonl, tags: [weather, dry]}, {path: " << folder
                                       << "/rain.jsonl, tags: [weather]}, {path: " << folder
                                       << "/snow.jsonl, train: false}]}\n"
                                       << "model: {layers: 1, embed: 24, heads: 3, positions: 16}\n";
  auto out = folder + "/tags";
  auto r = run("launch -n 2 -- train " + folder + "/tags.yaml out=" + out);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto last = [&](const std::string& name) {
    auto all = losses(out, name);
    EXPECT_EQ(all.size(), 4U) << name;
    return all.empty() ? 0 : all.back();
  };
  auto wind = last("eval/wind.jsonl/loss"), rain = last("eval/rain.jsonl/loss"), snow = last("eval/snow.jsonl/loss");
  EXPECT_NEAR(last("eval/macro_loss"), (wind + rain + snow) / 3, 1e-5);
  EXPECT_NEAR(last("eval/tag/weather/macro_loss"), (wind + rain) / 2, 1e-5);
  EXPECT_NEAR(last("eval/tag/dry/micro_loss"), wind, 1e-6);
  auto micro = last("eval/tag/weather/micro_loss");
  EXPECT_GT(micro, std::min(wind, rain));
  EXPECT_LT(micro, std::max(wind, rain));
  EXPECT_GT(snow, last("eval/loss"));  // nothing was learnt of it
  EXPECT_NEAR(last("eval/bits_per_byte"), last("eval/loss") / std::log(2.0), 1e-5);
  auto loss = run("eval " + out + " --resume best");
  ASSERT_EQ(loss.code, 0) << loss.err;
  EXPECT_NE(loss.out.find(out + "/best/step-"), std::string::npos) << loss.out;
  auto all = losses(out, "eval/loss");
  EXPECT_NEAR(std::stod(loss.line("val loss: ")), *std::min_element(all.begin(), all.end()), 1e-5);
  EXPECT_NEAR(std::stod(loss.line("eval/tag/dry/micro_loss: ")), wind, 1e-5);
}

TEST_F(FinetuneTest, TheExampleGoesFromATinyLlamaToAMergedFolder) {
  auto source = test::source_dir(), base = folder + "/base", llama = folder + "/llama",
       out = folder + "/tuned", merged = folder + "/merged", peft = folder + "/peft";
  ASSERT_EQ(std::system((source + "/examples/make_chats " + folder + " > /dev/null").c_str()), 0);
  auto tokenizer = folder + "/tokenizer.json";
  auto made = run("train-tokenizer --type bpe --vocab 384 --out " + tokenizer + " " + folder + "/text.txt");
  ASSERT_EQ(made.code, 0) << made.err;
  auto r = run("train out=" + base + " data=" + folder +
               "/text.txt model.type=llama model.layers=2 model.embed=64 model.heads=4 model.positions=64 "
               "tokenizer.type=bpe tokenizer.path=" +
               tokenizer + " steps=150 lr=3e-3");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  r = run("export " + base + " " + llama);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto settings = source + "/examples/finetune.yaml init_from=" + llama + " out=" + out +
                  " data.sources=[{path: " + folder + "/chats.jsonl}] steps=40 checkpoint.every=20";
  auto quoted = settings;  // the shell's
  quoted.insert(quoted.find("data.sources"), "'");
  quoted.insert(quoted.find("}]") + 2, "'");
  r = run("launch -n 2 " + quoted);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  auto l = losses(out);
  ASSERT_EQ(l.size(), 40U);
  EXPECT_LT(l.back(), 0.7 * l.front());
  auto loss = run("eval " + out);
  ASSERT_EQ(loss.code, 0) << loss.err;
  r = run("export " + out + " " + merged);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_TRUE(fs::exists(merged + "/model.safetensors"));
  std::string tail = " --prompt 'What is 3 plus 4?' --temperature 0 --length 12";
  auto one = run("generate " + out + tail), two = run("generate " + merged + tail),
       before = run("generate " + llama + tail);
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_NE(one.out, before.out);
  EXPECT_TRUE(fs::exists(merged + "/chat_template.jinja") && !fs::exists(llama + "/chat_template.jinja"));
  one = run("generate " + out + " --chat" + tail), two = run("generate " + merged + " --chat" + tail);
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  // The adapters by themselves: another run begins with them, and has that loss from its first step on.
  r = run("export " + out + " " + peft + " --format peft");
  ASSERT_EQ(r.code, 0) << r.err;
  auto written = slurp(peft + "/adapter_config.json");
  EXPECT_NE(written.find("\"self_attn.q_proj\""), std::string::npos);
  EXPECT_NE(written.find("\"base_model_name_or_path\": \"llama\""), std::string::npos) << written;
  EXPECT_EQ(written.find(folder), std::string::npos) << written;
  auto again = quoted;
  again.replace(again.find("out=" + out), out.size() + 4, "out=" + folder + "/again lora.from=" + peft);
  r = run("train " + again + " steps=1 eval.patience=0 eval_rows=1024");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NEAR(losses(folder + "/again", "eval/loss").front(), std::stod(loss.line("val loss: ")), 0.05);
  is_bad_input("eval " + out + " init_from=" + merged, "was trained beside another model");
  is_bad_input("export " + base + " " + folder + "/x --format peft", "has no adapters");
}
}  // namespace finetune_test
