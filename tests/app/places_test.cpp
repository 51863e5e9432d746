// No output of any command destroys an input: laws over the flags of all commands and the texts among the settings, and
// real processes.
#include <map>
#include <set>
#include "app/commands.h"
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/optim/kind.h"
#include "bora/train/local_settings.h"
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace places_test {
using namespace bora;
using namespace bora::app;
namespace {
using Words = std::vector<std::string>;
using Marks = std::map<std::string, Names>;
/// The flags that name a place, by command and flag.
std::map<std::string, Marks> all_marks() {
  std::map<std::string, Marks> all;
  for (auto& row : commands()) {
    Flags flags;
    auto command = row.make();
    command->declare(flags);
    for (auto& flag : flags.all())
      if (auto names = flag.form().names.value_or(Names::nothing); names != Names::nothing)
        all[std::string(row.name)][flag.name()] = names;
  }
  return all;
}
/// A setting, and those that choose the types of the groups in which it is.
struct Key {
  std::string name;
  Words types;
};
std::vector<Key> keys_of(const std::vector<config::Schema>& fields, const std::string& group, const Words& types) {
  std::vector<Key> all;
  auto add = [&](const std::vector<Key>& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (auto& field : fields) {
    auto key = config::below(group, field.name);
    if (!field.group) all.push_back({key, types});
    add(keys_of(field.fields, key, types));
    for (auto& [type, own] : field.types) {
      auto chosen = types;
      chosen.push_back(key + ".type=" + type);
      add(keys_of(own, key, chosen));
    }
  }
  return all;
}
bool takes_any_text(const Key& key) {
  auto settings = key.types;
  settings.push_back(key.name + "=/no/such place");
  try {
    (void)parse_settings("", "", settings);
    return true;
  } catch (const Error&) { return false; }
}
struct PlacesTest : CommandTest {
  const std::string model = folder + "/model", out = folder + "/out", ids = folder + "/ids.npy",
                    text = folder + "/text";
  PlacesTest() {
    fs::copy(test::source_dir() + "/tests/golden/models/gpt2_plain", model);
    for (auto file : {"/checkpoints/step-4/manifest", "/best/step-2/rank-0", "/metrics.jsonl", "/metrics.1.jsonl",
                      "/loss.svg", "/report.html", "/shares.yaml", "/config.yaml", "/hugging_face/tokenizer.json"})
      temp.write("out" + std::string(file), "x");
    std::ofstream(ids) << "x";
  }
  /// All files, with their bytes.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (auto& entry : fs::recursive_directory_iterator(folder)) {
      auto path = entry.path().string();
      bool said = path.ends_with(".out") || path.ends_with(".err");
      if (entry.is_regular_file() && !said) all[path] = slurp(path);
    }
    return all;
  }
  /// Names of one file: its own, one with .., links to it and to its folder.
  Words all_names(const std::string& file) const {
    auto base = folder + "/names" + std::to_string(++made_);
    fs::create_directories(base);
    auto folder_of = fs::path(file).parent_path();
    fs::create_symlink(file, base + "/soft");
    fs::create_hard_link(file, base + "/hard");
    fs::create_directory_symlink(folder_of, base + "/folder");
    return {file, (folder_of / ".." / folder_of.filename() / fs::path(file).filename()).string(), base + "/soft",
            base + "/hard", base + "/folder/" + fs::path(file).filename().string()};
  }
  void refuses(const std::string& words) const {
    auto before = files();
    is_bad_input(words, "; choose another");
    EXPECT_EQ(before, files()) << words;
  }
  mutable int made_ = 0;
};
}  // namespace

