// dataset.h -- rows by number. A data source of the settings opens two datasets, for training and held out; the rows of
// a step are a pure function of (seed, step * batch + row), the same for every number of hosts. The only data state of
// a training run is its step.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "bora/config/choice.h"
#include "bora/text/tokenizer.h"

namespace bora::data {
/// One row, to be filled in; all have `positions` elements. Zeros on entry.
struct Row {
  std::int32_t *tokens, *targets;
  float* weights;  // of each target's loss; 0: does not count
  std::int64_t positions;
};
/// A row's place: index in [0, size()), number of the pass over the data, seed of the run.
struct Place {
  std::int64_t index, pass = 0, seed = 0;
};
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;  // rows of one pass
  /// O(1) in the number of rows; safe from any thread. IoError.
  virtual void at(const Place&, const Row&) const = 0;
};
struct Datasets {
  std::shared_ptr<const Dataset> train, held_out;
  std::int64_t positions = 0;  // of each row
  std::string name = {};       // in messages
};

/// Rows [begin, end) of a global batch: the rows one rank reads.
struct Rows {
  std::int64_t begin = 0, end = 0, positions = 0;
  std::vector<std::int32_t> tokens = {}, targets = {};  // [end - begin, positions]
  std::vector<float> weights = {};                      // [end - begin, positions]
  /// Rows of zeros.
  static Rows zeros(std::int64_t begin, std::int64_t end, std::int64_t positions);
  Row row(std::int64_t number);  // begin <= number < end
};
/// Rows [begin, end) of training step `step`. Every pass visits all rows in another order.
Rows training_rows(const Dataset&, std::int64_t positions, std::int64_t step, std::int64_t batch, std::int64_t begin,
                   std::int64_t end, std::int64_t seed);
/// Rows [begin, end) of evaluation batch `step` over `count` rows spread evenly over the dataset; rows past the end
/// have no weight.
Rows evaluation_rows(const Dataset&, std::int64_t positions, std::int64_t step, std::int64_t batch, std::int64_t begin,
                     std::int64_t end, std::int64_t count);

/// Position of element `index` of [0, n) in a pseudorandom permutation of [0, n), in O(1): a Feistel network with
/// Simon's round function, repeated until the result is below n. The values are Grain's index_shuffle(index, n - 1,
/// seed, 4), except for n = 4^k + 1, where Grain's function is no permutation. Source:
/// grain/_src/python/experimental/index_shuffle.
std::uint64_t index_shuffle(std::uint64_t index, std::uint64_t n, std::uint32_t seed);

/// A data source in the settings.
struct Source : config::Chosen {
  static constexpr std::string_view initial = "text", named = "path";
  virtual std::string path() const = 0;  // in messages; files of a run must not lie below it
  virtual void set_path(const std::string&) = 0;
  /// Throws ConfigError as open would, without reading the data.
  virtual void check_files(std::int64_t positions) const = 0;
  virtual Datasets open(std::shared_ptr<const text::Tokenizer>, std::int64_t positions) const = 0;
};
template <class T> struct SourceOf final : config::Of<T, Source> {
  using config::Of<T, Source>::Of;
  std::string path() const override { return this->fields.path; }
  void set_path(const std::string& path) override { this->fields.path = path; }
  void check_files(std::int64_t positions) const override { this->fields.check_files(positions); }
  Datasets open(std::shared_ptr<const text::Tokenizer> tokenizer, std::int64_t positions) const override {
    return this->fields.open(std::move(tokenizer), positions);
  }
};
/// The path without '..', from the root; empty stays empty.
std::string absolute_path(const std::string&);
}  // namespace bora::data
