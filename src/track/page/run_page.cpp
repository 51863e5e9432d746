#include "track/api/run_page.h"
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include "base/api/file.h"
#include "base/api/threads.h"
#include "json/api/value.h"
#include "track/page/document.h"

namespace bora::track::page {
namespace {
using Clock = std::chrono::steady_clock;
constexpr std::int64_t kPiece = 256 << 10;  // of the file while others wait: 2 ms
constexpr std::size_t kAnswer = 120 << 10;  // of series; with one more, events and ranks below 256 KB
constexpr std::string_view kData = "id=\"data\">";  // behind it a report has its JSON

/// A report of a history that is read to the end.
std::string report_of(const History& history, const About& about, const std::string& folder) {
  auto log = log_json(folder + "/run.log", -1), data = data_json(history, about, {}, ~std::size_t(0));
  log.pop_back(), data.pop_back();  // their newlines
  return html_with("{\"runs\":[" + data + "],\"log\":" + log + "}");
}
}  // namespace

struct RunPage::State {
  Options options;
  std::mutex mutex;  // of what follows
  History history;
  About about;
  std::condition_variable wake;
  bool ends = false, watches = false, wanted = false;
  Clock::time_point written = Clock::now();  // the last report
  double cost = 0;                           // seconds that it took
  std::thread thread = {};

  explicit State(Options o)
      : options(std::move(o)), history(options.folder + "/metrics.jsonl"),
        about{.name = name_of(options.folder), .settings = options.settings} {}
  void start() {
    sigset_t all, before;  // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread = start_thread("the page of the run", [this] { run(); });
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void run() {
    pthread_setname_np(pthread_self(), "bora-page");
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10);
    try {
      follow();
    } catch (const std::exception&) {}  // without memory the page stands still, and the run goes on
  }
  void follow() {
    for (std::unique_lock lock(mutex); !ends;) {
      while (!ends && history.read(kPiece)) lock.unlock(), std::this_thread::yield(), lock.lock();
      if (ends) return;
      if (watches && options.ranks) {
        lock.unlock();
        auto seconds = options.ranks();
        lock.lock();
        history.add_ranks(static_cast<double>(std::time(nullptr)), seconds);
      }
      if (std::exchange(wanted, false)) try_report(lock);
      auto due = [this] { return ends || wanted; };
      if (watches) wake.wait_for(lock, std::chrono::seconds(1), due);
      else wake.wait(lock, [&] { return due() || watches; });
    }
  }
  void try_report(std::unique_lock<std::mutex>& lock) {
    auto begin = Clock::now();
    if (std::chrono::duration<double>(begin - written).count() < 100 * cost) return;
    try {
      write_report_now(lock);
    } catch (const Error&) {}  // the end writes it again, and says what fails
    written = Clock::now();
    cost = std::chrono::duration<double>(written - begin).count();
  }
  void write_report_now(std::unique_lock<std::mutex>& lock) {
    auto text = report_of(history, about, options.folder);
    lock.unlock();
    struct Locked {
      std::unique_lock<std::mutex>& lock;
      ~Locked() { lock.lock(); }
    } again{lock};
    write_file(options.folder + "/report.html", text);
  }
  void stop() {
    {
      std::unique_lock lock(mutex);
      ends = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }
};

RunPage::RunPage(Options o) : state_(std::make_shared<State>(std::move(o))) { state_->start(); }
RunPage::~RunPage() { state_->stop(); }
void RunPage::watch() {
  std::unique_lock lock(state_->mutex);
  state_->watches = true;
  state_->wake.notify_all();
}
void RunPage::report() {
  std::unique_lock lock(state_->mutex);
  state_->wanted = true;
  state_->wake.notify_all();
}
void RunPage::finish() {
  state_->stop();
  std::unique_lock lock(state_->mutex);
  while (state_->history.read(kPiece)) {}
  state_->about.ended = true;
  state_->write_report_now(lock);
}
PageSource RunPage::source() const {
  auto s = state_;
  return {.html = [] () -> const std::string& { return live_html(); },
          .policy = [] () -> const std::string& { return live_policy(); },
          .data = [s](std::string_view since) -> std::optional<std::string> {
            auto cursor = since.empty() ? History::Cursor() : History::Cursor::parse(since);
            if (!cursor) return std::nullopt;
            std::unique_lock lock(s->mutex);
            return data_json(s->history, s->about, *cursor, kAnswer);
          },
          .log = [s](std::string_view from) -> std::optional<std::string> {
            std::int64_t at = -1;
            auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), at);
            bool whole = error == std::errc() && end == from.data() + from.size() && at >= 0;
            if (!from.empty() && !whole) return std::nullopt;
            return log_json(s->options.folder + "/run.log", at);
          },
          .metrics = [s] {
            std::unique_lock lock(s->mutex);
            return prometheus(s->history);
          }};
}
}  // namespace bora::track::page

namespace bora::track {
namespace {
/// The member "ranks" of the report that the run wrote: no other file has it. Empty: there is none.
std::string ranks_of(const std::string& folder) {
  std::string html;
  try {
    html = read_file(folder + "/report.html");
  } catch (const IoError&) { return {}; }
  auto begin = html.find(page::kData);
  if (begin == html.npos) return {};
  begin += page::kData.size();
  auto data = json::parse_or_null(std::string_view(html).substr(begin, html.find("</script>", begin) - begin));
  auto runs = data.find("runs");
  if (!runs || !runs->is_list() || runs->list().size() != 1) return {};
  auto marks = runs->list()[0].find("marks");
  auto ranks = marks ? marks->find("ranks") : nullptr;
  return ranks && ranks->is_object() ? ranks->dump() : std::string();
}
}  // namespace

void write_report(const std::string& file, const std::vector<std::string>& folders) {
  std::string runs;
  for (auto& folder : folders) {
    auto path = folder + "/metrics.jsonl";
    (void)File::open(path);  // an IoError that says why it cannot be read
    page::History history(path);
    history.keep_ranks(ranks_of(folder));
    while (history.read(1 << 20)) {}
    auto name = page::name_of(folder);
    auto same = std::ranges::count_if(folders, [&](auto& other) { return page::name_of(other) == name; });
    page::About about{.name = same > 1 ? folder : name, .settings = read_file(folder + "/config.yaml"), .ended = true};
    auto data = page::data_json(history, about, {}, ~std::size_t(0));
    data.pop_back();  // its newline
    runs += (runs.empty() ? "" : ",") + data;
  }
  write_file(file, page::html_with("{\"runs\":[" + runs + "]}"));
}
}  // namespace bora::track
