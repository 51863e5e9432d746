// dataset.h -- rows by number. The rows of a step are a pure function of (seed, step * batch + row), the same for every
// number of hosts. The only data state of a training run is its step.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/dtype.h"
#include "bora/data/mix.h"

namespace bora::data {
/// What is predicted: a token, a class or a number (Rows::values) at a position; a row's span, whose first and last
/// place are its targets 0 and 1; how alike two texts are (values), or which second text goes with a first one.
enum class Prediction : std::uint8_t { tokens, classes, numbers, spans, similarities, partners };
/// The columns that rows have besides tokens, targets and weights.
struct RowShape {
  std::int64_t positions = 0;      // tokens of a row
  bool segments = false;           // rows hold several documents; attention stays inside of one
  bool restart_positions = false;  // positions begin anew with each document
  std::int64_t inputs = 0;         // tokens of an encoder's row; 0: there is no encoder
  bool padded = false;             // rows may end with padding, which no segments tell
  bool in_place = false;           // targets are of their own position, not the next: for an encoder alone
  bool token_types = false;        // tokens have types: 0 of the first text, 1 of the second
  Prediction prediction = Prediction::tokens;
  /// Rows hold two texts, each in half of the positions. Of texts that are compared a token has the weight 1.
  bool pairs = false;
  bool reference = false;  // of pairs: values has, at the first position of each text, what a reference gives to it
  bool has_values() const {
    return prediction == Prediction::numbers || prediction == Prediction::similarities || reference;
  }
};
/// The columns of rows, each as an Of.
template <template <class> class Of> struct Columns {
  Of<std::int32_t> tokens = {}, targets = {};
  Of<float> weights = {};                          // of each target's loss; 0: does not count
  Of<std::int32_t> segments = {}, positions = {};  // number of the document, 0 for padding; place in the document
  Of<std::int32_t> token_types = {};
  Of<float> values = {};
  Of<std::int32_t> inputs = {}, input_mask = {};   // an encoder's tokens; 1: a token, 0: padding
  Of<std::int32_t> filled = {};                    // positions that are no padding
};
/// A row has one number of a column for each of its positions, for each of its inputs, or one.
enum class RowAxis : std::uint8_t { position, input, row };
struct ColumnSpec {  // the type of a column
  std::string_view name;
  Dtype dtype;
  RowAxis axis;
  /// Numbers of a row.
  std::int64_t size(const RowShape& shape) const {
    return axis == RowAxis::position ? shape.positions : axis == RowAxis::input ? shape.inputs : 1;
  }
};
/// Calls f(spec, of) for each column that rows of this shape have: of(x) is that column of the Columns x.
template <class F> void each_column(const RowShape& shape, const F& f) {
  using enum RowAxis;
  f(ColumnSpec{"tokens", i32, position}, [](auto& x) -> auto& { return x.tokens; });
  f(ColumnSpec{"targets", i32, position}, [](auto& x) -> auto& { return x.targets; });
  f(ColumnSpec{"weights", f32, position}, [](auto& x) -> auto& { return x.weights; });
  if (shape.segments) f(ColumnSpec{"segments", i32, position}, [](auto& x) -> auto& { return x.segments; });
  if (shape.restart_positions) f(ColumnSpec{"positions", i32, position}, [](auto& x) -> auto& { return x.positions; });
  if (shape.token_types) f(ColumnSpec{"token_types", i32, position}, [](auto& x) -> auto& { return x.token_types; });
  if (shape.has_values())
    f(ColumnSpec{"values", f32, position}, [](auto& x) -> auto& { return x.values; });
  if (shape.inputs > 0) {
    f(ColumnSpec{"inputs", i32, input}, [](auto& x) -> auto& { return x.inputs; });
    f(ColumnSpec{"input_mask", i32, input}, [](auto& x) -> auto& { return x.input_mask; });
  }
  f(ColumnSpec{"filled", i32, row}, [](auto& x) -> auto& { return x.filled; });
}
template <class T> using NumbersOfRow = T*;               // a column of one row
template <class T> using NumbersOfRows = std::vector<T>;  // a column of many rows
/// One row, to be filled in; zeros on entry. Columns that its shape lacks are null.
struct Row : Columns<NumbersOfRow> {
  RowShape shape = {};
};
/// A row's place: index in [0, size()), number of the pass over the data, seed of the run, number of the dataset where
/// there are several.
struct Place {
  std::int64_t index, pass = 0, seed = 0, part = 0;
};
/// Rows of numbers, each at its place.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;    // rows of one pass
  virtual std::int64_t filled() const = 0;  // positions of a pass that are no padding
  /// O(1) in the number of rows; safe from any thread. IoError.
  virtual void at(const Place&, const Row&) const = 0;
};
/// A source in numbers.
struct PartFacts {
  std::int64_t files = 0, bytes = 0;         // as stored
  std::int64_t documents = 0, held_out = 0;  // all of them; those for evaluation
  std::int64_t skipped = 0;                  // malformed records
  std::int64_t tokens = 0, filled = 0;       // of the training documents; positions of a pass that are no padding
};
/// One of the sources that training rows are taken from.
struct Part {
  std::shared_ptr<const Dataset> rows;
  std::string name = {};  // in reports
  PartFacts facts = {};
};
/// Training rows, one after another without end: the mixture says which part a row comes from; every pass over a part
/// visits all of its rows in another order.
class TrainingRows {
 public:
  TrainingRows() = default;
  TrainingRows(std::shared_ptr<const Dataset> rows, std::string name = {});
  /// Throws ValueError unless the mixture has as many sources as there are parts.
  TrainingRows(std::vector<Part> parts, Mix mix);
  const std::vector<Part>& parts() const { return parts_; }
  const Mix& mix() const { return mix_; }
  /// Rows of one pass over every part.
  std::int64_t size() const;
  /// Fills in row number `sample`, O(1); returns its part. Safe from any thread. IoError.
  std::int64_t at(std::int64_t sample, std::int64_t seed, const Row&) const;

