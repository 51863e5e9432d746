// sequence.h -- datasets of elements of any type, by number: each transformation is a pure function of the element's
// number, and the state of an iteration is one number. Order, seeds and random numbers are those of Grain's MapDataset;
// its window shuffle, which repeats and loses elements of a shorter last window, is not copied.
#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>
#include "bora/base/error.h"
#include "bora/data/mix.h"
#include "bora/data/pack.h"
#include "bora/data/philox.h"

namespace bora::data {
template <class T> class Sequence;
template <class T> class Iterator;
/// The size of a sequence without an end; as the end of a slice: that of the sequence.
inline constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();
using Seed = std::optional<std::uint64_t>;  // none: derived from that of seed()

struct ShuffleOptions {     // of Sequence::shuffle
  std::int64_t window = 0;  // shuffles each run of this many elements; 0: all elements
  Seed seed = {};           // below 2^32
};
struct RepeatOptions {  // of Sequence::repeat
  bool reseed = true;   // each pass has another order and other random numbers
};
struct BatchOptions {           // of Sequence::batch
  bool drop_remainder = false;  // of a pass that is no multiple of the batch
};
struct IterateOptions {    // of Sequence::iterate
  std::int64_t from = 0;   // the state to begin with
  std::int64_t ahead = 0;  // elements made before they are asked for
  int threads = 0;         // that make them, beside the caller; 0, and at most: one for each other core
};

namespace detail {
struct Node;
using Inputs = std::vector<std::shared_ptr<const Node>>;
/// The part of a sequence that does not depend on the elements' type.
struct Node {
  Node(std::int64_t n, bool h, Inputs in, Seed s = {}) : size(n), holes(h), inputs(std::move(in)), seed(s) {}
  virtual ~Node() = default;
  std::int64_t size;
  bool holes;  // at() may be empty
  Inputs inputs;
  Seed seed;  // of seed()
};
template <class T> struct Elements : Node {
  using Node::Node;
  virtual std::optional<T> at(std::int64_t index) const = 0;
};
template <class T, class F> struct Made final : Elements<T> {
  Made(std::int64_t size, bool holes, Inputs inputs, Seed seed, F g)
      : Elements<T>(size, holes, std::move(inputs), seed), f(std::move(g)) {}
  std::optional<T> at(std::int64_t index) const override { return f(index); }
  F f;
};
template <class T, class F> Sequence<T> make(std::int64_t size, bool holes, Inputs inputs, F f, Seed seed = {}) {
  return Sequence<T>(std::make_shared<const Made<T, F>>(size, holes, std::move(inputs), seed, std::move(f)));
}
/// The seed of a transformation of `inputs`: `own`, or one derived from the seeds before it and their distance.
std::uint64_t seed_after(const Inputs& inputs, Seed own, const char* transformation);

/// Elements in another order: the number of the element that comes at each number.
struct Order {
  std::int64_t size;
  std::function<std::int64_t(std::int64_t)> at;
};
Order shuffled(const Inputs& input, const ShuffleOptions&);
Order sliced(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t step);
Order repeated(std::int64_t size, std::int64_t passes, const RepeatOptions&);
Order picked(std::int64_t size, double hold_out, bool held_out);
Order kept(std::vector<std::int64_t> numbers);
Order ranged(std::int64_t start, std::int64_t stop, std::int64_t step);
struct Join {
  std::int64_t size;
  std::function<Mix::Pick(std::int64_t)> at;
};
Join mixed(const Inputs& inputs, Mix mix);
Join concatenated(const Inputs& inputs);
std::int64_t batches(std::int64_t size, std::int64_t batch, const BatchOptions&);
void check_index(std::int64_t index, std::int64_t size);
void check_state(std::int64_t state, std::int64_t size);

/// make(first), make(first + 1), .. in turn, made by oneTBB workers. If the system has no thread for a worker, next()
/// makes its element itself.
class PrefetchPool {
 public:
  using Make = std::function<std::shared_ptr<void>(std::int64_t)>;
  PrefetchPool(Make make, std::int64_t first, std::int64_t end, const IterateOptions&);
  ~PrefetchPool();  // waits for elements that are being made
  PrefetchPool(const PrefetchPool&) = delete;
  PrefetchPool& operator=(const PrefetchPool&) = delete;
  /// Rethrows exceptions of make; the next call is then for the same element.
  std::shared_ptr<void> next();

