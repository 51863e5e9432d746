// Measures the collectives of this job: a table, JSON, a plot; or explains what each algorithm would do.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>
#include "bora/base/text.h"
#include "bora/transport/measure.h"
#include "commands.h"

namespace bora::app {
namespace {
using transport::Measured;
const CollectiveKind ops[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                              CollectiveKind::broadcast,  CollectiveKind::all_to_all,     CollectiveKind::permute};
const char* colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#444444"};

std::vector<std::int64_t> sizes_up_to(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 4 << 10; n <= most; n *= 4) sizes.push_back(n);
  return sizes;
}
std::string json(const std::vector<Measured>& all, int ranks, double link) {
  std::ostringstream o;
  o << "{\"ranks\": " << ranks << ", \"link_bytes_per_second\": " << link << ", \"collectives\": [";
  for (std::size_t i = 0; i < all.size(); ++i)
    o << (i ? ",\n" : "\n") << "  {\"op\": \"" << word(all[i].kind) << "\", \"bytes\": " << all[i].bytes
      << ", \"seconds\": " << all[i].seconds << ", \"bus_bytes_per_second\": " << all[i].bus_bandwidth << "}";
  o << "\n]}\n";
  return o.str();
}
std::string rate_text(double bytes_per_second) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB/s", bytes_per_second / 1e9);
  return text;
}
/// Bus bandwidth over size, both logarithmic; the dashed line is the rate from a rank to the next.
std::string svg(const std::vector<Measured>& all, double link) {
  double low = link, high = link;
  std::int64_t least = all.front().bytes, most = all.front().bytes;
  for (auto& m : all) {
    low = std::min(low, m.bus_bandwidth), high = std::max(high, m.bus_bandwidth);
    least = std::min(least, m.bytes), most = std::max(most, m.bytes);
  }
  low /= 1.3, high *= 1.3;
  constexpr double width = 720, height = 400, left = 80, right = 40, top = 30, bottom = 45;
  auto part = [](double v, double a, double b) { return b > a ? std::log(v / a) / std::log(b / a) : 0.5; };
  auto x = [&](double bytes) {
    return left + (width - left - right) * part(bytes, static_cast<double>(least), static_cast<double>(most));
  };
  auto y = [&](double rate) { return height - bottom - (height - top - bottom) * part(rate, low, high); };
  std::ostringstream o;
  o << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height << "\" viewBox=\"0 0 "
    << width << ' ' << height
    << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  auto text = [&](double px, double py, const char* anchor, const char* colour, const std::string& words) {
    o << "<text x=\"" << px << "\" y=\"" << py << "\" text-anchor=\"" << anchor << "\" fill=\"" << colour << "\">"
      << words << "</text>\n";
  };
  for (double power = std::pow(10, std::floor(std::log10(low))); power <= high; power *= 10)
    for (double rate : {power, 2 * power, 5 * power}) {
      if (rate < low || rate > high) continue;
      o << "<path d=\"M" << left << ' ' << y(rate) << 'H' << width - right << "\" stroke=\"#ddd\"/>\n";
      text(left - 8, y(rate) + 4, "end", "#444", rate_text(rate));
    }
  for (auto n = least; n <= most; n *= 4)
    text(x(static_cast<double>(n)), height - bottom + 18, "middle", "#444", bytes_text(n));
  o << "<path d=\"M" << left << ' ' << y(link) << 'H' << width - right
    << "\" stroke=\"#444\" stroke-dasharray=\"4 3\"/>\n";
  double at = left;
  for (std::size_t k = 0; k < std::size(ops); ++k) {
    o << "<polyline fill=\"none\" stroke=\"" << colours[k] << "\" stroke-width=\"1.5\" points=\"";
    for (auto& m : all)
      if (m.kind == ops[k]) o << x(static_cast<double>(m.bytes)) << ',' << y(m.bus_bandwidth) << ' ';
    o << "\"/>\n";
    text(at, 20, "start", colours[k], std::string(word(ops[k])));
    at += (width - left - right) / static_cast<double>(std::size(ops));
  }
  o << "<g paint-order=\"stroke\" stroke=\"white\" stroke-width=\"4\">";  // readable over the curves
  text(left + 4, y(link) - 4, "start", "#444", "a rank to the next: " + rate_text(link));
  o << "</g>\n";
  text(width / 2, height - 8, "middle", "#444", "bus bandwidth over size");
  o << "</svg>\n";
  return o.str();
}
void write_text(const std::string& path, const std::string& text) {
  auto file = std::fopen(path.c_str(), "w");
  bool good = file && std::fputs(text.c_str(), file) >= 0;
  good = (!file || std::fclose(file) == 0) && good;
  check<IoError>(good, "cannot write ", path);
}
}  // namespace

int comm(const Arguments& a) {
  auto sizes = sizes_up_to(a.most_bytes);
  if (a.explain) {
    int hosts = a.hosts_explained > 0 ? a.hosts_explained : a.ranks;
    std::printf(
        "%d ranks on %d %s; *: the cheapest by the model, table: without measured links\n%-15s %10s %-21s %5s %8s %12s "
        "%12s %s\n",
        a.ranks, hosts, hosts == 1 ? "host" : "hosts", "collective", "bytes", "algorithm", "hops", "streams",
        "rank sends", "host sends", hosts == 1 ? "     time" : "       1 Gbit/s      10 Gbit/s");
    for (auto op : ops)
      for (auto n : sizes) std::printf("%s", transport::explain(op, a.ranks, hosts, n).c_str());
    return 0;
  }
  auto config = transport::with_options(transport::config_from_environment(), a.transport);
  config.build = "bora " BORA_VERSION " comm " + std::to_string(a.most_bytes);
  auto context = transport::join(config);
  check<ConfigError>(context->size() > 1,
                     "comm: one rank has nobody to talk to; start it as a job: bora launch -n 2 -- comm");
  transport::Group all{.ranks = std::vector<int>(static_cast<std::size_t>(context->size())), .name = "all"};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  bool first = context->rank() == 0;
  // Every rank sends to the next one: the rate of a link. Between ranks that share a host the link is memory, and a
  // share of the link has no meaning.
  auto link = transport::measure(*context, all, CollectiveKind::permute, {sizes.back()}).front().bus_bandwidth;
  auto together = context->exchange(std::to_string(context->ranks_on_host()), "comm: ranks on each host");
  bool apart = std::all_of(together.begin(), together.end(), [](auto& ranks) { return ranks == "1"; });
  if (first)
    std::printf("%d ranks, %d on this host, launcher: %s; a rank sends the next %.2f GB/s\n%-15s %10s %12s %10s%s\n",
                context->size(), context->ranks_on_host(), config.launcher.c_str(), link / 1e9, "collective", "size",
                "time us", "bus GB/s", apart ? "  of link" : "");
  std::vector<Measured> found;
  for (auto op : ops)
    for (auto& m : transport::measure(*context, all, op, sizes)) {
      found.push_back(m);
      if (!first) continue;
      std::printf("%-15s %10s %12.1f %10.3f", std::string(word(op)).c_str(), bytes_text(m.bytes).c_str(),
                  m.seconds * 1e6, m.bus_bandwidth / 1e9);
      if (apart) std::printf(" %7.0f%%", 100 * m.bus_bandwidth / link);
      std::printf("\n");
    }
  context->leave();
  if (first && !a.json.empty()) write_text(a.json, json(found, context->size(), link));
  if (first && !a.svg.empty()) write_text(a.svg, svg(found, link));
  return 0;
}
}  // namespace bora::app
