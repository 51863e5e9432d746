// elastic_history.h -- a job to which things happen at random moments, drawn from a seed, beside one that has peace:
// whatever is lost and comes back, and whenever, it ends with 0 and the numbers of the other: no row is lost or read
// twice. BORA_LOSSES: how many moments there are in all (60); BORA_LOSSES_SEED: the histories of an earlier run, as far
// as the machine repeats itself.
#pragma once
#include <map>
#include <random>
#include "elastic.h"

namespace bora {
struct HistoryTest : CommandTest {
  static constexpr int kMoments = 5;      // of one job, at most
  static constexpr double kBound = 120;   // seconds in which a job gets further; alone it takes 1, or 15 after SIGSTOP
  struct Kind {
    std::string name, words;
    bool hosts;      // on several, which are lost and come back; else 4 processes of this one
    bool same_bits;  // whatever the number of ranks
  };
  std::mt19937 random;
  std::vector<std::string> story = {};
  std::vector<std::thread> alarms = {};
  double slowest = 0;
  bool stops = true;  // ranks too, which costs a quarter of a minute each time

  virtual Hosts& hosts() = 0;
  virtual void begins() = 0;  // a job, with all hosts
  /// Adds what it does to the story.
  virtual void happens(const Kind&, pid_t launcher) = 0;

  ~HistoryTest() override { wake(); }
  void wake() {
    for (auto& alarm : alarms) alarm.join();
    alarms.clear();
  }
  std::size_t below(std::size_t n) { return random() % n; }
  template <class T> const T& one_of(const std::vector<T>& all) { return all[below(all.size())]; }

