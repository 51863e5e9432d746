#include "shard/agreement.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include "compile/api/global_lines.h"

namespace bora {
namespace {
constexpr std::uint64_t kNoText = 1469598103934665603ull;
/// FNV-1a: the same on every rank and build.
std::uint64_t hash_after(std::uint64_t h, std::string_view text) {
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  return h;
}
std::string digits(std::uint64_t h) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}
}  // namespace
namespace fx {
std::string fact(const std::string& what, const std::string& value) { return what + '\t' + value + '\n'; }
std::string facts_of(std::string_view kind, const std::vector<std::string>& values,
                     const std::vector<std::string>& labels) {
  std::string r;
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto label = k < labels.size() ? labels[k] : std::string();
    auto name = label.starts_with("argument") ? label : std::string(kind) + " " + std::to_string(k);
    if (name != label && !label.empty()) name += " '" + label + "'";
    r += fact(name + " is", values[k]);
  }
  return r;
}
std::vector<std::string> said_of(const std::vector<Sharded>& values, Whole whole) {
  std::vector<std::string> r;
  for (auto& x : values) {
    bool split = !x.spec.trivial() || !x.partial.empty();
    if (split || whole == Whole::same) r.push_back(describe(x));
    else if (whole == Whole::own) r.emplace_back("the rank's own");
    else r.push_back(std::string(dtype_name(x.type.dtype)) + " of " + std::to_string(x.type.ndim()) + " dimensions");
  }
  return r;
}
void check_agreement(const std::vector<std::string>& texts, std::string_view title, std::string_view remedy) {
  if (std::all_of(texts.begin(), texts.end(), [&](auto& t) { return t == texts[0]; })) return;
  std::vector<std::istringstream> lines;
  for (auto& t : texts) lines.emplace_back(t);
  std::map<std::string, std::string> ranks;  // line -> the ranks that have it
  do {
    ranks.clear();
    for (std::size_t r = 0; r < lines.size(); ++r) {
      std::string line;
      if (!std::getline(lines[r], line)) line = "nothing more";
      auto& who = ranks[line];
      who += (who.empty() ? "" : ", ") + std::to_string(r);
    }
  } while (ranks.size() == 1);
  std::string words, before;
  for (auto& [line, who] : ranks) {
    auto tab = line.find('\t');
    auto what = tab == line.npos ? std::string() : line.substr(0, tab + 1);
    words += words.empty() ? "" : ", ";
    if (what != before) words += what.empty() ? "" : what.substr(0, tab) + " ";
    before = what;
    words += line.substr(what.size()) + " on rank" + (who.find(',') == who.npos ? " " : "s ") + who;
  }
  fail<ShardError>(title, " differ: ", words, "; ", remedy);
}
std::string global_fingerprint(const Program& p) {
  return *p.memo.get<std::string>(Form::fingerprint, "", [&] {
    auto h = kNoText;
    for (auto& line : global_lines(p)) h = hash_after(h, line.words + '\n');
    return digits(h);
  });
}
void quote_global_difference(const Program& mine, Communicator& communicator, std::string_view remedy) {
  constexpr std::string_view kWhat = "fingerprint\nthe ranks' programs differ";
  auto same_everywhere = [&](const std::string& text) {
    auto all = communicator.exchange(text, kWhat);
    return std::all_of(all.begin(), all.end(), [&](auto& t) { return t == all[0]; });
  };
  auto lines = global_lines(mine);
  std::size_t longest = 0;
  for (auto& n : communicator.exchange(std::to_string(lines.size()), kWhat))
    longest = std::max(longest, static_cast<std::size_t>(std::stoull(n)));
  auto words = [&](std::size_t k) { return k < lines.size() ? lines[k].words : std::string("nothing more"); };
  std::vector<std::uint64_t> first{kNoText};  // of the first k lines
  for (std::size_t k = 0; k < longest; ++k) first.push_back(hash_after(first.back(), words(k) + '\n'));
  std::size_t equal = 0, unequal = longest;  // so many first lines are, or are not
  while (unequal - equal > 1) {
    auto middle = equal + (unequal - equal) / 2;
    (same_everywhere(digits(first[middle])) ? equal : unequal) = middle;
  }
  auto line = words(equal);
  if (equal < lines.size() && lines[equal].source)
    if (auto place = describe(*lines[equal].source); !place.empty()) line += " (" + place + ")";
  auto what = "operation " + std::to_string(equal) + " is";
  check_agreement(communicator.exchange(fact(what, line), kWhat), "the ranks' programs", remedy);
  fail<ShardError>("the ranks' programs differ; ", remedy);
}
}  // namespace fx

namespace {
constexpr std::size_t kMost = 64;  // types behind one value
thread_local About* innermost = nullptr;

}  // namespace

OriginPtr Origin::of(std::vector<std::string> types) {
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  if (types.size() > kMost) types.resize(kMost);  // the same ones on every rank
  auto made = std::make_shared<Origin>();
  made->hash_ = kNoText;
  for (auto& t : types) made->hash_ = hash_after(made->hash_, t + ';');
  made->types_ = std::move(types);
  return made;
}
OriginPtr Origin::joined(const std::vector<OriginPtr>& several) {
  OriginPtr only;
  bool one = true;
  std::vector<std::string> types;
  for (auto& o : several) {
    if (!o || o == only) continue;
    one = one && !only;
    only = o;
    types.insert(types.end(), o->types_.begin(), o->types_.end());
  }
  return one ? only : of(std::move(types));
}
std::string Origin::text() const {
  std::string r;
  for (auto& t : types_) r += (r.empty() ? "" : ", ") + t;
  return r;
}

About::About(std::function<OriginPtr()> origin) : make_(std::move(origin)), outer_(innermost) { innermost = this; }
About::~About() { innermost = outer_; }
const OriginPtr& About::get() {
  if (make_) {
    made_ = Origin::joined({make_(), outer_ ? outer_->get() : nullptr});
    make_ = nullptr;
  }
  return made_;
}
OriginPtr About::now() { return innermost ? innermost->get() : nullptr; }
}  // namespace bora
