#include "bora/data/sequence.h"
#include <algorithm>
#include <cmath>
#include <deque>
#include "bora/data/dataset.h"

namespace bora::data::detail {
// The seeds nearest to a transformation and their distances, level by level, as Grain's _default_seed.
std::uint64_t seed_after(const Inputs& inputs, Seed own, const char* transformation) {
  if (own) return *own;
  std::vector<std::uint64_t> entropy;
  std::deque<std::pair<const Node*, std::uint64_t>> next;
  for (auto& input : inputs) next.push_back({input.get(), 1});
  for (; !next.empty(); next.pop_front()) {
    auto [node, distance] = next.front();
    if (node->seed) entropy.insert(entropy.end(), {*node->seed, distance});
    else
      for (auto& input : node->inputs) next.push_back({input.get(), distance + 1});
  }
  check<ValueError>(!entropy.empty(), transformation, ": there is no seed; give it one, or call seed() before it");
  return seed_words(entropy, 1)[0];
}
void check_index(std::int64_t index, std::int64_t size) {
  check<IndexError>(size > 0, "sequence: there are no elements");
  check<IndexError>(index >= 0, "sequence: there is no element number ", index);
}
void check_state(std::int64_t state, std::int64_t size) {
  check<IndexError>(state >= 0 && state <= size, "sequence: there is no state ", state, " of ", size, " elements");
}
namespace {
/// index_shuffle of each pass by a seed of its own.
std::int64_t shuffle(std::int64_t index, std::int64_t n, std::uint64_t seed) {
  return static_cast<std::int64_t>(index_shuffle(static_cast<std::uint64_t>(index), static_cast<std::uint64_t>(n),
                                                 static_cast<std::uint32_t>(seed)));
}
/// a + b * n, at most kEndless.
std::int64_t at_most_endless(std::int64_t a, std::int64_t b, std::int64_t n) {
  std::int64_t product, sum;
  return __builtin_mul_overflow(b, n, &product) || __builtin_add_overflow(a, product, &sum) ? kEndless : sum;
}
}  // namespace

Order shuffled(const Inputs& input, const ShuffleOptions& options) {
  auto n = input.front()->size, window = options.window;
  auto seed = seed_after(input, options.seed, "shuffle");
  check<ValueError>(seed < std::uint64_t{1} << 32, "shuffle: the seed ", seed, " is not below 2^32");
  check<ValueError>(window >= 0, "shuffle: a window of ", window, " elements");
  if (window == 0 || window >= n)
    return {n, [=](std::int64_t i) { return i / n * n + shuffle(i % n, n, seed + static_cast<std::uint64_t>(i / n)); }};
  auto windows = (n - 1) / window + 1;
  return {n, [=](std::int64_t i) {
            auto pass = i / n, number = i % n / window, begin = number * window;
            auto of = static_cast<std::uint64_t>(pass) * static_cast<std::uint64_t>(windows);
            return pass * n + begin +
                   shuffle(i % n - begin, std::min(window, n - begin), seed + of + static_cast<std::uint64_t>(number));
          }};
}
Order sliced(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t step) {
  check<ValueError>(begin >= 0 && end >= 0, "slice: [", begin, ", ", end, "); numbers count from the beginning");
  check<ValueError>(step > 0, "slice: the step ", step, " must be positive");
  end = std::min(end, size);
  auto n = begin < end ? (end - begin - 1) / step + 1 : 0;
  return {n, [=](std::int64_t i) { return begin + i % n * step + i / n * size; }};
}
Order repeated(std::int64_t size, std::int64_t passes, const RepeatOptions& options) {
  check<ValueError>(passes > 0, "repeat: ", passes, " passes");
  check<ValueError>(size < kEndless, "repeat: the sequence has no end");
  auto n = at_most_endless(0, size, passes);
  if (options.reseed) return {n, [](std::int64_t i) { return i; }};
  return {n, [=](std::int64_t i) { return i % size; }};
}
// Held out are the elements i at which floor(i * hold_out + 1/2) grows; the inverse is found by bisection.
Order picked(std::int64_t size, double hold_out, bool held_out) {
  check<ValueError>(hold_out > 0 && hold_out < 1, "pick: hold_out is ", hold_out, "; it must be between 0 and 1");
  check<ValueError>(size < kEndless, "pick: the sequence has no end");
  auto before = [=](std::int64_t i) {  // of this part, among the first i
    auto held = static_cast<std::int64_t>(std::floor(static_cast<double>(i) * hold_out + 0.5));
    return held_out ? held : i - held;
  };
  auto n = before(size);
  return {n, [=](std::int64_t k) {
            auto wanted = k % n + 1;
            std::int64_t low = 0, high = size;  // before(low) < wanted <= before(high)
            while (high - low > 1) {
              auto middle = low + (high - low) / 2;
              (before(middle) < wanted ? low : high) = middle;
            }
            return k / n * size + low;
          }};
}
Order kept(std::vector<std::int64_t> numbers) {
  auto n = static_cast<std::int64_t>(numbers.size());
  return {n, [n, all = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers))](std::int64_t i) {
            return (*all)[static_cast<std::size_t>(i % n)];
          }};
}
Order ranged(std::int64_t start, std::int64_t stop, std::int64_t step) {
  check<ValueError>(step != 0, "range: the step is 0");
  auto distance = step > 0 ? stop - start : start - stop;
  auto n = distance > 0 ? (distance - 1) / std::abs(step) + 1 : 0;
  return {n, [=](std::int64_t i) { return start + i % n * step; }};
}
Join mixed(const Inputs& inputs, Mix mix) {
  check<ValueError>(mix.sources() == static_cast<std::int64_t>(inputs.size()), "mix: ", inputs.size(),
                    " sequences and ", mix.sources(), " weights");
  std::vector<std::int64_t> sizes;
  for (auto& input : inputs) sizes.push_back(input->size);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    check<ValueError>(sizes[i] > 0 || !mix.uses(static_cast<std::int64_t>(i)), "mix: sequence ", i, " has no elements");
  auto size = mix.size(sizes);
  return {size, [mix = std::move(mix)](std::int64_t i) { return mix.at(i); }};
}
Join concatenated(const Inputs& inputs) {
  std::vector<std::int64_t> ends;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    n = at_most_endless(n, 1, inputs[i]->size);
    check<ValueError>(n < kEndless, "concatenate: sequence ", i, " has no end");
    ends.push_back(n);
  }
  return {n, [n, ends = std::move(ends)](std::int64_t i) {
            auto part = std::upper_bound(ends.begin(), ends.end(), i % n) - ends.begin();
            auto begin = part == 0 ? 0 : ends[static_cast<std::size_t>(part - 1)];
            auto size = ends[static_cast<std::size_t>(part)] - begin;
            return Mix::Pick{part, i % n - begin + i / n * size};
          }};
}
std::int64_t batches(std::int64_t size, std::int64_t batch, const BatchOptions& options) {
  check<ValueError>(batch > 0, "batch: batches of ", batch, " elements");
  return options.drop_remainder ? size / batch : size > 0 ? (size - 1) / batch + 1 : 0;
}
}  // namespace bora::data::detail