TEST(Places, EveryFlagWithATextSaysWhetherItNamesAPlace) {
  int texts = 0;
  for (auto& row : commands()) {
    Flags flags;
    auto command = row.make();
    command->declare(flags);
    for (auto& flag : flags.all()) {
      auto& target = flag.target();
      bool text = std::holds_alternative<std::string*>(target) ||
                  std::holds_alternative<std::optional<std::string>*>(target) ||
                  std::holds_alternative<std::vector<std::string>*>(target) ||
                  std::holds_alternative<std::function<void(const std::string&)>>(target);
      if (!text || !flag.form().words.empty()) continue;
      ++texts;
      EXPECT_TRUE(flag.form().names.has_value()) << row.name << " " << flag.name() << ": .names(..)";
    }
  }
  EXPECT_GE(texts, 40);
}
/// A setting that takes any text fails here until it is listed: as a place, which Places::add has, or as words.
TEST(Places, EverySettingThatTakesAPathIsKnown) {
  const std::set<std::string> places = {"out",        "trace.path", "transport.flight_dir", "init_from.path",
                                        "lora.from",  "data.path",  "tokenizer.path",       "data.task.chat_template",
                                        "data.cache", "page.token_file", "checkpoint.local"},
                              words = {"alerts.command",
                                       "checkpoint.keep.best.metric",
                                       "eval.metric",
                                       "local.every",
                                       "local.link",
                                       "lora.base",
                                       "mesh.layout",
                                       "mesh.schedule",
                                       "model.checkpoint",
                                       "optimizer.schedule.factors",
                                       "page.address",
                                       "precision.loss_scale.type",
                                       "precision.policy",
                                       "tokenizer.end_of_text",
                                       "data.task.chosen",
                                       "data.task.completion",
                                       "data.task.date",
                                       "data.task.decoder_prefix_str",
                                       "data.task.input",
                                       "data.task.labels",
                                       "data.task.loss_mask",
                                       "data.task.loss_weights",
                                       "data.task.messages",
                                       "data.task.prompt",
                                       "data.task.rejected",
                                       "data.task.sentinel",
                                       "data.task.separator",
                                       "data.task.target",
                                       "data.task.answer_start",
                                       "data.task.answers",
                                       "data.task.context",
                                       "data.task.first",
                                       "data.task.question",
                                       "data.task.score",
                                       "data.task.second",
                                       "data.task.label",
                                       "data.task.mask",
                                       "data.task.pair",
                                       "data.task.tags",
                                       "data.task.text",
                                       "data.task.words",
                                       "precision.cache",
                                       "precision.weights",
                                       "transport.algorithms",
                                       "transport.calibrate",
                                       "transport.carrier",
                                       "transport.interface"};
  std::set<std::string> found;
  for (auto& key : keys_of(config::schema(job::Settings{}).fields, "", {}))
    if (takes_any_text(key)) found.insert(key.name);
  for (auto& key : found) EXPECT_TRUE(places.contains(key) || words.contains(key)) << key;
  for (auto& key : places) EXPECT_TRUE(found.contains(key)) << key;
  for (auto& key : words) EXPECT_TRUE(found.contains(key)) << key;
}
TEST_F(PlacesTest, NoFileThatAFlagNamesDestroysAnInput) {
  // What each command reads: its words, and files among them.
  struct Case {
    std::string words;
    Words inputs;
  };
  auto run_files = Words{out + "/checkpoints/step-4/manifest", out + "/best/step-2/rank-0", out + "/metrics.jsonl",
                         out + "/metrics.1.jsonl", out + "/loss.svg", out + "/config.yaml",
                         out + "/hugging_face/tokenizer.json"};
  auto model_files = Words{model + "/config.json", model + "/model.safetensors"};
  auto of_run = run_files;
  of_run.insert(of_run.end(), model_files.begin(), model_files.end());
  of_run.insert(of_run.end(), {text, config});
  std::map<std::string, std::vector<Case>> cases;
  cases["plan"] = {{"plan " + config + " --mesh data=1 out=" + out + " init_from=" + model +
                        " model.type=gpt2 model={} tokenizer.type=bytes",
                    of_run}};
  cases["logits"] = {{"logits " + model + " --ids " + ids, {ids, model_files[0], model_files[1]}},
                     {"logits " + out + " --ids " + ids,
                      {ids, run_files[0], run_files[2], run_files[5], run_files[6]}}};
  cases["train-tokenizer"] = {{"train-tokenizer --vocab 300 " + folder + "/texts/*.json", {folder + "/texts/a.json"}}};
  cases["page"] = {{"page " + out, {run_files[0], run_files[2], run_files[5]}}};
  cases["comm"] = {};  // reads nothing
  temp.write("texts/a.json", "some text");
  int refused = 0;
  for (auto& [command, marks] : all_marks())
    for (auto& [flag, place] : marks) {
      if (place != Names::output) continue;
      ASSERT_TRUE(cases.contains(command)) << command << " " << flag << " has no case here";
      for (auto& c : cases[command])
        for (auto& input : c.inputs) {
          auto all = all_names(input);
          if (command == "train-tokenizer") all = {all[0], all[1], all[4]};  // needs its ending
          bool first = &input == &c.inputs[0];
          for (auto& name : first ? all : Words{all[static_cast<std::size_t>(refused) % all.size()]})
            refuses(c.words + " " + flag + " " + name), ++refused;
        }
    }
  EXPECT_GE(refused, 25);
  refuses("comm --json " + folder + "/a --svg " + folder + "/../" + fs::path(folder).filename().string() + "/a");
  refuses("launch -n 1 --hosts " + temp.write("logs/rank-0.log", "here") + " --log-dir " + folder + "/logs " + config);
}
TEST_F(PlacesTest, NoSettingOfARunDestroysAnInput) {
  auto train = "train " + config + " model={} init_from=" + model + " model.type=gpt2 tokenizer.type=bytes ";
  std::vector<std::string> files = {text, config, model + "/model.safetensors", out + "/checkpoints/step-4/manifest",
                                    out + "/config.yaml", out + "/hugging_face/tokenizer.json", out + "/metrics.jsonl"};
  for (std::size_t i = 0; i < files.size(); ++i)
    refuses(train + "out=" + out + " trace=" + all_names(files[i])[i % 5]);
  refuses(train + "trace=" + out + "/checkpoints/new.json out=" + out);
  for (auto& folder_of_model : {model, folder + "/out/../model", model + "/"})
    refuses(train + "out=" + folder_of_model);
  refuses("import " + model + " " + model);
  fs::create_directory_symlink(model, folder + "/link");
  refuses("import " + model + " " + folder + "/link");
  // Data and models among what a run removes, or adds to.
  auto lying = [&](const std::string& name) { return temp.write(name, slurp(text)); };
  refuses("train " + config + " out=" + out + " data=" + lying("out/checkpoints/step-4/text"));
  refuses("train " + config + " out=" + out + " data=" + lying("out/best/text"));
  refuses("train " + config + " out=" + out + " data=" + lying("out/metrics.2.jsonl"));
  fs::remove(out + "/metrics.jsonl");
  fs::create_hard_link(text, out + "/metrics.jsonl");
  refuses("train " + config + " out=" + out);
  fs::remove(out + "/metrics.jsonl");
  fs::create_directories(folder + "/other");
  fs::create_directory_symlink(out + "/checkpoints", folder + "/other/checkpoints");
  refuses("train " + config + " out=" + folder + "/other data=" + out + "/checkpoints/step-4/text");
  refuses("train " + config + " out=" + folder + "/new 'data={sources: [{path: " + lying("c/x-0123456789abcdef/t.txt") +
          "}], cache: " + folder + "/c}'");
  refuses("train " + config + " out=" + folder + "/new transport.flight_dir=" + folder +
          "/flights data=" + lying("flights/rank-3.jsonl"));
}
TEST_F(PlacesTest, OtherPlacesAreFree) {
  auto plan = "plan " + config + " --mesh data=1 --cores 1 --gflops 10 --memory 10 --json ";
  for (auto& file : {out + "/plan.json", out + "/plan.json", model + "/plan.npy"})
    EXPECT_EQ(run(plan + file + " out=" + out).code, 0) << file;
}
}  // namespace places_test
