// Measures the collectives of this job: a table, JSON, a plot; or explains what each algorithm would do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include "app/commands.h"
#include "base/api/file.h"
#include "base/api/json.h"
#include "bora/base/text.h"
#include "bora/track/chart.h"
#include "bora/transport/measure.h"

namespace bora::app {
namespace {
using transport::Measured;
const CollectiveKind kCollectives[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                       CollectiveKind::all_gather, CollectiveKind::broadcast,
                                       CollectiveKind::all_to_all, CollectiveKind::permute};
const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#444444"};

std::vector<std::int64_t> sizes_up_to(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 4 << 10; n <= most; n *= 4) sizes.push_back(n);
  return sizes;
}
/// Seconds that the measurement of all collectives at this size takes, by the rate of a link: 4 to 20 calls of each.
double seconds_for(std::int64_t bytes, double link, int ranks) {
  double sum = 0;
  for (auto kind : kCollectives) {
    auto sent = kind == CollectiveKind::all_reduce ? 2. : 1.;  // of the vector, by each rank, at most
    auto once = sent * static_cast<double>(bytes) / link + 1e-4 * std::log2(static_cast<double>(ranks));
    sum += once > 0.1 ? 4 * once : std::max(20 * once, 0.25);
  }
  return sum;
}
constexpr double kPatience = 60;  // seconds, unless --max-bytes says how far to go

std::string as_json(const std::vector<Measured>& all, int ranks, double link) {
  JsonWriter w(JsonWriter::Style::spaced);
  w.object()("ranks", ranks)("link_bytes_per_second", link)("collectives").list(JsonWriter::Elements::lines);
  for (auto& m : all)
    w.object()("op", word(m.kind))("bytes", m.bytes)("seconds", m.seconds)("bus_bytes_per_second", m.bus_bandwidth)
        .end();
  return w.end().end().take();
}
std::string rate_text(double bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", bytes_per_second / 1e9);
  return text;
}
/// Bus bandwidth over size, both logarithmic; the dashed line is the rate from a rank to the next.
std::string as_plot(const std::vector<Measured>& all, double link) {
  auto [least, most] = std::minmax_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; });
  track::Scale sizes{static_cast<double>(least->bytes), static_cast<double>(most->bytes), true},
      rates{link, link, true};
  for (auto& m : all)
    rates.low = std::min(rates.low, m.bus_bandwidth), rates.high = std::max(rates.high, m.bus_bandwidth);
  rates.low /= 1.3, rates.high *= 1.3;
  for (auto n = least->bytes; n <= most->bytes; n *= 4) sizes.marks.emplace_back(static_cast<double>(n), bytes_text(n));
  for (auto rate : track::logarithmic_marks(rates.low, rates.high)) rates.marks.emplace_back(rate, rate_text(rate));
  track::Chart chart{.x = sizes,
                     .y = rates,
                     .caption = "bus bandwidth over size",
                     .level = std::pair{link, "a rank to the next: " + rate_text(link)}};
  for (std::size_t k = 0; k < std::size(kCollectives); ++k) {
    auto& curve = chart.curves.emplace_back(track::Curve{std::string(word(kCollectives[k])), kColours[k]});
    for (auto& m : all)
      if (m.kind == kCollectives[k]) curve.points.push_back({static_cast<double>(m.bytes), m.bus_bandwidth});
  }
  return track::svg(chart);
}
void explain_algorithms(int ranks, int hosts, const std::vector<std::int64_t>& sizes) {
  std::printf(
      "%d ranks on %d %s; *: the cheapest by the model, table: without measured links\n%-15s %10s %-21s %5s %8s %12s "
      "%12s %s\n",
      ranks, hosts, hosts == 1 ? "host" : "hosts", "collective", "bytes", "algorithm", "hops", "streams", "rank sends",
      "host sends", hosts == 1 ? "     time" : "       1 Gbit/s      10 Gbit/s");
  for (auto op : kCollectives)
    for (auto n : sizes) std::printf("%s", transport::explain(op, ranks, hosts, n).c_str());
}

struct Comm {
  static constexpr std::string_view name = "comm", help = "how fast collectives are on this job: launch -n N -- comm";
  static constexpr Row row{.place = 70, .launched = true};
  std::int64_t max_bytes = 0;
  std::string json = {}, svg = {};
  bool explain = false;
  int hosts = 0, ranks = 1;  // to explain; hosts 0: one for each rank
  std::vector<transport::Option> transport = {};

