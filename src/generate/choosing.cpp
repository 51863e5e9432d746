#include "bora/generate/choosing.h"
#include <algorithm>
#include <cmath>
#include "bora/base/error.h"
#include "bora/data/philox.h"
#include "bora/generate/grammar.h"
#include "generate/api/choosing_steps.h"
#include "generate/api/grammar_matcher.h"
#include "generate/row.h"

namespace bora::generate {
namespace {
/// A temperature below is 0: dividing by it may overflow.
constexpr double kCold = 1e-6;

/// The place of a token that is drawn: u of the way through the probabilities.
std::size_t drawn(std::span<const float> scores, float most, double u) {
  auto sums = rows::block_sums(scores, most);
  double all = 0;
  for (auto sum : sums) all += sum;
  auto wanted = u * all;
  std::size_t block = 0, last = 0;
  for (; block + 1 < sums.size() && wanted >= sums[block]; ++block) wanted -= sums[block];
  while (sums[block] == 0) --block;  // rounding has led behind the last token
  auto from = block * rows::kBlock, n = std::min(rows::kBlock, scores.size() - from);
  float weights[rows::kBlock];
  rows::exponentials(scores.subspan(from, n), most, weights);
  for (std::size_t k = 0; k < n; ++k) {
    if (weights[k] == 0) continue;
    last = from + k;
    wanted -= static_cast<double>(weights[k]);
    if (wanted < 0) break;
  }
  return last;
}
}  // namespace

void check(const Choosing& c) {
  auto in = [](bool ok, const char* name, double x, const char* domain) {
    bora::check<ValueError>(ok, name, ": must be ", domain, ", got ", x);
  };
  in(c.temperature >= 0 && std::isfinite(c.temperature), "temperature", c.temperature, "a number from 0 on");
  in(c.top_k >= 0, "top_k", static_cast<double>(c.top_k), "0 (all) or more");
  in(c.top_p > 0 && c.top_p <= 1, "top_p", c.top_p, "above 0 and at most 1");
  in(c.min_p >= 0 && c.min_p <= 1, "min_p", c.min_p, "from 0 to 1");
  in(c.typical_p > 0 && c.typical_p <= 1, "typical_p", c.typical_p, "above 0 and at most 1");
  in(c.repetition_penalty > 0 && std::isfinite(c.repetition_penalty), "repetition_penalty", c.repetition_penalty,
     "a number above 0");
  in(std::abs(c.presence_penalty) <= 2, "presence_penalty", c.presence_penalty, "from -2 to 2");
  in(std::abs(c.frequency_penalty) <= 2, "frequency_penalty", c.frequency_penalty, "from -2 to 2");
  for (auto& [id, bias] : c.logit_bias) {
    bora::check<ValueError>(id >= 0, "logit_bias: ", id, " is no token");
    in(std::abs(bias) <= 100, "logit_bias", static_cast<double>(bias), "from -100 to 100");
  }
  in(c.min_tokens >= 0, "min_tokens", static_cast<double>(c.min_tokens), "0 or more");
}
Chosen logprobs(std::span<const float> scores, std::int32_t id, std::int64_t top) {
  bora::check<ValueError>(id >= 0 && id < std::ssize(scores), "logprobs: token ", id, " is none of ", scores.size());
  auto most = rows::largest(scores);
  bora::check<ValueError>(std::isfinite(most), "logprobs: the largest score is ", most);
  auto log_sum = std::log(rows::exponential_sum(scores, most));
  auto of = [&](float score) {
    return static_cast<float>(static_cast<double>(score) - static_cast<double>(most) - log_sum);
  };
  Chosen c{id, of(scores[static_cast<std::size_t>(id)])};
  for (auto& b : rows::best(scores, top)) c.top.emplace_back(b.place, of(b.score));
  return c;
}

struct Chooser::State {
  Choosing how;
  Before before;
  std::int64_t tokens, position;
  data::Philox::Key key;
  std::vector<ChoosingStep> steps = {};  // those that act
  bool counts = false;                   // whether a step asks which tokens there were
  Row row = {};                          // memory that is kept
  std::optional<grammar::Matcher> matcher = {};
};
Chooser::Chooser(const Choosing& how, std::span<const std::int32_t> prompt, std::vector<std::int32_t> ends,
                 std::int64_t tokens, std::uint64_t seed, std::int64_t choice)
    : state_(new State{how,
                       {.ends = std::move(ends)},
                       tokens,
                       std::ssize(prompt),
                       {seed, static_cast<std::uint64_t>(choice)}}) {
  check(how);
  for (auto& [id, bias] : how.logit_bias)
    bora::check<ValueError>(tokens == 0 || id < tokens, "logit_bias: token ", id, " is none of ", tokens);
  auto& s = *state_;
  for (auto& step : choosing_steps())
    if (step.acts(how) && !(step.draws && how.temperature < kCold)) s.steps.push_back(step);
  s.counts = how.repetition_penalty != 1 || how.presence_penalty != 0 || how.frequency_penalty != 0;
  if (how.repetition_penalty != 1)
    for (auto id : prompt) s.before.tokens.emplace(id, 0);
  if (how.grammar) s.matcher.emplace(how.grammar);
}
Chooser::~Chooser() = default;
Chooser::Chooser(Chooser&&) noexcept = default;
Chooser& Chooser::operator=(Chooser&&) noexcept = default;
std::optional<std::int32_t> Chooser::next(std::span<const float> scores) {
  auto& s = *state_;
  if (s.tokens > 0 && std::cmp_less(s.tokens, scores.size())) scores = scores.first(static_cast<std::size_t>(s.tokens));
  if (scores.empty()) return std::nullopt;
  auto most = rows::largest(scores);
  if (!std::isfinite(most)) return std::nullopt;
  auto& row = s.row;
  bool changed = !s.steps.empty();
  if (changed) {
    row.scores.assign(scores.begin(), scores.end());
    row.ids.clear();
    try {
      if (s.matcher) s.before.allowed = s.matcher->mask(), s.before.whole = s.matcher->whole();
    } catch (const ValueError&) { return std::nullopt; }  // the grammar is too large here
    for (auto& step : s.steps) step.apply(row, s.how, s.before);
    scores = row.scores;
    most = rows::largest(scores);
    if (!std::isfinite(most)) return std::nullopt;
  }
  bool greedy = s.how.temperature < kCold || scores.size() == 1;
  auto position = static_cast<std::uint64_t>(s.position);
  auto at = greedy ? static_cast<std::size_t>(rows::largest_id(scores))
                   : drawn(scores, most, data::Philox(s.key, position).uniform());
  auto id = changed ? row.id(at) : static_cast<std::int32_t>(at);
  ++s.position;
  ++s.before.given;
  if (s.counts) ++s.before.tokens[id];
  bool ends = std::ranges::find(s.before.ends, id) != s.before.ends.end();
  try {
    if (s.matcher && !ends) s.matcher->take(id);
  } catch (const ValueError&) { return std::nullopt; }
  return id;
}
bool Chooser::over() const { return state_->matcher && state_->matcher->over(); }
}  // namespace bora::generate