namespace bora::data {
namespace {
/// The documents of the first pass that are no holes: numbers and lengths.
struct DocumentLengths {
  explicit DocumentLengths(const Documents& documents) {
    check<ValueError>(documents.size() < kEndless, "pack: the documents have no end");
    auto it = documents.iterate({.ahead = 64});
    while (auto tokens = it.next()) {
      numbers.push_back(it.state() - 1);
      lengths.push_back(static_cast<std::int64_t>(tokens->size()));
    }
  }
  std::vector<std::int64_t> numbers = {}, lengths = {};
};
/// Rows from functions of the row's number: segments of the documents that `numbers` counts.
template <class F> Sequence<TokenRow> rows(const Documents& documents, std::vector<std::int64_t> numbers,
                                           std::int64_t count, std::int64_t length, std::int32_t padding,
                                           F segments_of) {
  auto shared = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return detail::make<TokenRow>(count, false, {documents.node()}, [=, in = documents.node()](std::int64_t index) {
    auto n = static_cast<std::size_t>(length);
    TokenRow r{std::vector<std::int32_t>(n, padding), std::vector<std::int32_t>(n), std::vector<std::int32_t>(n)};
    std::int32_t number = 0;
    for (auto& s : segments_of(index % count)) {
      ++number;
      auto tokens = in->at((*shared)[static_cast<std::size_t>(s.document)]);
      check<ValueError>(tokens && static_cast<std::int64_t>(tokens->size()) >= s.begin + s.length,
                        "pack: a document gives other tokens than when it was packed");
      for (std::int64_t i = 0; i < s.length; ++i) {
        auto to = static_cast<std::size_t>(s.offset + i);
        r.tokens[to] = (*tokens)[static_cast<std::size_t>(s.begin + i)];
        r.segments[to] = number;
        r.positions[to] = static_cast<std::int32_t>(i);
      }
    }
    return std::optional(std::move(r));
  });
}
}  // namespace

Sequence<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  struct Numbers {
    detail::Order order;
    std::int64_t size() const { return order.size; }
    std::int64_t at(std::int64_t i) const { return order.at(i); }
  };
  return sequence(Numbers{detail::ranged(start, stop, step)});
}
Sequence<std::int64_t> range(std::int64_t stop) { return range(0, stop); }

Sequence<TokenRow> pack(const Documents& documents, const PackOptions& options, std::int32_t padding) {
  DocumentLengths found(documents);
  auto packed = std::make_shared<const Packed>(pack(found.lengths, options));
  return rows(documents, std::move(found.numbers), packed->size(), options.capacity, padding,
              [packed](std::int64_t row) { return packed->at(row); });
}
Sequence<TokenRow> concat_then_split(const Documents& documents, std::int64_t length, std::int32_t padding) {
  check<ValueError>(length > 0, "concat_then_split: rows of ", length, " tokens");
  DocumentLengths found(documents);
  auto ends = std::make_shared<std::vector<std::int64_t>>(std::move(found.lengths));
  for (std::size_t i = 1; i < ends->size(); ++i) (*ends)[i] += (*ends)[i - 1];
  auto tokens = ends->empty() ? 0 : ends->back();
  return rows(documents, std::move(found.numbers), (tokens + length - 1) / length, length, padding,
              [=, ends = std::shared_ptr<const std::vector<std::int64_t>>(ends)](std::int64_t row) {
                // Documents without tokens count as segments, except before a row's first token.
                auto begin = row * length, end = std::min(begin + length, tokens);
                auto d = row == 0 ? 0 : std::upper_bound(ends->begin(), ends->end(), begin) - ends->begin();
                std::vector<Segment> segments;
                for (auto at = begin; at < end; ++d) {
                  auto document_begin = d == 0 ? 0 : (*ends)[static_cast<std::size_t>(d - 1)];
                  auto until = std::min(end, (*ends)[static_cast<std::size_t>(d)]);
                  segments.push_back({d, at - document_begin, until - at, at - begin});
                  at = until;
                }
                return segments;
              });
}
}  // namespace bora::data
