#include "joining_hosts.h"
#include <algorithm>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "launch/ranks/outputs.h"

namespace bora::launch {
namespace {
constexpr auto kLongestPause = std::chrono::seconds(30);
constexpr std::size_t kMostSaid = 1 << 16;  // bytes
}  // namespace

void JoiningHosts::Candidates::printed(int, bool errors, std::string_view bytes) {
  if (errors && said.size() < kMostSaid) said.append(bytes);
}
void JoiningHosts::Candidates::ended(int, const Ending& ending) {
  if (!failure.empty() || !ending.lost.empty()) return;  // the first, and not of a host that has gone again
  auto at = said.rfind(error_mark);
  auto line = at == std::string::npos ? "" : said.substr(at + error_mark.size());
  line = one_line(line.substr(0, line.find('\n')));
  failure = line.empty() ? "a rank could not begin there: it " + ending.words() : line;
}

void JoiningHosts::lack(const Host& host, std::chrono::seconds pause) {
  missing_.push_back({host, pause, Clock::now() + pause});
}
void JoiningHosts::add_files(std::vector<::pollfd>& files) const {
  for (auto& m : missing_)
    if (m.attempt) m.attempt->add_files(files);
}
void JoiningHosts::serve() {
  for (auto& m : missing_) {
    if (m.attempt) m.attempt->serve(m.candidates);
    auto now = Clock::now();
    auto why = m.candidates.failure;
    if (why.empty() && m.attempt && m.attempt->refuses()) why = one_line(m.attempt->failure());
    if (!why.empty()) {
      auto pause = partition_.pause(m.host.name);
      write_all(2, Partition::text(m.host.name, pause, why));
      m.next = now + pause;
      m.attempt.reset();
      m.candidates = {};
      continue;
    }
    bool failed = m.attempt && (!m.attempt->connected() || !m.attempt->failure().empty() ||
                                (!m.here() && now >= m.next));
    if (!m.attempt && now >= m.next) try {
        m.attempt = std::make_unique<RemoteRanks>(m.host, ssh_, agent_);
        m.next = now + kMostToConnect;
      } catch (const ConfigError&) { failed = true; }  // no process or file could be made now
    if (!failed) continue;
    m.attempt.reset();
    m.candidates = {};
    m.pause = std::min(2 * m.pause, kLongestPause);
    m.next = now + m.pause;
  }
}
int JoiningHosts::slots() const {
  int n = 0;
  for (auto& m : missing_) n += m.here() ? m.host.slots : 0;
  return n;
}
int JoiningHosts::ready_slots() const {
  int n = 0;
  for (auto& m : missing_) n += m.ready() ? m.host.slots : 0;
  return n;
}
void JoiningHosts::prepare(const std::function<int(RemoteRanks&)>& start) {
  for (auto& m : missing_) {
    if (!m.here() || m.candidates.begun > 0) continue;
    try {
      m.candidates.begun = start(*m.attempt);
    } catch (const std::exception& e) { m.candidates.failure = one_line(e.what()); }
  }
}
std::vector<std::unique_ptr<RemoteRanks>> JoiningHosts::take(bool all) {
  std::vector<std::unique_ptr<RemoteRanks>> taken;
  for (auto& m : missing_)
    if (all ? m.here() : m.ready()) taken.push_back(std::move(m.attempt));
  std::erase_if(missing_, [&](auto& m) {
    return std::any_of(taken.begin(), taken.end(), [&](auto& t) { return t->host().name == m.host.name; });
  });
  return taken;
}
}  // namespace bora::launch
