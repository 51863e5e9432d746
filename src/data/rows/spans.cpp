#include "bora/data/spans.h"
#include <algorithm>
#include <cmath>
#include "bora/base/error.h"

namespace bora::data {
namespace {
void check_options(const SpanOptions& o) {
  check<ValueError>(o.noise_density > 0 && o.noise_density < 1, "span corruption: noise_density is ", o.noise_density,
                    "; it must be between 0 and 1");
  check<ValueError>(o.mean_span >= 1, "span corruption: mean_span is ", o.mean_span, "; it must be at least 1");
}
/// Lengths of `segments` segments of n items, from the starts of all but the first.
std::vector<std::int64_t> segment_lengths(const std::vector<bool>& starts) {
  std::vector<std::int64_t> lengths = {1};
  for (bool start : starts)
    if (start) lengths.push_back(1);
    else ++lengths.back();
  return lengths;
}
/// A random choice of `chosen` of n items. Knuth, The Art of Computer Programming 2, algorithm 3.4.2 S.
std::vector<bool> choose(std::int64_t n, std::int64_t chosen, Philox& random) {
  std::vector<bool> result(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n && chosen > 0; ++i)
    if (random.integer(0, n - i) < chosen) {
      result[static_cast<std::size_t>(i)] = true;
      --chosen;
    }
  return result;
}
}  // namespace

// Rounded half to even in f32, as TensorFlow does.
SpanCounts span_counts(std::int64_t length, const SpanOptions& o) {
  check_options(o);
  check<ValueError>(length >= 0, "span corruption: a text of ", length, " tokens");
  length = std::max<std::int64_t>(length, 2);
  auto noise = std::llrint(static_cast<float>(length) * static_cast<float>(o.noise_density));
  noise = std::clamp<std::int64_t>(noise, 1, length - 1);
  auto spans = std::llrint(static_cast<float>(noise) / static_cast<float>(o.mean_span));
  // T5 fails where there are more spans of noise than tokens of text.
  return {noise, std::clamp<std::int64_t>(spans, 1, length - noise)};
}
SpanLengths span_lengths(std::int64_t encoder_length, const SpanOptions& o) {
  check_options(o);
  auto corrupted = [&](std::int64_t tokens) {
    auto [noise, spans] = span_counts(tokens, o);
    return SpanLengths{tokens, tokens - noise + spans + 1, noise + spans + 1};
  };
  check<ValueError>(corrupted(2).encoder <= encoder_length, "span corruption: an encoder of ", encoder_length,
                    " positions is too short for two tokens");
  auto lengths = corrupted(std::max<std::int64_t>(2, encoder_length - 2));  // fits: spans of noise are no longer
  for (auto next = lengths; (next = corrupted(next.tokens + 1)).encoder <= encoder_length;) lengths = next;
  // T5 prefers equal lengths where half of the text is noise.
  if (o.noise_density == 0.5 && lengths.decoder > lengths.encoder) --lengths.tokens, --lengths.decoder;
  return lengths;
}

SpanStarts draw_span_starts(std::int64_t length, const SpanOptions& o, Philox& random) {
  auto [noise, spans] = span_counts(length, o);
  auto noise_starts = choose(noise - 1, spans - 1, random);
  return {std::move(noise_starts), choose(std::max<std::int64_t>(length, 2) - noise - 1, spans - 1, random)};
}
std::vector<bool> noise_mask(std::int64_t length, const SpanStarts& starts) {
  auto noise = segment_lengths(starts.noise), text = segment_lengths(starts.text);
  check<ValueError>(noise.size() == text.size(), "noise_mask: ", noise.size(), " spans of noise and ", text.size(),
                    " of text; they must alternate");
  std::vector<bool> mask;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    mask.insert(mask.end(), static_cast<std::size_t>(text[i]), false);
    mask.insert(mask.end(), static_cast<std::size_t>(noise[i]), true);
  }
  check<ValueError>(static_cast<std::int64_t>(mask.size()) >= length, "noise_mask: the spans have ", mask.size(),
                    " tokens, the text has ", length);
  mask.resize(static_cast<std::size_t>(length));
  return mask;
}

Corrupted replace_spans(std::span<const std::int32_t> tokens, const std::vector<bool>& noise, const SpanTokens& t) {
  check<ValueError>(noise.size() == tokens.size(), "replace_spans: ", noise.size(), " marks for ", tokens.size(),
                    " tokens");
  auto without = [&](bool replaced) {
    std::vector<std::int32_t> result;
    auto sentinel = t.sentinel;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (noise[i] != replaced) result.push_back(tokens[i]);
      else if (i == 0 || noise[i - 1] != replaced) result.push_back(sentinel--);
    result.push_back(t.end);
    return result;
  };
  return {without(true), without(false)};
}
Corrupted corrupt_spans(std::span<const std::int32_t> tokens, const SpanOptions& o, const SpanTokens& t,
                        Philox random) {
  auto length = static_cast<std::int64_t>(tokens.size());
  return replace_spans(tokens, noise_mask(length, draw_span_starts(length, o, random)), t);
}
}  // namespace bora::data
