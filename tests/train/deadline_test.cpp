// The deadline: its forms, where Slurm says it, and a run that stops in front of it.
#include "bora/train/deadline.h"
#include <sys/stat.h>
#include <cmath>
#include <cstdlib>
#include "base/api/command.h"
#include "bigram.h"
#include "support/throws.h"

namespace deadline_test {
using namespace bora;
using training::Deadline;
using training::EndOfJob;
namespace {
double seconds_of(const EndOfJob& e) { return std::chrono::duration<double>(e.at.time_since_epoch()).count(); }
double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }
struct Variable {
  std::string name, before;
  bool was;
  Variable(const std::string& n, const std::string& value) : name(n), before(), was(false) {
    if (auto old = std::getenv(n.c_str())) before = old, was = true;
    ::setenv(n.c_str(), value.c_str(), 1);
  }
  ~Variable() {
    if (was) ::setenv(name.c_str(), before.c_str(), 1);
    else ::unsetenv(name.c_str());
  }
};
/// Programs of a folder in front of the others.
struct Programs {
  test::TempFolder temp;
  Variable path{"PATH", temp.path() + ":" + std::getenv("PATH")};
  void add(const std::string& name, const std::string& script) {
    auto file = temp.path() + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << script;
    ::chmod(file.c_str(), 0755);
  }
};
}  // namespace

TEST(Deadline, IsReadInEachForm) {
  Variable zone("TZ", "UTC-2");  // two hours east
  ::tzset();
  struct Case {
    std::string text;
    Deadline::Kind kind;
    double seconds;
  };
  using Kind = Deadline::Kind;
  for (auto& [text, kind, seconds] : std::vector<Case>{{"auto", Kind::automatic, 0},
                                                       {"off", Kind::off, 0},
                                                       {"12h", Kind::after, 43200},
                                                       {"90", Kind::after, 90},
                                                       {"1d2h", Kind::after, 93600},
                                                       {"2026-12-01T06:00", Kind::at, 1796097600},
                                                       {"2026-12-01T06:00:07", Kind::at, 1796097607},
                                                       {"2026-12-01T06:00Z", Kind::at, 1796104800},
                                                       {"2026-12-01T06:00+05:30", Kind::at, 1796085000},
                                                       {"2026-12-01T06:00:00-01:00", Kind::at, 1796108400}}) {
    auto d = Deadline::parse(text);
    EXPECT_EQ(d.kind(), kind) << text;
    EXPECT_EQ(d.seconds(), seconds) << text;
    EXPECT_EQ(to_string(d), text);
  }
  for (auto text : {"", "0", "-1h", "soon", "12 h", "2026-02-30T06:00", "2026-12-01", "2026-12-01T24:00",
                    "2026-12-01T6:00", "2026-12-01T06:61", "2026-12-01T06:00+15:00", "2026-12-01T06:00Zz",
                    "2026-13-01T06:00", "Auto"})
    EXPECT_THROW(Deadline::parse(text), ConfigError) << text;
}
TEST(Deadline, SlurmSaysTheEndOfItsJob) {
  Programs programs;
  Variable none("BORA_DEADLINE", ""), job("SLURM_JOB_ID", "7"), end("SLURM_JOB_END_TIME", "");
  std::string problem;
  auto of_job = [&] {
    problem.clear();
    return training::end_of_job(Deadline(), problem);
  };
  auto slurm = [&](const std::string& script) { programs.add("squeue", script); };
  slurm("[ \"$*\" = '-h -j 7 -o %e' ] && [ $SLURM_TIME_FORMAT = standard ] && echo 2026-12-01T06:00:00\n");
  auto found = of_job();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->said_by, "squeue");
  EXPECT_EQ(seconds_of(*found), Deadline::parse("2026-12-01T06:00").seconds());
  for (auto without : {"echo N/A\n", "echo UNLIMITED\n"}) {
    slurm(without);
    EXPECT_FALSE(of_job());
    EXPECT_EQ(problem, "");
  }
  for (auto broken : {"exit 1\n", "echo what\n", "echo; exit 0\n", "kill -9 $$\n"}) {
    slurm(broken);
    EXPECT_FALSE(of_job());
    EXPECT_NE(problem.find("deadline=12h"), problem.npos) << broken;
  }
  Variable said("SLURM_JOB_END_TIME", "1796097600");
  found = of_job();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->said_by, "SLURM_JOB_END_TIME");
  EXPECT_EQ(seconds_of(*found), 1796097600);
  EXPECT_FALSE(training::end_of_job(Deadline::parse("off"), problem));
  Variable launcher("BORA_DEADLINE", "1796097700");  // passes on what it has found
  EXPECT_EQ(seconds_of(*of_job()), 1796097700);
}
TEST(Deadline, IsCountedFromTheStartOrIsAPointInTime) {
  std::string problem;
  Variable none("BORA_DEADLINE", "");
  EXPECT_NEAR(seconds_of(*training::end_of_job(Deadline::parse("2h"), problem)), now() + 7200, 5);
  auto late = Deadline::parse("2001-02-03T04:05");
  auto passed = test::error_of<ConfigError>([&] { training::end_of_job(late, problem); });
  EXPECT_EQ(passed, "deadline: 2001-02-03T04:05 has passed; name a later one, or off");
}
TEST(Deadline, AProgramThatHangsOrFloodsIsLeft) {
  auto begin = now();
  EXPECT_FALSE(output_of({"sleep", "60"}, 0.2));
  EXPECT_FALSE(output_of({"sh", "-c", "exec >&-; sleep 60"}, 0.2));
  EXPECT_FALSE(output_of({"yes"}, 1));
  EXPECT_FALSE(output_of({"/no/such/program"}, 1));
  EXPECT_FALSE(output_of({}, 1));
  EXPECT_LT(now() - begin, 5);
  EXPECT_EQ(output_of({"echo", "word"}, 10), "word\n");
  EXPECT_EQ(output_of({"sh", "-c", "cat; echo error >&2"}, 10), "");
}

TEST_F(TrainerTest, ARunStopsInFrontOfItsDeadline) {
  settings.steps = 1'000'000;
  settings.deadline = Deadline::parse("30.4s");  // 30 s are kept for the end of the run
  Variable none("BORA_DEADLINE", "");
  auto run_it = [&](int ranks) {
    testing::internal::CaptureStdout();
    local_mesh({{"data", ranks}, {"model", 1}}, [&](const Mesh& mesh) {
      UseMapping split(layout_mappings(parse_layout(settings.layout), mesh.shape()).compute);
      auto model = bigram_trainable(settings, mesh.shape());
      EXPECT_EQ(run_training(*model, data, settings, mesh), 130);
    });
    return testing::internal::GetCapturedStdout();
  };
  auto said = run_it(2);
  EXPECT_NE(said.find("(deadline=30.4s), in 30 s\n"), said.npos) << said;
  EXPECT_NE(said.find("deadline: this step is the last one: another would not fit before "), said.npos) << said;
  EXPECT_NE(said.find("stopped after step "), said.npos) << said;
  auto made = losses(settings.out).size();
  EXPECT_GT(made, 1U);
  settings.deadline = Deadline::parse("29s");  // nothing fits, and nothing is lost
  said = run_it(1);
  EXPECT_NE(said.find("deadline: no step fits before it"), said.npos) << said;
  EXPECT_NE(said.find("stopped after step " + std::to_string(made) + " of 1000000"), said.npos) << said;
  EXPECT_EQ(losses(settings.out).size(), made);
}
}  // namespace deadline_test
