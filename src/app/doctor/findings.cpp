#include "findings.h"
#include <algorithm>
#include <cstdio>
#include <set>
#include "base/api/bytes.h"
#include "base/api/json.h"

namespace bora::app::doctor {
namespace {
constexpr const char* kWords[] = {"ok", "note", "problem"};
/// Rates as lines show them; JSON has their names.
struct Rate {
  const char *name, *words, *unit;
};
constexpr Rate kRates[] = {{kProducts, "products", "GF/s"}, {kCopies, "copies", "GB/s"}, {kWrites, "writes", "MB/s"},
                           {kSyncs, "a sync", "ms"}};
std::string words_of(const std::string& name, double value) {
  for (auto& rate : kRates)
    if (name == rate.name) return std::string(rate.words) + " " + digits(value) + " " + rate.unit;
  return name + " " + digits(value);
}
const char* word(Level level) { return kWords[static_cast<int>(level)]; }
std::string line(const Finding& f, const std::string& of = {}) {
  auto about = f.about + std::string(f.about.size() < 10 ? 10 - f.about.size() : 1, ' ');
  auto text = about + word(f.level) + ": " + (of.empty() ? "" : of + ": ") + f.text + "\n";
  return f.repair.empty() ? text : text + std::string(10, ' ') + "repair: " + f.repair + "\n";
}
void write(JsonWriter& w, const Findings& findings) {
  w("findings").list();
  for (auto& f : findings.all) {
    w.object()("about", f.about)("level", word(f.level))("text", f.text);
    if (!f.repair.empty()) w("repair", f.repair);
    w.end();
  }
  w.end();
}
template <class F> void each(const std::vector<HostReport>& hosts, const Findings& job, const F& f) {
  for (auto& host : hosts)
    for (auto& finding : host.all) f(finding);
  for (auto& finding : job.all) f(finding);
}
int count(const std::vector<HostReport>& hosts, const Findings& job, Level level) {
  int n = 0;
  each(hosts, job, [&](auto& f) { n += f.level == level; });
  return n;
}
}  // namespace

std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x >= 1000 ? "%.0f" : "%.3g", x);
  return text;
}
std::string some_of(const std::vector<std::string>& all) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) text += (i > 0 ? ", " : "") + all[i];
  return all.size() <= most ? text : text + " and " + std::to_string(all.size() - most) + " more";
}
std::string packed(const HostReport& r) {
  ByteWriter w;
  w.text(r.host).num<std::uint64_t>(r.all.size());
  for (auto& f : r.all) w.text(f.about).num(f.level).text(f.text).text(f.repair);
  w.num<std::uint64_t>(r.facts.size());
  for (auto& [name, value] : r.facts) w.text(name).text(value);
  w.num<std::uint64_t>(r.measured.size());
  for (auto& [name, value] : r.measured) w.text(name).num(value);
  return w.take();
}
HostReport unpacked_report(std::string_view bytes) {
  ByteReader u(bytes, "a report of bora doctor");
  HostReport r;
  r.host = u.text();
  for (auto n = u.num<std::uint64_t>(); n > 0; --n) {
    auto& f = r.all.emplace_back();
    f.about = u.text(), f.level = std::min(u.num<Level>(), Level::problem), f.text = u.text(), f.repair = u.text();
  }
  for (auto n = u.num<std::uint64_t>(); n > 0; --n) {
    auto name = u.text();
    r.facts[name] = u.text();
  }
  for (auto n = u.num<std::uint64_t>(); n > 0; --n) {
    auto name = u.text();
    r.measured[name] = u.num<double>();
  }
  return r;
}

std::string verdict(const std::vector<HostReport>& hosts, const Findings& job) {
  auto words = [](int n, const std::string& what) {
    return (n == 0 ? "no " : std::to_string(n) + " ") + what + (n == 1 ? "" : "s");
  };
  return words(count(hosts, job, Level::problem), "problem") + ", " + words(count(hosts, job, Level::note), "note");
}
std::string problems_of(const std::vector<HostReport>& hosts, const Findings& job) {
  std::string text;
  std::set<std::string> said;
  each(hosts, job, [&](auto& f) {
    if (f.level == Level::problem && said.insert(f.about).second) text += (text.empty() ? "" : ", ") + f.about;
  });
  return text;
}
std::string lines_of(const Findings& findings) {
  std::string text;
  for (auto& f : findings.all) text += line(f);
  return text;
}
std::string lines_of(const std::vector<HostReport>& hosts, const Findings& job) {
  std::string text;
  for (auto& host : hosts) {
    std::string said;
    for (auto& [name, value] : host.measured) said += (said.empty() ? "" : ", ") + words_of(name, value);
    text += "host      " + host.host + (said.empty() ? "" : ": ") + said + "\n";
  }
  std::vector<std::pair<Finding, std::vector<std::string>>> different;
  for (auto& host : hosts)
    for (auto& f : host.all) {
      if (f.level == Level::ok) continue;
      auto same = std::find_if(different.begin(), different.end(), [&](auto& d) {
        return d.first.about == f.about && d.first.text == f.text && d.first.repair == f.repair;
      });
      if (same == different.end()) same = different.insert(same, {f, {}});
      same->second.push_back(host.host);
    }
  for (auto& [finding, where] : different) text += line(finding, some_of(where));
  return text + lines_of(job);
}
std::string json_of(const std::vector<HostReport>& hosts, const Findings& job) {
  JsonWriter w;
  w.object()("problems", count(hosts, job, Level::problem))("notes", count(hosts, job, Level::note));
  w("hosts").list(JsonWriter::Elements::lines);
  for (auto& host : hosts) {
    w.object()("host", host.host)("facts").object();
    for (auto& [name, value] : host.facts) w(name, value);
    w.end()("measured").object();
    for (auto& [name, value] : host.measured) w(name, value);
    w.end();
    write(w, host);
    w.end();
  }
  w.end();
  w("job").object();
  write(w, job);
  return w.end().end().take();
}
}  // namespace bora::app::doctor