  // ---- what there is ----
  /// The last step in the metrics.
  static std::int64_t step_of(const std::string& out) {
    std::ifstream file(out + "/metrics.jsonl", std::ios::ate);
    auto size = static_cast<std::int64_t>(file.tellg());
    file.seekg(std::max<std::int64_t>(0, size - 4096));
    std::stringstream text;
    text << file.rdbuf();
    auto s = text.str();
    auto end = s.rfind('\n');
    auto at = end == s.npos ? s.npos : s.rfind("\"step\": ", end);
    return at == s.npos ? 0 : std::atoll(s.c_str() + at + 8);
  }
  /// Whether it came about before the launcher ended.
  bool soon(pid_t launcher, const std::function<bool()>& done) const {
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kBound);
    while (!done()) {
      ::siginfo_t info{};
      bool over = ::waitid(P_PID, static_cast<id_t>(launcher), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                  info.si_pid == launcher;
      if (over || std::chrono::steady_clock::now() > end) return done();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  // ---- what happens ----
  void kill(std::vector<pid_t> of, std::size_t n, int signal) {
    std::shuffle(of.begin(), of.end(), random);
    for (std::size_t i = 0; i < std::min(n, of.size()); ++i) ::kill(of[i], signal);
  }
  /// Does it after a while.
  void later(std::size_t most_ms, const std::function<void()>& what) {
    auto pause = std::chrono::milliseconds(below(most_ms));
    story.back() += " for " + std::to_string(pause.count()) + " ms";
    alarms.emplace_back([pause, what] {
      std::this_thread::sleep_for(pause);
      what();
    });
  }
  /// Stops them, and wakes them later, whether the others have noticed or not. No signal of the job's ends them, if the
  /// launcher cannot reach their host, as behind a cable that is mended.
  void sleep(const std::vector<pid_t>& who, std::size_t most_ms) {
    for (auto pid : who) ::kill(pid, SIGSTOP);
    later(most_ms, [who] {
      for (auto pid : who) ::kill(pid, SIGCONT);
    });
  }
  /// Ranks are killed, or one is stopped.
  void happens_to_ranks(pid_t launcher, bool stop, bool all) {
    auto ranks = Hosts::ranks_of(launcher);
    if (stop && stops && ranks.size() > 1) {  // a rank alone is missed by nobody
      story.back() += "a rank stops";
      if (below(2) == 0) return sleep({one_of(ranks)}, 8000);
      return kill(ranks, 1, SIGSTOP);
    }
    auto n = all ? ranks.size() : 1 + below(2);
    story.back() += std::to_string(n) + " of " + std::to_string(ranks.size()) + " ranks are killed";
    kill(ranks, n, SIGKILL);
  }
  /// Waits for a moment of one of several sorts after this step.
  void moment(pid_t launcher, const std::string& out, std::int64_t after) {
    auto sort = below(4);
    soon(launcher, [&] { return step_of(out) >= after; });
    if (sort == 0) {  // while a checkpoint is written
      story.back() += "in a checkpoint, ";
      auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
      soon(launcher, [&] {
        std::error_code error;
        for (auto& f : std::filesystem::directory_iterator(out + "/checkpoints", error))
          if (f.path().filename().string().starts_with(".step-")) return true;
        return std::chrono::steady_clock::now() > end;
      });
    } else if (sort == 1) {  // a step's line is followed by its snapshot
      story.back() += "right after a step, ";
      auto step = step_of(out);
      soon(launcher, [&] { return step_of(out) > step; });
    } else {
      story.back() += "in a step, ";
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    }
  }
  std::string told() const {
    std::string all;
    for (auto& line : story) all += "  " + line + "\n";
    return all;
  }

  /// One job with so many moments; its numbers are those of the calm one.
  void history(const Kind& kind, int moments, const std::string& calm, std::int64_t steps) {
    auto out = folder + "/" + kind.name + "-" + std::to_string(++runs);
    story.clear();
    begins();
    auto where = kind.hosts ? "--elastic 1:4 " + hosts().words() : "--elastic 2:4";
    pid_t job = 0;
    auto r = run("launch " + where + " --out " + out + " train " + words(kind, steps), [&](pid_t launcher) {
      std::int64_t furthest = 0;
      job = launcher;
      for (int m = 0; m < moments; ++m) {
        story.push_back("step " + std::to_string(step_of(out)) + ": ");
        if (m == 0 || below(3) > 0) {
          moment(launcher, out, furthest + 15 + static_cast<std::int64_t>(below(20)));
        } else {  // while the ranks meet again
          story.back() += "in a meeting, ";
          std::this_thread::sleep_for(std::chrono::milliseconds(below(600)));
        }
        furthest = std::max(furthest, step_of(out));
        happens(kind, launcher);
        if (m + 1 < moments && below(3) == 0) continue;
        auto begin = std::chrono::steady_clock::now();
        bool goes_on = soon(launcher, [&] { return step_of(out) > std::min(furthest + 2, steps - 1); });
        auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        slowest = std::max(slowest, seconds);
        story.back() += "; " + std::to_string(seconds).substr(0, 4) + " s";
        EXPECT_TRUE(goes_on) << told();
        if (!goes_on) ::kill(launcher, SIGKILL);  // its ranks end with it
        furthest = std::max(furthest, step_of(out));
      }
    });
    auto end_of_out = r.out.substr(r.out.size() - std::min<std::size_t>(r.out.size(), 3000));
    SCOPED_TRACE(kind.name + "\n" + told() + r.err + end_of_out);
    ASSERT_EQ(r.code, 0);
    EXPECT_EQ(story.size(), static_cast<std::size_t>(moments));
    wake();  // what wakes only now must write nothing either
    for (auto* name : {"train/loss", "eval/loss", "throughput/total_tokens"}) same(kind, out, calm, name);
    until([&] { return Hosts::ranks_of(job).empty(); });
  }
  /// Every step once, in order, with the numbers of the calm run.
  static void same(const Kind& kind, const std::string& out, const std::string& calm, const std::string& name) {
    auto now = track::read_curve(out + "/metrics.jsonl", name), was = track::read_curve(calm + "/metrics.jsonl", name);
    ASSERT_EQ(now.size(), was.size()) << name;
    for (std::size_t i = 0; i < now.size(); ++i) {
      ASSERT_EQ(now[i].x, was[i].x) << name;
      if (kind.same_bits) ASSERT_EQ(now[i].y, was[i].y) << name << " of step " << now[i].x;
      else ASSERT_NEAR(now[i].y, was[i].y, 2e-3 * was[i].y) << name << " of step " << now[i].x;
    }
  }
  std::string words(const Kind& kind, std::int64_t steps) const {
    return config + " batch=8 checkpoint_every=20 keep=2 eval.every=25 transport.heartbeat=0.5 "
                    "transport.suspect=1.5 transport.dead=4 transport.join_timeout=10 transport.calibrate=off steps=" +
           std::to_string(steps) + " " + kind.words;
  }
  /// Jobs of these kinds in turn, from a random one on.
  void histories(const std::vector<Kind>& kinds) {
    const char* given = std::getenv("BORA_LOSSES");
    int left = given ? std::atoi(given) : 60;
    const char* chosen = std::getenv("BORA_LOSSES_SEED");
    auto seed = chosen ? static_cast<unsigned>(std::atoll(chosen)) : std::random_device()();
    SCOPED_TRACE("BORA_LOSSES_SEED=" + std::to_string(seed));
    random.seed(seed);
    stops = left > 10;
    auto each = std::min(left, kMoments);
    std::int64_t steps = 40 * each + 40;
    std::map<std::string, std::string> calm;
    for (std::size_t job = below(kinds.size()); left > 0 && !HasFailure(); ++job) {
      auto& kind = kinds[job % kinds.size()];
      auto& out = calm[kind.name];
      if (out.empty()) {
        out = folder + "/calm-" + kind.name;
        auto r = run("launch -n 4 --out " + out + " train " + words(kind, steps) + " elastic.snapshot=0");
        ASSERT_EQ(r.code, 0) << r.out << r.err;
      }
      auto n = std::min(left, each);
      history(kind, n, out, steps);
      left -= n;
      std::cout << kind.name << ":\n" << told() << std::flush;
    }
    std::cout << "the longest time until a job got further: " << slowest << " s\n";
  }
};
}  // namespace bora
