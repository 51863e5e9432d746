#include "job/pair_rows.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include "bora/job/prompt.h"
#include "bora/job/scoring.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/creation.h"
#include "bora/text/tokenizer.h"
#include "bora/train/example.h"
#include "bora/tree/tree.h"

namespace bora::job {
namespace {
using Tokens = std::vector<std::int32_t>;
using Row = PairRows::Row;

Row row_of(const EncodedPair& p, const models::Model& model, const std::string& where) {
  auto n = std::ssize(p.continuation);
  check<ConfigError>(n > 0, where, ": the continuation has no token of its own, behind those of the context");
  if (auto start = model.decoder_start()) {
    Row r{p.context, {*start}, p.continuation};
    r.tokens.insert(r.tokens.end(), p.continuation.begin(), p.continuation.end() - 1);
    return r;
  }
  auto most = model.positions();
  check<ConfigError>(n <= most, where, ": the continuation has ", n, " tokens, but the model sees at most ", most);
  Row r{{}, p.context, p.continuation};
  r.tokens.insert(r.tokens.end(), p.continuation.begin(), p.continuation.end() - 1);
  if (auto over = std::ssize(r.tokens) - most; over > 0) r.tokens.erase(r.tokens.begin(), r.tokens.begin() + over);
  return r;
}
/// Lengths that rows are padded to: few of them, as a program is staged for each.
std::int64_t padded(std::int64_t n) {
  return std::max<std::int64_t>(16, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))));
}
NamedArray table(const std::vector<Tokens>& rows, std::int64_t length, const char* along) {
  Tokens all;
  for (auto& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    all.resize(all.size() + static_cast<std::size_t>(length) - row.size());
  }
  auto n = std::ssize(rows);
  return {asarray(all, Shape{n, length}), {Axis{nn::kBatch, n}, Axis{along, length}}};
}
/// Scores rows of the same padded length.
class RowScorer {
 public:
  RowScorer(models::Scorer& model, std::int64_t positions, const std::vector<Row>& rows)
      : model_(model), positions_(positions), rows_(rows) {}
  /// The scores of the rows with these numbers, and of `more` rows of padding.
  void score(std::span<const std::size_t> which, std::int64_t more, std::vector<PairScore>& all) const {
    std::vector<Tokens> tokens, targets, inputs, seen;
    std::int64_t longest = 0, longest_input = 0;
    for (auto i : which) {
      auto& r = rows_[i];
      tokens.push_back(r.tokens);
      targets.emplace_back(r.tokens.size() - r.targets.size()).insert(targets.back().end(), r.targets.begin(),
                                                                      r.targets.end());
      inputs.push_back(r.inputs);
      seen.emplace_back(r.inputs.size(), 1);
      longest = std::max(longest, std::ssize(r.tokens));
      longest_input = std::max(longest_input, std::ssize(r.inputs));
    }
    for (auto list : {&tokens, &targets, &inputs, &seen}) list->resize(which.size() + static_cast<std::size_t>(more));
    for (auto k = which.size(); k < seen.size() && longest_input > 0; ++k) seen[k] = {1};
    for (auto k = which.size(); k < inputs.size() && longest_input > 0; ++k) inputs[k] = {0};
    auto length = std::min(padded(longest), std::max(positions_, longest));
    training::Example e;
    e.tokens = table(tokens, length, nn::kPosition);
    e.targets = table(targets, length, nn::kPosition);
    e.weights = e.targets.astype(f32);
    if (longest_input > 0) {
      e.inputs = table(inputs, padded(longest_input), nn::kInput);
      e.input_mask = table(seen, padded(longest_input), nn::kInput);
    }
    auto [of_targets, is_likeliest] = model_.targets(e);
    auto logprobs = of_targets.array().concrete().to_vector<float>();
    auto likeliest = is_likeliest.array().concrete().to_vector<std::int32_t>();
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto& r = rows_[which[k]];
      auto& s = all[which[k]];
      auto end = k * static_cast<std::size_t>(length) + r.tokens.size();
      for (auto at = end - r.targets.size(); at < end; ++at) {
        s.logprob += static_cast<double>(logprobs[at]);
        s.greedy = s.greedy && likeliest[at] == 1;
      }
      s.tokens = std::ssize(r.targets);
      check<NotFiniteResult>(std::isfinite(s.logprob), "score: the log-probability of line ", which[k] + 1,
                             " is not finite");
    }
  }

 private:
  models::Scorer& model_;
  std::int64_t positions_;
  const std::vector<Row>& rows_;
};
/// All rows, in batches of equal padded length. A batch's scores of all tokens take at most 128 MiB a rank, or one row.
std::vector<PairScore> all_rows(models::Scorer& model, std::int64_t positions, const std::vector<Row>& rows,
                                std::int64_t vocabulary, std::int64_t ranks) {
  auto length = [&](std::size_t i) {
    return std::pair(padded(std::ssize(rows[i].tokens)), padded(std::ssize(rows[i].inputs)));
  };
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return length(a) < length(b); });
  std::vector<PairScore> all(rows.size());
  RowScorer scorer(model, positions, rows);
  for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
    end = begin;
    auto size = length(order[begin]);
    auto tokens = std::min<std::int64_t>(4096, (std::int64_t{1} << 25) / vocabulary * ranks);
    auto most = std::max(std::max<std::int64_t>(1, tokens / (size.first + size.second)), ranks);
    while (end < order.size() && std::cmp_less(end - begin, most) && length(order[end]) == size) ++end;
    auto n = static_cast<std::int64_t>(end - begin);
    auto raised = std::min(most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))));
    scorer.score(std::span(order).subspan(begin, end - begin), raised - n, all);
  }
  return all;
}
}  // namespace

PairRows::PairRows(const TrainedRun& run, const Settings& s, const std::shared_ptr<const text::Tokenizer>& tokenizer)
    : model_(*s.model), encode_{prompt_tokenizer(run, s, tokenizer), tokenizer, prefix_id(run, *tokenizer),
                                s.model->decoder_start().has_value()} {}
void PairRows::add(const Pair& pair, const std::string& where) {
  EncodedPair encoded;
  try {
    encoded = encode_(pair);
  } catch (const Error& e) { fail<ConfigError>(where, ": ", e.text()); }
  auto& r = rows_.emplace_back(row_of(encoded, model_, where));
  bytes_.push_back(encoded.bytes);
  for (auto part : {&r.inputs, &r.tokens, &r.targets}) {
    auto n = part->size();
    digest_.update(&n, sizeof n);
    digest_.update(part->data(), n * sizeof(std::int32_t));
  }
}
std::vector<PairScore> PairRows::score(models::Scorer& scorer, std::int64_t vocabulary, std::int64_t ranks) const {
  auto all = all_rows(scorer, model_.positions(), rows_, vocabulary, ranks);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].bits_per_byte = -all[i].logprob / std::numbers::ln2 / static_cast<double>(bytes_[i]);
  return all;
}
}  // namespace bora::job
