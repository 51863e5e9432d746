#include "launch/api/launch.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include "base/api/most_ranks.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "launch/hosts/remote.h"
#include "launch/membership/exit_status.h"
#include "launch/membership/generation.h"
#include "launch/membership/joining_hosts.h"
#include "launch/membership/partition.h"
#include "launch/membership/phase.h"
#include "launch/membership/rank_assignment.h"
#include "launch/membership/retry_budget.h"
#include "launch/ranks/outputs.h"
#include "launch/api/ranks.h"

namespace bora::launch {
namespace {
Reach reach_of(const Options& options) {
  return options.reach.before.empty() ? Reach{ssh_words(options.ssh)} : options.reach;
}
// In which ranks of an elastic job notice a loss and leave: the longest compute phase of a step without a collective.
constexpr double seconds_to_leave = 10, seconds_if_missed = 2;
void say_ranks(std::size_t before, std::size_t now) {
  write_all(2, "elastic: " + std::to_string(now) + (now == 1 ? " rank" : " ranks") + " instead of " +
                   std::to_string(before) + "\n");
}

class Job final : private RankEvents {
 public:
  /// Connects to the hosts; a signal during that interrupts the job.
  Job(const Options& options, Signals& signals, Partition& partition)
      : options_(options),
        signals_(signals),
        partition_(partition),
        outputs_(options.log_dir, !options.command.empty() && options.command[0] == options.agent),
        joining_(reach_of(options), options.agent) {
    for (auto& host : options.hosts)
      remote_.push_back(std::make_unique<RemoteRanks>(host, reach_of(options), options.agent));
    connect();
    now_.ranks.resize(static_cast<std::size_t>(elastic() ? fitting() : options_.ranks));
    said_ = now_.ranks.size();
    if (elastic()) return;
    int left = ranks();  // hosts behind those that the ranks need are spares, which elastic jobs keep
    std::erase_if(remote_, [&](auto& host) { return std::exchange(left, left - host->host().slots) <= 0; });
  }
  bool interrupted() const { return phase_ == Phase::stopping || phase_ == Phase::stopped; }
  int ranks() const { return static_cast<int>(now_.ranks.size()); }
  const std::string& loss() const { return loss_; }  // of an elastic job: the rank that was lost, and why
  bool failed() const { return phase_ == Phase::failed; }
  std::int64_t step() const { return step_; }        // the furthest that a rank has made
  /// Runs the ranks; returns the exit code and prints the one error line. Each start of ranks adds 1 to `starts`.
  int run(int& starts, RetryBudget& budget) {
    if (interrupted()) return 130;
    outputs_.open(ranks());
    start(starts++);
    on(Event::ready);
    do
      while (running() && !settled()) wait();
    while (settled() && regroup(starts, budget));
    on(Event::finished);
    each([&](Ranks& some) { some.end(), some.serve(*this); });  // also processes that ranks started
    for (int r = 0; r < ranks(); ++r) outputs_.finish(r);
    return failed() ? 86 : exit_status();
  }

