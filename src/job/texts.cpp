#include "bora/job/texts.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <sstream>
#include "base/api/sha256.h"
#include "bora/data/around.h"
#include "bora/data/dataset.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/prompt.h"
#include "bora/job/scoring.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/creation.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/train/example.h"
#include "bora/tree/tree.h"

namespace bora::job {
namespace {
using TokenIds = std::vector<std::int32_t>;
constexpr std::int64_t kTokens = 4096;  // of a batch, at most

/// A text as a row; `words`: the place of each word's first token, -1 of words that are cut off.
struct TextRow {
  TokenIds ids = {};
  std::vector<std::int64_t> words = {};
};
/// Numbers of a row, [position, each].
struct Numbers {
  std::span<const float> all;
  std::size_t each;
  std::span<const float> at(std::size_t place) const { return all.subspan(place * each, each); }
};
/// An encoder and rows of texts.
class Texts {
 public:
  Texts(const TrainedRun& run, std::string_view command)
      : run_(run), command_(command), settings_(settings_on_job(run, command)) {
    check<ConfigError>(!settings_.model->generates(), command, ": the model ", settings_.model->type(),
                       " predicts next tokens; an encoder such as bert is needed");
    settings_.mesh.microbatches = 0;  // the run's were of its batch
    tokenizer_ = settings_.tokenizer->open();
    check_folder_of(run, settings_, *tokenizer_);
  }
  const models::Model& model() const { return *settings_.model; }
  std::vector<TextRow> rows(const std::vector<std::string>& texts, bool of_words) const {
    auto tokenizer = prompt_tokenizer(run_, settings_, tokenizer_);
    data::Around around(*tokenizer);
    auto room = model().positions() - std::ssize(around.before()) - std::ssize(around.after());
    check<ConfigError>(room > 0, command_, ": the tokens around a text leave none of the model's ",
                       model().positions(), " positions to it");
    auto inner = [&](const std::string& text) {
      return around.without_end(around.without_begin(tokenizer->encode(text)));
    };
    std::vector<TextRow> all;
    for (auto& text : texts) {
      TextRow r{around.before()};
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
      if (r.ids.empty()) r.ids = {tokenizer->padding().value_or(0)};
      all.push_back(std::move(r));
    }
    return all;
  }
  using Compute = std::function<NamedArray(models::Scorer&, const training::Example&)>;
  /// Calls take(row, numbers) with what `compute` gives for each row, [batch, position, each].
  void run(const std::vector<TextRow>& rows, const Compute& compute,
           const std::function<void(std::size_t row, const Numbers&)>& take) const {
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
          Numbers mine{std::span(all).subspan(k * of_row, of_row), each};
          auto said = mine.all.first(rows[which[k]].ids.size() * each);
          if (!std::all_of(said.begin(), said.end(), [](float x) { return std::isfinite(x); }))
            fail_not_finite(std::string(command_) + ": what the model says of line " + std::to_string(which[k] + 1) +
                            " is not finite", scorer->parameters(), settings_);
          take(which[k], mine);
        }
      }
      return 0;
    });
  }

 private:
  /// Lengths that rows are padded to: few of them, as a program is staged for each.
  std::int64_t padded(std::int64_t n) const {
    auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    return std::min(std::max<std::int64_t>(16, power), std::max(model().positions(), n));
  }
  /// These rows and rows of padding, n in all.
  static training::Example example(const std::vector<TextRow>& rows, std::span<const std::size_t> which,
                                   std::int64_t n, std::int64_t length) {
    TokenIds tokens(static_cast<std::size_t>(n * length)), mask = tokens;
    for (std::size_t k = 0; k < which.size(); ++k) {
      auto& ids = rows[which[k]].ids;
      auto at = static_cast<std::ptrdiff_t>(k) * length;
      std::copy(ids.begin(), ids.end(), tokens.begin() + at);
      std::fill_n(mask.begin() + at, ids.size(), 1);
    }
    auto named_of = [&](const TokenIds& ids) {
      return NamedArray(asarray(ids, Shape{n, length}), {Axis{nn::kBatch, n}, Axis{nn::kPosition, length}});
    };
    training::Example e{.tokens = named_of(tokens)};
    e.mask = named_of(mask);
    return e;
  }
  const TrainedRun& run_;
  std::string_view command_;
  Settings settings_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};
/// The likeliest of classes, by their scores.
Said likeliest(std::span<const float> scores, const std::vector<std::string>& labels) {
  auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  double sum = 0;
  for (auto s : scores) sum += std::exp(static_cast<double>(s) - static_cast<double>(scores[best]));
  return {.label = labels.at(best), .probability = 1 / sum};
}
}  // namespace

TextClasses classify_texts(const TrainedRun& run, const std::vector<std::string>& texts, std::string_view command) {
  Texts encoder(run, command);
  auto& model = encoder.model();
  auto kind = model.prediction();
  check<ConfigError>(kind == data::Prediction::classes || kind == data::Prediction::numbers, command, ": the model ",
                     model.type(), " predicts ", kind == data::Prediction::tokens ? "hidden tokens" : "no classes",
                     " (model.head); train it with the head classify, tag or regress");
  TextClasses r{.numbers = kind == data::Prediction::numbers, .of_words = model.of_words()};
  r.texts.resize(texts.size());
  auto labels = model.labels();
  auto rows = encoder.rows(texts, r.of_words);
  auto scores = [](models::Scorer& scorer, const training::Example& e) {
    auto x = scorer.scores(e);
    return aligned(x, {e.tokens.axis(nn::kBatch), e.tokens.axis(nn::kPosition), x.axis(nn::kVocab)});
  };
  encoder.run(rows, scores, [&](std::size_t row, const Numbers& numbers) {
    for (auto place : rows[row].words) {
      auto& said = r.texts[row].emplace_back();
      if (place < 0) continue;
      auto mine = numbers.at(static_cast<std::size_t>(place));
      if (r.numbers) said.value = static_cast<double>(mine[0]);
      else said = likeliest(mine, labels);
    }
  });
  return r;
}
Array embed_texts(const TrainedRun& run, const std::vector<std::string>& texts, const EmbedOptions& options,
                  std::string_view command) {
  Texts encoder(run, command);
  auto rows = encoder.rows(texts, false);
  std::vector<float> all;
  std::size_t each = 0;
  auto vectors = [](models::Scorer& scorer, const training::Example& e) { return scorer.vectors(e); };
  encoder.run(rows, vectors, [&](std::size_t row, const Numbers& numbers) {
    each = numbers.each;
    all.resize(rows.size() * each);
    auto n = options.pool == Pooling::first ? 1 : rows[row].ids.size();
    std::vector<double> sum(each);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < each; ++k) sum[k] += static_cast<double>(numbers.at(i)[k]);
    double length = 0;
    for (auto& x : sum) x /= static_cast<double>(n), length += x * x;
    auto scale = options.normalize && length > 0 ? 1 / std::sqrt(length) : 1;
    for (std::size_t k = 0; k < each; ++k) all[row * each + k] = static_cast<float>(sum[k] * scale);
  });
  return asarray(all, Shape{std::ssize(rows), static_cast<std::int64_t>(each)});
}
}  // namespace bora::job
