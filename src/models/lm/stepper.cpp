// A model that generates for many sequences. The tokens of a step are one list along `position`, whatever their rows: a
// program is staged for each of a few numbers of tokens, and places that are left over are of no sequence.
#include "bora/models/stepper.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include "bora/io/checkpoint.h"
#include "bora/models/lm.h"
#include "bora/named/index.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/nn.h"

namespace bora::models {
namespace {
using tree::Any;
using Numbers = std::vector<std::int32_t>;
static_assert(Stepper::kPagePositions == bora::kPagePositions);
constexpr auto P = Stepper::kPagePositions;
/// Tokens that are computed together: bf16 products of more rows may have other bits (kernels/gemm/bf16.h).
constexpr std::int64_t kAtOnce = 512;
/// The least number of the list 1, 2, 3, 4, 6, 8, 12, 16, .. that is n or more.
std::int64_t rounded(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power >= 4 && power / 4 * 3 >= n ? power / 4 * 3 : power;
}
std::int64_t pages_for(std::int64_t positions) { return (positions + P - 1) / P; }
/// A table of pages, of one of few lengths, from the pages of sequences.
struct Table {
  Numbers pages;
  std::int32_t add(const Numbers& more) {
    auto begin = pages.size();
    pages.insert(pages.end(), more.begin(), more.end());
    return static_cast<std::int32_t>(begin);
  }
  Array array() const {
    std::size_t n = 1024;
    while (n < pages.size()) n *= 8;
    auto all = pages;
    all.resize(n, -1);
    return asarray(all);
  }
};
/// A jitted function for each of a few sizes of its arguments: of one for all jit would warn that it is staged often.
template <class F> class BySize {
 public:
  template <class G> explicit BySize(G f) : f_(std::move(f)) {}
  fx::Jitted<F>& operator()(std::initializer_list<std::int64_t> sizes) {
    auto it = jitted_.find(sizes);
    if (it == jitted_.end()) it = jitted_.emplace(sizes, jit(f_)).first;
    return it->second;
  }

 private:
  F f_;
  std::map<std::vector<std::int64_t>, fx::Jitted<F>> jitted_;
};
/// What PagePlaces says of each token.
struct Places {
  Numbers first, positions, slots;
  Table table;
  void add(std::int32_t begin, std::int64_t position, std::int64_t slot) {
    first.push_back(begin);
    positions.push_back(static_cast<std::int32_t>(position));
    slots.push_back(static_cast<std::int32_t>(slot));
  }
  nn::PagePlaces arrays(std::int64_t n) {
    auto size = static_cast<std::size_t>(n);
    first.resize(size, 0), positions.resize(size, -1), slots.resize(size, -1);
    return {asarray(first), asarray(positions), table.array(), asarray(slots)};
  }
};
class AnyStepper final : public Stepper {
 public:
  AnyStepper(const AnyModelPtr& model, const ModelOptions& options, const AxisMapping& storage, const Array& key)
      : model_(model), vocabulary_(options.vocabulary), int8_pages_(options.int8_pages),
        parameters_(named_jit(born(model, options), {.out = storage})(key)), policy_(options.policy),
        body_([model](const Any& m, const NamedArray& tokens, const Any& pages, const StepPlaces& at) {
          return model->decode(m, tokens, pages, at);
        }),
        head_([model, policy = options.policy](const Any& m, const NamedArray& x, const NamedArray& wanted) {
          auto rows = take(x, nn::kPosition, wanted);
          auto scores = policy.cast_to_output(model->head(m)(rows).astype(f32)).astype(f32);
          return whole(broadcast_to(scores, {wanted.axes()[0], scores.axis(nn::kVocab)}).array());
        }),
        read_([model](const Any& m, const NamedArray& inputs, const NamedArray& mask, const Any& pages,
                      const Array& slots) { return model->read(m, inputs, mask, pages, slots); }) {}
  tree::Node parameters() override {
    computing_.reset();  // the caller may write into them
    return tree::node(parameters_);
  }
  std::int64_t positions() const override { return model_->positions; }
  std::int64_t window() const override { return model_->window; }
  std::int64_t vocabulary() const override { return vocabulary_; }
  std::int64_t page_bytes() const override {
    auto two = shapes(2);
    std::int64_t bytes = 0;
    for (auto& [slot, x] : leaves(two)) bytes += local_type(x).nbytes();
    return bytes / 2;
  }
  void allot(std::int64_t n) override {
    bora::check<ValueError>(n >= 1 && n <= std::numeric_limits<std::int32_t>::max() / P, "Stepper: ", n,
                            " pages; there can be 1 to ", std::numeric_limits<std::int32_t>::max() / P);
    pages_.reset();
    auto all = shapes(n);
    for (auto& [slot, x] : leaves(all)) {  // memory that nothing has touched: new_buffer writes nothing
      auto block = new_buffer(local_type(x)).done();
      slot.set(here().mesh ? from_local_block(block, x.array().shape(), spec_for(x.axes(), current_mapping())) : block);
    }
    pages_ = std::move(all);
    count_ = n;
    read_inputs_.clear();
    free_.resize(static_cast<std::size_t>(model_->encoder_decoder ? n : 0));
    std::iota(free_.rbegin(), free_.rend(), 0);
  }
  std::int64_t read(const Numbers& inputs) override;
  void forget(std::int64_t inputs) override {
    auto it = read_inputs_.find(inputs);
    bora::check<ValueError>(it != read_inputs_.end(), "Stepper: there are no inputs ", inputs);
    free_.insert(free_.end(), it->second.pages.begin(), it->second.pages.end());
    read_inputs_.erase(it);
  }
  Array step(const Step&) override;

