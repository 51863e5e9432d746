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
#include "launch/membership/job_hosts.h"
#include "launch/membership/partition.h"
#include "launch/membership/phase.h"
#include "launch/membership/rank_assignment.h"
#include "launch/membership/retry_budget.h"
#include "launch/ranks/outputs.h"
#include "launch/api/ranks.h"

namespace bora::launch {
namespace {
// Grace period for ranks of an elastic job to notice a loss and leave their generation: the longest compute phase of a
// step without a collective.
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
        hosts_(options, partition) {
    connect();
    now_.ranks.resize(static_cast<std::size_t>(elastic() ? fitting() : options_.ranks));
    said_ = now_.ranks.size();
    if (elastic()) return;
    int left = ranks();  // hosts behind those that the ranks need are spares, which elastic jobs keep
    std::erase_if(hosts_.remote, [&](auto& host) { return std::exchange(left, left - host->host().slots) <= 0; });
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
    for (auto& host : hosts_.remote) f(static_cast<Ranks&>(*host));
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
    auto& all = hosts_.remote;
    while (!interrupted() && Clock::now() < until && std::any_of(all.begin(), all.end(), waiting)) wait();
    if (interrupted()) return;
    auto problems = hosts_.problems();
    if (!elastic()) return check<ConfigError>(problems.empty(), problems);
    if (!problems.empty()) write_all(2, "elastic: without some hosts: " + problems + "\n");
    hosts_.leave_out([](auto& host) { return !host.ready() || !host.connected(); });
    hosts_.leave_out_pausing();
  }
  /// The ranks with which an elastic job goes on, if it gets so many slots more. ConfigError if they are too few.
  int fitting(int more = 0) const {
    auto& e = options_.elastic;
    int n = interrupted() ? e.min : hosts_.fitting(more), slots = hosts_.slots(more);
    check<ConfigError>(n >= e.min && n > 0, "elastic: ", slots, slots == 1 ? " slot is" : " slots are",
                       " left, and the job needs ", e.min, " to ", e.max,
                       " ranks (elastic.min, elastic.max), in a number that its mesh and batch allow");
    return n;
  }
  /// Starts all ranks, or the next generation, in which processes that wait go on. Each generation has its own name,
  /// and its own secret unless the user gave one: ranks of earlier ones are refused.
  void start(int number, const HandOver& hand_over = {}) {
    RanksToStart some{.count = ranks(), .size = ranks(), .command = command(number > 0), .secret = secret_of_job(),
                      .elastic = elastic(), .generation = number, .heirs = hand_over.heirs};
    if (!before_.empty()) some.ground = ground_;
    root_ = {};
    if (hosts_.remote.empty()) root_ = RootSocket(options_.root);
    std::vector<int> counts = hand_over.counts;
    for (int left = ranks(); !hand_over && counts.size() < hosts_.remote.size(); left -= counts.back())
      counts.push_back(std::min(hosts_.remote[counts.size()]->host().slots, left));
    auto first = std::find_if(counts.begin(), counts.end(), [](int n) { return n > 0; });
    auto first_host = static_cast<std::size_t>(first - counts.begin());
    some.root = hosts_.remote.empty() ? root_.address() : root_address(options_, hosts_.remote, first_host);
    some.root_socket = root_.file();
    some.job = std::to_string(::getpid()) + "@" + some.root + (number > 0 ? "." + std::to_string(number) : "");
    ::winsize window{};
    if (::isatty(2) && ::ioctl(2, TIOCGWINSZ, &window) == 0) some.columns = window.ws_col;
    started_ = some;
    if (hosts_.remote.empty()) {
      auto members = place(some, local_.get());
      if (local_) local_->regroup(some, members);
      else local_ = std::make_unique<LocalRanks>(some, signals_.before());
      if (members[0] < 0) root_ = {};  // a new rank 0 has it; another one binds the address itself
      return;
    }
    auto variables = environment_for_ranks(environ, options_.variables);
    auto folder = std::filesystem::current_path().string();
    partition_.begin();
    for (std::size_t h = 0; h < hosts_.remote.size(); ++h) {
      auto& host = hosts_.remote[h];
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
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto& rank = now_.ranks[static_cast<std::size_t>(some.first) + i];
      auto was = static_cast<std::size_t>(members[i]);
      bool came = members[i] < 0 || std::count(joined_.begin(), joined_.end(), rank.host) > 0;
      rank.newcomer = !before_.empty() && (came || (was < before_.size() && before_[was].newcomer));
    }
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
    if (now_.failed.empty()) hosts_.leave_out_cut_off();
    auto not_before = hosts_.leave_out_unable(now_, outputs_.errors());
    while (Clock::now() < not_before && !is_over(phase_)) wait();
    if (is_over(phase_)) return false;
    // Or has said that it ends.
    hosts_.leave_out([](auto& host) { return !host.connected() || !host.failure().empty(); });
    joined_.clear();
    for (auto& host : hosts_.joining.take(hosts_.fitting(hosts_.joining.ready_slots()) < options_.elastic.min)) {
      write_all(2, "elastic: host " + host->host().name + " joins\n");
      joined_.push_back(host->host().name);
      hosts_.remote.push_back(std::move(host));
    }
    move_loopback_hosts_last(options_, hosts_.remote);
    try {
      auto to_go = fitting();
      bool handed = phase_ == Phase::handing_over;  // and nobody was lost
      auto before_it = !options_.elastic.keeps || handed ? HandOver{} : hand_over(hosts_.remote, to_go);
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
    hosts_.joining.add_files(files);
    auto& until = now_.deadline;
    auto left = until ? std::chrono::duration_cast<std::chrono::milliseconds>(*until - Clock::now()).count() + 1 : 500;
    ::poll(files.data(), files.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 500)));
    for (int s : signals_.take()) pass_on(s);
    each([&](Ranks& some) { some.serve(*this); });
    // Spares, which no rank misses.
    if (elastic() && ranks() > 0 && !ending()) hosts_.leave_out([](auto& host) { return !host.connected(); });
    hosts_.joining.serve();
    welcome();
    if (!until || Clock::now() < *until) return;
    until.reset();
    on(Event::deadline);
    if (is_over(phase_)) return;
    now_.failed_before_kill = now_.failed.size();
    each([](Ranks& some) { some.end_silent(); });
  }
  /// Once hosts have come that more ranks can run on, processes there compare themselves with the ranks of this
  /// generation, and then these are asked to meet again.
  void welcome() {
    if (phase_ != Phase::running || ending()) return;
    auto& joining = hosts_.joining;
    if (auto came = joining.slots(); came != std::exchange(now_.came, came)) now_.wanted = hosts_.fitting(came);
    if (now_.wanted > ranks() && !ground_.empty())
      joining.prepare([&](RemoteRanks& host) { return start_candidates(host, now_.wanted); });
    if (hosts_.slots_are_back()) now_.weighed = -1;
    auto ready = joining.ready_slots();
    if (ready == std::exchange(now_.weighed, ready) || hosts_.fitting(ready) <= ranks()) return;
    on(Event::asked);
    each([](Ranks& some) { some.tell(Message::meet_again); });
  }
  /// Processes that get ranks once the others have left this generation, of `size` then. Returns how many they are.
  int start_candidates(RemoteRanks& host, int size) {
    auto some = started_;
    some.count = std::min(host.host().slots, size - ranks());
    some.size = size, some.first = size - some.count;
    some.command = command(true), some.ground = ground_;
    some.root_socket = -1, some.wait = true, some.heirs = {};
    host.start(some, environment_for_ranks(environ, options_.variables), std::filesystem::current_path().string(),
               std::vector<int>(static_cast<std::size_t>(some.count), -1));
    return some.count;
  }
  std::vector<std::string> command(bool again) const {
    auto words = options_.command;
    if (again && options_.restarted)
      for (auto& word : options_.restarted()) words.push_back(word);
    return words;
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
    for (auto& host : hosts_.remote) host->miss(lost);
    bool first = !now_.lost() && !why.empty();
    if (now_.why.empty()) now_.why = why;
    if (lost >= 0 && lost < ranks()) now_.rank(lost).missed = true;
    on(why.empty() ? Event::left : Event::lost);
    wait_for_others(true, first);
  }
  void stands_on(const std::string& ground) override { ground_ = ground; }
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
  JobHosts hosts_;
  RootSocket root_ = {};
  Phase phase_ = Phase::connecting;
  Generation now_ = {};
  std::vector<Rank> before_ = {};  // of the last generation, while the next one starts
  RanksToStart started_ = {};      // the last of them
  std::string ground_ = {};        // on which the ranks stand
  std::vector<std::string> joined_ = {};  // hosts, with the last generation that has begun
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
