#include "bora/job/settings.h"
#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include "bora/data/data.h"
#include "bora/models/gpt2.h"
#include "bora/optim/config.h"
#include "bora/text/chat.h"
#include "bora/text/tokenizer.h"
#include "bora/train/local_settings.h"
#include "support/temp_folder.h"
#include "support/throws.h"

namespace fs = std::filesystem;
namespace settings_test {
using namespace bora;
using namespace bora::job;
namespace {
using bora::test::error_of;
std::string parse_error(const std::string& yaml, std::vector<std::string> overrides = {}) {
  return error_of<ConfigError>([&] { parse_settings(yaml, "gpt.yaml", overrides); });
}
std::string check_error(std::vector<std::string> items) {
  return error_of<ConfigError>([&] { check_settings(parse_settings("data: text\nout: o\n", "gpt.yaml", items)); });
}
std::string check_error(const std::string& item) { return check_error(std::vector{item}); }
}  // namespace

TEST(Settings, WhichCheckpointsStayHasShortForms) {
  auto keep = [](const std::string& yaml, const std::vector<std::string>& items = {}) {
    auto k = parse_settings(yaml, "gpt.yaml", items).checkpoint.keep;
    std::ostringstream text;
    text << k.last << " " << k.every << " " << k.hours << " " << k.best.n << " " << k.best.metric << " "
         << (k.best.mode == bora::training::KeepBestSettings::Mode::max ? "max" : "min");
    return text.str();
  };
  EXPECT_EQ(keep(""), "2 0 0 0 eval/loss min");
  for (auto three : {"keep: 3", "checkpoint: {keep: 3}", "checkpoint: {keep: {last: 3}}"})
    EXPECT_EQ(keep(three), "3 0 0 0 eval/loss min") << three;
  EXPECT_EQ(keep("", {"keep=3"}), keep("", {"checkpoint.keep=3"}));
  EXPECT_EQ(keep("checkpoint: {keep: {last: 2, every: 100, hours: 24, best: {metric: eval/a/loss, mode: max, n: 2}}}"),
            "2 100 24 2 eval/a/loss max");
  EXPECT_EQ(keep("checkpoint: {keep: {best: true}}"), "2 0 0 1 eval/loss min");
  EXPECT_EQ(keep("", {"checkpoint.keep.best=true"}), "2 0 0 1 eval/loss min");
  EXPECT_EQ(keep("", {"checkpoint.keep={last: 4, best: true}"}), "4 0 0 1 eval/loss min");
  EXPECT_EQ(keep("checkpoint: {keep: {best: {metric: eval/x}}}"), "2 0 0 1 eval/x min");
  EXPECT_EQ(keep("checkpoint: {keep: {best: 3}}", {"checkpoint.keep.best.metric=eval/x"}), "2 0 0 3 eval/x min");
  EXPECT_EQ(keep("checkpoint: {keep: {best: true}}", {"checkpoint.keep.best=false"}), "2 0 0 0 eval/loss min");
  EXPECT_EQ(check_error("keep=0"), "checkpoint.keep.last: must be 1 or more, got 0");
  EXPECT_EQ(check_error("checkpoint.keep.hours=-1"), "checkpoint.keep.hours: must be 0 or more, got -1");
  EXPECT_NE(check_error("checkpoint.keep.best.metric=train/loss").find("is no number of an evaluation"),
            std::string::npos);
  EXPECT_NE(check_error("checkpoint.keep.best=1").find("checkpoint.keep.best: the validation loss is known only"),
            std::string::npos);
  // The forms of init_from.rename keep their order.
  auto rename = parse_settings("", "x", {"init_from.rename={b: x, a: $1}"}).init_from.rename;
  EXPECT_EQ(rename, (std::vector<std::vector<std::string>>{{"b", "x"}, {"a", "$1"}}));
  auto again = parse_settings(to_yaml(parse_settings("init_from: {path: runs/x, rename: {'^a[.]': ''}}", "x")), "y");
  EXPECT_EQ(again.init_from.rename, (std::vector<std::vector<std::string>>{{"^a[.]", ""}}));
  EXPECT_NE(check_error("init_from.rename=[[a]]").find("init_from.rename: a rule is a regular"), std::string::npos);
}
TEST(Settings, FileThenCommandLine) {
  auto s = parse_settings(
      "steps: 20\nbatch: 16   # rows\nmodel:\n  layers: 2\n  embed: 64\noptimizer: {beta2: 0.99}\ndigest: no\nlr: "
      "3e-3\n",
      "gpt.yaml", {"batch=4", "model.embed=96", "data=my text.txt", "mesh=data=2,model=1"});
  EXPECT_EQ(s.steps, 20);
  EXPECT_EQ(s.batch, 4);
  auto model = s.model.as<models::Gpt2Config>();
  EXPECT_EQ(model->layers, 2);
  EXPECT_EQ(model->embed, 96);
  EXPECT_EQ(model->heads, models::Gpt2Config{}.heads);
  EXPECT_EQ(s.optimizer.as<optim::AdamWConfig>()->beta2, 0.99);
  EXPECT_EQ(s.optimizer.as<optim::AdamWConfig>()->lr, 3e-3);
  EXPECT_FALSE(s.log.digest);
  EXPECT_EQ(data_paths(s), std::vector<std::string>{"my text.txt"});
  EXPECT_EQ(s.mesh.axes, "data=2,model=1");
  EXPECT_EQ(parse_settings("", "x").batch, Settings{}.batch);
  EXPECT_EQ(parse_settings("mesh: {data: 2, model: 3}", "x").mesh.axes, "data=2,model=3");
  EXPECT_EQ(parse_settings("mesh: {axes: 'data=2', layout: tp}", "x", {"layout=dp"}).mesh.layout, "dp");
}
TEST(Settings, ParseErrorsAreOneClearLine) {
  EXPECT_EQ(parse_error("steps: 3\nbacth: 4\n"), "gpt.yaml:2: unknown key 'bacth'; did you mean 'batch'?");
  EXPECT_EQ(parse_error("model:\n  layer: 4\n"), "gpt.yaml:2: unknown key 'model.layer'; did you mean 'model.layers'?");
  EXPECT_EQ(parse_error("", {"modle.layers=4"}),
            "command line: unknown key 'modle.layers'; did you mean 'model.layers'?");
  EXPECT_EQ(parse_error("heads: 4"), "gpt.yaml:1: unknown key 'heads'; did you mean 'model.heads'?");
  EXPECT_EQ(parse_error("optimiser:\n  beta1: 0.9\n"),
            "gpt.yaml:1: unknown key 'optimiser'; did you mean 'optimizer'?");
  EXPECT_EQ(parse_error("batch: eight"), "gpt.yaml:1: batch: expected an integer, got 'eight'");
  EXPECT_EQ(parse_error("batch: 1.5"), "gpt.yaml:1: batch: expected an integer, got '1.5'");
  EXPECT_EQ(parse_error("batch: 99999999999999999999"),
            "gpt.yaml:1: batch: expected an integer, got '99999999999999999999'");
  EXPECT_EQ(parse_error("batch:"), "gpt.yaml:1: batch: expected an integer, got ''");
  EXPECT_EQ(parse_error("batch: [1, 2]"), "gpt.yaml:1: batch: expected an integer, got a list");
  EXPECT_EQ(parse_error("batch: {a: 1}"), "gpt.yaml:1: batch: expected an integer, got keys below it");
  EXPECT_EQ(parse_error("lr: fast"), "gpt.yaml:1: lr: expected a number, got 'fast'");
  EXPECT_EQ(parse_error("digest: maybe"), "gpt.yaml:1: digest: expected true or false, got 'maybe'");
  EXPECT_TRUE(parse_error("model: 3").starts_with("gpt.yaml:1: model.type: unknown type '3'; there are "));
  EXPECT_TRUE(parse_error("transport: 3").starts_with("gpt.yaml:1: transport: expected keys below it (join_timeout, "));
  EXPECT_EQ(parse_error("", {"mesh.layuot=dp"}),
            "command line: unknown key 'mesh.layuot'; did you mean 'mesh.layout'?");
  EXPECT_EQ(
      parse_error("", {"optimizer.schedule=cosin"}),
      "command line: optimizer.schedule: expected one of cosine, linear, constant, exponential, factors, wsd, "
      "inverse_sqrt, cycles, got 'cosin'");
  EXPECT_EQ(parse_error("", {"lr=1", "optimizer.lr=2"}),
            "command line: 'lr' and 'optimizer.lr' are the same setting; give one of them");
  EXPECT_EQ(parse_error("batch: 1\nbatch: 2"), "gpt.yaml:2: key 'batch' is given twice");
  EXPECT_EQ(parse_error("", {"batch"}), "command line: expected key=value, got 'batch'");
  EXPECT_EQ(parse_error("just text"),
            "gpt.yaml:1: expected lines of `key: value`; a text to train on is named by data=FILE");
  auto broken = parse_error("steps: 3\nmodel: {layers: 2\nbatch: 4\n");
  EXPECT_TRUE(broken.starts_with("gpt.yaml:3: broken YAML: ") || broken.starts_with("gpt.yaml:4: broken YAML: "))
      << broken;
  EXPECT_EQ(broken.find('\n'), std::string::npos);
  EXPECT_TRUE(parse_error("steps: 3\n\tbatch: 4\n").starts_with("gpt.yaml:2: broken YAML: "))
      << parse_error("steps: 3\n\tbatch: 4\n");
  EXPECT_EQ(parse_error("model:\n"), "no error");
}
TEST(Settings, OnlyWhatIsNearIsSuggested) {
  auto error = [](const std::string& key) {
    return parse_error("", {key + "=1"}).substr(std::string("command line: ").size());
  };
  EXPECT_TRUE(
      error("optimizer.name").starts_with("unknown key 'optimizer.name'; optimizer has type, lr, beta1, beta2, "));
  EXPECT_EQ(error("model.vocab"), "unknown key 'model.vocab'; did you mean 'vocabulary'?");
  EXPECT_TRUE(error("model.xyz").starts_with("unknown key 'model.xyz'; model has type, layers, embed, heads, "));
  EXPECT_EQ(error("model.embde"), "unknown key 'model.embde'; did you mean 'model.embed'?");
  EXPECT_EQ(error("batch_size"), "unknown key 'batch_size'; did you mean 'batch'?");
  EXPECT_EQ(error("weightdecay"), "unknown key 'weightdecay'; did you mean 'optimizer.weight_decay'?");
  EXPECT_EQ(error("tokens"), "unknown key 'tokens'; `bora help` lists the settings");
  EXPECT_EQ(error("x"), "unknown key 'x'; `bora help` lists the settings");
  for (auto [theirs, ours] : {std::pair<std::string, std::string>{"learning_rate", "optimizer.lr"},
                              {"trainer.num_train_steps", "steps"},
                              {"model.hidden_size", "model.embed"},
                              {"model.num_key_value_heads", "model.kv_heads"},
                              {"model.vocab_size", "vocabulary.size"},
                              {"max_grad_norm", "optimizer.clip"}})
    EXPECT_EQ(error(theirs), "unknown key '" + theirs + "'; did you mean '" + ours + "'?");
  // The words of other systems, misspelt.
  for (auto [theirs, ours] : {std::pair<std::string, std::string>{"lerning_rate", "optimizer.lr"},
                              {"optimizer.learning_rte", "optimizer.lr"},
                              {"trainer.num_trian_steps", "steps"},
                              {"model.hiden_size", "model.embed"},
                              {"model.num_atention_head", "model.heads"},
                              {"max_grad_nrom", "optimizer.clip"},
                              {"gradient_acumulation_step", "accumulate"},
                              {"warmup_stesp", "optimizer.schedule.warmup"},
                              {"outputdir", "out"}})
    EXPECT_EQ(error(theirs), "unknown key '" + theirs + "'; did you mean '" + ours + "'?");
  // A word with a letter too few leads to the same setting, or to one that is spelled so.
  std::string word = "learning_rate";
  for (std::size_t i = 0; i < word.size(); ++i)
    EXPECT_TRUE(error(word.substr(0, i) + word.substr(i + 1)).ends_with("'; did you mean 'optimizer.lr'?")) << i;
}
/// Every setting has a meaning, those of all types included.
void check_meanings(const std::vector<config::Schema>& fields, const std::string& group) {
  for (auto& field : fields) {
    check_meanings(field.fields, group + field.name + ".");
    for (auto& [type, more] : field.types) check_meanings(more, group + field.name + "." + type + ".");
    EXPECT_TRUE(field.group || !field.words.empty()) << group << field.name;
  }
}
TEST(Settings, HelpSaysWhatEachOneMeans) {
  check_meanings(config::schema(Settings{}).fields, "");
  auto all = settings_help();
  for (auto& short_form : short_forms())
    EXPECT_NE(all.find("(short: " + std::string(short_form.from) + ")"), std::string::npos) << short_form.from;
  for (std::string group : {"model", "optimizer"})
    for (std::string text = settings_help(group); !text.empty(); text = text.substr(text.find('\n') + 1))
      EXPECT_TRUE(text.starts_with("  " + group + ".")) << text;
  for (auto& name : text::chat_template_names())
    EXPECT_NE(settings_help("data.task.chat").find(name), std::string::npos) << name;
  EXPECT_EQ(error_of<ConfigError>([] { settings_help("bacth"); }),
            "no setting or group 'bacth'; did you mean 'batch'?");
}
TEST(Settings, WithoutAFileTheRunIsNamedAfterTheText) {
  EXPECT_EQ(load_settings("", {"data=texts/poems.txt"}).out, "runs/poems");
  EXPECT_EQ(load_settings("", {"data=texts/all/"}).out, "runs/all");
  EXPECT_EQ(load_settings("", {"data=poems.txt", "out=o"}).out, "o");
  EXPECT_EQ(load_settings("", {"data=poems.txt", "batch=5"}).batch, 5);
  EXPECT_EQ(error_of<ConfigError>([] { check_settings(load_settings("")); }),
            "data: no text given; set data=FILE, or a folder of text files");
}
TEST(Settings, EveryOptimizerHasTheCommonOptions) {
  for (auto& row : config::rows<optim::Kind>()) {
    auto type = std::string(row.type);
    auto s = parse_settings("", "",
                            {"optimizer=" + type, "optimizer.ema=0.9", "optimizer.no_decay=[norm, 'q.*bias']",
                             "optimizer.moments=bf16", "optimizer.lr=0.5"});
    auto t = parse_settings(to_yaml(s), "dump");
    EXPECT_EQ(to_yaml(t), to_yaml(s)) << type;
    EXPECT_EQ(t.optimizer->type(), type);
    EXPECT_EQ(t.optimizer->common.ema, 0.9);
    EXPECT_EQ(t.optimizer->common.no_decay, (std::vector<std::string>{"norm", "q.*bias"}));
    EXPECT_EQ(t.optimizer->common.moments, optim::CommonConfig::Moments::bf16);
    auto help = settings_help("optimizer." + type);
    for (auto key : {".lr ", ".weight_decay ", ".clip ", ".schedule.warmup ", ".ema ", ".multi_steps "})
      EXPECT_NE(help.find(std::string("  optimizer") + key), std::string::npos) << key << help;
    EXPECT_EQ(check_error(std::vector<std::string>{"optimizer=" + type, "optimizer.ema=1"}).substr(0, 14),
              "optimizer.ema:");
  }
  EXPECT_TRUE(check_error("optimizer.decay=[\"(\"]").starts_with("optimizer.decay: must be a regular expression ("));
  EXPECT_EQ(
      check_error(std::vector<std::string>{"optimizer=adafactor", "optimizer.factor_rules=[heads=diagonal]"}),
      "optimizer.factor_rules: must be AXIS=row, or REGEX=batch row column, of the words none, batch, row, column, "
      "got heads=diagonal");
}
TEST(Settings, LossScales) {
  auto scale = [](const std::string& text) { return parse_settings("precision: " + text, "t").precision.loss_scale; };
  EXPECT_EQ(scale("bf16").type, "none");
  EXPECT_EQ(scale("{policy: f32, loss_scale: 1024}").type, "1024");
  EXPECT_EQ(scale("{loss_scale: {type: dynamic, period: 50}}").period, 50);
  EXPECT_EQ(check_error("precision.loss_scale=dynamo"),
            "precision.loss_scale.type: must be none, dynamic, or a number above 0, got dynamo");
  EXPECT_EQ(check_error("precision.loss_scale=0"),
            "precision.loss_scale.type: must be none, dynamic, or a number above 0, got 0");
  EXPECT_EQ(check_error("precision.loss_scale.factor=1"), "precision.loss_scale.factor: must be above 1, got 1");
}
TEST(Settings, DomainsAreChecked) {
  EXPECT_EQ(check_error("batch=8"), "no error");
  EXPECT_EQ(check_error("batch=0"), "batch: must be 1 or more rows, got 0");
  EXPECT_EQ(check_error("steps=-1"), "steps: must be 0 or more, got -1");
  EXPECT_EQ(check_error("model.positions=0"), "model.positions: must be 1 or more, got 0");
  EXPECT_EQ(check_error("model.heads=3"), "model.heads: model.embed 128 cannot be cut into 3 equal heads");
  EXPECT_EQ(check_error("lr=0"), "optimizer.lr: must be above 0, got 0");
  EXPECT_EQ(check_error("lr=nan"), "optimizer.lr: must be above 0, got nan");
  for (std::string key : {"optimizer.lr", "optimizer.eps", "optimizer.weight_decay", "optimizer.clip"})
    for (auto bad : {"=inf", "=nan", "=1e39", "=-1"})
      EXPECT_TRUE(check_error(key + bad).starts_with(key + ": must be ")) << key << bad;
  EXPECT_EQ(check_error("model.positions=9223372036854775807"),
            "model.positions: 9223372036854775807 is more than 2^30");
  for (std::string key : {"steps", "optimizer.schedule.warmup", "optimizer.multi_steps", "optimizer.skip_not_finite"})
    for (std::string huge : {"3000000000", "9223372036854775807"})  // no i32, as which steps are counted
      EXPECT_EQ(check_error(key + "=" + huge), key + ": " + huge + " is more than 2^30");
  EXPECT_EQ(check_error("optimizer={type: adafactor, step_offset: 3000000000}"),
            "optimizer.step_offset: 3000000000 is more than 2^30");
  EXPECT_EQ(check_error("optimizer={type: muon, steps: 1000000}"),
            "optimizer.steps: must be from 1 to 100, got 1000000");
  EXPECT_EQ(check_error("precision.loss_scale={type: dynamic, period: 3000000000}"),
            "precision.loss_scale.period: must be from 1 to 2^30, got 3000000000");
  EXPECT_EQ(check_error("accumulate=3"), "accumulate: batch 8 cannot be cut into 3 equal parts");
  EXPECT_EQ(check_error("layout=fspd"), "mesh.layout: unknown layout 'fspd'; there are dp, fsdp, tp and fsdp+tp");
  EXPECT_EQ(check_error("policy=p=f32,c=bf16,o=f32"), "no error");
  EXPECT_EQ(check_error("policy=parameter=f32,compute=bf16"), "no error");
  for (auto bad : {"policy=f31", "policy=i32", "policy=q=f32", "policy="})
    EXPECT_TRUE(check_error(bad).starts_with("precision.policy")) << check_error(bad);
  for (auto bad : {"policy=f31", "policy=p=f31"})  // nor does it quote a line of Bora's or of a caller's
    EXPECT_EQ(check_error(bad).find(".cpp:"), std::string::npos) << check_error(bad);
  EXPECT_EQ(check_error("trackers=[jsonl, tensorboard]"), "no error");
  EXPECT_EQ(check_error("norms=-1"), "norms.every: must be 0 or more steps, got -1");
  EXPECT_EQ(check_error("norms=100"), "no error");
  EXPECT_EQ(check_error("alerts=mail -s \"$BORA_ALERT\" me"), "no error");
  EXPECT_TRUE(check_error("alerts={command: \"a\\0b\"}").starts_with("alerts.command: must be one line of a shell"))
      << check_error("alerts={command: \"a\\0b\"}");
  EXPECT_EQ(check_error("eval.metric=code/loss"),
            "eval.metric: nothing watches 'code/loss'; set eval.patience or checkpoint.best, or leave it out");
  EXPECT_EQ(check_error({"eval.metric=code/loss", "eval.every=5", "eval.patience=2"}), "no error");
  EXPECT_EQ(check_error("trackers=[jsonl, tensorboard, jsonl]"), "trackers: jsonl is given twice");
  EXPECT_EQ(check_error("data="), "data: no text given; set data=FILE, or a folder of text files");
  EXPECT_EQ(check_error("join_timeout=0"), "transport.join_timeout: must be above 0 seconds, got 0");
}
TEST(Settings, AnotherTypeOnTheCommandLineReplacesTheFiles) {
  // The keys that only the file's type has are left out, so OUT/config.yaml, which has all of them, takes one as well.
  auto run = to_yaml(parse_settings("local: {type: diloco, every: 7, replicas: 4, outer: {momentum: 0.5}}\nlr: 0.5\n",
                                    "x", {"optimizer.eps=1e-6"}));
  auto s = parse_settings(run, "x", {"local=none", "optimizer=lion"});
  EXPECT_EQ(s.local->type(), "none");
  EXPECT_EQ(s.optimizer->type(), "lion");
  EXPECT_EQ(s.optimizer.as<optim::LionConfig>()->lr, 0.5);
  EXPECT_EQ(parse_settings(run, "x", {"local=average"}).local->replicas(), 4);
  auto bytes = parse_settings("tokenizer: {type: bpe, path: t.json}", "x", {"tokenizer=bytes"});
  EXPECT_EQ(bytes.tokenizer->type(), "bytes");
  EXPECT_EQ(parse_error("optimizer: {epss: 1}", {"optimizer=lion"}).substr(0, 38),
            "gpt.yaml:1: unknown key 'optimizer.eps");
  EXPECT_EQ(parse_error("", {"optimizer=lion", "optimizer.eps=1"}).substr(0, 42),
            "command line: unknown key 'optimizer.eps';");
  // A text takes the place of a corpus, and a path that of its only source.
  auto corpus = to_yaml(parse_settings("data: {type: jsonl, path: a.jsonl, field: body, task: completion}", "x"));
  EXPECT_EQ(data_paths(parse_settings(corpus, "x", {"data.type=text", "data.path=b"})), std::vector<std::string>{"b"});
  auto other = parse_settings(corpus, "x", {"data=b.jsonl"});
  EXPECT_EQ(to_yaml(other), to_yaml(parse_settings("data: {type: jsonl, path: b.jsonl, field: body, task: completion}",
                                                   "x")));
  auto list = parse_settings(corpus, "x", {"data.sources=[{type: text, path: c}]"});
  EXPECT_EQ(data_paths(list), std::vector<std::string>{"c"});
  // Lists of choices are replaced whole.
  EXPECT_EQ(parse_settings("trackers: [jsonl]", "x", {"trackers=[jsonl, tensorboard]"}).trackers.size(), 2U);
  EXPECT_EQ(data_paths(parse_settings(corpus, "x", {"data.sources=[{path: c}]"})), std::vector<std::string>{"c"});
  EXPECT_EQ(data_paths(parse_settings(corpus, "x", {"data={type: csv, path: c}"})), std::vector<std::string>{"c"});
  EXPECT_EQ(parse_error("data: {sources: [{path: a}, {path: b}]}", {"data=c"}),
            "command line: unknown key 'data.path'; type 'text' has it");
}
TEST(Settings, MeshAndLayout) {
  auto mesh = [](const std::string& m, const std::string& layout, int n) {
    return to_string(resolve_mesh({.axes = m, .layout = layout}, n));
  };
  EXPECT_EQ(mesh("", "fsdp", 2), "data=2,model=1");
  EXPECT_EQ(mesh("", "dp", 3), "data=3,model=1");
  EXPECT_EQ(mesh("", "tp", 2), "data=1,model=2");
  EXPECT_EQ(mesh("", "fsdp+tp", 1), "data=1,model=1");
  EXPECT_EQ(mesh("data=2,model=2", "fsdp+tp", 4), "data=2,model=2");
  EXPECT_EQ(mesh("model=2,data=-1", "fsdp+tp", 6), "data=3,model=2");
  EXPECT_EQ(mesh("model=2", "tp", 2), "data=1,model=2");
  auto error = [&](const std::string& m, const std::string& layout, int n) {
    return error_of<ConfigError>([&] { resolve_mesh({.axes = m, .layout = layout}, n); });
  };
  EXPECT_EQ(error("data=2,model=2", "fsdp+tp", 3), "mesh: data=2,model=2 has 4 ranks, but this job has 3");
  EXPECT_EQ(error("data=-1,model=2", "fsdp+tp", 3), "mesh: data=-1,model=2 does not divide 3 ranks");
  EXPECT_EQ(mesh("model=2,replica=2", "fsdp+tp", 4), "replica=2,data=1,model=2");
  EXPECT_EQ(error("pipe=2", "fsdp", 2),
            "mesh: unknown axis 'pipe'; the axes of layouts are replica, stage, data, context and model, others "
            "need mesh.rules");
  EXPECT_EQ(error("data=0", "fsdp", 2),
            "mesh: the size of axis 'data' must be 1 or more (or -1: what is left), got '0'");
  EXPECT_EQ(error("data=two", "fsdp", 2),
            "mesh: the size of axis 'data' must be 1 or more (or -1: what is left), got 'two'");
  EXPECT_EQ(error("data", "fsdp", 2), "mesh: expected data=2,model=1, got 'data'");
  EXPECT_EQ(error("data=1,data=2", "fsdp", 2), "mesh: axis 'data' is given twice in 'data=1,data=2'");
  EXPECT_EQ(error("data=-1,model=-1", "fsdp+tp", 4), "mesh: only one size may be -1, got 'data=-1,model=-1'");
  EXPECT_TRUE(error("", "fsdp+tp", 4).starts_with("mesh: layout fsdp+tp on 4 ranks needs both sizes"));
  EXPECT_TRUE(error("data=1,model=2", "fsdp", 2).starts_with("mesh: layout fsdp does not use mesh axis 'model'"));
  EXPECT_TRUE(parse_layout("fsdp+tp").fsdp && parse_layout("fsdp+tp").tp && !parse_layout("dp").fsdp &&
              !parse_layout("fsdp").tp);
}
TEST(Settings, MeshOfAnyForm) {
  auto axes = [](const std::string& yaml, std::vector<std::string> items = {}) {
    return parse_settings(yaml, "x", items).mesh.axes;
  };
  EXPECT_EQ(axes("mesh: {axes: {replica: 2, data: 2, model: -1}}"), "replica=2,data=2,model=-1");
  EXPECT_EQ(axes("mesh: {replica: 2, data: 2, layout: fsdp}"), "replica=2,data=2");
  EXPECT_EQ(axes("mesh: {seq: 2, data: 2}"), "seq=2,data=2");
  EXPECT_EQ(axes("mesh: {axes: {seq: 2}, rules: {compute: [[position, seq]]}}"), "seq=2");
  EXPECT_EQ(axes("mesh: {data: 2}", {"mesh.data=4", "mesh.model=2"}), "data=4,model=2");
  EXPECT_EQ(axes("mesh: {axes: {data: 2}}", {"mesh.axes.data=4"}), "data=4");
  EXPECT_EQ(parse_error("mesh: {axes: {data: two}}"), "gpt.yaml:1: mesh.axes: expected text, got keys below it");
  EXPECT_EQ(parse_error("mesh: {axes: {model: 2}, data: 3}"),
            "gpt.yaml:1: 'mesh.axes' and 'mesh.data' are both sizes of axes; give all of them in one place");
  EXPECT_EQ(parse_error("", {"mesh=data=3", "mesh.model=2"}),
            "command line: 'mesh' and 'mesh.model' are both sizes of axes; give all of them in one place");
  EXPECT_EQ(parse_error("mesh: {threds: 2, layout: dp}"),
            "gpt.yaml:1: unknown key 'mesh.threds'; did you mean 'mesh.threads'?");
}
namespace {
/// "{a: 1, b: {c: text}}"
std::string braces(const config::Document& d) {
  using Form = config::Document::Form;
  if (d.form == Form::scalar) return d.quoted || d.text.empty() ? "'" + d.text + "'" : d.text;
  if (d.form == Form::null) return "null";
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (auto& item : d.items) add(braces(item));
  for (auto& [key, member] : d.members) add(key + ": " + braces(member));
  return d.form == Form::list ? "[" + text + "]" : "{" + text + "}";
}
}  // namespace
TEST(Settings, EveryGroupMayStandInBraces) {
  auto all = to_yaml(Settings{});
  int groups = 0;
  for (auto& [key, member] : config::write(Settings{}).members) {
    if (member.form != config::Document::Form::group) continue;
    ++groups;
    EXPECT_EQ(to_yaml(parse_settings("", "x", {key + "=" + braces(member)})), all) << key << "=" << braces(member);
  }
  EXPECT_GT(groups, 15);
  auto wire = [](std::vector<std::string> items) { return parse_settings("wire: int8\n", "x", items).wire.wire(); };
  EXPECT_EQ(wire({"wire={gradients: int4, block: 128}"}), Wire::int4({128}));
  EXPECT_EQ(wire({"wire={gradients: int4}", "wire.block=128"}), Wire::int4({128}));
  EXPECT_EQ(wire({"wire.block=128", "wire={gradients: int4}"}), Wire::int4({128}));
  EXPECT_EQ(wire({"wire={block: 128}"}), Wire::int8({128}));  // beside the file's
  EXPECT_EQ(wire({"wire={}"}), Wire::int8());
  auto s = parse_settings("", "x",
                          {"mesh={replica: 2, data: 2, layout: dp}", "model={type: gpt2, layers: 3}",
                           "optimizer={schedule: {warmup: 7}, lr: 0.5}"});
  EXPECT_EQ(s.mesh.axes, "replica=2,data=2");
  EXPECT_EQ(s.model.as<models::Gpt2Config>()->layers, 3);
  EXPECT_EQ(s.optimizer.as<optim::AdamWConfig>()->lr, 0.5);
  EXPECT_EQ(parse_settings("", "x", {"mesh.axes={replica: 2, data: 3}"}).mesh.axes, "replica=2,data=3");
  EXPECT_EQ(data_paths(parse_settings("", "x", {"data={a,b}.txt"})), std::vector<std::string>{"{a,b}.txt"});
  EXPECT_EQ(parse_error("", {"wire={gradients: int4, blok: 128}"}),
            "command line: unknown key 'wire.blok'; did you mean 'wire.block'?");
  EXPECT_EQ(parse_error("", {"wire={gradients: int4}", "wire.gradients=int8"}),
            "command line: 'wire.gradients' is given twice, in braces too");
  auto broken = parse_error("", {"wire={gradients: int4"});
  EXPECT_TRUE(broken.starts_with("command line: broken group '{gradients: int4': ")) << broken;
}
TEST(Settings, WiresThatMakeNoSenseAreRefused) {
  EXPECT_EQ(check_error("wire={gradients: powersgd, rank: 0}"), "wire.rank: must be from 1 to 4096, got 0");
  EXPECT_EQ(check_error("wire={gradients: powersgd, rank: -2}"), "wire.rank: must be from 1 to 4096, got -2");
  EXPECT_TRUE(check_error("wire={gradients: powersgd, block: 64}").starts_with("wire.block: powersgd has none"));
  for (auto gradients : {"f32", "bf16"})
    EXPECT_TRUE(check_error("wire={gradients: " + std::string(gradients) + ", block: 128}")
                    .starts_with("wire.block: only int8 and int4 travel in blocks"));
  EXPECT_TRUE(check_error("wire={gradients: int4, rank: 2}").starts_with("wire.rank: it is of gradients: powersgd"));
  EXPECT_TRUE(check_error("wire.error_feedback=true").starts_with("wire.error_feedback: gradients that travel as f32"));
  for (std::string wire : {"wire=powersgd", "wire={gradients: int4, error_feedback: true}"}) {
    EXPECT_TRUE(check_error({wire, "reproducible.virtual=4"}).starts_with("reproducible.virtual: gradients that"));
    EXPECT_NE(check_error({wire, "local=diloco"}).find("leave one of both out"), std::string::npos);
    for (auto layout : {"fsdp", "tp", "fsdp+tp"})
      EXPECT_NE(check_error({wire, "layout=" + std::string(layout)}).find("set layout=dp"), std::string::npos);
    EXPECT_NE(check_error({wire, "mesh={activation_dims: 1, parameter_dims: 1}"}).find("set layout=dp"),
              std::string::npos);
    EXPECT_EQ(check_error({wire, "layout=dp"}), "no error");
  }
}
TEST(Settings, ThePlacementIsSaidInOneWay) {
  auto s = parse_settings("mesh: {activation_dims: 1, parameter_dims: 2}", "x");
  EXPECT_EQ(s.mesh.activation_dims, 1);
  EXPECT_EQ(s.mesh.parameter_dims, 2);
  EXPECT_EQ(s.mesh.layout, "");
  EXPECT_EQ(to_yaml(parse_settings(to_yaml(s), "config.yaml")), to_yaml(s));
  // The command line is over the file, as it is for one setting.
  EXPECT_EQ(parse_settings(to_yaml(s), "x", {"layout=dp"}).mesh.layout, "dp");
  EXPECT_FALSE(parse_settings(to_yaml(s), "x", {"layout=dp"}).mesh.has_dims());
  s = parse_settings("layout: fsdp", "x", {"mesh.rules.storage=[[embed, [replica, data]], [mlp, null]]"});
  EXPECT_EQ(s.mesh.layout, "");
  EXPECT_EQ(s.mesh.rules.storage, (std::vector<std::vector<std::string>>{{"embed", "replica", "data"}, {"mlp"}}));
  EXPECT_EQ(to_yaml(parse_settings(to_yaml(s), "config.yaml")), to_yaml(s));
  EXPECT_EQ(parse_settings(to_yaml(s), "x", {"mesh.activation_dims=2"}).mesh.rules.empty(), true);
  EXPECT_EQ(
      parse_error("layout: dp\nmesh: {parameter_dims: 2}"),
      "gpt.yaml:2: 'layout' and 'mesh.parameter_dims' both say how the model is spread over the ranks; give one of "
      "them");
  EXPECT_EQ(parse_error("", {"mesh.layout=dp", "mesh.activation_dims=1"}),
            "command line: 'mesh.layout' and 'mesh.activation_dims' both say how the model is spread over the ranks; "
            "give one of them");
  EXPECT_EQ(parse_error("mesh:\n  activation_dims: 1\n  rules: {compute: [[batch, data]]}"),
            "gpt.yaml:3: 'mesh.activation_dims' and 'mesh.rules' both say how the model is spread over the ranks; give "
            "one of them");
  EXPECT_EQ(parse_error("mesh: {activation_dims: two}"),
            "gpt.yaml:1: mesh.activation_dims: expected an integer, got 'two'");
  EXPECT_EQ(parse_error("mesh: {rules: {storage: [embed, data]}}"),
            "gpt.yaml:1: mesh.rules.storage: expected a list, got 'embed'");
  EXPECT_EQ(check_error("mesh.activation_dims=0").substr(0, 86),
            "mesh.activation_dims: there is no pair (activation_dims, parameter_dims) = (0, 1); the");
  EXPECT_EQ(check_error("mesh.rules.compute=[[batch, data], [embeds, data]]"),
            "mesh.rules.compute: rule 2 is about unknown logical axis 'embeds'; there are batch, window, position, "
            "key_position, input, embed, heads, head_group, head_size, mlp, vocab, relative_bucket, layers and "
            "lora_rank");
}
TEST(Settings, ResolvedSettingsRoundTrip) {
  Settings s = parse_settings(
      "", "x",
      {"lr=0.1234567890123456", "data=a: b # c \"q\"\\", "seed=12345678901", "digest=false", "layout=fsdp+tp",
       "mesh=data=2,model=2", "optimizer.eps=1e-12", "model.checkpoint=dots", "policy=p=f32,c=bf16,o=f32"});
  auto text = to_yaml(s);
  auto t = parse_settings(text, "config.yaml");
  EXPECT_EQ(to_yaml(t), text);
  EXPECT_EQ(t.optimizer.as<optim::AdamWConfig>()->lr, 0.1234567890123456);
  EXPECT_EQ(data_paths(t), data_paths(s));
  EXPECT_EQ(t.seed, s.seed);
  EXPECT_EQ(t.log.digest, false);
  EXPECT_EQ(t.optimizer.as<optim::AdamWConfig>()->eps, 1e-12);
  EXPECT_EQ(t.model.as<models::Gpt2Config>()->checkpoint, "dots");
  EXPECT_EQ(to_yaml(Settings{}), to_yaml(parse_settings("", "x")));
  EXPECT_NE(text, to_yaml(Settings{}));
}
TEST(Settings, JobsAreCheckedBeforeTheyStart) {
  test::TempFolder temp;
  fs::path folder = temp.path();
  auto text = (folder / "text").string();
  std::ofstream(text) << std::string(5000, 'x');
  auto s = parse_settings("", "x", {"data=" + text, "out=" + (folder / "out" / "deep").string()});
  EXPECT_NO_THROW(check_job(s, 2));
  EXPECT_FALSE(fs::exists(folder / "out"));  // it only looks
  auto with = [&](auto change) {
    auto t = s;
    change(t);
    return error_of<ConfigError>([&] { check_job(t, 2); });
  };
  EXPECT_EQ(with([&](Settings& t) { *t.data.edit().paths()[0] = "/none"; }), "data: no file or folder at /none");
  EXPECT_EQ(with([&](Settings& t) { t.mesh.axes = "data=3"; }), "mesh: data=3 has 3 ranks, but this job has 2");
  EXPECT_EQ(with([&](Settings& t) { t.model.as<models::Gpt2Config>()->positions = 5000; }),
            "data: " + text +
                " has 5000 bytes; the text to train on and the text held out (hold_out=0.05) need a window of 5001 "
                "bytes each (model.positions + 1)");
  EXPECT_EQ(with([](Settings& t) { t.model.as<models::Gpt2Config>()->positions = 2499; }), "no error");
  EXPECT_EQ(with([](Settings& t) { t.transport.carrier = "udp"; }),
            "transport.carrier (BORA_CARRIER): unknown carrier 'udp'; there are auto, tcp, zmq, shm and mpi");
  EXPECT_EQ(with([](Settings& t) { t.transport.calibrate = "maybe"; }),
            "transport.calibrate (BORA_CALIBRATE): there are auto, on and off, not 'maybe'");
  EXPECT_EQ(with([](Settings& t) { t.transport.heartbeat = config::Duration(5); }),
            "transport.heartbeat (BORA_HEARTBEAT) 5 s, suspect 3 s and dead 10 s must increase");
  EXPECT_EQ(with([](Settings& t) { t.transport.dead = config::Duration(5); }), "no error");
  auto nothing_held = [&](const std::string& more) {
    auto t = parse_settings("", "x", {"data=" + text, "data.hold_out=0", "out=" + s.out, "eval.every=2", more});
    return error_of<ConfigError>([&] { check_job(t, 2); });
  };
  EXPECT_EQ(nothing_held("model.positions=4000"), "no error");  // one window is enough
  EXPECT_EQ(nothing_held("checkpoint.best=true"),
            "checkpoint.best: nothing is held out (data.hold_out: 0), so there is no validation loss; set "
            "data.hold_out");
  EXPECT_EQ(nothing_held("eval.patience=1"),
            "eval.patience: nothing is held out (data.hold_out: 0), so there is no validation loss; set "
            "data.hold_out");
  EXPECT_NE(with([](Settings& t) { t.model.as<models::Gpt2Config>()->positions = 2500; }), "no error");
  EXPECT_TRUE(with([&](Settings& t) {
                t.out = text + "/below";
              }).starts_with("out: cannot make the folder " + text + "/below: "));
  EXPECT_TRUE(with([&](Settings& t) { t.out = text; }).starts_with("out: cannot make the folder " + text));
  fs::create_directories(folder / "run");
  std::ofstream(folder / "run" / "checkpoints") << "x";
  EXPECT_EQ(with([&](Settings& t) { t.out = folder / "run"; }),
            "out: cannot make the folder " + (folder / "run" / "checkpoints").string() + ": " +
                (folder / "run" / "checkpoints").string() + " is a file");
  // In the folder of the text, by whatever name.
  fs::create_directory_symlink(folder, folder / "link");
  for (auto out : {folder, folder / "run", folder / "new" / "deep", folder / "run" / ".." / "x", folder / "link" / "y"})
    EXPECT_TRUE(with([&](Settings& t) {
                  *t.data.edit().paths()[0] = folder, t.out = out;
                }).find(" lies in the folder of the text, ") != std::string::npos)
        << out;
  EXPECT_EQ(with([&](Settings& t) { *t.data.edit().paths()[0] = folder, t.out = folder.string() + "x"; }), "no error");
  std::ofstream(folder / "demo.yaml") << "steps: 3\n";
  EXPECT_EQ(load_settings((folder / "demo.yaml").string()).out, "runs/demo");
  EXPECT_EQ(error_of<ConfigError>([&] { load_settings((folder / "demu.yaml").string()); }),
            "no configuration file at " + (folder / "demu.yaml").string());
  EXPECT_EQ(error_of<ConfigError>([&] { load_settings(folder.string()); }),
            folder.string() + ": expected a configuration file, this is a folder");
}
TEST(Settings, DataInShortForms) {
  auto data = [](const std::string& yaml) { return config::to_yaml(config::write(parse_settings(yaml, "x").data)); };
  auto whole = data("data: {type: corpus, sources: [{type: jsonl, path: a.jsonl.gz, field: body}], pack: first_fit}");
  for (auto same : {"data: {sources: [{path: a.jsonl.gz, field: body}], pack: true}",
                    "data: {sources: [{type: jsonl, path: a.jsonl.gz, field: body}], pack: {how: first_fit}}",
                    "data: {type: jsonl, path: a.jsonl.gz, field: body, pack: true}",
                    "data: {path: a.jsonl.gz, field: body, pack: first_fit}"})
    EXPECT_EQ(data(same), whole) << same;
  EXPECT_EQ(data("data: {sources: [{path: a.txt}], task: chat, pack: false}"),
            data("data: {sources: [{type: text, path: a.txt}], task: {type: chat}, pack: none}"));
  EXPECT_EQ(data("data: a.jsonl"), data("data: {type: text, path: a.jsonl}"));
  // The task may stand in the file where the command line has `pack`, and the other way round.
  auto pack = [](const std::string& task, std::vector<std::string> items) {
    auto s = parse_settings("data: {sources: [{path: a.txt}]" + task + "}", "x", items);
    return config::write(s.data).find("pack")->find("how")->text;
  };
  EXPECT_EQ(pack(", task: chat", {"data.pack=false"}), "none");
  EXPECT_EQ(pack(", task: chat", {"data.pack=true"}), "first_fit");
  EXPECT_EQ(pack(", task: {type: chat}", {"data={pack: false}"}), "none");
  EXPECT_EQ(pack(", task: lm, pack: false", {"data.task=chat"}), "none");
  EXPECT_EQ(pack(", task: completion", {"data.pack=false"}), "automatic");
}
}  // namespace settings_test
