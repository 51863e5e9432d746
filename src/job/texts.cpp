#include "bora/job/texts.h"
#include <algorithm>
#include <cmath>
#include "bora/data/dataset.h"
#include "bora/job/trained_run.h"
#include "bora/named/operations.h"
#include "bora/ops/creation.h"
#include "job/text_rows.h"

namespace bora::job {
namespace {
/// The likeliest of classes, by their scores.
Said likeliest(std::span<const float> scores, const std::vector<std::string>& labels) {
  auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  double sum = 0;
  for (auto s : scores) sum += std::exp(static_cast<double>(s) - static_cast<double>(scores[best]));
  return {.label = labels.at(best), .probability = 1 / sum};
}
}  // namespace

TextClasses classify_texts(const TrainedRun& run, const std::vector<std::string>& texts, std::string_view command) {
  TextRows encoder(run, command);
  auto& model = encoder.model();
  auto kind = model.prediction();
  check<ConfigError>(kind == data::Prediction::classes || kind == data::Prediction::numbers, command, ": the model ",
                     model.type(), " predicts ", kind == data::Prediction::tokens ? "hidden tokens" : "no classes",
                     " (model.head); train it with the head classify, tag or regress");
  TextClasses r{.numbers = kind == data::Prediction::numbers, .of_words = model.of_words()};
  r.texts.resize(texts.size());
  auto labels = model.labels();
  auto rows = encoder.rows(texts, r.of_words);
  encoder.run(rows, TextRows::scores, [&](std::size_t row, const RowNumbers& numbers) {
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
  TextRows encoder(run, command);
  auto rows = encoder.rows(texts, false);
  std::vector<float> all;
  std::size_t each = 0;
  auto vectors = [](models::Scorer& scorer, const training::Example& e) { return scorer.vectors(e); };
  encoder.run(rows, vectors, [&](std::size_t row, const RowNumbers& numbers) {
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