 private:
  template <class F> void each(F&& f) {
    if (local_) f(static_cast<Ranks&>(*local_));
    for (auto& host : remote_) f(static_cast<Ranks&>(*host));
  }
  bool running() {
    bool any = false;
    each([&](Ranks& some) { any = any || some.running(); });
    return any;
  }
  bool elastic() const { return options_.elastic.max > 0; }
  bool ending() const { return std::any_of(now_.ranks.begin(), now_.ranks.end(), [](auto& r) { return !!r.ending; }); }
  /// Takes the phase on, and kills all processes once the job is over.
  void on(Event event) {
    auto before = std::exchange(phase_, next(phase_, event));
    if (is_over(phase_) && phase_ != before) each([](Ranks& some) { some.end(); });
  }
  /// True if every process that is left has left its generation.
  bool settled() {
    if (phase_ != Phase::regrouping && phase_ != Phase::recovering && phase_ != Phase::handing_over) return false;
    std::size_t waiting = 0;
    each([&](Ranks& some) { waiting += some.waiting().size(); });
    auto alive = std::count_if(now_.ranks.begin(), now_.ranks.end(), [](auto& rank) { return !rank.ending; });
    return waiting > 0 && waiting == static_cast<std::size_t>(alive);
  }
  void connect() {
    auto until = Clock::now() + std::chrono::seconds(options_.connect_s);
    auto waiting = [](auto& host) { return !host->ready() && host->failure().empty(); };
    while (!interrupted() && Clock::now() < until && std::any_of(remote_.begin(), remote_.end(), waiting)) wait();
    if (interrupted()) return;
    std::string problems;
    for (auto& host : remote_) {
      if (host->ready() && host->connected()) continue;  // it may have gone while others were awaited
      auto why = host->ready() ? "the connection to it ended" : host->failure();
      if (why.empty()) why = "no answer within " + std::to_string(options_.connect_s) + " s";
      problems += (problems.empty() ? "" : "; ") + host->host().place + ": no ranks can be started on " +
                  host->host().name + ": " + why;
    }
    if (!elastic()) return check<ConfigError>(problems.empty(), problems);
    if (!problems.empty()) write_all(2, "elastic: without some hosts: " + problems + "\n");
    leave_out([](auto& host) { return !host.ready() || !host.connected(); });
    std::vector<std::string> pausing;  // since attempts before this one
    for (auto& host : remote_)
      if (partition_.left(host->host().name) > std::chrono::seconds(0)) pausing.push_back(host->host().name);
    for (auto& name : pausing)
      if (enough_without(name)) go_without(name, partition_.left(name));
  }
  /// Goes on without these hosts, and tries them again.
  template <class F> void leave_out(const F& which, std::chrono::seconds pause = std::chrono::seconds(1)) {
    for (auto& host : remote_)
      if (which(*host)) joining_.lack(host->host(), pause);
    std::erase_if(remote_, [&](auto& host) { return which(*host); });
  }
  void leave_out_gone() { leave_out([](auto& host) { return !host.connected(); }); }
  /// Goes on without a host whose ranks live but have not met those of others, if the rest is enough.
  void leave_out_cut_off() {
    auto name = partition_.host();
    if (!name.empty() && enough_without(name)) go_without(name, partition_.pause(name));
  }
  /// Goes on without hosts on which new ranks could not begin, beside others that go on.
  void leave_out_unable() {
    for (int r : now_.failed) {
      auto& rank = now_.rank(r);
      auto here = [&](auto& host) { return host->host().name == rank.host; };
      bool unable = rank.newcomer && rank.ending->code() == 2 && std::any_of(remote_.begin(), remote_.end(), here);
      if (unable && enough_without(rank.host))
        go_without(rank.host, partition_.pause(rank.host), "a rank could not begin there");
    }
  }
  bool enough_without(const std::string& name) const {
    int slots = 0;
    for (auto& host : remote_) slots += host->host().name == name ? 0 : host->host().slots;
    return options_.elastic.fitting(std::min(slots, options_.ranks)) >= options_.elastic.min;
  }
  void go_without(const std::string& name, std::chrono::seconds pause, std::string_view why = Partition::kReason) {
    write_all(2, Partition::text(name, pause, why));
    leave_out([&](auto& host) { return host.host().name == name; }, pause);
  }
  /// The ranks with which an elastic job goes on, if it gets so many slots more. ConfigError if they are too few.
  int fitting(int more = 0) const {
    auto& e = options_.elastic;
    int slots = options_.hosts.empty() ? options_.ranks : more;
    for (auto& host : remote_) slots += host->host().slots;
    int n = interrupted() ? e.min : e.fitting(std::min(slots, options_.ranks));
    check<ConfigError>(n >= e.min && n > 0, "elastic: ", slots, slots == 1 ? " slot is" : " slots are",
                       " left, and the job needs ", e.min, " to ", e.max,
                       " ranks (elastic.min, elastic.max), in a number that its mesh and batch allow");
    return n;
  }
  /// Starts all ranks, or the next generation, in which processes that wait go on. Each generation has its own name,
  /// and its own secret unless the user gave one: ranks of earlier ones are refused.
  void start(int number, const HandOver& hand_over = {}) {
    RanksToStart some{.count = ranks(), .size = ranks(), .command = options_.command, .secret = secret_of_job(),
                      .elastic = elastic(), .generation = number, .heirs = hand_over.heirs};
    if (number > 0 && options_.restarted)
      for (auto& word : options_.restarted()) some.command.push_back(word);
    root_ = {};
    if (remote_.empty()) root_ = RootSocket(options_.root);
    std::vector<int> counts = hand_over.counts;
    for (int left = ranks(); !hand_over && counts.size() < remote_.size(); left -= counts.back())
      counts.push_back(std::min(remote_[counts.size()]->host().slots, left));
    auto first = std::find_if(counts.begin(), counts.end(), [](int n) { return n > 0; });
    auto first_host = static_cast<std::size_t>(first - counts.begin());
    some.root = remote_.empty() ? root_.address() : root_address(options_, remote_, first_host);
    some.root_socket = root_.file();
    some.job = std::to_string(::getpid()) + "@" + some.root + (number > 0 ? "." + std::to_string(number) : "");
    ::winsize window{};
    if (::isatty(2) && ::ioctl(2, TIOCGWINSZ, &window) == 0) some.columns = window.ws_col;
    if (remote_.empty()) {
      auto members = place(some, local_.get());
      if (local_) local_->regroup(some, members);
      else local_ = std::make_unique<LocalRanks>(some, signals_.before());
      if (members[0] < 0) root_ = {};  // a new rank 0 has it; another one binds the address itself
      return;
    }
    auto variables = environment_for_ranks(environ, options_.variables);
    auto folder = std::filesystem::current_path().string();
    partition_.begin();
    for (std::size_t h = 0; h < remote_.size(); ++h) {
      auto& host = remote_[h];
      some.count = counts[h];
      for (int r = some.first; r < some.first + some.count; ++r)
        partition_.has(now_.rank(r).host = host->host().name);
      host->start(some, variables, folder, place(some, host.get()));
      some.first += some.count;
    }
  }
  /// kept(), and notes which ranks are new beside those that go on.
  std::vector<int> place(const RanksToStart& some, const Ranks* of) {
    auto members = kept(some, of, before_.size() == now_.ranks.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      now_.ranks[static_cast<std::size_t>(some.first) + i].newcomer = !before_.empty() && members[i] < 0;
    return members;
  }
  /// Starts the next generation after a loss, or with hosts that have come; false if there is none.
  bool regroup(int& starts, RetryBudget& budget) {
    for (int r = 0; r < ranks(); ++r)
      if (now_.rank(r).ending) outputs_.finish(r);
    if (phase_ == Phase::recovering) {
      exit_status();
      if (now_.failed_before_kill == std::size_t{0} && !now_.why.empty()) loss_ = now_.why;
      if (!budget.goes_on(loss_, step_)) return on(Event::hopeless), false;
    }
    if (now_.failed.empty()) leave_out_cut_off();
    else leave_out_unable();
    leave_out([](auto& host) { return !host.connected() || !host.failure().empty(); });  // or has said that it ends
    for (auto& host : joining_.take()) {
      write_all(2, "elastic: host " + host->host().name + " joins\n");
      remote_.push_back(std::move(host));
    }
    move_loopback_hosts_last(options_, remote_);
    try {
      auto to_go = fitting();
      bool handed = phase_ == Phase::handing_over;  // and nobody was lost
      auto before_it = !options_.elastic.keeps || handed ? HandOver{} : hand_over(remote_, to_go);
      auto n = static_cast<std::size_t>(before_it ? before_it.ranks : to_go);
      if (!before_it && n != said_) say_ranks(std::exchange(said_, n), n);
      before_ = std::exchange(now_, {.ranks = std::vector<Rank>(n)}).ranks;
      outputs_.open(ranks());
      start(starts++, before_it);
      before_.clear();
      on(before_it ? Event::hand_over : Event::regrouped);
    } catch (const ConfigError& e) {
      write_all(2, std::string(error_mark) + one_line(e.text()) + "\n");
      on(Event::hopeless);
    }
    return !failed();
  }
  void wait() {
    std::vector<::pollfd> files{{signals_.file(), POLLIN, 0}};
    each([&](Ranks& some) { some.add_files(files); });
    joining_.add_files(files);
    auto& until = now_.deadline;
    auto left = until ? std::chrono::duration_cast<std::chrono::milliseconds>(*until - Clock::now()).count() + 1 : 500;
    ::poll(files.data(), files.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 500)));
    for (int s : signals_.take()) pass_on(s);
    each([&](Ranks& some) { some.serve(*this); });
    if (elastic() && ranks() > 0 && !ending()) leave_out_gone();  // spares, which no rank misses
    joining_.serve(*this);
    welcome();
    if (!until || Clock::now() < *until) return;
    until.reset();
    on(Event::deadline);
    if (is_over(phase_)) return;
    now_.failed_before_kill = now_.failed.size();
    each([](Ranks& some) { some.end_silent(); });
  }
  /// Once hosts have come that more ranks can run on, those of this generation are asked to meet again.
  void welcome() {
    auto slots = joining_.slots();
    if (phase_ != Phase::running || slots == now_.weighed || ending()) return;
    now_.weighed = slots;
    if (fitting(slots) <= ranks()) return;
    on(Event::asked);
    each([](Ranks& some) { some.tell(Message::meet_again); });
  }
  int exit_status() {
    if (now_.failed.empty()) {
      bool missed = !now_.why.empty() && !interrupted();  // after a signal, silent ranks are those that it ended
      if (missed) return say_loss(std::string(error_mark) + now_.why);
      for (auto& line : outputs_.errors()) outputs_.print(2, line.text + "\n");
      auto with = [](int code) { return [code](auto& r) { return r.ending && r.ending->code() == code; }; };
      auto& all = now_.ranks;
      bool stopped = interrupted() ? !std::all_of(all.begin(), all.end(), with(0))
                                   : std::any_of(all.begin(), all.end(), with(130));
      check<IoError>(outputs_.arrived() || stopped, "cannot write to standard output: it is full or closed");
      return stopped ? 130 : 0;
    }
    auto [code, line] = exit_status_of(now_.ranks, now_.failed, outputs_.errors(), interrupted());
    if (code == 86) return say_loss(line);
    if (!line.empty()) outputs_.print(2, line + "\n");
    return code;
  }
  /// Says the line of a loss, or keeps it for the retry budget, which decides whether the job goes on.
  int say_loss(const std::string& line) {
    if (!elastic() || interrupted()) outputs_.print(2, line + "\n");
    else loss_ = line.substr(error_mark.size());
    return elastic() && interrupted() ? 130 : 86;  // the job would have gone on
  }

