#include "joining_hosts.h"
#include <algorithm>
#include <utility>
#include "bora/base/error.h"

namespace bora::launch {
namespace {
constexpr auto kLongestPause = std::chrono::seconds(30);
}  // namespace

void JoiningHosts::lack(const Host& host, std::chrono::seconds pause) {
  missing_.push_back({host, pause, Clock::now() + pause});
}
void JoiningHosts::add_files(std::vector<::pollfd>& files) const {
  for (auto& m : missing_)
    if (m.attempt) m.attempt->add_files(files);
}
void JoiningHosts::serve(RankEvents& events) {
  for (auto& m : missing_) {
    if (m.attempt) m.attempt->serve(events);
    auto now = Clock::now();
    bool failed = m.attempt && (!m.attempt->connected() || !m.attempt->failure().empty() ||
                                (!m.here() && now >= m.next));
    if (!m.attempt && now >= m.next) try {
        m.attempt = std::make_unique<RemoteRanks>(m.host, ssh_, agent_);
        m.next = now + kMostToConnect;
      } catch (const ConfigError&) { failed = true; }  // no process or file could be made now
    if (!failed) continue;
    m.attempt.reset();
    m.pause = std::min(2 * m.pause, kLongestPause);
    m.next = now + m.pause;
  }
}
int JoiningHosts::slots() const {
  int n = 0;
  for (auto& m : missing_) n += m.here() ? m.host.slots : 0;
  return n;
}
std::vector<std::unique_ptr<RemoteRanks>> JoiningHosts::take() {
  std::vector<std::unique_ptr<RemoteRanks>> taken;
  for (auto& m : missing_)
    if (m.here()) taken.push_back(std::move(m.attempt));
  std::erase_if(missing_, [&](auto& m) {
    return std::any_of(taken.begin(), taken.end(), [&](auto& t) { return t->host().name == m.host.name; });
  });
  return taken;
}
}  // namespace bora::launch
