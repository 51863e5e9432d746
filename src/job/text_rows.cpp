#include "job/text_rows.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <sstream>
#include "base/api/sha256.h"
#include "bora/data/around.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/prompt.h"
#include "bora/job/scoring.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/creation.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/tree.h"

namespace bora::job {
namespace {
constexpr std::int64_t kTokens = 4096;  // of a batch, at most

/// These rows and rows of padding, n in all.
training::Example example(const std::vector<TextRow>& rows, std::span<const std::size_t> which, std::int64_t n,
                          std::int64_t length) {
  TokenIds tokens(static_cast<std::size_t>(n * length)), mask = tokens, types = tokens;
  bool pairs = false;
  for (std::size_t k = 0; k < which.size(); ++k) {
    auto& row = rows[which[k]];
    auto at = static_cast<std::ptrdiff_t>(k) * length, end = at + std::ssize(row.ids);
    std::copy(row.ids.begin(), row.ids.end(), tokens.begin() + at);
    std::fill(mask.begin() + at, mask.begin() + end, 1);
    if (row.second) std::fill(types.begin() + at + *row.second, types.begin() + end, 1);
    pairs = pairs || row.second.has_value();
  }
  auto named_of = [&](const TokenIds& ids) {
    return NamedArray(asarray(ids, Shape{n, length}), {Axis{nn::kBatch, n}, Axis{nn::kPosition, length}});
  };
  training::Example e{.tokens = named_of(tokens)};
  e.mask = named_of(mask);
  if (pairs) e.token_types = named_of(types);
  return e;
}
}  // namespace

TextRows::TextRows(const TrainedRun& run, std::string_view command)
    : run_(run), command_(command), settings_(settings_on_job(run, command)) {
  check<ConfigError>(!settings_.model->generates(), command, ": the model ", settings_.model->type(),
                     " predicts next tokens; an encoder such as bert is needed");
  settings_.mesh.microbatches = 0;  // the run's were of its batch
  tokenizer_ = settings_.tokenizer->open();
  check_folder_of(run, settings_, *tokenizer_);
}
std::shared_ptr<const text::Tokenizer> TextRows::tokenizer() const {
  return prompt_tokenizer(run_, settings_, tokenizer_);
}
std::vector<TextRow> TextRows::rows(const std::vector<std::string>& texts, bool of_words) const {
  auto tokens = tokenizer();
  data::Around around(*tokens);
  auto room = model().positions() - std::ssize(around.before()) - std::ssize(around.after());
  check<ConfigError>(room > 0, command_, ": the tokens around a text leave none of the model's ", model().positions(),
                     " positions to it");
  auto inner = [&](const std::string& text) {
    return around.without_end(around.without_begin(tokens->encode(text)));
  };
  std::vector<TextRow> all;
  for (auto& text : texts) {
    TextRow r{.line = all.size(), .ids = around.before()};
    auto add = [&](const TokenIds& ids) {
      auto left = room + std::ssize(around.before()) - std::ssize(r.ids);
      r.words.push_back(left > 0 && !ids.empty() ? std::ssize(r.ids) : -1);
      r.ids.insert(r.ids.end(), ids.begin(), ids.begin() + std::min(left, std::ssize(ids)));
    };
    std::istringstream words(text);
    if (of_words)
      for (std::string word; words >> word;) add(inner(r.words.empty() ? word : " " + word));
    else add(inner(text)), r.words = {0};
    r.ids.insert(r.ids.end(), around.after().begin(), around.after().end());
    if (r.ids.empty()) r.ids = {tokens->padding().value_or(0)};
    all.push_back(std::move(r));
  }
  return all;
}
void TextRows::run(const std::vector<TextRow>& rows, const Compute& compute,
                   const std::function<void(std::size_t row, const RowNumbers&)>& take) const {
  Sha256 digest;  // all ranks must have read the same
  for (auto& r : rows) digest.update(r.ids.data(), r.ids.size() * sizeof(std::int32_t));
  auto length = [&](std::size_t i) { return padded(std::ssize(rows[i].ids)); };
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return length(a) < length(b); });
  on_mesh({settings_, tokenizer_, std::string(command_) + " of " + digest.hex()}, [&](const Mesh& mesh) {
    auto folder = find_checkpoint(run_, mesh);
    auto scorer = scorer_of(settings_, *tokenizer_, mesh.shape());
    read_parameters(scorer->parameters(), folder, settings_, run_, mesh);
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
      auto size = length(order[begin]);
      auto most = std::max<std::int64_t>(std::max<std::int64_t>(1, kTokens / size), mesh.size());
      for (end = begin; end < order.size() && std::cmp_less(end - begin, most) && length(order[end]) == size;) ++end;
      auto which = std::span(order).subspan(begin, end - begin);
      auto n = std::min(most, static_cast<std::int64_t>(std::bit_ceil(which.size())));
      auto numbers = compute(*scorer, example(rows, which, std::max<std::int64_t>(n, mesh.size()), size));
      auto each = static_cast<std::size_t>(numbers.axes().back().size);
      auto all = numbers.array().concrete().to_vector<float>();
      auto of_row = static_cast<std::size_t>(size) * each;
      for (std::size_t k = 0; k < which.size(); ++k) {
        RowNumbers mine{std::span(all).subspan(k * of_row, of_row), each};
        auto said = mine.all.first(rows[which[k]].ids.size() * each);
        if (!std::all_of(said.begin(), said.end(), [](float x) { return std::isfinite(x); }))
          fail_not_finite(std::string(command_) + ": what the model says of line " +
                          std::to_string(rows[which[k]].line + 1) + " is not finite", scorer->parameters(), settings_);
        take(which[k], mine);
      }
    }
    return 0;
  });
}
NamedArray TextRows::scores(models::Scorer& scorer, const training::Example& e) {
  auto x = scorer.scores(e);
  return aligned(x, {e.tokens.axis(nn::kBatch), e.tokens.axis(nn::kPosition), x.axis(nn::kVocab)});
}
/// Lengths that rows are padded to: few of them, as a program is staged for each.
std::int64_t TextRows::padded(std::int64_t n) const {
  auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  return std::min(std::max<std::int64_t>(16, power), std::max(model().positions(), n));
}
}  // namespace bora::job