  void printed(int r, bool errors, std::string_view bytes) override { outputs_.printed(r, errors, bytes); }
  void ended(int r, const Ending& e) override {
    auto& rank = now_.rank(r);
    rank.ending = e;
    auto code = e.code();
    bool asked = is_over(phase_) || (interrupted() && code < 0) || code == 130;  // by the launcher or by the user
    if (code == 0 || asked) return;
    bool first = !now_.lost();
    now_.failed.push_back(r);
    on(rank.bad_input() || !elastic() ? Event::fatal : Event::lost);
    wait_for_others(!rank.bad_input(), first);
  }
  void left(int rank, int lost, const std::string& why) override {
    partition_.misses(rank, lost);
    for (auto& host : remote_) host->miss(lost);
    bool first = !now_.lost() && !why.empty();
    if (now_.why.empty()) now_.why = why;
    if (lost >= 0 && lost < ranks()) now_.rank(lost).missed = true;
    on(why.empty() ? Event::left : Event::lost);
    wait_for_others(true, first);
  }
  void silent(const std::string& ranks) override { each([&](Ranks& some) { some.tell(Message::silent, ranks); }); }
  void reached(std::int64_t step) override {
    step_ = std::max(step_, step), partition_.reached();
    for (auto& rank : now_.ranks) rank.newcomer = false;  // all have made this step
  }
  /// Sets the time that the others have, and tells them of the generation's first loss.
  void wait_for_others(bool to_leave, bool first_loss) {
    auto seconds = !elastic() || !to_leave ? options_.grace_s : only_missed() ? seconds_if_missed : seconds_to_leave;
    auto until = Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
    now_.deadline = std::min(now_.deadline.value_or(until), until);  // bad input ends a job that waited for a loss
    if (elastic() && first_loss) each([](Ranks& some) { some.tell(Message::over); });
  }
  /// True if every rank that has not left is missed by one that has: it hangs.
  bool only_missed() {
    std::vector<bool> gone;
    for (auto& rank : now_.ranks) gone.push_back(rank.ending || rank.missed);
    each([&](Ranks& some) {
      for (int r : some.waiting()) gone[static_cast<std::size_t>(r)] = true;
    });
    return std::find(gone.begin(), gone.end(), false) == gone.end();
  }
  void pass_on(int signal) {
    if (!ends_a_job(signal)) return each([signal](Ranks& some) { some.signal(signal); });
    if (interrupted() && signal == SIGHUP) return;  // a closing terminal may send it twice
    on(Event::stop);
    if (is_over(phase_)) return;
    each([&](Ranks& some) { some.signal(elastic() ? SIGINT : signal == SIGHUP ? SIGTERM : signal); });
  }

