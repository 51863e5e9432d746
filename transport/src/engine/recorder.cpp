#include "engine/recorder.h"
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include "base/api/threads.h"

namespace bora::transport {
namespace {
std::atomic<std::uint64_t> asked{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "the handler may interrupt anything");
void count_signal(int) { asked.fetch_add(1, std::memory_order_relaxed); }
}  // namespace

void dump_on_sigusr2() {
  struct sigaction a {};
  a.sa_handler = count_signal;
  a.sa_flags = SA_RESTART;
  sigemptyset(&a.sa_mask);
  sigaction(SIGUSR2, &a, nullptr);
}
std::uint64_t dumps_asked_for() { return asked.load(std::memory_order_relaxed); }

Record* Recorder::add(Record r) {
  if (ring_.size() < kKept) return &ring_.emplace_back(std::move(r));
  auto& slot = ring_[next_];
  next_ = (next_ + 1) % kKept;
  slot = std::move(r);
  return &slot;
}
void Recorder::note(Record& r, const std::vector<Moved>& members) {
  r.all = {};
  r.moved_at = moves_;
  for (auto& m : members) {
    r.all.out += m.out, r.all.in += m.in;
    moved_[moves_++ % kMoves] = m;
  }
}
const Record* Recorder::find(std::uint32_t group, std::uint64_t seq) const {
  for (std::size_t k = ring_.size(); k-- > 0;)  // the newest first
    if (auto& r = ring_[(next_ + k) % ring_.size()]; r.summary.group == group && r.summary.seq == seq) return &r;
  return nullptr;
}
const Record* Recorder::last_ended() const {
  const Record* last = nullptr;
  for (auto& r : ring_)
    if (r.ended != Clock::time_point{} && (!last || r.ended > last->ended)) last = &r;
  return last;
}
void Recorder::write(JsonWriter& w, const std::function<void(JsonWriter&, const Record&)>& state) const {
  for (std::size_t k = 0; k < ring_.size(); ++k) {
    auto& r = ring_[(next_ + k) % ring_.size()];
    auto& s = r.summary;
    w.object()("seq", s.seq)("group", s.members->name)("op", word(s.kind))("dtype", dtype_name(s.dtype));
    if (!s.wire.exact()) w("wire", word(s.wire));
    w("count", s.count)("algorithm", r.algorithm)("bytes_out", r.all.out)("bytes_in", r.all.in);
    w("peers").object();
    bool kept = (r.all.out > 0 || r.all.in > 0) && moves_ - r.moved_at <= kMoves;
    for (std::size_t p = 0; kept && p < s.members->ranks.size(); ++p)
      if (auto [out, in] = moved_[(r.moved_at + p) % kMoves]; out > 0 || in > 0)
        w(std::to_string(s.members->ranks[p])).object()("out", out)("in", in).end();
    w.end()("enqueued", wall_time(r.enqueued));
    for (auto [name, t] : {std::pair{"start_us", r.started}, {"first_byte_us", r.first_byte}, {"end_us", r.ended}})
      if (t == Clock::time_point{}) w(name, nullptr);
      else w(name, std::chrono::duration_cast<std::chrono::microseconds>(t - r.enqueued).count());
    if (r.ended == Clock::time_point{}) state(w, r);
    else w("state", "done");
    w.end();
  }
}
std::string wall_time(Clock::time_point t) {
  using namespace std::chrono;
  auto wall = system_clock::now() - duration_cast<system_clock::duration>(Clock::now() - t);
  auto us = duration_cast<microseconds>(wall.time_since_epoch()).count();
  auto seconds = static_cast<std::time_t>(us / 1000000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char day[32], text[48];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text, sizeof text, "%s.%06dZ", day, static_cast<int>(us % 1000000));
  return text;
}
std::string write_whole(const std::string& folder, const std::string& name, const std::string& text) {
  std::packaged_task<std::string()> write([folder, name, text]() -> std::string {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    auto path = folder + "/" + name, fresh = path + ".new";
    std::ofstream file(fresh, std::ios::binary);
    file << text;
    file.close();
    if (!file) return "cannot write " + fresh + ": " + std::strerror(errno);
    std::filesystem::rename(fresh, path, error);
    return error ? "cannot rename " + fresh + ": " + error.message() : std::string();
  });
  auto done = write.get_future();
  try {
    start_thread("the file", std::move(write)).detach();
  } catch (const Error& e) { return e.text(); }
  if (done.wait_for(std::chrono::milliseconds(200)) == std::future_status::ready) return done.get();
  return folder + " is slow: " + name + " may come later";
}
}  // namespace bora::transport
