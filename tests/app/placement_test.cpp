// Presets and own rules of the mesh through the command: bad input, what plan prints, runs.
#include <sstream>
#include "command.h"

namespace fs = std::filesystem;
namespace placement_test {
using namespace bora;

TEST_F(CommandTest, BadPlacementsAreOneLine) {
  for (std::string command : {"launch -n 2 --out " + folder + "/o " + config + " ", "plan " + config + " "}) {
    is_bad_input(command + "mesh.activation_dims=0 mesh.parameter_dims=2",
                 "there are (0, 0), (1, 0), (1, 1), (2, 1), ");
    is_bad_input(command + "mesh.activation_dims=two", "mesh.activation_dims: expected an integer, got 'two'");
    is_bad_input(command + "layout=fsdp mesh.parameter_dims=2", "'layout' and 'mesh.parameter_dims' both say");
    is_bad_input(command + "layout=fsdp 'mesh.rules.storage=[[embed, data]]'", "'layout' and 'mesh.rules' both say");
    is_bad_input(command + "mesh.parameter_dims=2 'mesh.rules.storage=[[embed, data]]'",
                 "'mesh.parameter_dims' and 'mesh.rules' both say");
    is_bad_input(command + "'mesh.rules.storage=[[embeds, data]]'", "unknown logical axis 'embeds'; there are batch, ");
    is_bad_input(command + "'mesh.rules.storage=[[embed, date]]'",
                 "unknown mesh axis 'date'; the mesh axes are replica, stage, data, context and model");
    is_bad_input(command + "'mesh.rules.compute=[[embed, data], [embed, data]]'", "twice: by rule 1 and rule 2");
    is_bad_input(command + "'mesh.rules.compute=[embed, data]'", "mesh.rules.compute: expected a list, got 'embed'");
    is_bad_input(command + "'mesh.rules.compute=[[embed'", "broken list");
    is_bad_input(command + "mesh.parameter_dims=2 mesh.axes.seq=2", "unknown axis 'seq'");
    is_bad_input(command + "mesh.parameter_dims=2 mesh=data=0", "the size of axis 'data' must be 1 or more");
  }
  is_bad_input("launch -n 2 --out " + folder + "/o " + config + " mesh=replica=2,data=2",
               "mesh: replica=2,data=2 has 4 ranks, but this job has 2");
  is_bad_input("plan " + config + " mesh=model=4 mesh.activation_dims=1",
               "model.heads: 3 heads cannot be spread over 4 ranks (mesh axis 'model', "
               "activation_dims=1,parameter_dims=1)");
  is_bad_input("plan " + config + " mesh=seq=17 'mesh.rules.compute=[[position, seq]]'",
               "model.positions: 16 positions cannot be spread over 17 ranks (mesh axis 'seq', rules)");
  is_bad_input("plan " + config + " mesh=replica=2,data=4", "batch: 6 rows cannot be spread over 8 ranks");
  EXPECT_FALSE(fs::exists(folder + "/o"));
}
TEST_F(CommandTest, PlanSaysWhichRuleEachArrayTook) {
  auto has = [](const Result& r, const std::string& text) {
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(in_a_line(r.out).find(in_a_line(text)), std::string::npos) << text << "\n" << r.out;
    std::istringstream lines(r.out.starts_with("plan: ") ? r.out : "");
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  };
  auto r = run("plan " + config + " --mesh data=2,model=3 mesh.activation_dims=2 mesh.parameter_dims=2");
  has(r, "  rules of storage: 1 heads -> model, 2 mlp -> model, 3 vocab -> model, 4 embed -> model, 5 embed -> data\n");
  has(r,
      "\n    wte.weight [vocab 256, embed 24]: stored vocab -> model (3), embed -> data (5); computed vocab -> model "
      "(4)\n");
  has(r, "\n    ln_f.weight [embed 24]: stored embed -> model (4); computed embed -> model (5)\n");
  has(r, "\n    [batch 6, position 16, embed 24]: batch -> data (1), embed -> model (5)\n");
  has(r, "\n    [batch 6, position 16, vocab 256]: batch -> data (1), vocab -> model (4)\n");
  has(r, "compute rule 4 (vocab -> model): 256 does not divide over 3 in ");
  has(r, "compute rule 5 (embed -> model): mesh axis 'model' is taken already in ");
  has(run("plan " + config), "\n  diagnostics: none\n");
  has(run("plan " + config + " --mesh replica=2,data=3"), "batch -> replica*data (1)");
  has(run("plan " + config + " --mesh data=3 --layout dp --link 1G"),  // a link is between hosts, of a rank each
      "\n  1     1               1               2, 3 (2)\n");
  r = run("plan " + config +
          " mesh=data=2,seq=2 'mesh.rules.storage=[[embed, data], [embed, model], [key_position, data]]'"
          " 'mesh.rules.compute=[[batch, replica, data]]'");
  has(r, "storage rule 2 (embed -> model) is hidden by rule 1\n");
  has(r, "storage rule 3 (key_position -> data) fits no array\n");
  has(r, "compute rule 1 (batch -> replica*data): the mesh has no axis 'replica'\n");
  has(r, "mesh axis 'seq' splits no computation: its 2 ranks do the same work\n");
  // The same as lines of a run that begins.
  r = run("launch -n 2 --out " + folder + "/o " + config + " steps=0 'mesh.rules.storage=[[embed, data]]'");
  has(r, "init digest data=2,model=1 rules: ");
  has(r, "warning: mesh axis 'data' splits no computation: its 2 ranks do the same work\n");
  EXPECT_EQ(run("launch -n 2 --out " + folder + "/p " + config + " steps=0").out.find("warning"), std::string::npos);
}
TEST_F(CommandTest, RunsWithPresetsAndRules) {
  auto whole = folder + "/whole";
  auto first = run("train " + config + " out=" + whole);
  ASSERT_EQ(first.code, 0) << first.err;
  auto digest = first.line("init digest ").substr(first.line("init digest ").find(": "));
  auto want = losses(whole);
  std::ofstream(folder + "/rules.yaml") << slurp(config) << R"(mesh:
  axes: {replica: 2, data: 2}
  rules:
    storage: [[embed, data], [mlp, [replica, data]]]
    compute: [[batch, [replica, data]], [mlp, null]]
)";
  struct Case {
    std::string launch, items;
  };
  int n = 0;
  for (auto& c : {Case{"-n 2", config + " mesh.activation_dims=1 mesh.parameter_dims=2"},
                  {"-n 3 --mesh model=3", config + " mesh.activation_dims=2 mesh.parameter_dims=2"},
                  {"-n 4 --mesh replica=2,data=2", config + " layout=fsdp"},
                  {"-n 4", folder + "/rules.yaml"}}) {
    auto out = folder + "/run" + std::to_string(n++);
    auto r = run("launch " + c.launch + " --out " + out + " " + c.items);
    ASSERT_EQ(r.code, 0) << c.items << "\n" << r.out << r.err;
    auto line = r.line("init digest ");
    EXPECT_EQ(line.substr(line.find(": ")), digest) << c.items;
    auto l = losses(out);
    ASSERT_EQ(l.size(), want.size()) << c.items;
    for (std::size_t i = 0; i < l.size(); ++i)
      EXPECT_NEAR(l[i], want[i], 1e-5 * want[i]) << c.items << " step " << i + 1;
  }
  // The last one goes on under a preset, and is evaluated alone and by two ranks.
  auto out = folder + "/run3";
  auto r = run("launch -n 2 --out " + out + " " + config + " steps=8 mesh.activation_dims=1");
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("continuing from step 6"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("changed: mesh.rules.storage: [embed, data], [mlp, replica, data] -> "), std::string::npos)
      << r.out;
  auto val = std::stod(r.out.substr(r.out.rfind("val loss: ") + 10));
  for (std::string how :
       {"eval " + out, "launch -n 2 -- eval " + out, "launch -n 2 -- eval " + out + " layout=tp mesh=model=2",
        "launch -n 2 -- eval " + out + " mesh.activation_dims=1 mesh.parameter_dims=2"}) {
    auto e = run(how);
    ASSERT_EQ(e.code, 0) << how << e.out << e.err;
    EXPECT_NEAR(std::stod(e.line("val loss: ")), val, 1e-4) << how;
  }
  // A layout that names no sizes, and rules with an axis of their own, on as many ranks and on others.
  std::ofstream(folder + "/own.yaml") << slurp(config) << R"(mesh:
  axes: {data: 2, rows: 2}
  rules: {storage: [[embed, data]], compute: [[batch, [data, rows]]]}
)";
  for (std::string items : {config + " layout=fsdp+tp mesh=data=2,model=2 model.heads=4", folder + "/own.yaml"}) {
    auto own = folder + "/own" + std::to_string(runs);
    auto t = run("launch -n 4 --out " + own + " " + items);
    ASSERT_EQ(t.code, 0) << t.out << t.err;
    auto last = std::stod(t.out.substr(t.out.rfind("val loss: ") + 10));
    for (std::string ranks : {"4", "2", "1"}) {
      auto e = run("launch -n " + ranks + " -- eval " + own);
      ASSERT_EQ(e.code, 0) << items << " on " << ranks << e.err;
      EXPECT_NEAR(std::stod(e.line("val loss: ")), last, 1e-4) << items << " on " << ranks;
    }
  }
  EXPECT_EQ(run("generate " + out + " --prompt The --length 5").code, 0);
}
TEST_F(CommandTest, RanksMayBeMoreThanHeadsOfKeys) {
  // Each rank has a part of the queries of every head of keys.
  std::string small = "model.layers=2 model.embed=32 model.heads=8 model.positions=16 model.hidden=24 steps=4";
  for (std::string model : {"model.type=gemma model.kv_heads=1", "model.type=llama model.kv_heads=2",
                            "model.type=mixtral model.kv_heads=1 model.experts=2"}) {
    auto items = config + " " + model + " " + small;
    auto whole = folder + "/one" + std::to_string(runs);
    auto first = run("train " + items + " out=" + whole);
    ASSERT_EQ(first.code, 0) << first.err;
    auto want = losses(whole);
    auto answer = run("generate " + whole + " --prompt 'The wind' --length 12 --temperature 0");
    ASSERT_EQ(answer.code, 0) << answer.err;
    for (std::string mesh : {"layout=tp", "layout=fsdp+tp mesh=data=1,model=4", "mesh=data=1,model=4 "
                             "mesh.activation_dims=2 mesh.parameter_dims=2"}) {
      auto out = folder + "/run" + std::to_string(runs);
      auto r = run("launch -n 4 --out " + out + " " + items + " " + mesh);
      ASSERT_EQ(r.code, 0) << mesh << r.out << r.err;
      auto l = losses(out);
      ASSERT_EQ(l.size(), want.size());
      for (std::size_t i = 0; i < l.size(); ++i) EXPECT_NEAR(l[i], want[i], 1e-5 * want[i]) << model << " " << mesh;
    }
    auto spread = "launch -n 4 -- ", how = " layout=tp mesh=model=4";
    auto alone = run("eval " + whole), four = run(spread + ("eval " + whole) + how);
    ASSERT_EQ(four.code, 0) << four.err;
    EXPECT_NEAR(std::stod(four.line("val loss: ")), std::stod(alone.line("val loss: ")), 1e-5);
    auto said = run(spread + ("generate " + whole + " --prompt 'The wind' --length 12 --temperature 0") + how);
    EXPECT_EQ(said.out, answer.out) << said.err;
  }
  auto placed = run("plan " + config + " model.type=llama model.kv_heads=2 " + small + " layout=tp mesh=model=4");
  for (auto text :
       {"blocks.layer.attn.q.weight [layers 2, embed 32, heads 2, head_group 4, head_size 4]: "
        "stored head_group -> model (1)",
        "blocks.layer.attn.k.weight [layers 2, embed 32, heads 2, head_size 4]: stored whole"})
    EXPECT_NE(in_a_line(placed.out).find(text), std::string::npos) << placed.out << placed.err;
  is_bad_input("plan " + config + " model.type=llama model.kv_heads=2 " + small + " layout=tp mesh=model=5",
               "model.kv_heads: 2 heads of keys cannot be spread over 5 ranks (mesh axis 'model', layout tp); use at "
               "most 4 ranks there");
}
}  // namespace placement_test
