// text_rows.h -- rows of texts through the encoder of a run, or of a folder of Hugging Face's. Private.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include "bora/job/forward.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/named/array.h"
#include "bora/train/example.h"

namespace bora::job {
using TokenIds = std::vector<std::int32_t>;
/// A text as a row, or two of them.
struct TextRow {
  std::size_t line = 0;  // of what was read, from 0
  TokenIds ids = {};
  std::vector<std::int64_t> words = {};         // the place of each word's first token, -1 of words that are cut off
  std::optional<std::int64_t> second = {};      // where the second text begins
};
/// Numbers of a row, [position, each].
struct RowNumbers {
  std::span<const float> all;
  std::size_t each;
  std::span<const float> at(std::size_t place) const { return all.subspan(place * each, each); }
};
/// An encoder and rows of texts.
class TextRows {
 public:
  /// Throws ConfigError for a model that is no encoder.
  TextRows(const TrainedRun&, std::string_view command);
  const models::Model& model() const { return *settings_.model; }
  /// With the tokens that stand around a text.
  std::shared_ptr<const text::Tokenizer> tokenizer() const;
  /// A row for each text, which is cut at the model's positions.
  std::vector<TextRow> rows(const std::vector<std::string>& texts, bool of_words) const;
  using Compute = std::function<NamedArray(models::Scorer&, const training::Example&)>;
  /// Calls take(row, numbers) with what `compute` gives for each row, [batch, position, each].
  void run(const std::vector<TextRow>&, const Compute& compute,
           const std::function<void(std::size_t row, const RowNumbers&)>& take) const;
  /// Scores of all that the head tells apart, for run().
  static NamedArray scores(models::Scorer&, const training::Example&);

 private:
  std::int64_t padded(std::int64_t) const;
  const TrainedRun& run_;
  std::string_view command_;
  Settings settings_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};
}  // namespace bora::job
