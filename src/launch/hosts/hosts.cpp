#include "hosts.h"
#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include "base/api/file.h"
#include "base/api/most_ranks.h"

namespace bora::launch {
namespace {
constexpr int most_slots = 4096;
constexpr std::string_view form = "; a line is: host slots=N iface=NAME (the last two may be left out)";

Host parse_line(std::istringstream& words, const std::string& name, const std::string& place) {
  Host h{.name = name, .place = place};
  // ssh would read a name that begins with a dash as an option.
  check<ConfigError>(name.find('=') == std::string::npos && name[0] != '-', place,
                     ": expected the name of a host, got '", name, "'", form);
  for (std::string word; words >> word;) {
    auto equals = word.find('=');
    auto key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    check<ConfigError>((key == "slots" || key == "iface") && !value.empty(), place, ": unknown '", word, "'", form);
    if (key == "iface") {
      h.interface_name = value;
      continue;
    }
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), h.slots);
    check<ConfigError>(
        error == std::errc{} && end == value.data() + value.size() && h.slots >= 1 && h.slots <= most_slots, place,
        ": slots must be a number from 1 to ", most_slots, ", got '", value, "'");
  }
  return h;
}
}  // namespace

bool is_loopback(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::vector<Host> parse_hosts(std::string_view text, const std::string& file) {
  std::vector<Host> hosts;
  std::map<std::string, std::string> places;
  int slots = 0;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    auto h = parse_line(words, name, file + ":" + std::to_string(number));
    auto [twin, fresh] = places.emplace(h.name, h.place);
    check<ConfigError>(fresh, h.place, ": ", h.name, " stands in ", twin->second,
                       " already; one line with slots=N starts several ranks there");
    slots += h.slots;
    check<ConfigError>(slots <= kMostRanks, h.place, ": with it there are ", slots, " slots; a job has at most ",
                       kMostRanks, " ranks");
    hosts.push_back(h);
  }
  check<ConfigError>(!hosts.empty(), file, ": no hosts in it", form);
  auto here = [](auto& h) { return is_loopback(h.name); };
  auto mine = std::find_if(hosts.begin(), hosts.end(), here);
  auto other = std::find_if_not(hosts.begin(), hosts.end(), here);
  if (mine != hosts.end() && other != hosts.end())
    fail<ConfigError>(mine->place, ": ", mine->name, " is another machine for ", other->name,
                      "; write the name by which the other hosts reach it");
  return hosts;
}
std::vector<Host> read_hosts(const std::string& path) {
  try {
    return parse_hosts(read_file(path), path);
  } catch (const IoError& e) { fail<ConfigError>("--hosts: ", e.text()); }
}
int count_slots(const std::vector<Host>& hosts) {
  int n = 0;
  for (auto& h : hosts) n += h.slots;
  return n;
}
std::vector<Host> first_slots(std::vector<Host> hosts, int n) {
  check<ConfigError>(n <= count_slots(hosts), "-n ", n, ": the hosts have ", count_slots(hosts),
                     " slots; give them more (slots=N), or leave -n out to use all");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].slots = std::min(hosts[i].slots, n);
    n -= hosts[i].slots;
    if (n == 0) hosts.resize(i + 1);
  }
  return hosts;
}
}  // namespace bora::launch