 private:
  using BodyFn =
      std::function<std::pair<NamedArray, Any>(const Any&, const NamedArray&, const Any&, const StepPlaces&)>;
  using HeadFn = std::function<Array(const Any&, const NamedArray&, const NamedArray&)>;
  using ReadFn = std::function<Any(const Any&, const NamedArray&, const NamedArray&, const Any&, const Array&)>;
  struct Inputs {
    Numbers pages;
    std::int64_t count;
  };
  struct LeafOf {
    tree::LeafRef leaf;
    NamedArray x;
  };
  static Array whole(const Array& x) {
    return here().mesh ? with_sharding_constraint(x, Spec::replicated(static_cast<std::size_t>(x.ndim()))) : x;
  }
  const Any& computing() {
    if (!computing_) computing_ = policy_.cast_to_compute(parameters_);
    return *computing_;
  }
  /// n pages without memory.
  Any shapes(std::int64_t n) const {
    return eval_shape([&](const Any& m) { return model_->pages(policy_.cast_to_compute(m), {n, int8_pages_}); },
                      parameters_);
  }
  static std::vector<LeafOf> leaves(Any& tree) {
    std::vector<LeafOf> r;
    for (auto& slot : tree::slots(tree::node(tree)))
      if (auto x = slot.leaf.as<NamedArray>(); x && slot.leaf.defined()) r.push_back({slot.leaf, *x});
    return r;
  }
  /// This rank's block of x under the mapping in force.
  static Type local_type(const NamedArray& x) {
    auto type = x.array().type();
    if (auto& h = here(); h.mesh) {
      auto box = io::block_of_rank(type, spec_for(x.axes(), current_mapping()), *h.mesh, h.rank);
      for (std::size_t d = 0; d < box.size(); ++d) type.shape[d] = box[d].size();
    }
    return type;
  }
  void check_row(const StepRow&, std::size_t number) const;
  void check(const Step&) const;
  Array run(const Step&);
  AnyModelPtr model_;
  std::int64_t vocabulary_;
  bool int8_pages_;
  Any parameters_;
  Policy policy_;
  std::optional<Any> computing_, pages_;  // parameters_ in the dtype of computation, from the first step on
  BySize<BodyFn> body_;
  BySize<HeadFn> head_;
  BySize<ReadFn> read_;
  std::int64_t count_ = 0, next_ = 0;
  std::map<std::int64_t, Inputs> read_inputs_;
  Numbers free_;  // pages for inputs
};

std::int64_t AnyStepper::read(const Numbers& inputs) {
  auto n = static_cast<std::int64_t>(inputs.size());
  bora::check<ValueError>(model_->encoder_decoder && n > 0, "Stepper: ", n, " inputs for ",
                          model_->encoder_decoder ? "an encoder" : "a model without an encoder");
  bora::check<ValueError>(pages_.has_value(), "Stepper: there are no pages; call allot(n) first");
  auto need = static_cast<std::size_t>(pages_for(n));
  bora::check<ValueError>(need <= free_.size(), "Stepper: ", n, " inputs need ", need, " pages, but ", free_.size(),
                          " of ", count_, " are free; forget other inputs, or allot more");
  for (auto t : inputs)
    bora::check<ValueError>(t >= 0 && t < vocabulary_, "Stepper: input ", t, " is no token; there are ", vocabulary_);
  Inputs got{{free_.end() - static_cast<std::ptrdiff_t>(need), free_.end()}, n};
  auto room = std::max<std::int64_t>(P, rounded(n));
  Numbers tokens = inputs, mask(inputs.size(), 1), slots;
  for (std::int64_t i = 0; i < n; ++i)
    slots.push_back(static_cast<std::int32_t>(got.pages[static_cast<std::size_t>(i / P)] * P + i % P));
  auto size = static_cast<std::size_t>(room);
  tokens.resize(size, 0), mask.resize(size, 0), slots.resize(size, -1);
  Axis input{nn::kInput, room};
  auto before = std::move(*pages_);
  pages_.reset();
  pages_ = read_({room})(computing(), NamedArray(asarray(tokens), {input}), NamedArray(asarray(mask), {input}),
                 std::move(before), asarray(slots));
  free_.resize(free_.size() - need);
  read_inputs_[next_] = std::move(got);
  return next_++;
}
void AnyStepper::check_row(const StepRow& row, std::size_t number) const {
  auto of = [&] { return "Stepper: row " + std::to_string(number); };
  bora::check<ValueError>(row.count >= 1 && row.before >= 0, of(), " has ", row.count, " tokens after ", row.before);
  auto all = row.before + row.count;
  bora::check<ValueError>(all <= model_->positions, of(), " has ", all, " positions, but the model sees ",
                          model_->positions);
  bora::check<ValueError>(row.wanted >= 0 && row.wanted <= row.count, of(), " wants the scores of ", row.wanted,
                          " of its ", row.count, " tokens");
  auto need = pages_for(all), have = static_cast<std::int64_t>(row.pages.size());
  bora::check<ValueError>(have >= need, of(), " has ", have, " pages, but ", all, " positions need ", need);
  auto seen = std::max<std::int64_t>(0, row.before + 1 - model_->window) / P;
  for (std::int64_t p = seen; p < need; ++p) {
    auto page = row.pages[static_cast<std::size_t>(p)];
    bora::check<ValueError>(page >= 0 && page < count_, of(), " has page ", page, "; there are ", count_);
  }
  bora::check<ValueError>(model_->encoder_decoder == (row.inputs >= 0), of(),
                          model_->encoder_decoder ? " has no inputs of the encoder" : " has inputs, but no encoder");
  bora::check<ValueError>(row.inputs < 0 || read_inputs_.contains(row.inputs), of(), " has inputs ", row.inputs,
                          ", which were not read, or forgotten");
}
void AnyStepper::check(const Step& step) const {
  bora::check<ValueError>(pages_.has_value(), "Stepper: there are no pages; call allot(n) first");
  std::int64_t tokens = 0;
  for (std::size_t r = 0; r < step.rows.size(); ++r) {
    check_row(step.rows[r], r);
    tokens += step.rows[r].count;
  }
  bora::check<ValueError>(tokens > 0 && tokens == static_cast<std::int64_t>(step.tokens.size()), "Stepper: the rows ",
                          "have ", tokens, " tokens, the step ", step.tokens.size());
  for (auto t : step.tokens)
    bora::check<ValueError>(t >= 0 && t < vocabulary_, "Stepper: ", t, " is no token; there are ", vocabulary_);
}
Array AnyStepper::step(const Step& step) {
  check(step);
  Arrays scores;
  Step part;
  std::int64_t room = kAtOnce;
  auto token = step.tokens.begin();
  for (auto& row : step.rows)
    for (std::int64_t done = 0; done < row.count;) {
      auto n = std::min(room, row.count - done), unwanted = std::max(done, row.count - row.wanted) - done;
      auto piece = row;
      piece.before += done, piece.count = n, piece.wanted = std::max<std::int64_t>(0, n - unwanted);
      part.rows.push_back(std::move(piece));
      part.tokens.insert(part.tokens.end(), token, token + n);
      token += n, done += n, room -= n;
      if (room > 0) continue;
      scores.push_back(run(part));
      part = {}, room = kAtOnce;
    }
  if (!part.rows.empty()) scores.push_back(run(part));
  return scores.size() == 1 ? scores[0] : concatenate(scores);
}
Array AnyStepper::run(const Step& step) {
  Places own, inputs;
  Numbers wanted;
  std::int32_t token = 0;
  for (auto& row : step.rows) {
    auto need = static_cast<std::ptrdiff_t>(pages_for(row.before + row.count));
    auto first = own.table.add({row.pages.begin(), row.pages.begin() + need});
    const auto* read = row.inputs < 0 ? nullptr : &read_inputs_.at(row.inputs);
    auto first_input = read ? inputs.table.add(read->pages) : 0;
    for (std::int64_t i = 0; i < row.count; ++i, ++token) {
      auto position = row.before + i;
      own.add(first, position, row.pages[static_cast<std::size_t>(position / P)] * P + position % P);
      if (read) inputs.add(first_input, read->count - 1, -1);
      if (i >= row.count - row.wanted) wanted.push_back(token);
    }
  }
  auto n = rounded(token);
  auto tokens = step.tokens;
  tokens.resize(static_cast<std::size_t>(n), 0);
  StepPlaces at{own.arrays(n)};
  if (model_->encoder_decoder) at.inputs = inputs.arrays(n);
  auto before = std::move(*pages_);
  pages_.reset();
  auto& body = body_({n, at.own.table.size(), at.inputs ? at.inputs->table.size() : 0});
  auto [x, grown] = body(computing(), NamedArray(asarray(tokens), {{nn::kPosition, n}}), std::move(before), at);
  pages_ = std::move(grown);
  auto count = static_cast<std::int64_t>(wanted.size());
  if (count == 0) return zeros({0, vocabulary_}, f32);
  auto rows = rounded(count);
  wanted.resize(static_cast<std::size_t>(rows), wanted.back());
  auto scores = head_({n, rows})(computing(), x, NamedArray(asarray(wanted), {{"row", rows}}));
  return count == scores.shape(0) ? scores : slice_in_dim(scores, 0, 0, count);
}
}  // namespace

std::unique_ptr<Stepper> Model::stepper(const ModelOptions& options, const AxisMapping& storage,
                                        const Array& key) const {
  check_generates();
  return std::make_unique<AnyStepper>(model(options.vocabulary), options, storage, key);
}
}  // namespace bora::models
