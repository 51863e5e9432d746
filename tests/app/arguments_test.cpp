#include "app/arguments.h"
#include <gtest/gtest.h>
#include "bora/base/error.h"

using namespace bora;
using namespace bora::app;
namespace {
std::optional<Arguments> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "bora");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}
std::string error_of(const std::vector<const char*>& words) {
  try {
    (void)parse(words);
  } catch (const ConfigError& e) { return e.what(); }
  return "no error";
}
using Words = std::vector<std::string>;
}  // namespace

TEST(Arguments, Train) {
  auto a = parse({"train", "gpt.yaml", "steps=3", "model.layers=2", "--mesh", "data=2,model=1", "--layout=fsdp+tp",
                  "--threads", "2", "--out", "o"})
               .value();
  EXPECT_EQ(a.command, Arguments::Command::train);
  EXPECT_EQ(a.path, "gpt.yaml");
  EXPECT_EQ(a.settings,
            (Words{"steps=3", "model.layers=2", "mesh=data=2,model=1", "layout=fsdp+tp", "threads=2", "out=o"}));
  EXPECT_EQ(parse({"train", "gpt.yaml", "steps=-3"})->settings, (Words{"steps=-3"}));
  EXPECT_TRUE(a.pipeline && a.transport.empty());
}
TEST(Arguments, FlagsAreOptions) {
  auto a = parse({"train", "gpt.yaml", "--no-pipeline", "--insecure-private-network"}).value();
  EXPECT_FALSE(a.pipeline);
  EXPECT_TRUE(transport::with_options({}, a.transport).insecure_private_network);
  EXPECT_EQ(transport::with_options({}, parse({"comm", "--calibrate"})->transport).calibrate, "on");
  EXPECT_FALSE(parse({"launch", "-n", "2", "gpt.yaml", "--no-pipeline"})->pipeline);
}
TEST(Arguments, LaunchInEveryForm) {
  for (auto& words : std::vector<std::vector<const char*>>{{"launch", "-n", "4", "--", "train", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n", "4", "train", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n", "4", "gpt.yaml", "steps=3"},
                                                           {"launch", "-n4", "--", "gpt.yaml", "steps=3"}}) {
    auto a = parse(words).value();
    EXPECT_EQ(a.command, Arguments::Command::launch);
    EXPECT_EQ(a.ranks, 4);
    EXPECT_EQ(a.path, "gpt.yaml");
    EXPECT_EQ(a.settings, (Words{"steps=3"}));
  }
  auto a = parse({"launch", "-n", "4", "--layout", "fsdp+tp", "--mesh", "data=2,model=2", "--log-dir", "logs",
                  "--max-restarts", "3", "gpt.yaml"})
               .value();
  EXPECT_EQ(a.path, "gpt.yaml");
  EXPECT_EQ(a.settings, (Words{"mesh=data=2,model=2", "layout=fsdp+tp"}));
  EXPECT_EQ(a.log_dir, "logs");
  EXPECT_EQ(a.max_restarts, 3);
  a = parse({"launch", "-n", "2", "--", "train", "gpt.yaml", "--layout", "tp", "steps=3"}).value();
  EXPECT_EQ(a.settings, (Words{"steps=3", "layout=tp"}));
}
TEST(Arguments, LaunchElsewhereAndOfOtherPrograms) {
  auto a = parse({"launch", "--hosts", "hosts", "--ssh", "ssh -F file", "--env", "PATH", "--env", "HOME", "--", "comm",
                  "--json", "x"})
               .value();
  EXPECT_EQ(a.hosts, "hosts");
  EXPECT_EQ(a.ssh, "ssh -F file");
  EXPECT_EQ(a.variables, (Words{"PATH", "HOME"}));
  EXPECT_EQ(a.program, (Words{"comm", "--json", "x"}));
  EXPECT_FALSE(a.ranks_given);
  a = parse({"launch", "-n", "3", "--hosts", "hosts", "gpt.yaml"}).value();
  EXPECT_TRUE(a.ranks_given);
  EXPECT_EQ(a.path, "gpt.yaml");
  a = parse({"launch", "-n", "2", "--", "/bin/sh", "-c", "exit 3"}).value();
  EXPECT_EQ(a.program, (Words{"/bin/sh", "-c", "exit 3"}));
  EXPECT_EQ(parse({"launch", "-n", "2", "--", "/no/such.yaml"})->path, "/no/such.yaml");
  EXPECT_EQ(error_of({"launch", "-n", "2", "--ssh", "rsh", "gpt.yaml"}),
            "--ssh and --env: they are for other hosts; give --hosts FILE");
  EXPECT_EQ(error_of({"launch", "--hosts", "h", "--env", "NO_SUCH_THING", "gpt.yaml"}),
            "--env NO_SUCH_THING: it is not set here");
  EXPECT_EQ(error_of({"launch", "gpt.yaml"}), "launch: how many ranks? give -n N, or --hosts FILE");
}
TEST(Arguments, OtherCommands) {
  auto g = parse({"generate", "runs/x", "--prompt", "Love is", "--temperature", "0.5", "--top-k", "7", "--seed", "3"})
               .value();
  EXPECT_EQ(g.command, Arguments::Command::generate);
  EXPECT_EQ(g.path, "runs/x");
  EXPECT_EQ(g.prompt, "Love is");
  EXPECT_EQ(g.temperature, 0.5);
  EXPECT_EQ(g.top_k, 7);
  EXPECT_EQ(g.seed, 3);
  EXPECT_EQ(parse({"eval", "runs/x"})->command, Arguments::Command::eval);
  EXPECT_EQ(parse({"plan", "gpt.yaml", "--mesh", "data=2"})->command, Arguments::Command::plan);
  EXPECT_EQ(parse({"inspect", "runs/x/checkpoints/step-3"})->command, Arguments::Command::inspect);
  EXPECT_EQ(parse({"doctor"})->command, Arguments::Command::doctor);
}
TEST(Arguments, MistakesAreOneLine) {
  for (auto& words : std::vector<std::vector<const char*>>{{},
                                                           {"tarin", "gpt.yaml"},
                                                           {"launch", "gpt.yaml"},
                                                           {"launch", "-n", "two", "gpt.yaml"},
                                                           {"train", "gpt.yaml", "--mush", "x"},
                                                           {"train", "gpt.yaml", "steps"},
                                                           {"generate", "x", "--temperature", "-1"}}) {
    auto error = error_of(words);
    EXPECT_NE(error, "no error");
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_EQ(error_of({"tarin", "gpt.yaml"}),
            "unknown command 'tarin'; there are train, launch, plan, eval, generate, inspect, comm, doctor, help");
  EXPECT_EQ(error_of({"generate"}), "RUN is required; see bora --help");
  for (auto seed : {"-1", "99999999999999999999", "x"})
    EXPECT_NE(error_of({"generate", "x", "--seed", seed}), "no error") << seed;
  EXPECT_EQ(error_of({"train", "gpt.yaml", "steps"}), "expected key=value after gpt.yaml, got 'steps'");
}
TEST(Arguments, NoConfigurationFileIsNeeded) {
  for (auto& words :
       std::vector<std::vector<const char*>>{{"train", "data=my.txt", "steps=3"},
                                             {"plan", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "--", "data=my.txt", "steps=3"},
                                             {"launch", "-n", "2", "--", "train", "data=my.txt", "steps=3"}}) {
    auto a = parse(words).value();
    EXPECT_EQ(a.path, "");
    EXPECT_EQ(a.settings, (Words{"data=my.txt", "steps=3"}));
    EXPECT_TRUE(a.program.empty());
  }
  EXPECT_EQ(parse({"train"})->path, "");  // the settings say what is missing
  EXPECT_EQ(parse({"launch", "-n", "2"})->path, "");
  EXPECT_EQ(error_of({"train", "data=my.txt", "steps"}), "expected key=value, got 'steps'");
}
TEST(Arguments, WhatIsNeitherConfigurationNorProgramIsNamed) {
  for (auto& words : std::vector<std::vector<const char*>>{{"launch", "-n", "2", "--", "nosuchprogram"},
                                                           {"launch", "-n", "2", "--", "nosuchprogram", "x"},
                                                           {"launch", "-n", "2", "nosuchprogram"}})
    EXPECT_EQ(error_of(words),
              "launch: 'nosuchprogram' is no configuration file, no setting key=value and no program: a program is "
              "named by its path (./nosuchprogram) or lies in PATH");
  EXPECT_EQ(parse({"launch", "-n", "2", "--", "sh", "-c", "exit 3"})->program, (Words{"sh", "-c", "exit 3"}));
}
TEST(Arguments, HelpShowsDefaultsAndSettings) {
  auto said = [](const std::vector<const char*>& words) {
    testing::internal::CaptureStdout();
    EXPECT_FALSE(parse(words).has_value());
    return testing::internal::GetCapturedStdout();
  };
  auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
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
  EXPECT_EQ(said({"help", "lr"}), "  optimizer.lr                0.001    largest learning rate (short: lr)\n");
  EXPECT_EQ(error_of({"help", "modle"}), "no setting or group 'modle'; did you mean 'model'?");
  EXPECT_EQ(error_of({"help", "nothing"}), "no setting or group 'nothing'; `bora help` lists the settings");
}
