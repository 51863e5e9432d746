// The command from outside: exit codes, lines and files that scripts read, with processes and sockets.
#include <csignal>
#include "command.h"
#include "support/golden.h"

namespace fs = std::filesystem;
namespace command_test {
using namespace bora;
TEST_F(CommandTest, BadInputIsOneLineAndExitCodeTwo) {
  auto launch = "launch -n 2 --out " + folder + "/o " + config + " ";
  is_bad_input(launch + "bacth=3", "unknown key 'bacth'; did you mean 'batch'?");
  is_bad_input(launch + "batch=three", "batch: expected an integer, got 'three'");
  is_bad_input(launch + "batch=0", "batch: must be 1 or more rows, got 0");
  is_bad_input(launch + "model.embed=-4", "model.embed: must be 1 or more, got -4");
  is_bad_input(launch + "data=/no/such/file", "data: no file or folder at /no/such/file");
  std::ofstream(folder + "/empty") << "";
  is_bad_input(launch + "data=" + folder + "/empty", "is empty");
  is_bad_input(launch + "mesh=data=3", "has 3 ranks, but this job has 2");
  is_bad_input(launch + "mesh=pipe=2", "unknown axis 'pipe'");
  is_bad_input(launch + "layout=zero", "unknown layout 'zero'");
  is_bad_input("launch -n 2 --out /proc/nothing " + config, "out: cannot make the folder /proc/nothing");
  std::ofstream(folder + "/broken.yaml") << "steps: 3\nmodel: {layers: 2\n";
  is_bad_input("launch -n 2 " + folder + "/broken.yaml", "broken YAML");
  is_bad_input("launch -n 2 " + folder + "/none.yaml", "no configuration file");
  is_bad_input("train " + config + " batch=0", "batch: must be 1 or more rows");
  is_bad_input("generate " + folder, "is no folder of a run");
  is_bad_input("inspect " + folder, "no checkpoint at");
  is_bad_input("frobnicate", "frobnicate");
  is_bad_input("train", "data: no text given; set data=FILE");
  is_bad_input("launch -n 2 -- nosuchprogram",
               "'nosuchprogram' is no configuration file, no setting key=value and no program");
  is_bad_input("train " + config + " policy=f31",
               "policy 'f31': no dtype named 'f31'; there are bool i8 u8 i16 u16 i32 u32 i64 u64 f8_e4m3fn "
               "f16 bf16 f32 f64 key complex64 complex128; write");
  // More ranks than parts of the dimension that the layout splits.
  is_bad_input(launch + "layout=tp model.heads=1",
               "model.heads: 1 head cannot be spread over 2 ranks (mesh axis 'model', layout tp); use at "
               "most 1 rank there, or raise it");
  is_bad_input("plan " + config + " mesh=model=4 layout=tp", "model.heads: 3 heads cannot be spread over 4 ranks");
  is_bad_input("plan " + config + " mesh=data=7 layout=dp",
               "batch: 6 rows cannot be spread over 7 ranks (mesh axis 'data', layout dp)");
  is_bad_input("launch -n 4 --out " + folder + "/o " + config + " accumulate=2",
               "batch: 3 rows in each part of the batch cannot be spread over 4 ranks");
  is_bad_input("plan " + config + " mesh=data=4 model.embed=3",
               "model.embed: 3 numbers of a vector cannot be spread over 4 ranks");
  is_bad_input("plan " + config + " mesh=data=65536,model=65536 layout=fsdp+tp",
               "at most 65536 ranks; the mesh has 4294967296");
  for (std::string link : {"1X", "G", "-1G", "1G,fast"})
    is_bad_input("plan " + config + " --mesh data=2 --link " + link, "--link: '" + link + "' is no link");
  is_bad_input("plan " + config + " --mesh data=2 --link ''", "--link: '' is no link");
  is_bad_input("plan " + config + " --mesh data=2 --json ''", "--json: no file given");
  is_bad_input("plan " + config + " --mesh data=-1", "plan: mesh data=-1 leaves a size open");
  is_bad_input("plan " + config + " --mesh data=2 wire=int8 transport.algorithms=all_reduce=chain",
               "all_reduce=chain passes running sums on");
  is_bad_input("plan " + config + " --mesh data=0 --link 1G", "the size of axis 'data' must be 1 or more");
  is_bad_input("plan " + config + " --mesh data=3 --link 1G --ranks-per-host 2", "ranks cannot be spread");
  is_bad_input("plan " + config + " --mesh data=2 --link 1G --cores -4", "--cores: expected a number above 0, got -4");
  is_bad_input(launch + "model.positions=80000", "(hold_out=0.05) need a window of 80001 bytes each");
  is_bad_input(launch + "data=" + folder, "lies in the folder of the text");
  is_bad_input(launch, "BORA_ROOT: expected host:port", "BORA_ROOT=nowhere");
  is_bad_input(launch + "--log-dir " + config + "/logs", "cannot make the folder");
  is_bad_input("launch -n 2 --out " + config + "/deep " + config, "out: cannot make the folder");
  for (std::string rank : {"0", "1"})  // started by hand: each terminal shows why
    is_bad_input("train " + config + " batch=0", "batch: must be 1 or more rows",
                 "BORA_RANK=" + rank + " BORA_SIZE=2 BORA_ROOT=127.0.0.1:9");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
TEST_F(CommandTest, TrainsWithoutAConfigurationFileAndInspectTakesTheRun) {
  auto out = folder + "/o";
  is_bad_input("inspect " + folder, "no checkpoint at " + folder);
  for (std::string start : {"train ", "launch -n 2 -- ", "launch -n 2 -- train "}) {
    auto r = run(start + "data=" + folder + "/text out=" + out +
                 " steps=3 batch=2 eval_every=2 eval_rows=4 checkpoint_every=2 model.layers=1 " +
                 "model.embed=16 model.heads=2 model.positions=16");
    ASSERT_EQ(r.code, 0) << start << r.err;
    EXPECT_TRUE(std::ifstream(out + "/config.yaml").good());
    // One name for one thing, bytes for scripts, MiB for people.
    EXPECT_EQ(r.out.find("eval loss"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("\nstep 2  val loss "), std::string::npos) << r.out;
    EXPECT_NE(r.line("peak memory: ").find(" MiB"), std::string::npos) << r.out;
    EXPECT_GT(std::stod(r.line("peak rss rank 0: ")), 1e6);
    r = run("inspect " + out);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.line("checkpoint: "), out + "/checkpoints/step-3 (the newest of " + out + ")");
    EXPECT_NE(r.out.find("params.wte.weight"), std::string::npos) << r.out;
    EXPECT_EQ(run("inspect " + out + "/checkpoints/step-2").code, 0);
    fs::remove_all(out);
  }
  auto r = run("train data=" + folder + "/text hold_out=0 out=" + out +
               " steps=3 batch=2 eval_every=1 model.layers=1 model.embed=16 model.heads=2 model.positions=16");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out.find("val loss"), std::string::npos) << r.out;
  is_bad_input("eval " + out, "eval: nothing is held out of " + folder + "/text; set data.hold_out");
  EXPECT_EQ(run("eval " + out + " data.hold_out=0.1").code, 0);
  fs::remove_all(out);
  ASSERT_EQ(run("train data=" + folder + "/text out=" + out + " steps=0").code, 0);
  is_bad_input("inspect " + out, out + " has no checkpoint yet");
}
TEST_F(CommandTest, InspectShowsTheStaticValuesOfATree) {
  auto r = run("inspect " + test::golden_path("saved_tree"));
  ASSERT_EQ(r.code, 0) << r.err;
  auto shows = [&](const std::string& path, const std::string& value) {
    auto line = path + std::string(path.size() < 48 ? 48 - path.size() : 0, ' ') + " = " + value + "\n";
    EXPECT_NE(r.out.find(line), std::string::npos) << line << r.out;
  };
  shows("0.scale", "3");
  shows("0.window", "{size=3, strides=[3], name=\"w\"}");
  shows("0.words", "[\"a\", \"b\"]");
  shows("0.blocks.1.heads", "4");
}
TEST_F(CommandTest, OutputThatDoesNotArriveIsAnError) {
  ASSERT_EQ(run("train --out " + folder + "/o " + config).code, 0);
  for (auto& command : {"plan " + config, "train " + config + " steps=0", "generate " + folder + "/o --length 3",
                        "launch -n 2 " + config + " steps=0"}) {
    auto r = run(command + " > /dev/full");
    EXPECT_EQ(r.code, 2) << command;
    EXPECT_EQ(r.err, "bora: cannot write to standard output: it is full or closed\n") << command;
  }
}
TEST_F(CommandTest, TextIsGeneratedUnderEveryPolicy) {
  for (std::string policy : {"p=bf16,c=bf16,o=f32", "f64", "p=f32,c=bf16,o=f32"}) {
    auto out = folder + "/" + policy;
    ASSERT_EQ(run("train --out " + out + " " + config + " policy=" + policy).code, 0);
    auto greedy = run("generate " + out + " --prompt The --length 20 --temperature 0");
    EXPECT_EQ(greedy.code, 0) << greedy.err;
    EXPECT_EQ(greedy.out.size(), 17U);  // the window's 16 bytes
    auto on = run("generate " + out + " --prompt The --length 20 --temperature 0 --shift");
    EXPECT_EQ(on.out.size(), 24U) << on.err;
    EXPECT_EQ(on.out.substr(0, 16), greedy.out.substr(0, 16));
    for (auto temperature : {"1e-10", "1e-40", "1e-300"})
      EXPECT_EQ(run("generate " + out + " --prompt The --length 20 --temperature " + temperature).out, greedy.out)
          << temperature;
  }
}
TEST_F(CommandTest, AFolderBelongsToOneRun) {
  auto out = folder + "/o", command = "launch -n 2 --out " + out + " " + config + " steps=100000";
  auto r = run(command, [&](pid_t launcher) {
    until([&] { return losses(out).size() >= 3; });
    is_bad_input("launch -n 2 --out " + out + " " + config + " lr=1", "out: another run is writing into " + out);
    EXPECT_EQ(slurp(out + "/config.yaml").find("lr: 1\n"), std::string::npos);
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_FALSE(fs::exists(out + "/.lock"));
}
TEST_F(CommandTest, ATraceOfAllRanksAndSigusr2ToTheLauncher) {
  auto out = folder + "/o", trace = folder + "/trace.json", flight = folder + "/flight";
  is_bad_input("train " + config + " trace=" + folder + "/none/trace.json", "trace: no folder for ");
  auto r = run(
      "launch -n 2 --out " + out + " " + config + " steps=100000 trace_steps=3 trace=" + trace,
      [&](pid_t launcher) {
        until([&] { return losses(out).size() > 6; });
        ::kill(launcher, SIGUSR2);
        until([&] { return fs::exists(flight + "/rank-0.jsonl") && fs::exists(flight + "/rank-1.jsonl"); });
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        ::kill(launcher, SIGTERM);
      },
      "BORA_FLIGHT_DIR=" + flight);
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_NE(r.line("trace: " + trace).find(" (a step "), std::string::npos) << r.out;
  EXPECT_NE(r.err.find("flight recorder: SIGUSR2 to rank "), std::string::npos) << r.err;
  auto text = slurp(trace);
  for (std::string part : {R"("totals":[)", R"({"rank":1,"steps":3,)", R"({"pid":1,"tid":0,"cat":"step")",
                           R"("cat":"kernel")", R"("cat":"collective","name":"all_gather)"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}
TEST_F(CommandTest, APortInUseAndARankThatNeverArrives) {
  std::string root;
  {
    test::TakenPort taken;
    root = taken.address();
    is_bad_input("launch -n 2 --out " + folder + "/o " + config, "the port is in use", "BORA_ROOT=" + root);
  }
  EXPECT_FALSE(fs::exists(folder + "/o"));
  auto r = run("train " + config + " join_timeout=1 --out " + folder + "/o", {},
               "BORA_RANK=0 BORA_SIZE=2 BORA_JOIN_TIMEOUT=60 BORA_ROOT=" + root);  // the setting goes over it
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("rank 1 of 2"), std::string::npos) << r.err;
  EXPECT_TRUE(r.err.starts_with("bora: ")) << r.err;
  EXPECT_LT(r.seconds, 10);
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
TEST_F(CommandTest, CommMeasuresTheCollectivesOfAJob) {
  auto json = folder + "/comm.json", svg = folder + "/comm.svg";
  auto r = run("launch -n 2 -- comm --max-bytes 16384 --json " + json + " --svg " + svg);
  ASSERT_EQ(r.code, 0) << r.err;
  for (auto words :
       {"2 ranks, 2 on this host", "all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"})
    EXPECT_NE(r.out.find(words), std::string::npos) << r.out;
  std::stringstream numbers, plot;
  numbers << std::ifstream(json).rdbuf();
  plot << std::ifstream(svg).rdbuf();
  EXPECT_NE(numbers.str().find("\"op\": \"broadcast\", \"bytes\": 16384"), std::string::npos) << numbers.str();
  EXPECT_TRUE(plot.str().starts_with("<svg")) << plot.str();
  EXPECT_NE(plot.str().find(">a rank to the next: "), std::string::npos) << plot.str();
  // No text is cut off.
  for (auto at = plot.str().find("<text x=\""); at != std::string::npos; at = plot.str().find("<text x=\"", at + 1)) {
    auto x = std::stod(plot.str().substr(at + 9));
    auto words = plot.str().substr(plot.str().find('>', at) + 1);
    auto width = 7. * static_cast<double>(words.find('<'));
    auto anchor = plot.str().substr(plot.str().find("text-anchor=\"", at) + 13);
    auto begin = anchor.starts_with("start") ? x : anchor.starts_with("middle") ? x - width / 2 : x - width;
    EXPECT_GE(begin, 0) << words.substr(0, 30);
    EXPECT_LE(begin + width, 720) << words.substr(0, 30);
  }
  EXPECT_EQ(r.out.find('%'), std::string::npos) << r.out;  // ranks of one host share its memory: no share of a link
  auto explained = run("comm --explain -n 4 --max-bytes 65536");
  EXPECT_EQ(explained.code, 0);
  EXPECT_NE(explained.out.find("two_shot"), std::string::npos) << explained.out;
  EXPECT_NE(run("comm --explain -n 4 --on 2 --max-bytes 4096").out.find("one_shot_hierarchical"), std::string::npos);
  is_bad_input("comm --explain -n 4 --on 3", "--on: 4 ranks cannot be spread evenly over 3 hosts");
  is_bad_input("comm", "one rank has nobody to talk to");
  is_bad_input("comm --max-bytes 1", "--max-bytes");
  is_bad_input("launch -n 2 -- comm --json /nowhere/x --max-bytes 4096", "cannot write /nowhere/x");
}
TEST_F(CommandTest, TheSameRunOnEveryMesh) {
  std::string digest;
  std::vector<double> first;
  for (std::string how : {"-n 1", "-n 2 --layout fsdp", "-n 2 --layout tp", "-n 3 --layout fsdp",
                          "-n 4 --layout fsdp+tp --mesh data=2,model=2", "-n 2 --layout dp"}) {
    auto out = folder + "/" + std::to_string(std::hash<std::string>()(how));
    auto r = run("launch " + how + " --out " + out + " " + config);
    ASSERT_EQ(r.code, 0) << how << "\n" << r.out << r.err;
    auto line = r.line("init digest ");
    auto hex = line.substr(line.find(": ") + 2);
    EXPECT_EQ(hex.size(), 64U) << line;
    if (digest.empty()) digest = hex;
    EXPECT_EQ(hex, digest) << how;
    auto l = losses(out);
    ASSERT_EQ(l.size(), 6U) << how;
    if (first.empty()) first = l;
    for (std::size_t i = 0; i < l.size(); ++i) EXPECT_NEAR(l[i], first[i], 1e-5 * first[i]) << how << " step " << i + 1;
    EXPECT_EQ(losses(out, "eval/loss").size(), 2U);
    EXPECT_EQ(r.line("checkpoint: "), out + "/checkpoints/step-6");
    EXPECT_GT(std::stod(r.line("val loss: ")), 4);
    EXPECT_GT(std::stod(r.line("peak rss rank 0: ")), 1e6);
    EXPECT_TRUE(fs::exists(out + "/loss.svg") && fs::exists(out + "/config.yaml"));
  }
}
TEST_F(CommandTest, AContinuedRunIsTheRunThatWasNeverInterrupted) {
  auto whole = folder + "/whole", cut = folder + "/cut";
  const std::string length = " steps=300 checkpoint_every=100";
  ASSERT_EQ(run("launch -n 2 --out " + whole + " " + config + length).code, 0);
  // Kill -9 of a rank in mid-training, then the same command again.
  auto command = "launch -n 2 --out " + cut + " " + config + length;
  std::chrono::steady_clock::time_point killed;
  auto r = run(command, [&](pid_t launcher) {
    for (int i = 0; i < 30000 && losses(cut).size() < 120; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    killed = std::chrono::steady_clock::now();
    for (auto& p : fs::directory_iterator("/proc")) {
      auto stat = slurp(p.path() / "stat");
      if (stat.find(" " + std::to_string(launcher) + " ") != std::string::npos &&
          slurp(p.path() / "environ").find("BORA_RANK=1") != std::string::npos)
        ::kill(std::stoi(p.path().filename()), SIGKILL);
    }
  });
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - killed).count(), 2.5);
  EXPECT_EQ(r.code, 86) << r.out << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_NE(r.err.find("bora: rank 1 lost"), std::string::npos) << r.err;
  EXPECT_EQ(test::processes(cut), 0);
  r = run(command);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("continuing from step 100"), std::string::npos) << r.out;
  EXPECT_EQ(losses(cut), losses(whole));
  // Another number of ranks goes on from what two have written.
  for (std::string n : {"1", "3"}) {
    auto out = folder + "/from" + n;
    fs::create_directories(out + "/checkpoints");
    fs::copy(whole + "/checkpoints/step-200", out + "/checkpoints/step-200", fs::copy_options::recursive);
    r = run("launch -n " + n + " --out " + out + " " + config + length);
    ASSERT_EQ(r.code, 0) << r.out << r.err;
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_NEAR(losses(out).at(i), losses(whole).at(200 + i), 1e-5 * losses(whole).at(200 + i))
          << n << " ranks, step " << 201 + i;
  }
  // Damage is found, and names the leaf.
  {
    auto file = whole + "/checkpoints/step-300/rank-1";
    auto bytes = slurp(file);
    bytes[bytes.size() / 2] ^= 1;
    std::ofstream(file, std::ios::binary) << bytes;
  }
  is_bad_input("launch -n 2 --out " + whole + " " + config + " steps=400", "leaf '");
  fs::remove_all(whole + "/checkpoints/step-300");
  is_bad_input("launch -n 2 --out " + whole + " " + config + " steps=400 model.embed=48",
               "is of another model: leaf '");
  auto text = run("generate " + cut + " --prompt The --length 20 --shift");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("The"));
  EXPECT_GE(text.out.size(), 23U);
  EXPECT_EQ(text.out, run("generate " + cut + " --prompt The --length 20 --shift").out);
  auto eval = run("eval " + cut);
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_NEAR(std::stod(eval.line("val loss: ")), losses(cut, "eval/loss").back(), 1e-4);
  auto seen = run("inspect " + cut + "/checkpoints/step-300");
  EXPECT_EQ(seen.code, 0) << seen.err;
  EXPECT_NE(seen.out.find("params.wte.weight"), std::string::npos) << seen.out;
}
TEST_F(CommandTest, StepsZeroPlansAndEnds) {
  auto r = run("launch -n 2 --layout fsdp --out " + folder + "/o " + config + " steps=0");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("init digest data=2,model=1 fsdp: "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("plan: "), std::string::npos);
  EXPECT_EQ(r.out.find("val loss"), std::string::npos);
  EXPECT_EQ(r.out.find("checkpoint: "), std::string::npos);
  EXPECT_FALSE(fs::exists(folder + "/o/checkpoints"));
  EXPECT_NE(r.line("peak rss rank 1: ").find_first_of("123456789"), std::string::npos);
  EXPECT_EQ(run("launch -n 2 --out " + folder + "/o " + config + " steps=0 digest=false").out.find("init digest"),
            std::string::npos);
  EXPECT_EQ(run("plan " + config + " --mesh data=2,model=1").code, 0);
}
TEST_F(CommandTest, SignalsStopInOrder) {
  auto out = folder + "/o";
  auto r = run("launch -n 2 --out " + out + " " + config + " steps=100000", [&](pid_t launcher) {
    until([&] { return losses(out).size() >= 3; });
    ::kill(launcher, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_NE(r.out.find("checkpoint: " + out + "/checkpoints/step-"), std::string::npos) << r.out;
  EXPECT_EQ(r.err.find("bora: "), std::string::npos) << r.err;
  EXPECT_EQ(test::processes(out), 0);
  // Before the first step as well.
  auto early = folder + "/early";
  r = run("train --out " + early + " " + config + " steps=100000", [&](pid_t rank) {
    until([&] { return fs::exists(early); });
    ::kill(rank, SIGTERM);
  });
  EXPECT_EQ(r.code, 130) << r.out << r.err;
  EXPECT_NE(r.out.find("checkpoint: " + early + "/checkpoints/step-"), std::string::npos) << r.out;
}
}  // namespace command_test