 private:
  struct Pipeline;
  std::unique_ptr<Pipeline> pipeline_;
};
}  // namespace detail

/// A dataset of elements of type T. Cheap to copy: copies share what is below them. Functions that it is given are
/// called from any thread, at any number, any number of times. ValueError: arguments outside their domain.
template <class T> class Sequence {
 public:
  using value_type = T;
  explicit Sequence(std::shared_ptr<const detail::Elements<T>> node) : node_(std::move(node)) {}
  /// Elements of one pass, holes among them.
  std::int64_t size() const { return node_->size; }
  /// Element number `index`; numbers from size() on are the following passes, each in its own order where there is a
  /// shuffle. Empty: a filter left it out. IndexError: a negative number, or a sequence without elements.
  std::optional<T> at(std::int64_t index) const {
    detail::check_index(index, size());
    return node_->at(index);
  }
  /// One after another, without holes.
  Iterator<T> iterate(const IterateOptions& options = {}) const { return Iterator<T>(*this, options); }

  /// f(element).
  template <class F> auto map(F f) const {
    using U = std::remove_cvref_t<std::invoke_result_t<const F&, T>>;
    return make<U>(size(), [in = node_, f = std::move(f)](std::int64_t i) -> std::optional<U> {
      auto x = in->at(i);
      return x ? std::optional<U>(f(std::move(*x))) : std::nullopt;
    });
  }
  /// f(number, element).
  template <class F> auto map_with_index(F f) const {
    using U = std::remove_cvref_t<std::invoke_result_t<const F&, std::int64_t, T>>;
    return make<U>(size(), [in = node_, f = std::move(f)](std::int64_t i) -> std::optional<U> {
      auto x = in->at(i);
      return x ? std::optional<U>(f(i, std::move(*x))) : std::nullopt;
    });
  }
  /// f(element, random): the random numbers depend on the seed and on the element's number alone. random is a Philox&.
  template <class F> auto random_map(F f, Seed seed = {}) const {
    using U = std::remove_cvref_t<std::invoke_result_t<const F&, T, Philox&>>;
    auto key = Philox::key(detail::seed_after({node_}, seed, "random_map"));
    return make<U>(size(), [in = node_, f = std::move(f), key](std::int64_t i) -> std::optional<U> {
      auto x = in->at(i);
      if (!x) return std::nullopt;
      Philox random(key, static_cast<std::uint64_t>(i));
      return f(std::move(*x), random);
    });
  }
  /// Leaves a hole where f(element) is false; numbers stay.
  template <class F> Sequence filter(F f) const {
    auto in = node_;
    return make<T>(
        size(),
        [in, f = std::move(f)](std::int64_t i) {
          auto x = in->at(i);
          if (x && !f(std::as_const(*x))) x.reset();
          return x;
        },
        true);
  }
  /// The elements of the first pass that are no holes, in every pass; reads that pass once, now. For batches after a
  /// filter; a shuffle comes after it.
  Sequence compact() const {
    check<ValueError>(size() < kEndless, "compact: the sequence has no end");
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < size(); ++i)
      if (!node_->holes || node_->at(i)) numbers.push_back(i);
    return ordered(detail::kept(std::move(numbers)), false);
  }
  /// The seed from which the transformations that follow derive theirs, each another one by its distance.
  Sequence seed(std::uint64_t seed) const {
    return detail::make<T>(size(), node_->holes, {node_}, [in = node_](std::int64_t i) { return in->at(i); }, seed);
  }
  Sequence shuffle(const ShuffleOptions& options = {}) const {
    return ordered(detail::shuffled({node_}, options), node_->holes);
  }
  /// Every step-th element of [begin, end) of each pass. slice(host, kEndless, hosts) is the part of one of some hosts.
  Sequence slice(std::int64_t begin, std::int64_t end = kEndless, std::int64_t step = 1) const {
    return ordered(detail::sliced(size(), begin, end, step), node_->holes);
  }
  /// This many passes as one; kEndless: no end.
  Sequence repeat(std::int64_t passes = kEndless, const RepeatOptions& options = {}) const {
    return ordered(detail::repeated(size(), passes, options), node_->holes);
  }
  /// n elements as one; the last of a pass may have fewer. ValueError after a filter: compact() comes between.
  Sequence<std::vector<T>> batch(std::int64_t n, const BatchOptions& options = {}) const {
    check<ValueError>(!node_->holes, "batch: the sequence has holes left by a filter; call compact() before batch");
    auto count = detail::batches(size(), n, options);
    return make<std::vector<T>>(count, [in = node_, n, count](std::int64_t i) {
      auto begin = i % count * n, end = n < in->size - begin ? begin + n : in->size;
      std::vector<T> result;
      for (auto k = begin; k < end; ++k) result.push_back(std::move(*in->at(i / count * in->size + k)));
      return std::optional(std::move(result));
    });
  }
  struct Picked {
    Sequence train, held_out;
  };
  /// Parts to train on and to evaluate on: one of every 1 / hold_out elements is held out.
  Picked pick(double hold_out) const {
    return {ordered(detail::picked(size(), hold_out, false), node_->holes),
            ordered(detail::picked(size(), hold_out, true), node_->holes)};
  }
  const std::shared_ptr<const detail::Elements<T>>& node() const { return node_; }