  const Options& options_;
  Signals& signals_;
  Partition& partition_;
  Outputs outputs_;
  std::unique_ptr<LocalRanks> local_ = {};
  std::vector<std::unique_ptr<RemoteRanks>> remote_ = {};
  JoiningHosts joining_;
  RootSocket root_ = {};
  Phase phase_ = Phase::connecting;
  Generation now_ = {};
  std::vector<Rank> before_ = {};  // of the last generation, while the next one starts
  std::string loss_ = {};
  std::size_t said_ = 0;    // ranks, as the user knows
  std::int64_t step_ = -1;  // the furthest that a rank has made
};
}  // namespace

int run(const Options& options) {
  check<ConfigError>(options.ranks >= 1 && options.ranks <= kMostRanks, "launch: -n must be from 1 to ", kMostRanks,
                     ", got ", options.ranks);
  std::cout.flush();
  Signals signals;
  RetryBudget budget(options.elastic);
  Partition partition;
  auto ranks = static_cast<std::size_t>(options.ranks);
  for (int restart = 0, starts = 0;; ++restart) {
    int code = 86;
    std::string loss;
    std::int64_t step = -1;
    try {
      Job job(options, signals, partition);
      if (auto now = static_cast<std::size_t>(job.ranks()); now != ranks) say_ranks(ranks, now);
      code = job.run(starts, budget);
      ranks = static_cast<std::size_t>(job.ranks());
      if (job.interrupted() || job.failed()) return code;
      loss = job.loss();
      step = job.step();
    } catch (const ConfigError& e) {  // a host or rank 0's port is no longer available
      if (restart == 0) throw;
      write_all(2, std::string(error_mark) + one_line(e.text()) + "\n");
      if (options.elastic.max > 0) return 86;
    }
    if (code != 86) return code;
    if (options.elastic.max > 0) {
      if (!budget.goes_on(loss, step)) return code;
      continue;
    }
    if (restart == options.max_restarts) return code;
    write_all(2, "restarting the job (" + std::to_string(restart + 1) + " of " + std::to_string(options.max_restarts) +
                     ")\n");
  }
}
}  // namespace bora::launch
