#include "generate/api/choosing_steps.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include "bora/base/error.h"
#include "generate/row.h"

namespace bora::generate {
void Row::keep(const std::vector<std::int32_t>& places) {
  std::vector<std::int32_t> kept(places.size());
  for (std::size_t k = 0; k < places.size(); ++k) {
    auto at = static_cast<std::size_t>(places[k]);
    kept[k] = id(at);
    scores[k] = scores[at];
  }
  scores.resize(places.size());
  ids = std::move(kept);
}

namespace {
constexpr float kNever = -std::numeric_limits<float>::infinity();
/// Calls f with the score of each of these tokens; of tokens without a score, which a prompt may have, nothing.
template <class Tokens, class F> void each(Row& row, const Tokens& tokens, const F& f) {
  for (auto& [id, x] : tokens)
    if (auto at = static_cast<std::size_t>(id); id >= 0 && at < row.scores.size()) f(row.scores[at], x);
}

void allowed_by_grammar(Row& row, const Choosing&, const Before& before) {
  std::vector<std::pair<std::size_t, float>> ends;
  for (auto id : before.ends)
    if (auto at = static_cast<std::size_t>(id); id >= 0 && at < row.scores.size())
      ends.emplace_back(at, row.scores[at]);
  for (std::size_t k = 0; k * 64 < row.scores.size(); ++k) {
    auto bits = k < before.allowed.size() ? before.allowed[k] : 0;
    auto last = std::min(k * 64 + 64, row.scores.size());
    if (bits == 0) std::fill(&row.scores[k * 64], row.scores.data() + last, kNever);
    else if (~bits != 0)
      for (auto i = k * 64; i < last; ++i) row.scores[i] = bits >> (i % 64) & 1 ? row.scores[i] : kNever;
  }
  for (auto& [at, score] : ends) row.scores[at] = before.whole ? score : kNever;
}
void logit_bias(Row& row, const Choosing& how, const Before&) {
  for (auto& [id, bias] : how.logit_bias) {
    auto at = static_cast<std::size_t>(id);
    bora::check<ValueError>(at < row.scores.size(), "logit_bias: token ", id, " is none of ", row.scores.size());
    row.scores[at] += bias;
  }
}
void repetition(Row& row, const Choosing& how, const Before& before) {
  auto by = static_cast<float>(how.repetition_penalty);
  each(row, before.tokens, [&](float& score, std::int64_t) { score = score < 0 ? score * by : score / by; });
}
void presence_and_frequency(Row& row, const Choosing& how, const Before& before) {
  auto once = static_cast<float>(how.presence_penalty), each_time = static_cast<float>(how.frequency_penalty);
  each(row, before.tokens, [&](float& score, std::int64_t n) {
    if (n > 0) score -= each_time * static_cast<float>(n), score -= once;
  });
}
void min_tokens(Row& row, const Choosing& how, const Before& before) {
  if (before.given >= how.min_tokens) return;
  for (auto id : before.ends)
    if (auto at = static_cast<std::size_t>(id); id >= 0 && at < row.scores.size()) row.scores[at] = kNever;
}
void temperature(Row& row, const Choosing& how, const Before&) {
  auto by = static_cast<float>(how.temperature);
  for (auto& score : row.scores) score /= by;
}
void keep_from(Row& row, float least) { row.keep(rows::places_of(row.scores, least)); }
void top_k(Row& row, const Choosing& how, const Before&) {
  if (how.top_k < std::ssize(row.scores)) keep_from(row, rows::nth_largest(row.scores, how.top_k));
}
/// The places of the first `n` items, in order.
std::vector<std::int32_t> places(const std::vector<rows::Weighted>& items, std::size_t n) {
  std::vector<char> first(items.size());
  for (std::size_t k = 0; k < n; ++k) first[static_cast<std::size_t>(items[k].place)] = 1;
  std::vector<std::int32_t> all;
  all.reserve(n);
  for (std::size_t k = 0; k < first.size(); ++k)
    if (first[k]) all.push_back(static_cast<std::int32_t>(k));
  return all;
}
void top_p(Row& row, const Choosing& how, const Before&) {
  auto most = rows::largest(row.scores);
  auto sum = rows::exponential_sum(row.scores, most), n = static_cast<double>(row.scores.size());
  // All that are below this together have less than the part that goes.
  auto least = static_cast<double>(most) + std::log((1 - how.top_p) * sum / n) - 1e-3;
  keep_from(row, static_cast<float>(std::min(least, static_cast<double>(most))));
  std::vector<float> weights(row.scores.size());
  rows::exponentials(row.scores, most, weights.data());
  std::vector<rows::Weighted> items(weights.size());
  for (std::size_t k = 0; k < items.size(); ++k)
    items[k] = {row.scores[k], weights[k], static_cast<std::int32_t>(k)};
  auto kept = rows::fewest(items, how.top_p * sum);
  row.keep(places(items, kept));
}
void min_p(Row& row, const Choosing& how, const Before&) {
  auto most = rows::largest(row.scores);
  keep_from(row, std::min(most, most + static_cast<float>(std::log(how.min_p))));
}
void typical(Row& row, const Choosing& how, const Before&) {
  auto most = rows::largest(row.scores);
  std::vector<float> weights(row.scores.size());
  rows::exponentials(row.scores, most, weights.data());
  double sum = 0, below = 0;  // below: the mean of most - score
  for (std::size_t k = 0; k < weights.size(); ++k) {
    auto w = static_cast<double>(weights[k]);
    sum += w;
    if (w > 0) below += w * (static_cast<double>(most) - static_cast<double>(row.scores[k]));
  }
  below /= sum;  // the entropy is log(sum) more, as is each token's information
  auto far = [&](float score) {
    return static_cast<float>(std::abs(static_cast<double>(most) - static_cast<double>(score) - below));
  };
  std::vector<rows::Weighted> items(weights.size());
  for (std::size_t k = 0; k < items.size(); ++k)
    items[k] = {-far(row.scores[k]), weights[k], static_cast<std::int32_t>(k)};
  auto kept = rows::fewest(items, how.typical_p * sum);
  auto last = std::min_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(kept),
                               [](auto& a, auto& b) { return a.key < b.key; })->key;
  auto end = std::partition(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end(),
                            [&](auto& item) { return item.key == last; });  // others as far as the last one
  row.keep(places(items, static_cast<std::size_t>(end - items.begin())));
}

constexpr ChoosingStep kSteps[] = {
    {"grammar", "none with which the text is no beginning of one that the grammar has; an end where it is whole", false,
     [](const Choosing& c) { return c.grammar != nullptr; }, allowed_by_grammar},
    {"logit_bias", "adds a number to a token's score", false,
     [](const Choosing& c) { return !c.logit_bias.empty(); }, logit_bias},
    {"repetition_penalty", "divides scores above 0 of tokens in prompt and answer, multiplies those below 0", false,
     [](const Choosing& c) { return c.repetition_penalty != 1; }, repetition},
    {"presence_penalty, frequency_penalty", "subtracted from tokens in the answer: once; for each time", false,
     [](const Choosing& c) { return c.presence_penalty != 0 || c.frequency_penalty != 0; }, presence_and_frequency},
    {"min_tokens", "before so many tokens none that ends the answer", false,
     [](const Choosing& c) { return c.min_tokens > 0; }, min_tokens},
    {"temperature", "divides all scores", true, [](const Choosing& c) { return c.temperature != 1; }, temperature},
    {"top_k", "the k likeliest tokens, and those as likely as the last one", true,
     [](const Choosing& c) { return c.top_k > 0; }, top_k},
    {"top_p", "the fewest tokens that have this part of the probability", true,
     [](const Choosing& c) { return c.top_p < 1; }, top_p},
    {"min_p", "tokens at least so likely, as a part of the likeliest one's probability", true,
     [](const Choosing& c) { return c.min_p > 0; }, min_p},
    {"typical_p", "the tokens nearest to the expected information that have this part of the probability", true,
     [](const Choosing& c) { return c.typical_p < 1; }, typical},
};
}  // namespace
std::span<const ChoosingStep> choosing_steps() { return kSteps; }
}  // namespace bora::generate