 private:
  std::vector<Part> parts_ = {};
  Mix mix_ = Mix::of({1});
};
/// Held-out rows that are evaluated by themselves, as well as with those of the same tag.
struct HeldOut {
  std::shared_ptr<const Dataset> rows;
  std::string name = {};
  std::vector<std::string> tags = {};
};
/// The way in which texts are cut and joined, as checkpoints note it (without a note: 1). 2: at blanks and characters,
/// with an end behind each part.
inline constexpr std::string_view rows_form = "2";
struct Datasets {  // for training, and for evaluation
  TrainingRows train;
  std::shared_ptr<const Dataset> held_out;  // null: nothing is evaluated
  RowShape shape = {};
  std::string name = {};           // in messages
  std::vector<HeldOut> sets = {};  // the parts of held_out, if some source has tags
  /// The mixture of `train`, where it changes at steps of the run: given the rows before each step, which are not the
  /// same multiple of all steps in a run whose batch has changed. Empty: it knows no steps.
  std::function<Mix(const std::function<std::int64_t(std::int64_t step)>& rows_before)> mix = {};
  bool recut = false;              // a run of rows_form 1 may have had other rows of these files
};

/// Rows [begin, end) of a global batch: the rows one rank reads.
struct Rows : Columns<NumbersOfRows> {
  std::int64_t begin = 0, end = 0;
  RowShape shape = {};
  std::vector<std::int32_t> parts = {};           // [end - begin]: source
  std::vector<std::int64_t> filled_by_part = {};  // sums of filled, by source
  /// Rows of zeros.
  static Rows zeros(std::int64_t begin, std::int64_t end, const RowShape&);
  Row row(std::int64_t number);  // begin <= number < end
};
/// Rows [begin, end) of training step `step`.
Rows training_rows(const TrainingRows&, const RowShape&, std::int64_t step, std::int64_t batch, std::int64_t begin,
                   std::int64_t end, std::int64_t seed);
/// Rows [begin, end) of evaluation batch `step` over `count` rows spread evenly over the dataset; rows past the end
/// have no weight.
Rows evaluation_rows(const Dataset&, const RowShape&, std::int64_t step, std::int64_t batch, std::int64_t begin,
                     std::int64_t end, std::int64_t count);

/// Tokens by which the rows of a stream begin later in this pass: none in the first, so that later ones cut other rows.
std::int64_t pass_shift(const Place&, std::int64_t positions);
/// Position of element `index` of [0, n) in a pseudorandom permutation of [0, n), in O(1): a Feistel network with
/// Simon's round function, repeated until the result is below n. The values are Grain's index_shuffle(index, n - 1,
/// seed, 4), except for n = 4^k + 1, where Grain's function is no permutation. Source:
/// grain/_src/python/experimental/index_shuffle.
std::uint64_t index_shuffle(std::uint64_t index, std::uint64_t n, std::uint32_t seed);
}  // namespace bora::data
