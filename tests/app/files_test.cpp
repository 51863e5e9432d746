// Bad inputs and outputs of the command: paths that are no files, folders that vanish, values that forge lines.
#include <sys/stat.h>
#include <csignal>
#include <cstdlib>
#include "bora/io/npy.h"
#include "bora/ops/creation.h"
#include "command.h"
#include "support/places.h"

namespace fs = std::filesystem;
namespace files_test {
using namespace bora;
namespace {
using FilesTest = CommandTest;
}  // namespace

TEST_F(FilesTest, WhatIsNoFileIsRefusedByName) {
  auto fifo = folder + "/fifo", train = "train --out " + folder + "/o " + config + " ";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  is_bad_input(train + "data=" + fifo, "data: cannot read " + fifo + ": it is a FIFO, a file is expected");
  is_bad_input(train + "data=/dev/zero", "data: cannot read /dev/zero: it is a device, a file is expected");
  is_bad_input("train " + fifo, "cannot read " + fifo + ": it is a FIFO, a file is expected");
  is_bad_input("launch --hosts " + fifo + " " + config,
               "--hosts: cannot read " + fifo + ": it is a FIFO, a file is expected");
  is_bad_input("launch --hosts " + folder + " " + config,
               "--hosts: cannot read " + folder + ": it is a folder, a file is expected");
  is_bad_input(train, "BORA_SECRET_FILE: cannot read " + fifo + ": it is a FIFO", "BORA_SECRET_FILE=" + fifo);
  is_bad_input("eval " + folder + "/o", "is no folder of a run");
  auto loop = folder + "/loop", texts = folder + "/texts";
  fs::create_directories(texts + "/deep");
  std::ofstream(texts + "/a") << std::string(1000, 'a');
  fs::create_symlink("b", texts + "/deep/b");
  is_bad_input(train + "data=" + texts, "data: cannot read " + texts + "/deep/b: Too many levels of symbolic links");
  is_bad_input(train + "data=" + texts + "/deep/b",
               "data: cannot read " + texts + "/deep/b: Too many levels of symbolic links");
  is_bad_input("train " + texts + "/deep/b", texts + "/deep/b");
  is_bad_input("train --out " + texts + "/deep/b/o " + config, texts + "/deep/b");
  is_bad_input("eval " + texts + "/deep/b", texts + "/deep/b");
  is_bad_input("inspect " + texts + "/deep/b", texts + "/deep/b");
  is_bad_input(train + "data=/proc", "data: /proc holds what the kernel says of itself");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
TEST_F(FilesTest, AFolderThatCannotBeMadeIsRefusedByItsReason) {
  auto train = "train " + config + " out=";
  fs::create_symlink("b", folder + "/a"), fs::create_symlink("a", folder + "/b");
  fs::create_symlink("nowhere", folder + "/dangling");
  is_bad_input(train + folder + "/a/o", "out: cannot read " + folder + "/a/o/config.yaml: Too many levels of symbolic");
  is_bad_input(train + folder + "/" + std::string(300, 'x'), "File name too long");
  is_bad_input(train + folder + "/dangling", "there is a link of this name, to nowhere, which is not there");
}
TEST_F(FilesTest, NobodyElseCanBeLostBecauseOfAFile) {
  auto out = folder + "/o";
  ASSERT_EQ(run("train --out " + out + " " + config + " checkpoint_every=3").code, 0);
  fs::remove(out + "/checkpoints/step-6/rank-0");
  ASSERT_EQ(::mkfifo((out + "/checkpoints/step-6/rank-0").c_str(), 0600), 0);
  auto fifo = "cannot read " + out + "/checkpoints/step-6/rank-0: it is a FIFO, a file is expected";
  for (auto command : {"eval " + out, "generate " + out, "inspect " + out + "/checkpoints/step-6",
                       "launch -n 2 --out " + out + " " + config + " steps=9"})
    is_bad_input(command, fifo);
}
TEST_F(FilesTest, EveryFileThatIsReadMayBeSomethingElse) {
  auto out = folder + "/o", train = "train --out " + out + " " + config + " steps=9",
       inspect = "inspect " + out + "/checkpoints/step-6";
  ASSERT_EQ(run("train --out " + out + " " + config).code, 0);
  struct Read {
    std::string file, command, shell = {};
  };
  auto hosts = folder + "/hosts", secret = folder + "/secret";
  for (auto& file : {hosts, secret}) std::ofstream(file) << "localhost slots=2 # and more\n";
  auto ids = folder + "/ids.npy";
  save_npy(ids, zeros({1, 3}, i32));
  const Read all[] = {{folder + "/text", train},
                      {config, train},
                      {hosts, "launch --hosts " + hosts + " " + config},
                      {secret, train, "BORA_SECRET_FILE=" + secret},
                      {folder + "/text", "train-tokenizer --vocab 300 --out " + folder + "/t.json " + folder + "/text"},
                      {out + "/config.yaml", train},
                      {out + "/config.yaml", "eval " + out},
                      {ids, "logits " + out + " --ids " + ids + " --out " + folder + "/logits.npy"},
                      {out + "/checkpoints/step-6/manifest", train},
                      {out + "/checkpoints/step-6/rank-0", train},
                      {out + "/checkpoints/step-6/rank-0", inspect},
                      {out + "/metrics.jsonl", train},
                      {out + "/checkpoints", train},
                      {out, train},
                      {out, "generate " + out}};
  for (auto& [file, command, shell] : all)
    for (std::string what : {"fifo", "device", "loop", "folder"}) {
      bool is_folder = file == out || file.ends_with("checkpoints");
      if (is_folder && what == "folder") continue;  // an empty one is a new run's
      fs::rename(file, file + ".away");
      if (what == "fifo") ::mkfifo(file.c_str(), 0600);
      else if (what == "device") fs::create_symlink("/dev/zero", file);
      else if (what == "loop") fs::create_symlink(file, file);
      else fs::create_directory(file);
      SCOPED_TRACE(file + ": " + what);
      is_bad_input(command, what == "folder" ? "" : file.substr(0, file.find("/checkpoints/step")), shell);
      fs::remove_all(file);
      fs::rename(file + ".away", file);
    }
  EXPECT_EQ(run(train).code, 0);
}
TEST_F(FilesTest, ValuesForgeNoLines) {
  auto train = "train --out " + folder + "/o " + config + " ";
  is_bad_input(train + "\"batch=3\nbora: rank 1 lost\"", "batch: expected an integer, got '3\\nbora: rank 1 lost'");
  is_bad_input(train + "\"$(printf 'layout=\\033[2K\\rfine')\"", "layout: unknown layout '\\x1b[2K\\rfine'");
  is_bad_input(train + "\"$(printf 'policy=\\377')\"",
               "bora: precision.policy '\\xff': no dtype named '\\xff'; there are bool i8 u8 i16 u16 i32 u32 i64 u64 "
               "f8_e4m3fn f16 bf16 f32 f64 key complex64 complex128; write f32");
  auto long_value = "\"$(head -c 100000 /dev/zero | tr '\\0' x)\"";
  for (std::string key : {"batch", "layout", "mesh", "policy", "data", "trace", "model.checkpoint"})
    is_bad_input(train + key + "=" + long_value, "...");
  is_bad_input("train " + config + " out=" + long_value, "...");
  is_bad_input(train + long_value + "=3", "unknown key 'xxx");
  is_bad_input("train " + std::string(long_value), "...");
  is_bad_input("eval " + std::string(long_value), "...");
  is_bad_input("generate " + folder + " --top-k " + long_value, "...");
  is_bad_input(long_value, "...");
  std::ofstream(folder + "/hosts") << std::string(10 << 20, '=') << "\n";
  is_bad_input("launch --hosts " + folder + "/hosts " + config, "...");
  std::ofstream(folder + "/long.yaml") << "batch: '" << std::string(10 << 20, 'x') << "'\n";
  is_bad_input("train " + folder + "/long.yaml", "batch: expected an integer, got 'xxx");
}
TEST_F(FilesTest, ClosedStandardFilesAreNotTheRunsOwn) {
  auto out = folder + "/o";
  auto r = run("train --out " + out + " " + config + " <&- >&- 2>&-");
  EXPECT_EQ(r.code, 2);  // what was printed has not arrived
  EXPECT_EQ(losses(out).size(), 6U);
  std::istringstream lines(slurp(out + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(line.starts_with("{\"step\": ")) << line;
}
/// A reader of a pipe that goes, as `head` does: a run goes on to its end, which says what is missing; what only prints
/// stops. Nothing ends by a signal.
TEST_F(FilesTest, AReaderThatGoesEndsNoRun) {
  auto out = folder + "/o", said = folder + "/said", code = folder + "/code";
  auto piped = [&](const std::string& before, const std::string& arguments, const std::string& after) {
    auto command = before + "(" + test::command() + " " + arguments + " 2> " + said + "; echo $? > " + code + ") | " +
                   after;
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(slurp(code), "2\n") << command << slurp(said);
    auto text = slurp(said);
    EXPECT_NE(text.find("bora: cannot write to standard output: it is full or closed\n"), text.npos) << text;
    EXPECT_EQ(text.find("bora: "), text.rfind("bora: ")) << text;
  };
  for (std::string command : {"train", "launch -n 2"}) {
    auto more = losses(out).size() + 6;
    piped("", command + " --out " + out + " " + config + " steps=" + std::to_string(more), "exec true");
    EXPECT_EQ(losses(out).size(), more);
  }
  piped("yes | ", "tokenize bytes", "head -n 1 > /dev/null");
  piped("", "generate " + out + " --length 100000000 --shift", "head -n 1 > /dev/null");
  for (auto arguments : std::vector<std::string>{"help", "help optimizer", "plan --help", "passes", "inspect " + out}) {
    auto command = "(sleep 0.1; " + test::command() + " " + arguments + " 2> " + said + "; echo $? > " + code +
                   ") | true";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(slurp(code), "0\n") << arguments << slurp(said);
    EXPECT_EQ(slurp(said), "") << arguments;
  }
}
TEST_F(FilesTest, ACacheThatIsCutUnderARunIsNamed) {
  auto out = folder + "/o", lines = folder + "/lines.jsonl", cut = folder + "/cut.yaml", chunk = std::string();
  std::ofstream text(lines);
  for (int i = 0; i < 300; ++i) text << "{\"text\": \"The wind number " << i * i << " blows over the hills.\"}\n";
  text.close();
  std::ofstream(cut) << "steps: 100000\nbatch: 6\ndata: {sources: [{type: jsonl, path: " << lines
                     << "}], cache: " << folder << "/cache}\nmodel: {layers: 1, embed: 24, heads: 3, positions: 16}\n";
  auto r = run("train --out " + out + " " + cut, [&](pid_t) {
    until([&] { return losses(out).size() > 3; });
    for (auto& e : fs::recursive_directory_iterator(folder + "/cache"))
      if (e.path().extension() == ".docs") fs::resize_file(chunk = e.path(), 0);
  });
  EXPECT_EQ(r.code, 2) << r.out << r.err;
  EXPECT_EQ(r.err, "bora: cannot read " + chunk +
                       ": it became shorter while it was in use, or its disk has an error\n");
}
TEST_F(FilesTest, ATerminalThatGoesAwayIsAnOrderlyStop) {
  auto out = folder + "/o", long_run = " --out " + out + " " + config + " steps=100000";
  for (std::string command : {"train", "launch -n 2"}) {
    auto before = losses(out).size();
    auto r = run(command + long_run, [&](pid_t pid) {
      until([&] { return losses(out).size() > before + 3; });
      for (int twice = 0; twice < 2; ++twice) ::kill(pid, SIGHUP);
    });
    EXPECT_EQ(r.code, 130) << r.out << r.err;
    EXPECT_NE(r.out.find("checkpoint: " + out + "/checkpoints/step-"), std::string::npos) << r.out;
  }
  auto before = losses(out).size();
  auto r = run(
      "train" + long_run,
      [&](pid_t pid) {  // as nohup starts it
        until([&] { return losses(out).size() > before + 3; });
        ::kill(pid, SIGHUP);
        auto then = losses(out).size();
        until([&] { return losses(out).size() > then + 20; });
        ::kill(pid, SIGTERM);
      },
      "trap '' HUP;");
  EXPECT_EQ(r.code, 130) << r.out << r.err;
}
}  // namespace files_test
