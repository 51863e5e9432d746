#include "join/calibrate.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <unistd.h>
#include "base/api/bytes.h"
#include "schedule/sum.h"
#include "wire/link.h"

namespace bora::transport {
namespace {
constexpr std::int64_t kLargest = 16 << 20;
double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }
/// The messages that rank 0's partner receives before it answers; none: the end.
struct Request {
  std::int64_t messages = 0, bytes = 0;
};
void answer(Context& c, std::vector<std::byte>& room) {
  for (;;) {
    Request r;
    c.receive(0, &r, sizeof r, Dtype::u8);
    if (r.messages == 0) return;
    for (std::int64_t k = 0; k < r.messages; ++k) c.receive(0, room.data(), r.bytes, Dtype::u8);
    c.send(0, room.data(), 1, Dtype::u8);
  }
}
LinkCost cost_to(Context& c, int partner, std::vector<std::byte>& room) {
  auto begin = Clock::now();
  auto seconds = [&](Request r) {
    auto start = Clock::now();
    c.send(partner, &r, sizeof r, Dtype::u8);
    for (std::int64_t k = 0; k < r.messages; ++k) c.send(partner, room.data(), r.bytes, Dtype::u8);
    c.receive(partner, room.data(), 1, Dtype::u8);
    return since(start);
  };
  auto median = [&](int n, double limit, Request r) {
    std::vector<double> t;
    for (int k = 0; k < n && (k < 3 || since(begin) < limit); ++k) t.push_back(seconds(r));
    std::sort(t.begin(), t.end());
    return t[t.size() / 2];
  };
  seconds({1, 64});  // connects
  auto one = median(15, 0.06, {1, 64}), many = median(9, 0.12, {33, 64});
  double large = 0;
  std::int64_t bytes = 256 << 10;
  for (;; bytes *= 4) {
    large = seconds({1, bytes});
    if (bytes >= kLargest || large > 0.02 || since(begin) > 0.2) break;
  }
  if (large < 0.05) large = std::min(large, seconds({1, bytes}));
  Request end;
  c.send(partner, &end, sizeof end, Dtype::u8);
  return {one / 2, std::max(0.0, many - one) / 32, std::max(0.0, large - one) / static_cast<double>(bytes)};
}
double seconds_per_byte_summed() {
  std::vector<std::byte> a(256 << 10), b(a.size());
  double best = 1;
  for (int k = 0; k < 5; ++k) {
    auto start = Clock::now();
    reduce_in_order(Reduction::sum, Dtype::f32, {a.data(), b.data()}, a.data(), a.size() / 4);
    best = std::min(best, since(start));
  }
  return best / static_cast<double>(a.size());
}
}  // namespace

Costs measure_links(Context& c, const std::vector<int>& hosts) {
  auto partner = [&](bool same_host) {
    for (int r = 1; r < c.size(); ++r)
      if ((hosts[static_cast<std::size_t>(r)] == hosts[0]) == same_host) return r;
    return -1;
  };
  int here = partner(true), there = partner(false);
  std::vector<std::byte> room(c.rank() == 0 || c.rank() == here || c.rank() == there ? kLargest : 0);
  Costs found;
  if (c.rank() == here || c.rank() == there) answer(c, room);
  if (c.rank() == 0) {
    if (here > 0) found.here = cost_to(c, here, room);
    if (there > 0) found.wire = cost_to(c, there, room);
    found.gamma = seconds_per_byte_summed();
  }
  return ByteReader(c.exchange(ByteWriter().num(found).take(), "costs of links").front()).num<Costs>();
}
std::string cache_of_links() {
  if (auto cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return std::string(cache) + "/bora/links";
  auto home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/bora/links" : "";
}
std::optional<Costs> cached_links(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    Costs c;
    if (words >> name >> c.here.alpha >> c.here.message >> c.here.beta >> c.wire.alpha >> c.wire.message >>
            c.wire.beta >> c.gamma &&
        name == key)
      return c;
  }
  return std::nullopt;
}
void cache_links(const std::string& file, const std::string& key, const Costs& c) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), error);
  std::ostringstream text;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + " ", 0) != 0) text << line << "\n";
  text << key << std::setprecision(9);
  for (double x : {c.here.alpha, c.here.message, c.here.beta, c.wire.alpha, c.wire.message, c.wire.beta, c.gamma})
    text << " " << x;
  text << "\n";
  // Other jobs read it at any time.
  auto fresh = file + "." + std::to_string(getpid());
  {
    std::ofstream out(fresh);
    out << text.str();
    check<IoError>(out.flush().good(), "cannot write ", fresh);
  }
  std::filesystem::rename(fresh, file, error);
  check<IoError>(!error, "cannot write ", file, ": ", error.message());
}
std::string text_of(const Costs& c, const std::vector<int>& hosts) {
  std::string text;
  auto add = [&](const char* what, const LinkCost& l) {
    char line[160];
    std::snprintf(line, sizeof line, "%s %.1f us, %.2f us a message, %.0f MB/s; ", what, 1e6 * l.alpha, 1e6 * l.message,
                  l.beta > 0 ? 1e-6 / l.beta : 0.0);
    text += line;
  };
  auto away = std::count_if(hosts.begin(), hosts.end(), [&](int h) { return h != hosts[0]; });
  if (away > 0) add("between hosts", c.wire);
  if (away + 1 < static_cast<std::ptrdiff_t>(hosts.size())) add("within a host", c.here);
  char line[60];
  std::snprintf(line, sizeof line, "sums %.0f MB/s", 1e-6 / c.gamma);
  return text + line;
}
}  // namespace bora::transport