  void declare(Flags& flags) {
    flags.add("--max-bytes", max_bytes, "largest vector; default: 16777216, or what takes a minute").no_default();
    flags.add("--json", json, "a file for the numbers").names(Names::output);
    flags.add("--svg", svg, "a file for a plot").names(Names::output);
    flags.add("--explain", explain, "what each algorithm would do and cost instead, for -n ranks");
    flags.on(
        "--calibrate", [this] { transport.push_back({"calibrate", "on", "--calibrate"}); },
        "measure the links again first, and keep what they cost for later jobs");
    flags.add("--on", hosts, "hosts to explain for; default: one for each rank");
    flags.add("-n,--ranks", ranks, "ranks to explain");
    declare_insecure(flags, transport);
  }
  void settle() const {
    check<ConfigError>(max_bytes == 0 || (max_bytes >= 4096 && max_bytes <= 1 << 30),
                       "--max-bytes: must be from 4096 to 2^30, got ", max_bytes);
    check<ConfigError>(ranks >= 1, "-n: must be 1 or more, got ", ranks);
    check<ConfigError>(!explain || ranks <= 256, "-n: at most 256 ranks are explained, got ", ranks);
    check<ConfigError>(!explain || hosts == 0 || (hosts > 0 && ranks % hosts == 0), "--on: ", ranks,
                       " ranks cannot be spread evenly over ", hosts, " hosts");
  }
  int run() const {
    if (explain) explain_algorithms(ranks, hosts > 0 ? hosts : ranks, sizes_up_to(largest()));
    else measure();
    return 0;
  }
  std::int64_t largest() const { return max_bytes > 0 ? max_bytes : 16 << 20; }
  void measure() const;
};

void Comm::measure() const {
  auto config = transport::with_options(transport::config_from_environment(), transport);
  config.build = "version of bora\t" BORA_VERSION "\ncommand\tcomm\n--max-bytes\t" + std::to_string(max_bytes);
  auto sizes = sizes_up_to(largest());  // the same on all ranks, as their guesses of the link are
  auto context = transport::join(config);
  check<ConfigError>(context->size() > 1,
                     "comm: one rank has nobody to talk to; start it as a job: bora launch -n 2 -- comm");
  transport::Group all{.ranks = std::vector<int>(static_cast<std::size_t>(context->size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  bool first = context->rank() == 0;
  // Every rank sends to the next one: the rate of a link. Between ranks that share a host the link is memory, and a
  // share of the link has no meaning.
  auto rate = [&](std::int64_t bytes) {
    return transport::measure(*context, all, CollectiveKind::permute, {bytes}).front().bus_bandwidth;
  };
  auto total = [&, guess = rate(std::min<std::int64_t>(sizes.back(), 256 << 10))] {
    double sum = 0;
    for (auto n : sizes) sum += seconds_for(n, guess, context->size());
    return sum;
  };
  while (max_bytes == 0 && sizes.size() > 1 && total() > kPatience) sizes.pop_back();
  if (first) {
    std::printf("%zu sizes up to %s, about %.0f s%s\n", sizes.size(), bytes_text(sizes.back()).c_str(), total(),
                sizes.back() * 4 <= largest() ? "; --max-bytes goes on" : "");
    std::fflush(stdout);
  }
  auto link = rate(sizes.back());
  auto together = context->exchange(std::to_string(context->ranks_on_host()), "comm: ranks on each host");
  bool apart = std::all_of(together.begin(), together.end(), [](auto& ranks) { return ranks == "1"; });
  if (first)
    std::printf("%d ranks, %d on this host, launcher: %s; a rank sends the next %.2f GB/s\n%-15s %10s %12s %10s%s\n",
                context->size(), context->ranks_on_host(), config.launcher.c_str(), link / 1e9, "collective", "size",
                "time us", "bus GB/s", apart ? "  of link" : "");
  std::vector<Measured> found;
  for (auto op : kCollectives)
    for (auto size : sizes) {
      auto& m = found.emplace_back(transport::measure(*context, all, op, {size}).front());
      if (!first) continue;
      std::printf("%-15s %10s %12.1f %10.3f", std::string(word(op)).c_str(), bytes_text(m.bytes).c_str(),
                  m.seconds * 1e6, m.bus_bandwidth / 1e9);
      if (apart) std::printf(" %7.0f%%", 100 * m.bus_bandwidth / link);
      std::printf("\n");
      std::fflush(stdout);
    }
  context->leave();
  if (first && !json.empty()) write_file(json, as_json(found, context->size(), link));
  if (first && !svg.empty()) write_file(svg, as_plot(found, link));
}
}  // namespace
template const bool added<Comm>;
}  // namespace bora::app
