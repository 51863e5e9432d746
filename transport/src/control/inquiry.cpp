#include "control/inquiry.h"
#include <algorithm>
#include <set>

namespace bora::transport {
namespace {
struct Stuck {
  std::string text;
  std::map<int, const Activity::Wait*> members;  // the ranks inside it
  std::set<int> missing;                         // the ranks they wait for: those not inside it, if there are any
};
}  // namespace

std::string list_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}
void write(ByteWriter& w, const Activity& a) {
  w.text(a.last).num(static_cast<std::uint64_t>(a.waits.size()));
  for (auto& x : a.waits) {
    w.num(x.group).num(x.seq).text(x.text).num(x.done).num(x.all).num(static_cast<std::uint64_t>(x.awaited.size()));
    for (int r : x.awaited) w.num(static_cast<std::int32_t>(r));
  }
}
Activity read_activity(ByteReader& r, int size) {
  Activity a;
  a.last = r.text();
  for (auto n = r.num<std::uint64_t>(); n > 0; --n) {
    Activity::Wait x;
    x.group = r.num<std::uint32_t>();
    x.seq = r.num<std::uint64_t>();
    x.text = r.text();
    x.done = r.num<std::int64_t>();
    x.all = r.num<std::int64_t>();
    for (auto k = r.num<std::uint64_t>(); k > 0; --k) {
      x.awaited.push_back(r.num<std::int32_t>());
      check<TransportError>(x.awaited.back() >= 0 && x.awaited.back() < size, "a control message names rank ",
                            x.awaited.back(), " of ", size);
    }
    a.waits.push_back(std::move(x));
  }
  return a;
}

std::string who_waits_for_whom(const std::vector<std::optional<Activity>>& all, const std::vector<std::string>& who,
                               const std::vector<bool>& left) {
  auto at = [](int r) { return static_cast<std::size_t>(r); };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Stuck> stuck;
  for (int r = 0; r < static_cast<int>(all.size()); ++r) {
    if (!all[at(r)]) continue;
    for (auto& w : all[at(r)]->waits) {
      auto& s = stuck[{w.group, w.seq}];
      s.text = w.text;
      s.members[r] = &w;
      s.missing.insert(w.awaited.begin(), w.awaited.end());
    }
  }
  auto waits = [&](int r) { return all[at(r)] && !all[at(r)]->waits.empty(); };
  const Stuck* root = nullptr;  // the collective whose missing ranks do not wait themselves
  bool sure = false;
  for (auto& [key, s] : stuck) {
    std::set<int> outside;
    for (int r : s.missing)
      if (s.members.count(r) == 0) outside.insert(r);
    if (!outside.empty()) s.missing = outside;
    bool cause = std::any_of(s.missing.begin(), s.missing.end(), [&](int r) { return !waits(r); });
    if (!s.missing.empty() && (!root || (cause && !sure))) root = &s, sure = cause;
  }
  if (!root) {
    std::string text = stuck.empty() ? "no rank waits" : "no rank waits for another";
    for (std::size_t r = 0; r < all.size(); ++r)
      text += (r == 0 ? "; " : ", ") + ("rank " + std::to_string(r)) +
              (!all[r] ? (left[r] ? " has left" : " does not answer")
                       : all[r]->last.empty() ? " has run no collective" : " last finished " + all[r]->last);
    return text;
  }
  std::string text = root->text + ": waiting for ";
  bool first = true;
  for (int r : root->missing) {
    auto name = who[at(r)];
    auto& a = all[at(r)];
    if (name.ends_with(")")) name.pop_back();
    text += (first ? "" : ", ") + name + "; ";
    if (left[at(r)]) text += "it has left the job";
    else if (!a) text += "it does not answer";
    else {
      text += a->last.empty() ? std::string("it has finished no collective") : "last finished " + a->last;
      text += a->waits.empty() ? "; in no collective" : "; in " + a->waits.front().text;
    }
    text += ")";
    first = false;
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<int>> progress;
  for (auto& [r, w] : root->members)
    if (w->all > 0) progress[{w->done, w->all}].push_back(r);
  first = true;
  for (auto& [chunks, ranks] : progress) {
    text += (first ? "; " : ", ") + list_of(ranks) + (ranks.size() == 1 ? " has " : " have ") +
            std::to_string(chunks.first) + " of " + std::to_string(chunks.second) + " chunks";
    first = false;
  }
  if (stuck.size() > 1) text += "; " + std::to_string(stuck.size() - 1) + " more under way";
  return text;
}
}  // namespace bora::transport
