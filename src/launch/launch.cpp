#include "launch.h"
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
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "apart.h"
#include "headway.h"
#include "newcomers.h"
#include "outputs.h"
#include "places.h"
#include "ranks.h"
#include "remote.h"
#include "verdict.h"

namespace bora::launch {
namespace {
Reach reach_of(const Options& options) {
  return options.reach.before.empty() ? Reach{ssh_words(options.ssh)} : options.reach;
}
// In which ranks of an elastic job notice a loss and leave their epoch: a step's longest part without a collective.
constexpr double seconds_to_leave = 10, seconds_if_missed = 2;
void say_ranks(std::size_t before, std::size_t now) {
  write_all(2, "elastic: " + std::to_string(now) + (now == 1 ? " rank" : " ranks") + " instead of " +
                   std::to_string(before) + "\n");
}

class Job final : private RankEvents {
 public:
  /// Connects to the hosts; a signal during that interrupts the job.
  Job(const Options& options, Signals& signals, Apart& apart)
      : options_(options),
        signals_(signals),
        apart_(apart),
        outputs_(options.log_dir),
        newcomers_(reach_of(options), options.agent) {
    for (auto& host : options.hosts)
      remote_.push_back(std::make_unique<RemoteRanks>(host, reach_of(options), options.agent));
    connect();
    ranks_.resize(static_cast<std::size_t>(elastic() ? fitting() : options_.ranks));
    said_ = ranks_.size();
    if (elastic()) return;
    int left = ranks();  // hosts behind those that the ranks need are spares, which elastic jobs keep
    std::erase_if(remote_, [&](auto& host) { return std::exchange(left, left - host->host().slots) <= 0; });
  }
  bool interrupted() const { return interrupted_; }
  int ranks() const { return static_cast<int>(ranks_.size()); }
  const std::string& loss() const { return loss_; }  // of an elastic job: the rank that was lost, and why
  bool over() const { return over_; }                // no other attempt has a chance
  std::int64_t step() const { return step_; }        // the furthest that a rank has made
  /// Runs the ranks; returns the exit code and prints the one error line. Each start of ranks adds 1 to `starts`.
  int run(int& starts, Headway& headway) {
    if (interrupted_) return 130;
    outputs_.open(ranks());
    start(starts++);
    do
      while (running() && !settled()) wait();
    while (settled() && regrouped(starts, headway));
    end_all();  // also processes that ranks started
    each([&](Ranks& some) { some.serve(*this); });
    for (int r = 0; r < ranks(); ++r) outputs_.finish(r);
    return over_ ? 86 : verdict();
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
  bool bad_input() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](auto& rank) { return rank.bad_input(); });
  }
  bool lost() const { return !failed_.empty() || !why_.empty(); }
  bool ending() const { return std::any_of(ranks_.begin(), ranks_.end(), [](auto& r) { return !!r.ending; }); }
  /// After a loss, or once the ranks were asked to: every process that is left has left its epoch.
  bool settled() {
    if (!elastic() || ended_ || interrupted_ || bad_input() || !(lost() || in_order_)) return false;
    std::size_t waiting = 0;
    each([&](Ranks& some) { waiting += some.waiting().size(); });
    auto alive = std::count_if(ranks_.begin(), ranks_.end(), [](auto& rank) { return !rank.ending; });
    return waiting > 0 && waiting == static_cast<std::size_t>(alive);
  }
  void connect() {
    auto until = Clock::now() + std::chrono::seconds(options_.connect_s);
    auto waiting = [](auto& host) { return !host->ready() && host->failure().empty(); };
    while (!interrupted_ && Clock::now() < until && std::any_of(remote_.begin(), remote_.end(), waiting)) wait();
    if (interrupted_) return;
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
      if (apart_.left(host->host().name) > std::chrono::seconds(0)) pausing.push_back(host->host().name);
    for (auto& name : pausing)
      if (enough_without(name)) go_without(name, apart_.left(name));
  }
  /// Goes on without these hosts, and tries them again.
  template <class F> void leave_out(const F& which, std::chrono::seconds pause = std::chrono::seconds(1)) {
    for (auto& host : remote_)
      if (which(*host)) newcomers_.lack(host->host(), pause);
    std::erase_if(remote_, [&](auto& host) { return which(*host); });
  }
  void leave_out_gone() { leave_out([](auto& host) { return !host.connected(); }); }
  /// Everybody lives, but the ranks of a host and those of others have not met: goes on without it, if that is enough.
  void leave_out_apart() {
    auto name = apart_.host();
    if (!name.empty() && enough_without(name)) go_without(name, apart_.pause(name));
  }
  /// Ranks that could not begin there, beside others that go on.
  void leave_out_unable() {
    for (int r : std::exchange(failed_, {})) {
      auto& rank = ranks_[static_cast<std::size_t>(r)];
      auto here = [&](auto& host) { return host->host().name == rank.host; };
      bool unable = rank.newcomer && rank.ending->code() == 2 && std::any_of(remote_.begin(), remote_.end(), here);
      if (unable && enough_without(rank.host))
        go_without(rank.host, apart_.pause(rank.host), "a rank could not begin there");
    }
  }
  bool enough_without(const std::string& name) const {
    int slots = 0;
    for (auto& host : remote_) slots += host->host().name == name ? 0 : host->host().slots;
    return options_.elastic.fitting(std::min(slots, options_.ranks)) >= options_.elastic.min;
  }
  void go_without(const std::string& name, std::chrono::seconds pause, std::string_view why = Apart::kReason) {
    write_all(2, Apart::text(name, pause, why));
    leave_out([&](auto& host) { return host.host().name == name; }, pause);
  }
  /// The ranks with which an elastic job goes on, if it gets so many slots more. ConfigError if they are too few.
  int fitting(int more = 0) const {
    auto& e = options_.elastic;
    int slots = options_.hosts.empty() ? options_.ranks : more;
    for (auto& host : remote_) slots += host->host().slots;
    int n = interrupted_ ? e.min : e.fitting(std::min(slots, options_.ranks));
    check<ConfigError>(n >= e.min && n > 0, "elastic: ", slots, slots == 1 ? " slot is" : " slots are",
                       " left, and the job needs ", e.min, " to ", e.max,
                       " ranks (elastic.min, elastic.max), in a number that its mesh and batch allow");
    return n;
  }
  /// Starts all ranks, or the next epoch, in which ranks that wait go on. Each has its own name, and its own secret
  /// unless the user gave one: ranks of earlier ones are refused.
  void start(int attempt, const Handing& handing = {}) {
    RanksToStart some{.count = ranks(), .size = ranks(), .command = options_.command, .secret = secret_of_job(),
                      .elastic = elastic(), .epoch = attempt, .heirs = handing.heirs};
    if (attempt > 0 && options_.restarted)
      for (auto& word : options_.restarted()) some.command.push_back(word);
    root_ = {};
    if (remote_.empty()) root_ = RootSocket(options_.root);
    std::vector<int> counts = handing.counts;
    for (int left = ranks(); !handing && counts.size() < remote_.size(); left -= counts.back())
      counts.push_back(std::min(remote_[counts.size()]->host().slots, left));
    auto first = std::find_if(counts.begin(), counts.end(), [](int n) { return n > 0; });
    auto first_host = static_cast<std::size_t>(first - counts.begin());
    some.root = remote_.empty() ? root_.address() : root_address(options_, remote_, first_host);
    some.root_socket = root_.file();
    some.job = std::to_string(::getpid()) + "@" + some.root + (attempt > 0 ? "." + std::to_string(attempt) : "");
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
    apart_.begin();
    for (std::size_t h = 0; h < remote_.size(); ++h) {
      auto& host = remote_[h];
      some.count = counts[h];
      for (int r = some.first; r < some.first + some.count; ++r)
        apart_.has(ranks_[static_cast<std::size_t>(r)].host = host->host().name);
      host->start(some, variables, folder, place(some, host.get()));
      some.first += some.count;
    }
  }
  /// kept(), and notes which ranks are new beside those that go on.
  std::vector<int> place(const RanksToStart& some, const Ranks* of) {
    auto members = kept(some, of, before_.size() == ranks_.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      ranks_[static_cast<std::size_t>(some.first) + i].newcomer = !before_.empty() && members[i] < 0;
    return members;
  }
  /// The next epoch after a loss, or with hosts that have come; false if there is none.
  bool regrouped(int& starts, Headway& headway) {
    for (int r = 0; r < ranks(); ++r)
      if (ranks_[static_cast<std::size_t>(r)].ending) outputs_.finish(r);
    if (lost()) {
      verdict();
      if (silent_ && *silent_ == 0 && !why_.empty()) loss_ = why_;
      over_ = !headway.goes_on(loss_, step_);
    }
    if (over_) return false;
    if (failed_.empty()) leave_out_apart();
    else leave_out_unable();
    leave_out([](auto& host) { return !host.connected() || !host.failure().empty(); });  // or has said that it ends
    for (auto& host : newcomers_.take()) {
      write_all(2, "elastic: host " + host->host().name + " joins\n");
      remote_.push_back(std::move(host));
    }
    put_last_who_is_here_only(options_, remote_);
    try {
      auto to_go = fitting();
      auto before_it = !options_.elastic.keeps || (handed_ && !lost()) ? Handing{} : handing(remote_, to_go);
      handed_ = static_cast<bool>(before_it);
      auto n = static_cast<std::size_t>(handed_ ? before_it.ranks : to_go);
      if (!handed_ && n != said_) say_ranks(std::exchange(said_, n), n);
      before_ = std::exchange(ranks_, std::vector<Rank>(n));
      outputs_.open(ranks());
      why_.clear(), silent_.reset(), deadline_.reset();
      in_order_ = asked_ = told_ = false, weighed_ = 0;
      start(starts++, before_it);
      before_.clear();
    } catch (const ConfigError& e) {
      write_all(2, std::string(error_mark) + one_line(e.text()) + "\n");
      over_ = true;
    }
    return !over_;
  }
  void wait() {
    std::vector<::pollfd> files{{signals_.file(), POLLIN, 0}};
    each([&](Ranks& some) { some.add_files(files); });
    newcomers_.add_files(files);
    auto left =
        deadline_ ? std::chrono::duration_cast<std::chrono::milliseconds>(*deadline_ - Clock::now()).count() + 1 : 500;
    ::poll(files.data(), files.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 500)));
    for (int s : signals_.take()) pass_on(s);
    each([&](Ranks& some) { some.serve(*this); });
    if (elastic() && !ranks_.empty() && !ending()) leave_out_gone();  // spares, which no rank misses
    newcomers_.serve(*this);
    welcome();
    if (!deadline_ || Clock::now() < *deadline_) return;
    deadline_.reset();
    if (!elastic() || interrupted_ || bad_input()) return end_all();
    silent_ = failed_.size();
    each([](Ranks& some) { some.end_silent(); });
  }
  /// Once hosts have come that more ranks can run on, those of this epoch are asked to meet again.
  void welcome() {
    auto slots = newcomers_.slots();
    if (asked_ || handed_ || slots == weighed_ || ranks_.empty() || interrupted_ || ended_) return;
    if (lost() || ending()) return;
    weighed_ = slots;
    asked_ = fitting(slots) > ranks();
    if (asked_) each([](Ranks& some) { some.tell(Message::meet_again); });
  }
  int verdict() {
    if (failed_.empty()) {
      bool missed = !why_.empty() && !interrupted_;  // after a signal, silent ranks are those that it ended
      if (missed) return say_loss(std::string(error_mark) + why_);
      for (auto& line : outputs_.errors()) outputs_.print(2, line.text + "\n");
      auto with = [](int code) { return [code](auto& r) { return r.ending && r.ending->code() == code; }; };
      bool stopped = interrupted_ ? !std::all_of(ranks_.begin(), ranks_.end(), with(0))
                                  : std::any_of(ranks_.begin(), ranks_.end(), with(130));
      check<IoError>(outputs_.arrived() || stopped, "cannot write to standard output: it is full or closed");
      return stopped ? 130 : 0;
    }
    auto [code, line] = verdict_on(ranks_, failed_, outputs_.errors(), interrupted_);
    if (code == 86) return say_loss(line);
    if (!line.empty()) outputs_.print(2, line + "\n");
    return code;
  }
  /// The line of a loss is said by whoever decides whether the job goes on.
  int say_loss(const std::string& line) {
    if (!elastic() || interrupted_) outputs_.print(2, line + "\n");
    else loss_ = line.substr(error_mark.size());
    return elastic() && interrupted_ ? 130 : 86;  // the job would have gone on
  }

  void printed(int r, bool errors, std::string_view bytes) override { outputs_.printed(r, errors, bytes); }
  void ended(int r, const Ending& e) override {
    ranks_[static_cast<std::size_t>(r)].ending = e;
    auto code = e.code();
    bool asked = ended_ || (interrupted_ && code < 0) || code == 130;  // by the launcher or by the user
    if (code == 0 || asked) return;
    failed_.push_back(r);
    wait_for_others(!ranks_[static_cast<std::size_t>(r)].bad_input());
  }
  void left(int rank, int lost, const std::string& why) override {
    apart_.misses(rank, lost);
    for (auto& host : remote_) host->miss(lost);
    in_order_ = in_order_ || why.empty();
    if (why_.empty()) why_ = why;
    if (lost >= 0 && lost < ranks()) ranks_[static_cast<std::size_t>(lost)].missed = true;
    wait_for_others(true);
  }
  void silent(const std::string& ranks) override { each([&](Ranks& some) { some.tell(Message::silent, ranks); }); }
  void reached(std::int64_t step) override {
    step_ = std::max(step_, step), apart_.reached();
    for (auto& rank : ranks_) rank.newcomer = false;  // all have made this step
  }
  void wait_for_others(bool to_leave) {
    auto seconds = !elastic() || !to_leave ? options_.grace_s : only_missed() ? seconds_if_missed : seconds_to_leave;
    auto until = Clock::now() + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
    deadline_ = std::min(deadline_.value_or(until), until);  // bad input ends a job that waited for a loss
    if (elastic() && lost() && !std::exchange(told_, true)) each([](Ranks& some) { some.tell(Message::over); });
  }
  /// Every rank that has not left is missed by one that has: it hangs.
  bool only_missed() {
    std::vector<bool> gone(ranks_.size());
    for (std::size_t r = 0; r < gone.size(); ++r) gone[r] = ranks_[r].ending || ranks_[r].missed;
    each([&](Ranks& some) {
      for (int r : some.waiting()) gone[static_cast<std::size_t>(r)] = true;
    });
    return std::find(gone.begin(), gone.end(), false) == gone.end();
  }
  void pass_on(int signal) {
    if (signal == SIGUSR2) return each([](Ranks& some) { some.signal(SIGUSR2); });
    if (interrupted_) return signal == SIGHUP ? void() : end_all();  // a closing terminal may send it twice
    interrupted_ = true;
    if (elastic() && (lost() || in_order_)) return end_all();  // nobody is in an epoch to stop in order
    each([&](Ranks& some) { some.signal(elastic() ? SIGINT : signal == SIGHUP ? SIGTERM : signal); });  // to stop
  }
  void end_all() {
    ended_ = true;
    each([](Ranks& some) { some.end(); });
  }

  const Options& options_;
  Signals& signals_;
  Apart& apart_;
  Outputs outputs_;
  std::unique_ptr<LocalRanks> local_ = {};
  std::vector<std::unique_ptr<RemoteRanks>> remote_ = {};
  Newcomers newcomers_;
  RootSocket root_ = {};
  std::vector<Rank> ranks_, before_ = {};  // of this epoch and, while a new one starts, of the last
  std::vector<int> failed_ = {};              // in the order noticed
  std::string loss_ = {}, why_ = {};          // why_: as the first rank said that left this epoch
  std::optional<std::size_t> silent_ = {};    // failures before silent ranks were killed
  std::optional<Clock::time_point> deadline_ = {};
  bool interrupted_ = false, ended_ = false, over_ = false;
  bool in_order_ = false, asked_ = false, told_ = false;  // ranks left, as they were asked to; they know of a loss
  bool handed_ = false;     // this epoch is one of handing over
  std::size_t said_ = 0;    // ranks, as the user knows
  int weighed_ = 0;         // slots of newcomers that were found to change nothing, or enough
  std::int64_t step_ = -1;  // the furthest that a rank has made
};
}  // namespace

