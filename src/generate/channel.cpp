#include "generate/channel.h"
#include <algorithm>
#include <numeric>
#include "bora/base/error.h"
#include "bora/shard/mesh.h"
#include "bora/transport/transport.h"

namespace bora::generate::engine {
namespace {
using Numbers = std::vector<std::int32_t>;
void put(Numbers& to, std::int64_t x) { to.push_back(static_cast<std::int32_t>(x)); }
void put(Numbers& to, const Numbers& x) {
  put(to, static_cast<std::int64_t>(x.size()));
  to.insert(to.end(), x.begin(), x.end());
}
struct Reader {
  const Numbers& from;
  std::size_t at = 0;
  std::int32_t number() {
    bora::check<ValueError>(at < from.size(), "engine: a message of ", from.size(), " numbers ends too early");
    return from[at++];
  }
  Numbers numbers() {
    auto n = number();
    bora::check<ValueError>(n >= 0 && static_cast<std::size_t>(n) <= from.size() - at, "engine: a message of ",
                            from.size(), " numbers has a list of ", n);
    auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
    at += static_cast<std::size_t>(n);
    return {begin, begin + n};
  }
};
/// The row before with the longest beginning of the same pages, and its length.
std::pair<std::int64_t, std::int64_t> closest(const Numbers& pages, const std::vector<models::StepRow>& before) {
  std::pair<std::int64_t, std::int64_t> best{0, 0};
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto& old = before[i].pages;
    if (pages.empty() || old.empty() || old[0] != pages[0]) continue;
    auto same = std::mismatch(old.begin(), old.end(), pages.begin(), pages.end()).first - old.begin();
    if (same > best.second) best = {static_cast<std::int64_t>(i), same};
  }
  return best;
}
}  // namespace
std::vector<std::int32_t> encode(const Message& m, const models::Step& before) {
  Numbers to;
  put(to, static_cast<std::int64_t>(m.kind));
  put(to, m.inputs);
  put(to, m.step.tokens);
  put(to, static_cast<std::int64_t>(m.step.rows.size()));
  for (auto& row : m.step.rows) {
    for (auto x : {row.before, row.count, row.wanted, row.inputs}) put(to, x);
    auto [which, same] = closest(row.pages, before.rows);
    put(to, which);
    put(to, same);
    put(to, Numbers(row.pages.begin() + same, row.pages.end()));
  }
  return to;
}
Message decode(const std::vector<std::int32_t>& numbers, const models::Step& before) {
  Reader r{numbers};
  Message m;
  auto kind = r.number();
  bora::check<ValueError>(kind >= 0 && kind <= static_cast<std::int32_t>(Message::Kind::end),
                          "engine: a message of kind ", kind);
  m.kind = static_cast<Message::Kind>(kind);
  m.inputs = r.numbers();
  m.step.tokens = r.numbers();
  for (auto rows = r.number(); rows > 0; --rows) {
    models::StepRow row;
    for (auto* x : {&row.before, &row.count, &row.wanted, &row.inputs}) *x = r.number();
    auto which = static_cast<std::size_t>(r.number());
    auto same = static_cast<std::size_t>(r.number());
    bora::check<ValueError>(same == 0 || (which < before.rows.size() && same <= before.rows[which].pages.size()),
                      "engine: a message takes ", same, " pages of row ", which, " of the step before");
    if (same > 0) row.pages.assign(before.rows[which].pages.begin(), before.rows[which].pages.begin() + same);
    auto more = r.numbers();
    row.pages.insert(row.pages.end(), more.begin(), more.end());
    m.step.rows.push_back(std::move(row));
  }
  return m;
}
void Channel::broadcast(Numbers& numbers) {
  std::vector<int> all(static_cast<std::size_t>(mesh_.size()));
  std::iota(all.begin(), all.end(), 0);
  CollectiveCall call{.kind = CollectiveKind::broadcast,
                      .dtype = Dtype::i32,
                      .in = numbers.data(),
                      .out = numbers.data(),
                      .send_counts = {static_cast<std::int64_t>(numbers.size())},
                      .describe = [] { return std::string("the engine's message to the other ranks"); }};
  mesh_.context().run({std::move(all), "of the engine"}, call);
}
void Channel::send(const Message& m) {
  if (mesh_.size() == 1) return;
  auto numbers = encode(m, last_);
  Numbers head(kNumbers);
  head[0] = static_cast<std::int32_t>(numbers.size());
  auto first = std::min<std::ptrdiff_t>(kNumbers - 1, std::ssize(numbers));
  std::copy_n(numbers.begin(), first, head.begin() + 1);
  broadcast(head);
  Numbers rest(numbers.begin() + first, numbers.end());
  if (!rest.empty()) broadcast(rest);
  if (m.kind == Message::Kind::step) last_ = m.step;
}
Message Channel::receive() {
  Numbers head(kNumbers);
  broadcast(head);
  auto n = head[0];
  Numbers numbers(head.begin() + 1, head.begin() + 1 + std::min<std::ptrdiff_t>(n, kNumbers - 1));
  if (n > kNumbers - 1) {
    Numbers rest(static_cast<std::size_t>(n - (kNumbers - 1)));
    broadcast(rest);
    numbers.insert(numbers.end(), rest.begin(), rest.end());
  }
  auto m = decode(numbers, last_);
  if (m.kind == Message::Kind::step) last_ = m.step;
  return m;
}
}  // namespace bora::generate::engine
