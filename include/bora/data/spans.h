// spans.h -- T5's span corruption: random spans of a text are replaced by sentinels, and are what the decoder learns.
// Raffel et al. 2020, arXiv:1910.10683; as random_spans_noise_mask, noise_span_to_unique_sentinel,
// nonnoise_span_to_unique_sentinel and random_spans_helper of T5's preprocessors.
#pragma once
#include <cstdint>
#include <span>
#include <vector>
#include "bora/data/philox.h"

namespace bora::data {
struct SpanOptions {            // of span corruption
  double noise_density = 0.15;  // share of the tokens that become noise; in (0, 1)
  double mean_span = 3;         // mean length of a span of noise; at least 1
};
// How many tokens, and spans, of a text of n tokens become noise: at least one token, and not all of them.
struct SpanCounts {
  std::int64_t noise, spans;
};
SpanCounts span_counts(std::int64_t length, const SpanOptions& = {});
/// Lengths that fit together, each with its end of sequence: of the text, and what becomes of it.
struct SpanLengths {
  std::int64_t tokens, encoder, decoder;
};
/// The longest text whose corrupted form has at most `encoder_length` tokens. T5 counts noise in f64 here, in f32
/// for the mask, so that its decoder is too short for some lengths (by 2 for a text of 190 tokens); here both are f32.
/// ValueError: options outside their domain, or an encoder that is too short.
SpanLengths span_lengths(std::int64_t encoder_length, const SpanOptions& = {});

/// Begins of the spans of noise and of text: true for each token that is the first of a span, the first one excepted.
/// noise has span_counts.noise - 1 elements, spans - 1 of them true; text likewise.
struct SpanStarts {
  std::vector<bool> noise, text;
};
/// All starts are equally likely.
SpanStarts draw_span_starts(std::int64_t length, const SpanOptions&, Philox&);
/// True for noise; spans alternate, beginning with text.
std::vector<bool> noise_mask(std::int64_t length, const SpanStarts&);

struct SpanTokens {       // that stand for spans, and at the end
  std::int32_t sentinel;  // of the first span; the following ones count down
  std::int32_t end;       // of both sequences
};
/// Encoder and decoder sequence.
struct Corrupted {
  std::vector<std::int32_t> inputs, targets;
};
/// In inputs each span of noise is one sentinel, in targets each span of text is.
Corrupted replace_spans(std::span<const std::int32_t> tokens, const std::vector<bool>& noise, const SpanTokens&);
/// The three steps in turn. ValueError: options outside their domain.
Corrupted corrupt_spans(std::span<const std::int32_t> tokens, const SpanOptions&, const SpanTokens&, Philox);
}  // namespace bora::data