int run(const Options& options) {
  check<ConfigError>(options.ranks >= 1, "launch: -n must be 1 or more, got ", options.ranks);
  std::cout.flush();
  Signals signals;
  bool elastic = options.elastic.max > 0;
  Headway headway(options.elastic);
  Apart apart;
  auto ranks = static_cast<std::size_t>(options.ranks);
  for (int restart = 0, starts = 0;; ++restart) {
    int code = 86;
    std::string loss;
    std::int64_t step = -1;
    try {
      Job job(options, signals, apart);
      if (auto now = static_cast<std::size_t>(job.ranks()); now != ranks) say_ranks(ranks, now);
      code = job.run(starts, headway);
      ranks = static_cast<std::size_t>(job.ranks());
      if (job.interrupted() || job.over()) return code;
      loss = job.loss();
      step = job.step();
    } catch (const ConfigError& e) {  // a host or rank 0's port is no longer available
      if (restart == 0) throw;
      write_all(2, std::string(error_mark) + one_line(e.text()) + "\n");
      if (elastic) return 86;
    }
    if (code != 86) return code;
    if (elastic) {
      if (!headway.goes_on(loss, step)) return code;
      continue;
    }
    if (restart == options.max_restarts) return code;
    write_all(2, "restarting the job (" + std::to_string(restart + 1) + " of " + std::to_string(options.max_restarts) +
                     ")\n");
  }
}
}  // namespace bora::launch
