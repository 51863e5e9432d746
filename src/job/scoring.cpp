#include "bora/job/scoring.h"
#include <algorithm>
#include <cmath>
#include "base/api/sha256.h"
#include "bora/data/dataset.h"
#include "bora/io/npy.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/named/operations.h"
#include "bora/nn/axes.h"
#include "bora/ops/creation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/train/example.h"
#include "bora/tree/tree.h"

namespace bora::job {
namespace {
constexpr std::int64_t kIgnored = -100;  // a label that does not count
/// Integers of a file, [rows, length].
struct Table {
  std::string what;  // the flag and the file
  std::int64_t rows = 0, length = 0;
  std::vector<std::int64_t> values = {};
  std::string shape() const { return "[" + std::to_string(rows) + ", " + std::to_string(length) + "]"; }
  void same_shape(const Table& other) const {
    check<ConfigError>(rows == other.rows && length == other.length, what, ": the shape is ", shape(), ", but ",
                       other.what, " has ", other.shape());
  }
  /// Throws ConfigError for the first value that is not good.
  template <class F> void all(const F& good, const std::string& expected) const {
    auto bad = std::find_if_not(values.begin(), values.end(), good);
    if (bad == values.end()) return;
    auto at = bad - values.begin();
    fail<ConfigError>(what, ": ", *bad, " at [", at / length, ", ", at % length, "]; ", expected);
  }
  NamedArray array(const char* along = nn::kPosition) const {
    std::vector<std::int32_t> v(values.begin(), values.end());
    return NamedArray(asarray(v, Shape{rows, length}), {Axis{nn::kBatch, rows}, Axis{along, length}});
  }
};
Table read_table(const std::string& flag, const std::string& file, bool bits = false) {
  auto x = load_npy(file);
  Table t{flag + " " + file};
  bool right = x.dtype() == i32 || x.dtype() == i64 || (bits && (x.dtype() == Dtype::boolean || x.dtype() == u8));
  check<ConfigError>(right, t.what, ": the numbers are ", dtype_name(x.dtype()), "; they must be i32 or i64",
                     bits ? ", u8 or bool" : "");
  check<ConfigError>(x.ndim() == 2 && x.size() > 0, t.what, ": the shape is ", x.shape(),
                     "; it must be [batch, position], with one number or more");
  t.rows = x.shape(0);
  t.length = x.shape(1);
  t.values = x.astype(i64).to_vector<std::int64_t>();
  return t;
}
Table read_ids(const std::string& flag, const std::string& file, std::int64_t vocabulary,
               std::optional<std::int64_t> most) {
  auto t = read_table(flag, file);
  t.all([=](std::int64_t id) { return id >= 0 && id < vocabulary; },
        "ids are from 0 to " + std::to_string(vocabulary - 1));
  check<ConfigError>(t.length <= most.value_or(t.length), t.what, ": ", t.length,
                     " positions, but the model sees at most ", most.value_or(0));
  return t;
}
/// 1: a token, 0: padding, which is left or right of a row's tokens.
Table read_mask(const std::string& file, const Table& ids) {
  auto t = read_table("--mask", file, true);
  t.same_shape(ids);
  t.all([](std::int64_t bit) { return bit == 0 || bit == 1; }, "1 is a token, 0 is padding");
  for (std::int64_t row = 0; row < t.rows; ++row) {
    auto begin = t.values.begin() + row * t.length, end = begin + t.length;
    auto first = std::find(begin, end, 1), after = std::find(first, end, 0);
    check<ConfigError>(first != end, t.what, ": row ", row, " has no token");
    check<ConfigError>(std::find(after, end, 1) == end, t.what, ": row ", row, " has padding between its tokens, at ",
                       after - begin, "; it must be left or right of them");
  }
  return t;
}
Table read_labels(const std::string& file, std::int64_t vocabulary) {
  auto t = read_table("--labels", file);
  t.all([=](std::int64_t id) { return id == kIgnored || (id >= 0 && id < vocabulary); },
        "labels are from 0 to " + std::to_string(vocabulary - 1) + ", or -100: it does not count");
  return t;
}
/// The label of the next position is the target; the last position has none.
Table next_labels(Table labels) {
  auto& v = labels.values;
  for (std::size_t i = 0; i < v.size(); ++i) {
    bool last = (static_cast<std::int64_t>(i) + 1) % labels.length == 0;
    v[i] = last ? kIgnored : v[i + 1];
  }
  return labels;
}
void set_targets(training::Example& e, Table targets) {
  std::vector<float> weights;
  for (auto& target : targets.values) {
    weights.push_back(target == kIgnored ? 0 : 1);
    if (target == kIgnored) target = 0;
  }
  check<ConfigError>(std::count(weights.begin(), weights.end(), 1.0F) > 0, targets.what,
                     ": no label counts: besides those that nothing predicts, all are -100");
  e.targets = targets.array();
  e.weights = NamedArray(asarray(weights, Shape{targets.rows, targets.length}), e.targets.axes());
}
/// The decoder's tokens: before each position's label the one before it, at first `start`, which also stands for labels
/// that do not count.
Table tokens_before(Table labels, std::int32_t start) {
  auto& v = labels.values;
  for (std::size_t i = v.size(); i-- > 0;) {
    bool first = static_cast<std::int64_t>(i) % labels.length == 0;
    v[i] = first || v[i - 1] == kIgnored ? start : v[i - 1];
  }
  return labels;
}
training::Example read_example(const ScoreFiles& words, const std::string& labels, const models::Model& model,
                               std::int64_t vocabulary) {
  auto start = model.decoder_start();
  check<ConfigError>(start || words.decoder_ids.empty(), "--decoder-ids: model.type ", model.type(), " has no encoder");
  check<ConfigError>(!start || !words.decoder_ids.empty() || !labels.empty(), "model.type ", model.type(),
                     " has an encoder, which reads --ids, and a decoder: give --decoder-ids");
  auto ids = read_ids("--ids", words.ids, vocabulary, start ? none : std::optional(model.positions()));
  std::optional<Table> mask, wanted;
  if (!words.mask.empty()) mask = read_mask(words.mask, ids);
  auto kind = model.prediction();
  check<ConfigError>(labels.empty() || kind == data::Prediction::tokens || kind == data::Prediction::classes,
                     "--labels: the model ", model.type(), " predicts ",
                     kind == data::Prediction::numbers ? "numbers"
                     : kind == data::Prediction::spans ? "spans"
                                                       : "how texts go together",
                     ", no labels; evaluate it (bora eval)");
  auto classes = std::ssize(model.labels());
  if (!labels.empty()) wanted = read_labels(labels, classes > 0 ? classes : vocabulary);
  training::Example e;
  if (!start) {
    e.tokens = ids.array();
    if (mask) e.mask = mask->array();
    if (wanted) {
      wanted->same_shape(ids);
      set_targets(e, model.generates() ? next_labels(*wanted) : *wanted);
    }
    return e;
  }
  e.inputs = ids.array(nn::kInput);
  if (mask) e.input_mask = mask->array(nn::kInput);
  auto decoder = words.decoder_ids.empty() ? tokens_before(*wanted, *start)
                                           : read_ids("--decoder-ids", words.decoder_ids, vocabulary, none);
  check<ConfigError>(decoder.rows == ids.rows, decoder.what, ": ", decoder.rows, " rows, but ", ids.what, " has ",
                     ids.rows);
  e.tokens = decoder.array();
  if (wanted) {
    wanted->same_shape(decoder);
    set_targets(e, *wanted);
  }
  return e;
}
}  // namespace

int on_example(const ScoreFiles& words, const std::string& labels, std::string_view command,
               const std::function<int(models::Scorer&, const training::Example&, const Mesh&)>& f) {
  auto s = settings_on_job(words.run, command);
  s.mesh.microbatches = 0;  // the run's were of its batch
  auto tokenizer = s.tokenizer->open();
  check_folder_of(words.run, s, *tokenizer);
  auto vocabulary = vocabulary_of(s, *tokenizer);
  auto e = read_example(words, labels, *s.model, vocabulary);
  Sha256 digest;  // all ranks must have read the same
  for (auto& x : tree::leaves(e))
    if (x.defined()) digest.update(x.bytes(), x.nbytes());
  return on_mesh({s, tokenizer, std::string(command) + " of " + digest.hex()}, [&](const Mesh& mesh) {
    auto folder = find_checkpoint(words.run, mesh);
    auto model = scorer_of(s, *tokenizer, mesh.shape());
    read_parameters(model->parameters(), folder, s, words.run, mesh);
    try {
      return f(*model, e, mesh);
    } catch (const NotFiniteResult& r) { fail_not_finite(r.text(), model->parameters(), s); }
  });
}
Array all_scores(models::Scorer& model, const training::Example& e) {
  auto axes = e.tokens.axes();
  auto scores = model.scores(e);
  axes.push_back(scores.axis(nn::kVocab));
  auto all = aligned(scores, axes).array().concrete();
  // Of a position: a token that cannot come may have minus infinity.
  check<NotFiniteResult>(bora::all(isfinite(amax(all, -1))).item<bool>(), "logits: the scores are not finite");
  return all;
}
double mean_loss(models::Scorer& model, const training::Example& e) {
  auto sum = model.loss(e).array().item<float>(), count = bora::sum(e.weights).array().item<float>();
  check<NotFiniteResult>(std::isfinite(sum / count), "loss: it is not finite");
  return static_cast<double>(sum / count);
}
}  // namespace bora::job
