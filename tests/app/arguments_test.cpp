#include <gtest/gtest.h>
#include <algorithm>
#include <sstream>
#include "app/commands.h"
#include "bora/transport/transport.h"
#include "compile/api/passes.h"
#include "json/api/value.h"
#include "support/text.h"
#include "support/throws.h"

namespace arguments_test {
using namespace bora;
using namespace bora::app;
namespace {
using Words = std::vector<std::string>;
std::unique_ptr<Command> command_of(std::vector<const char*> words) {
  words.insert(words.begin(), "bora");
  return parse_command(static_cast<int>(words.size()), words.data());
}
/// A command's fields, by their names.
struct Parsed {
  std::string name;
  config::Document options;
  const config::Document& at(const std::string& key) const {
    auto found = &options;
    std::istringstream names(key);
    for (std::string field; std::getline(names, field, '.');)
      if (found = found->find(field); !found) throw std::out_of_range(name + " has no option " + key);
    return *found;
  }
  std::string operator[](const std::string& key) const { return at(key).text; }
  Words list(const std::string& key) const {
    Words all;
    for (auto& item : at(key).items) all.push_back(item.text);
    return all;
  }
};
Parsed parse(const std::vector<const char*>& words) {
  auto command = command_of(words);
  return {std::string(command->name()), command->options()};
}
/// The transport that its flags ask for.
transport::Config transport_of(const Parsed& command) {
  std::vector<transport::Option> given;
  config::read(command.at("transport"), given, "transport", {});
  return transport::with_options({}, given);
}
/// The text that help prints, or the error's.
std::string said(const std::vector<const char*>& words) {
  testing::internal::CaptureStdout();
  std::string error;
  try {
    auto command = command_of(words);
    EXPECT_EQ(command ? command->run() : 0, 0);
  } catch (const ConfigError& e) { error = e.what(); }
  return testing::internal::GetCapturedStdout() + error;
}
std::string problem_with(const std::vector<const char*>& words) {
  return bora::test::error_of<ConfigError>([&] { (void)command_of(words); });
}
}  // namespace

TEST(Arguments, Train) {
  auto a = parse({"train", "gpt.yaml", "steps=3", "model.layers=2", "--mesh", "data=2,model=1", "--layout=fsdp+tp",
                  "--threads", "2", "--out", "o"});
  EXPECT_EQ(a.name, "train");
  EXPECT_EQ(a["config.path"], "gpt.yaml");
  EXPECT_EQ(a.list("config.settings"),
            (Words{"steps=3", "model.layers=2", "mesh=data=2,model=1", "layout=fsdp+tp", "threads=2", "out=o"}));
  EXPECT_EQ(parse({"train", "gpt.yaml", "steps=-3"}).list("config.settings"), (Words{"steps=-3"}));
  EXPECT_EQ(a["pipeline"], "true");
  EXPECT_TRUE(a.at("transport").items.empty());
}
TEST(Arguments, FlagsAreOptions) {
  auto a = parse({"train", "gpt.yaml", "--no-pipeline", "--insecure-private-network"});
  EXPECT_EQ(a["pipeline"], "false");
  EXPECT_TRUE(transport_of(a).insecure_private_network);
  EXPECT_EQ(transport_of(parse({"comm", "--calibrate"})).calibrate, "on");
  EXPECT_EQ(parse({"launch", "-n", "2", "gpt.yaml", "--no-pipeline"})["pipeline"], "false");
}
TEST(Arguments, LaunchInEveryForm) {
  for (auto& words : std::vector<std::vector<const char*>>{{"launch", "-n", "4", "--", "train", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n", "4", "train", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n", "4", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n4", "--", "gpt.yaml", "steps=3"}}) {
    auto a = parse(words);
    EXPECT_EQ(a.name, "launch");
    EXPECT_EQ(a["ranks"], "4");
    EXPECT_EQ(a["config.path"], "gpt.yaml");
    EXPECT_EQ(a.list("config.settings"), (Words{"steps=3"}));
  }
  auto a = parse({"launch", "-n", "4", "--layout", "fsdp+tp", "--mesh", "data=2,model=2", "--log-dir", "logs",
                  "--max-restarts", "3", "gpt.yaml"});
  EXPECT_EQ(a["config.path"], "gpt.yaml");
  EXPECT_EQ(a.list("config.settings"), (Words{"mesh=data=2,model=2", "layout=fsdp+tp"}));
  EXPECT_EQ(a["log_dir"], "logs");
  EXPECT_EQ(a["max_restarts"], "3");
  a = parse({"launch", "-n", "2", "--", "train", "gpt.yaml", "--layout", "tp", "steps=3"});
  EXPECT_EQ(a.list("config.settings"), (Words{"steps=3", "layout=tp"}));
}
TEST(Arguments, LaunchElsewhereAndOfOtherPrograms) {
  auto a = parse({"launch", "--hosts", "hosts", "--ssh", "ssh -F file", "--env", "PATH", "--env", "HOME", "--", "comm",
                  "--json", "x"});
  EXPECT_EQ(a["hosts"], "hosts");
  EXPECT_EQ(a["ssh"], "ssh -F file");
  EXPECT_EQ(a.list("variables"), (Words{"PATH", "HOME"}));
  EXPECT_EQ(a.list("program"), (Words{"comm", "--json", "x"}));
  EXPECT_EQ(a["ranks"], "");
  a = parse({"launch", "-n", "3", "--hosts", "hosts", "gpt.yaml"});
  EXPECT_EQ(a["ranks"], "3");
  EXPECT_EQ(a["config.path"], "gpt.yaml");
  a = parse({"launch", "-n", "2", "--", "/bin/sh", "-c", "exit 3"});
  EXPECT_EQ(a.list("program"), (Words{"/bin/sh", "-c", "exit 3"}));
  EXPECT_EQ(parse({"launch", "-n", "2", "--", "/no/such.yaml"})["config.path"], "/no/such.yaml");
  EXPECT_EQ(problem_with({"launch", "-n", "2", "--ssh", "rsh", "gpt.yaml"}),
            "--ssh and --env: they are for other hosts; give --hosts FILE");
  EXPECT_EQ(problem_with({"launch", "--hosts", "h", "--env", "NO_SUCH_THING", "gpt.yaml"}),
            "--env NO_SUCH_THING: it is not set here");
  EXPECT_EQ(parse({"launch", "gpt.yaml"})["ranks"], "");  // the file may say how many
  EXPECT_EQ(problem_with({"launch", "--", "eval", "RUN"}),
            "launch: how many ranks? give -n N, or --hosts FILE, or --elastic MIN:MAX");
  EXPECT_EQ(problem_with({"launch", "-n", "2", "eval", "RUN"}),
            "launch: eval stands behind --: bora launch -n 2 -- eval RUN");
  EXPECT_EQ(problem_with({"launch", "-n", "2", "--layout", "tp", "logits", "RUN", "--ids", "i.npy", "--out", "l.npy"}),
            "launch: logits stands behind --: bora launch -n 2 -- logits RUN --ids i.npy --out l.npy layout=tp");
  EXPECT_EQ(problem_with({"launch", "--layout=tp", "generate", "RUN", "--prompt", "Love is", "--ranks=2", "--hosts",
                          "hosts"}),
            "launch: generate stands behind --: bora launch --ranks=2 --hosts hosts -- generate RUN --prompt "
            "\"Love is\" layout=tp");
  EXPECT_EQ(problem_with({"launch", "-n", "2", "--layout", "tp", "--", "eval", "RUN"}),
            "launch: layout=tp before -- is for training; eval takes its words behind its name");
  for (auto word : {"gpt.yaml", "steps=3", "--no-pipeline"})
    EXPECT_NE(problem_with({"launch", "-n", "2", word, "--", "eval", "RUN"}), "no error") << word;
}
TEST(Arguments, OtherCommands) {
  auto g = parse({"generate", "runs/x", "--prompt", "Love is", "--temperature", "0.5", "--top-k", "7", "--seed", "3"});
  EXPECT_EQ(g.name, "generate");
  EXPECT_EQ(g["words.run"], "runs/x");
  EXPECT_EQ(g["prompt"], "Love is");
  EXPECT_EQ(g["sampling.temperature"], "0.5");
  EXPECT_EQ(g["sampling.top_k"], "7");
  EXPECT_EQ(g["seed"], "3");
  EXPECT_EQ(parse({"eval", "runs/x"}).name, "eval");
  auto score = parse({"score", "runs/x", "pairs.jsonl", "layout=tp", "--resume", "best"});
  EXPECT_EQ(score["words.run"], "runs/x");
  EXPECT_EQ(score["pairs"], "pairs.jsonl");
  EXPECT_EQ(score.list("words.settings"), (Words{"layout=tp"}));
  auto logits = parse({"logits", "runs/x", "--ids", "i.npy", "--mask", "m.npy", "--out", "l.npy"});
  EXPECT_EQ(logits["words.run.run"], "runs/x");
  EXPECT_EQ(logits["words.ids"], "i.npy");
  EXPECT_EQ(logits["words.mask"], "m.npy");
  EXPECT_EQ(logits["out"], "l.npy");
  EXPECT_EQ(parse({"loss", "runs/x", "--ids", "i.npy", "--labels", "l.npy"})["labels"], "l.npy");
  EXPECT_EQ(parse({"plan", "gpt.yaml", "--mesh", "data=2"}).name, "plan");
  EXPECT_EQ(parse({"inspect", "runs/x/checkpoints/step-3"}).name, "inspect");
  EXPECT_EQ(parse({"doctor"}).name, "doctor");
}
TEST(Arguments, ResumeIsOneWord) {
  EXPECT_EQ(parse({"train", "--resume", "none"})["resume"], "none");
  EXPECT_EQ(parse({"launch", "-n", "2", "--resume", "none", "--resume", "good"})["resume"], "good");
  for (auto command : {"eval", "generate"}) {
    EXPECT_EQ(parse({command, "runs/x"})["words.resume"], "");
    EXPECT_EQ(parse({command, "runs/x", "--resume", "good"})["words.resume"], "good");
    EXPECT_EQ(problem_with({command, "runs/x", "--resume", "none"}),
              "--resume: none not in {latest,good,best}; see bora --help");
  }
}
TEST(Arguments, EveryCommandIsListedAndExplained) {
  auto all = said({"--help"});
  std::size_t at = 0;
  for (auto& row : commands()) {
    auto command = row.make();
    EXPECT_EQ(command->name(), row.name);
    auto listed = all.find("\n  " + std::string(row.name) + " ");
    ASSERT_NE(listed, std::string::npos) << row.name;
    EXPECT_GT(listed, at) << row.name << " is not at its place";
    at = listed;
    auto own = said({command->name().data(), "--help"});
    EXPECT_EQ(own.find(command->help()), 0U) << own;
    EXPECT_TRUE(said({"help", command->name().data()}).starts_with(own));
    EXPECT_EQ(std::count_if(commands().begin(), commands().end(),
                            [&](auto& other) { return other.name == row.name || other.place == row.place; }),
              1)
        << row.name;
  }
}
TEST(Arguments, LaunchTakesTheCommandsWhoseRowSaysSo) {
  for (auto& row : commands()) {
    auto name = row.name.data();
    if (row.name == "train") {
      EXPECT_TRUE(row.launched && parse({"launch", "-n", "2", "--", name}).list("program").empty());
    } else if (row.launched) {
      EXPECT_EQ(parse({"launch", "-n", "2", "--", name, "x"}).list("program"), (Words{name, "x"}));
    } else {
      EXPECT_NE(problem_with({"launch", "-n", "2", "--", name, "--no-such-flag"}), "no error") << name;
    }
  }
}
TEST(Arguments, MistakesAreOneLine) {
  for (auto& words : std::vector<std::vector<const char*>>{{},
                                                           {"tarin", "gpt.yaml"},
                                                           {"launch", "-n", "two", "gpt.yaml"},
                                                           {"train", "gpt.yaml", "--mush", "x"},
                                                           {"train", "gpt.yaml", "steps"},
                                                           {"generate", "x", "--temperature", "-1"}}) {
    auto error = problem_with(words);
    EXPECT_NE(error, "no error");
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  std::string names;
  for (auto& row : commands()) names += (names.empty() ? "" : ", ") + std::string(row.name);
  EXPECT_EQ(problem_with({"tarin", "gpt.yaml"}), "unknown command 'tarin'; there are " + names);
  EXPECT_EQ(problem_with({"generate"}), "RUN is required; see bora --help");
  for (auto seed : {"-1", "99999999999999999999", "x"})
    EXPECT_NE(problem_with({"generate", "x", "--seed", seed}), "no error") << seed;
  EXPECT_EQ(problem_with({"train", "gpt.yaml", "steps"}), "expected key=value after gpt.yaml, got 'steps'");
}
TEST(Arguments, NoConfigurationFileIsNeeded) {
  for (auto& words :
       std::vector<std::vector<const char*>>{{"train", "data=my.txt", "steps=3"},
                                             {"plan", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "--", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "--", "train", "data=my.txt", "steps=3"}}) {
    auto a = parse(words);
    EXPECT_EQ(a["config.path"], "");
    EXPECT_EQ(a.list("config.settings"), (Words{"data=my.txt", "steps=3"}));
    EXPECT_TRUE(a.name != "launch" || a.list("program").empty());
  }
  EXPECT_EQ(parse({"train"})["config.path"], "");  // the settings say what is missing
  EXPECT_EQ(parse({"launch", "-n", "2"})["config.path"], "");
  EXPECT_EQ(problem_with({"train", "data=my.txt", "steps"}), "expected key=value, got 'steps'");
}
TEST(Arguments, WhatIsNeitherConfigurationNorProgramIsNamed) {
  for (auto& words : std::vector<std::vector<const char*>>{{"launch", "-n", "2", "--", "nosuchprogram"},
                                                           {"launch", "-n", "2", "--", "nosuchprogram", "x"},
                                                           {"launch", "-n", "2", "nosuchprogram"}})
    EXPECT_EQ(problem_with(words),
              "launch: 'nosuchprogram' is no configuration file, no setting key=value and no program: a program is "
              "named by its path (./nosuchprogram) or lies in PATH");
  EXPECT_EQ(parse({"launch", "-n", "2", "--", "sh", "-c", "exit 3"}).list("program"), (Words{"sh", "-c", "exit 3"}));
}
TEST(Arguments, HelpShowsDefaultsAndSettings) {
  using bora::test::has;
  for (auto command : {"train", "launch", "plan"}) {
    auto text = said({command, "--help"});
    EXPECT_TRUE(has(text, "  optimizer.lr                0.001    largest learning rate (short: lr)\n")) << text;
    EXPECT_TRUE(has(text, "  model.heads                 4        ")) << text;
    EXPECT_EQ(said({"help", command}), text);
  }
  EXPECT_TRUE(has(said({"generate", "--help"}), "--length INT=300")) << said({"generate", "--help"});
  EXPECT_TRUE(has(said({"launch", "--help"}), "--max-restarts INT=0")) << said({"launch", "--help"});
  EXPECT_TRUE(has(said({"help"}), "  optimizer.beta2             0.95     ")) << said({"help"});
  EXPECT_TRUE(has(said({"help", "model"}), "model.layers")) << said({"help", "model"});
  EXPECT_FALSE(has(said({"help", "model"}), "optimizer."));
  for (auto [group, key] :
       {std::pair{"eval", "eval.patience "}, {"loss", "loss.z_loss "}, {"data", "data.hold_out "}}) {
    auto text = said({"help", group});  // a command's word too
    EXPECT_TRUE(text.starts_with(said({group, "--help"}))) << text;
    EXPECT_TRUE(has(text, "\nSettings:\n  " + std::string(group) + ".") && has(text, "  " + std::string(key))) << text;
  }
  EXPECT_TRUE(said({"help", "local"}).ends_with("\nSettings of a type: bora help local.slowmo\n"));
  EXPECT_TRUE(said({"help"}).ends_with("optimizer.yogi, local.slowmo\n")) << said({"help"});
  EXPECT_EQ(said({"help", "lr"}), "  optimizer.lr                0.001    largest learning rate (short: lr)\n");
  EXPECT_EQ(said({"help", "modle"}), "no setting or group 'modle'; did you mean 'model'?");
  EXPECT_EQ(said({"help", "nothing"}), "no setting or group 'nothing'; `bora help` lists the settings");
}
TEST(Arguments, PassesAreThoseOfTheCompilersTable) {
  auto text = said({"passes"});
  auto list = json::parse(said({"passes", "--json"}), "passes");
  auto passes = exec::passes();
  ASSERT_EQ(list.list().size(), passes.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    auto& p = passes[i];
    auto& row = list.list()[i];
    EXPECT_EQ(row.find("pass")->text(), p.name);
    EXPECT_EQ(row.find("of")->text(), exec::scope_of(p));
    EXPECT_EQ(row.find("text")->text(), p.text);
    auto option = row.find("option");
    EXPECT_EQ(option->is_null() ? "" : option->text(), exec::option_of(p)) << p.name;
    auto line = text.find("\n" + std::string(p.name) + " ", at);
    ASSERT_NE(line, text.npos) << p.name << " is not at its place in\n" << text;
    at = line + 1;
    EXPECT_TRUE(std::string_view(text).substr(at, text.find('\n', at) - at).ends_with(p.text)) << text;
  }
  EXPECT_TRUE(bora::test::has(text, "\nfuse                    block    fuse      gathers")) << text;
}
/// CLI11 would take it for 0.
TEST(Arguments, AnEmptyTextIsNoNumber) {
  int flags = 0;
  for (auto& row : commands()) {
    auto command = row.make();
    Flags all;
    command->declare(all);
    for (auto& flag : all.all()) {
      bool is = std::holds_alternative<int*>(flag.target()) || std::holds_alternative<std::int64_t*>(flag.target()) ||
                std::holds_alternative<double*>(flag.target()) ||
                std::holds_alternative<std::optional<int>*>(flag.target());
      if (!is || !flag.name().starts_with("-")) continue;
      ++flags;
      auto word = flag.name().substr(0, flag.name().find(','));
      auto text = test::error_of([&] { command_of({row.name.data(), word.c_str(), ""}); });
      EXPECT_TRUE(test::has(text, "a number is expected, got an empty text")) << row.name << " " << word << text;
    }
  }
  EXPECT_GE(flags, 15);
}
}  // namespace arguments_test