 private:
  template <class U, class F> Sequence<U> make(std::int64_t size, F f, bool holes = false) const {
    return detail::make<U>(size, holes || node_->holes, {node_}, std::move(f));
  }
  Sequence ordered(detail::Order order, bool holes) const {
    return detail::make<T>(order.size, holes, {node_},
                           [in = node_, at = std::move(order.at)](std::int64_t i) { return in->at(at(i)); });
  }
  std::shared_ptr<const detail::Elements<T>> node_;
};

/// A sequence from the beginning on, without holes. One thread uses it.
template <class T> class Iterator {
 public:
  Iterator(Sequence<T> sequence, const IterateOptions& options) : sequence_(std::move(sequence)), options_(options) {
    restore(options.from);
  }
  /// The next element; none at the end. If making it throws, the exception comes here, and the state stays.
  std::optional<T> next() {
    for (std::optional<T> x; state_ < sequence_.size();) {
      if (ahead_) x = std::move(*static_cast<std::optional<T>*>(ahead_->next().get()));
      else x = sequence_.at(state_);
      ++state_;
      if (x) return x;
    }
    return std::nullopt;
  }
  /// The number of the element to read next: a new Iterator from there gives the same elements as this one.
  std::int64_t state() const { return state_; }
  /// IndexError if the sequence has no such state.
  void restore(std::int64_t state) {
    detail::check_state(state, sequence_.size());
    state_ = state;
    ahead_.reset();
    if (options_.ahead > 0)
      ahead_ = std::make_unique<detail::PrefetchPool>(
          [node = sequence_.node()](std::int64_t i) { return std::make_shared<std::optional<T>>(node->at(i)); }, state_,
          sequence_.size(), options_);
  }

 private:
  Sequence<T> sequence_;
  IterateOptions options_;
  std::int64_t state_ = 0;
  std::unique_ptr<detail::PrefetchPool> ahead_;
};

/// The elements of any struct with size() and at(number), both const and safe from any thread. A shared_ptr is not
/// copied.
template <class S> auto sequence(std::shared_ptr<S> source) {
  using T = std::remove_cvref_t<decltype(source->at(std::int64_t{}))>;
  auto size = static_cast<std::int64_t>(source->size());
  return detail::make<T>(size, false, {}, [source, size](std::int64_t i) {
    return std::optional<T>(std::as_const(*source).at(i % size));
  });
}
template <class S>
  requires requires(const S& s) { s.size(), s.at(std::int64_t{}); }
auto sequence(S source) {
  return sequence(std::make_shared<const S>(std::move(source)));
}
/// start, start + step, .. before stop.
Sequence<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step = 1);
Sequence<std::int64_t> range(std::int64_t stop);

namespace detail {
template <class T> Sequence<T> joined(const std::vector<Sequence<T>>& parts, const auto& join) {
  std::vector<std::shared_ptr<const Elements<T>>> nodes;
  bool holes = false;
  for (auto& part : parts) {
    nodes.push_back(part.node());
    holes = holes || part.node()->holes;
  }
  Inputs inputs(nodes.begin(), nodes.end());
  Join j = join(inputs);
  return make<T>(j.size, holes, std::move(inputs), [nodes, pick = std::move(j.at)](std::int64_t i) {
    auto [source, index] = pick(i);
    return nodes[static_cast<std::size_t>(source)]->at(index);
  });
}
}  // namespace detail
/// Elements of some sequences by weight, in the order of Mix; its size is Mix::size. ValueError: a sequence with a
/// weight but without elements.
template <class T> Sequence<T> mix(const std::vector<Sequence<T>>& parts, const Mix& by) {
  return detail::joined(parts, [&](auto& inputs) { return detail::mixed(inputs, by); });
}
/// One after another.
template <class T> Sequence<T> concatenate(const std::vector<Sequence<T>>& parts) {
  return detail::joined(parts, [](auto& inputs) { return detail::concatenated(inputs); });
}

/// A row of tokens of several documents. Segments count the row's documents from 1; 0: padding. Positions are those in
/// the document, or in its part that this row has.
struct TokenRow {
  std::vector<std::int32_t> tokens, segments, positions;
  bool operator==(const TokenRow&) const = default;
};
using Documents = Sequence<std::vector<std::int32_t>>;  // tokens of texts
/// Documents in rows of options.capacity tokens. Like concat_then_split: reads the first pass of the documents once,
/// now, for their lengths, and gives the same rows in every pass; holes are left out; a shuffle comes after it.
Sequence<TokenRow> pack(const Documents& documents, const PackOptions& options, std::int32_t padding = 0);
/// All documents one after another, cut into rows of `length` tokens; the last row is padded.
Sequence<TokenRow> concat_then_split(const Documents& documents, std::int64_t length, std::int32_t padding = 0);
}  // namespace bora::data
