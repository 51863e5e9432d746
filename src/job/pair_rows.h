// pair_rows.h -- pairs as rows that a model scores. Private.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "base/api/sha256.h"
#include "bora/job/pairs.h"
#include "bora/job/settings.h"
#include "job/pair_encoder.h"

namespace bora::models {
class Scorer;
struct Model;
}  // namespace bora::models
namespace bora::job {
/// Pairs that were encoded, all before a job begins. The settings must outlive them.
class PairRows {
 public:
  /// A pair as a row of an Example: the last tokens of `tokens` predict `targets`.
  struct Row {
    std::vector<std::int32_t> inputs, tokens, targets;  // inputs: of an encoder
  };
  PairRows(const TrainedRun&, const Settings&, const std::shared_ptr<const text::Tokenizer>&);
  /// Throws ConfigError "WHERE: .." for a pair that cannot be scored.
  void add(const Pair&, const std::string& where);
  std::size_t size() const { return rows_.size(); }
  /// Of all tokens so far; once.
  std::string digest() { return digest_.hex(); }
  /// The scores, in the order of the pairs. All ranks. Throws NotFiniteResult.
  std::vector<PairScore> score(models::Scorer&, std::int64_t vocabulary, std::int64_t ranks) const;

 private:
  const models::Model& model_;
  PairEncoder encode_;
  std::vector<Row> rows_ = {};
  std::vector<std::int64_t> bytes_ = {};
  Sha256 digest_ = {};
};
}  // namespace bora::job
